// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateYAML

extension Configuration {
    /// Reads the file at `path` and the files that it names.
    ///
    /// - Parameters:
    ///   - path: The file, as messages name it.
    ///   - environment: The variables for `${env:NAME}` and `$STATE_DIRECTORY`.
    /// - Returns: The values, or the errors.
    package static func load(path: String, environment: [String: String]) -> ConfigurationResult {
        let failure: String
        let reads = FileReads(.system)
        switch reads.access.read(path, limit: DecodingContext.maxFileSize) {
        case .bytes(let bytes):
            let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? ""
            let read = self.parse(
                bytes: bytes,
                name: path,
                folder: self.absolute(folder),
                environment: environment,
                files: reads.access
            )
            let database: String? =
                if case .sqlite(let path) = read.configuration?.sessions.store { path } else { nil }
            let warnings = FileAccess.system.modeWarnings(of: path, database: database)
            return ConfigurationResult(
                configuration: read.configuration,
                diagnostics: read.diagnostics + warnings,
                files: [path] + read.files,
                content: reads.name,
                fileContent: reads.name(of: path)
            )
        case .missing: failure = "there is no file \(Scalar.quoted(path, limit: 4096)); choose another with --config"
        case .unreadable: failure = "the file \(Scalar.quoted(path)) cannot be read; check its owner and mode"
        case .tooLarge:
            failure = "the file \(Scalar.quoted(path)) is larger than \(DecodingContext.maxFileSize >> 20) MiB"
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
        let bytes = bytes.withoutByteOrderMark
        var reading = DecodingContext(bytes: bytes, name: name, folder: folder, environment: environment, access: files)
        let draft = reading.read(Mapping<FileDraft>.file.shape, from: bytes, preparedBy: FileMerge.merged)
        let configuration = draft.flatMap {
            ConfigurationBuilder(draft: $0, environment: environment).configuration(&reading)
        }
        return ConfigurationResult(
            configuration: reading.errors == 0 ? configuration : nil,
            diagnostics: reading.diagnostics,
            files: reading.files
        )
    }

    private static func absolute(_ folder: String) -> String {
        FileAccess.resolve(folder, in: FileAccess.workingFolder)
    }
}
