// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The providers that the demo can simulate; a new one is one line here.
package enum DemoCatalogue {
    static let all: [SimulatedProvider] = [
        GoogleSimulator.simulation,
        GitHubSimulator.simulation,
        MicrosoftSimulator.simulation,
        AppleSimulator.simulation,
        GitLabSimulator.simulation,
        OktaSimulator.simulation,
        Auth0Simulator.simulation,
        KeycloakSimulator.simulation,
        FacebookSimulator.simulation,
        LinkedInSimulator.simulation,
        DiscordSimulator.simulation,
        SlackSimulator.simulation,
        OpenIDProvider.simulation,
        IntranetSimulator.simulation,
    ]

    /// The names of all providers.
    package static var names: [String] { self.all.map(\.name) }

    /// The providers of a demo that is told nothing.
    package static let usual = ["google", "github", "microsoft"]

    /// The providers asked for, each once, in the order of the catalogue; `all` is every one.
    ///
    /// Those that a quirk belongs to are added. Nothing asked for is the usual three.
    ///
    /// - Throws: If a provider does not exist; the detail names those that do.
    package static func chosen(_ names: [String], quirks: DemoQuirks) throws(Failure) -> [String] {
        for name in names where name != "all" && !self.names.contains(name) {
            let hint = SpellingSuggestion.nearest(name, self.names)
            let list = "the providers are \(self.names.joined(separator: ", ")), or all"
            let detail = "there is no simulated provider '\(name)'\(hint); \(list)"
            throw Failure(.demoProvider, detail)
        }
        let wanted = (names.isEmpty ? self.usual : names) + quirks.providers
        return self.names.filter { wanted.contains("all") || wanted.contains($0) }
    }
}
