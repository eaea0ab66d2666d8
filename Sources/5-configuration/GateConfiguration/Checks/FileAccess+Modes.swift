// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

extension FileAccess {
    /// Warnings of files that other users of the host can read or change although they must not: the configuration file
    /// itself, its folder, the session database.
    func modeWarnings(of path: String, database: String?) -> [Diagnostic] {
        var messages = [
            self.warning(ofChanging: path, "who may access which app"),
            self.warning(ofChanging: PrivateFile.folder(of: path), "which files are in it, the configuration included"),
        ]
        if let database, let mode = self.mode(of: database), mode.isShared {
            messages.append(
                "the session database \(Scalar.quoted(database, limit: 4096)) has mode \(mode), so users other than "
                    + "its owner have access; run: chmod 600 \(Scalar.quoted(database, limit: 4096))"
            )
        }
        return messages.compactMap { $0 }.map { Diagnostic(.warning, $0, at: nil) }
    }

    /// A warning if others can change a file, with what it decides.
    private func warning(ofChanging path: String, _ what: String) -> String? {
        guard let mode = self.mode(of: path), let whose = mode.otherWriters else { return nil }
        let shown = Scalar.quoted(path, limit: 4096)
        return "\(shown) has mode \(mode), so \(whose) can change \(what); run: chmod go-w \(shown)"
    }
}
