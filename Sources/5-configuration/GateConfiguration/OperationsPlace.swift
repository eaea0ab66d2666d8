// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateYAML

/// Where the running gateway can be asked, as a configuration file names it.
///
/// A file with errors, which the running gateway ignores, is read as far as possible: for commands that must reach the
/// gateway all the same.
package struct OperationsPlace: Sendable, Hashable {
    /// The address of the operations listener.
    package private(set) var address = GatewaySettings.defaultOperations
    /// The Unix socket of the operations API; nil if the file turns it off.
    package private(set) var socket: String?
    /// Why the file names nothing, so that both are defaults; nil if it was read.
    package private(set) var failure: String?

    /// Reads the file at `path`.
    ///
    /// - Parameters:
    ///   - path: The file, as messages name it.
    ///   - environment: The variables for `${env:NAME}` and `$STATE_DIRECTORY`.
    package init(path: String, environment: [String: String]) {
        let shown = PrintableText.escaped(path, limit: 4096)
        switch FileAccess.system.read(path, limit: DecodingContext.maxFileSize) {
        case .bytes(let bytes): self.init(bytes: bytes, environment: environment)
        case .missing:
            self.init(bytes: [], environment: environment)
            self.failure = "there is no file '\(shown)'"
        case .unreadable, .tooLarge:
            self.init(bytes: [], environment: environment)
            self.failure = "the file '\(shown)' cannot be read"
        }
    }

    /// Reads the text of a file.
    init(bytes: [UInt8], environment: [String: String]) {
        var reader = Reader(bytes.withoutByteOrderMark, environment)
        self.address = reader.value("operations", .bindAddress) ?? self.address
        let given = environment["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init)
        let state = reader.value("state", .path) ?? given ?? "./state"
        let choice = reader.value("operations_socket", .operationsSocket)
        self.socket = OperationsSocketChoice.settings(choice, state: state)?.path
    }

    /// Reads single keys of `gateway`.
    private struct Reader {
        private let lines: [Substring]
        private let gateway: [YAMLEntry]?
        private var reading: DecodingContext

        init(_ bytes: [UInt8], _ environment: [String: String]) {
            self.reading = DecodingContext(
                bytes: bytes,
                name: "",
                folder: FileAccess.workingFolder,
                environment: environment,
                access: .system
            )
            let any = Shape<YAMLNode>("a document", schema: .null) { node, _ in node }
            let document = self.reading.read(any, from: bytes)
            self.gateway = document.flatMap { Reader.entries(of: $0)?.first { $0.name == "gateway" } }
                .flatMap { Reader.entries(of: $0.value) }
            self.lines = String(decoding: bytes, as: UTF8.self).split { $0.isNewline }
        }

        private static func entries(of node: YAMLNode) -> [YAMLEntry]? {
            guard case .mapping(let entries) = node.content else { return nil }
            return entries
        }

        /// The value of a key; nil if it is not written, or invalid.
        mutating func value<Value>(_ key: String, _ shape: Shape<Value>) -> Value? {
            if let gateway { return gateway.first { $0.name == key }.flatMap { shape.read($0.value, &self.reading) } }
            // The text is not YAML, or the name of the section is misspelled. No other section has these keys.
            for line in self.lines {
                let text = line.drop { $0 == " " || $0 == "\t" }
                // Also as JSON.
                guard text.count < line.count, let name = ["\(key):", "\"\(key)\":"].first(where: text.hasPrefix)
                else { continue }
                let value = text.dropFirst(name.count)
                return self.reading.read(shape, from: Array((value.hasSuffix(",") ? value.dropLast() : value).utf8))
            }
            return nil
        }
    }
}
