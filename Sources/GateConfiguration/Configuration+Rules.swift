// SPDX-License-Identifier: Apache-2.0

internal import GateAppConfiguration
internal import GatePolicy

extension Configuration {
    /// Whether an entry of `allow` or `deny` of an app begins on a line of the file.
    ///
    /// Only such a line may be shown to explain a decision: after a change of the file, any other line may be there.
    package func hasRule(onLine line: Int, of app: String) -> Bool {
        self.apps.contains { settings in
            guard settings.route.app == app else { return false }
            var entries = settings.route.denied
            if case .entries(let allowed) = settings.route.access { entries += allowed }
            return entries.contains { $0.line == line }
        }
    }
}
