// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The providers that the demo can simulate; a new provider is one line here.
package enum DemoCatalogue {
    static let all: [SimulatedProvider] = [
        GoogleSimulator.provider,
        GitHubSimulator.provider,
        MicrosoftSimulator.provider,
        AppleSimulator.provider,
        GitLabSimulator.provider,
        OktaSimulator.provider,
        Auth0Simulator.provider,
        KeycloakSimulator.provider,
        FacebookSimulator.provider,
        LinkedInSimulator.provider,
        DiscordSimulator.provider,
        SlackSimulator.provider,
        OpenIDProvider.provider,
        IntranetSimulator.provider,
    ]

    /// The names of all providers.
    package static var names: [String] { self.all.map(\.name) }

    /// The providers of a demo by default.
    package static let usual = ["google", "github", "microsoft"]

    /// The chosen providers, each once, in the order of the catalogue; `all` chooses every provider.
    ///
    /// The providers of the quirks are added. No name chooses the usual three.
    ///
    /// - Throws: If a provider does not exist; the detail names those that do.
    package static func chosen(_ names: [String], quirks: DemoQuirks) throws(Failure) -> [String] {
        for name in names where name != "all" { _ = try self.provider(name, orAll: true) }
        let wanted = (names.isEmpty ? self.usual : names) + quirks.providers
        return self.names.filter { wanted.contains("all") || wanted.contains($0) }
    }

    /// The provider of that name.
    ///
    /// - Throws: If it does not exist; the detail names those that do.
    static func provider(_ name: String, orAll: Bool = false) throws(Failure) -> SimulatedProvider {
        if let provider = self.all.first(where: { $0.name == name }) { return provider }
        let hint = SpellingSuggestion.nearest(name, self.names)
        let list = "the providers are \(self.names.joined(separator: ", "))\(orAll ? ", or all" : "")"
        throw Failure(.demoProvider, "there is no simulated provider '\(name)'\(hint); \(list)")
    }
}
