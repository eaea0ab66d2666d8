// SPDX-License-Identifier: Apache-2.0

package import GatePolicy

extension AppSettings {
    /// The rules, for the comparison with those of another configuration.
    package var rules: AppRules {
        AppRules(self.route, guardsSpellings: self.traffic.strictness.pathSpelling == .any)
    }
}
