// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy

extension Configuration {
    /// Whether an entry of `allow` or `deny` of an app begins on a line of a file.
    ///
    /// Only such a line may be shown to explain a decision: after a change of the file, any other line may be there.
    ///
    /// - Parameters:
    ///   - line: The line.
    ///   - file: The included file; nil for the configuration file itself.
    ///   - app: The name of the app.
    /// - Returns: Whether one does.
    package func hasRule(onLine line: Int, ofIncluded file: String?, of app: String) -> Bool {
        self.apps.contains { settings in
            guard settings.route.app == app else { return false }
            let entries = settings.route.denied + settings.route.access.entries
            return entries.contains { $0.place?.line == line && $0.place?.includedFile == file }
        }
    }
}
