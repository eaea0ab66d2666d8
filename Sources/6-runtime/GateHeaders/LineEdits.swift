// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
internal import GateWire
package import HTTPTypes
internal import NIOCore

/// Changes to the field lines of messages, made ready once for a route.
package struct LineEdits: Sendable {
    /// The lines that are set, as bytes.
    let lines: ByteBuffer
    /// The names whose lines are taken away, those that are set among them; in lower case.
    private let names: [String]
    /// One bit for each length of a name, so that most lines are passed after one look.
    private let lengths: UInt64
    /// The names of identity headers that the app takes no identity from; in lower case.
    private let kept: [String]

    /// The changes that the file asks for, and one more line; nil if there is nothing to change.
    package init?(_ edits: HeaderEdits, adding line: HeaderValue? = nil) {
        guard !edits.isEmpty || line != nil else { return nil }
        var lines = ByteBuffer()
        for field in edits.set + [line].compactMap({ $0 }) {
            lines.writeString("\(field.name): \(field.value)\r\n")
        }
        self.lines = lines
        self.names = edits.set.map { $0.name.lowercased() } + edits.remove.map { $0.lowercased() }
        self.lengths = self.names.reduce(0) { $0 | LineEdits.bit(of: $1.utf8.count) }
        self.kept = edits.keep.map { $0.lowercased() }
    }

    /// Whether a line whose name is one of identity headers is passed on all the same.
    func keeps(_ field: FieldLine, of message: MessageHead) -> Bool {
        self.kept.contains { message.spells(field.nameRange, $0) }
    }

    /// Whether the lines of a name, given in lower case, are passed on all the same.
    func keeps(_ name: String) -> Bool { self.kept.contains(name) }

    /// Whether a line of a message has no place any more.
    func takesAway(_ field: FieldLine, of message: MessageHead) -> Bool {
        let range = field.nameRange
        guard self.lengths & LineEdits.bit(of: range.count) != 0 else { return false }
        return self.names.contains { message.spells(range, $0) }
    }

    /// Whether the lines of a name, given in lower case, have no place any more.
    package func takesAway(_ name: String) -> Bool { self.names.contains(name) }

    private static func bit(of length: Int) -> UInt64 { 1 << UInt64(length & 63) }
}

extension HeaderEdits {
    /// Changes the headers of a response of the gateway.
    package func apply(to fields: inout HTTPFields) {
        for name in self.remove.compactMap({ HTTPField.Name($0) }) {
            fields[name] = nil
        }
        for field in self.set {
            guard let name = HTTPField.Name(field.name) else { continue }
            fields[name] = field.value
        }
    }
}
