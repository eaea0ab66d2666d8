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

    /// All quirks, grouped by provider in the order of the catalogue; those of `any` provider come last.
    package static let quirks: [DemoQuirk] = Self.all.flatMap(\.quirks) + PinQuirk.quirks + QuirkInjector.quirks

    /// The names of all providers.
    package static var names: [String] { self.all.map(\.name) }

    /// The providers of a demo by default.
    private static let usual = ["google", "github", "microsoft"]

    /// The chosen providers, each once, in the order of the catalogue; `all` chooses every provider.
    ///
    /// The providers of the quirks are added. No name chooses the usual three.
    ///
    /// - Throws: If a provider does not exist; the detail names those that do.
    package static func chosen(_ names: [String], quirks: DemoQuirks) throws(Failure) -> [String] {
        for name in names where name != "all" { _ = try self.provider(name, orAll: true) }
        let wanted = (names.isEmpty ? self.usual : names) + self.quirks.filter(quirks.contains).map(\.provider)
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

    /// Switches quirks on.
    ///
    /// - Throws: If a quirk does not exist; the detail names the nearest that does.
    package static func quirks(named names: [String]) throws(Failure) -> DemoQuirks {
        let known = self.quirks.map(\.name)
        for name in names where !known.contains(name) {
            let hint = SpellingSuggestion.nearest(name, known)
            throw Failure(.demoQuirk, "there is no quirk '\(name)'\(hint)")
        }
        return DemoQuirks(Set(names))
    }

    /// Switches quirks of one provider on.
    ///
    /// - Throws: If the provider does not exist or does not have a quirk; the detail names those that it has.
    package static func quirks(named names: [String], of provider: String) throws(Failure) -> DemoQuirks {
        let provider = try self.provider(provider).name
        let known = self.quirks.filter { [provider, "any"].contains($0.provider) }.map(\.name)
        for name in names where !known.contains(name) {
            let hint = SpellingSuggestion.nearest(name, known)
            let list = "the quirks of \(provider) are \(known.joined(separator: ", "))"
            throw Failure(.demoQuirk, "\(provider) has no quirk '\(name)'\(hint); \(list)")
        }
        return DemoQuirks(Set(names))
    }
}

/// Suggests a name for a mistyped one.
private enum SpellingSuggestion {
    /// `; did you mean '…'?` with the name at the smallest edit distance, if that is small.
    static func nearest(_ text: String, _ names: [String]) -> String {
        let ranked = names.map { (name: $0, distance: self.distance(text, $0)) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return "" }
        return best.distance <= max(2, text.count / 2) ? "; did you mean '\(best.name)'?" : ""
    }

    /// The edit distance of two names.
    private static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (index, letter) in left.prefix(100).enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let change = diagonal + (letter == right[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(change, diagonal + 1, row[column] + 1)
            }
        }
        return row[right.count]
    }
}
