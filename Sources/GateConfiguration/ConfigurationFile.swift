// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The configuration file: from bytes to values or diagnostics.
package enum ConfigurationFile {
    /// U+FEFF as UTF-8.
    static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Reads the file at `path` and the files that it names.
    ///
    /// - Parameters:
    ///   - path: The file, as messages name it.
    ///   - environment: The variables for `${env:NAME}` and `$STATE_DIRECTORY`.
    /// - Returns: The values, or the errors.
    package static func load(path: String, environment: [String: String]) -> ConfigurationResult {
        let bounds = YAMLComposer.Bounds()
        let failure: String
        switch FileAccess.system.read(path, limit: bounds.bytes) {
        case .bytes(let bytes):
            let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? ""
            let read = self.parse(
                bytes: bytes,
                name: path,
                folder: self.absolute(folder),
                environment: environment,
                files: .system
            )
            let warnings = FileModeCheck(files: .system).diagnostics(of: path, read.configuration)
            return ConfigurationResult(
                configuration: read.configuration,
                diagnostics: read.diagnostics + warnings,
                files: [path] + read.files
            )
        case .missing: failure = "there is no file \(Scalar.quoted(path, limit: 4096)); choose another with --config"
        case .unreadable: failure = "the file \(Scalar.quoted(path)) cannot be read; check its owner and mode"
        case .tooLarge: failure = "the file \(Scalar.quoted(path)) is larger than \(bounds.bytes >> 20) MiB"
        }
        let diagnostic = Diagnostic(.error, failure, at: nil)
        return ConfigurationResult(configuration: nil, diagnostics: [diagnostic], files: [path])
    }

    /// Reads the bytes of a file; the `files` of the result are those that it names.
    ///
    /// - Parameters:
    ///   - bytes: The text of the file.
    ///   - name: The file, as messages name it.
    ///   - folder: The folder for relative paths in it.
    ///   - environment: The variables for `${env:NAME}` and `$STATE_DIRECTORY`.
    ///   - files: Reads the files that it names.
    /// - Returns: The values, or the errors.
    package static func parse(
        bytes: [UInt8],
        name: String,
        folder: String,
        environment: [String: String],
        files: FileAccess = .system
    ) -> ConfigurationResult {
        // Some editors write a byte order mark before UTF-8, which has no meaning: RFC 3629 §6.
        let bytes = bytes.starts(with: Self.byteOrderMark) ? Array(bytes.dropFirst(Self.byteOrderMark.count)) : bytes
        var reading = DecodingContext(bytes: bytes, name: name, folder: folder, environment: environment, access: files)
        let configuration = self.configuration(bytes, environment, &reading)
        return ConfigurationResult(
            configuration: reading.errors == 0 ? configuration : nil,
            diagnostics: reading.diagnostics,
            files: reading.files
        )
    }

    private static func configuration(
        _ bytes: [UInt8],
        _ environment: [String: String],
        _ reading: inout DecodingContext
    )
        -> Configuration?
    {
        do throws(YAMLFailure) {
            let document = try YAMLComposer.document(of: bytes)
            guard let draft = Mapping<FileDraft>.file.shape.read(document, &reading) else { return nil }
            return ConfigurationBuilder(draft: draft, environment: environment).configuration(&reading)
        } catch {
            reading.error(error.message, at: error.mark)
            return nil
        }
    }

    private static func absolute(_ folder: String) -> String {
        FileAccess.resolve(folder, in: FileAccess.workingFolder)
    }
}
