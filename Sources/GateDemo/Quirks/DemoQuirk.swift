// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A deviation of a provider from what a client expects, to be switched on in the demo.
package struct DemoQuirk: Sendable, Hashable {
    /// The name on the command line, such as `google-short-issuer`.
    package let name: String
    /// The simulated provider that has it; `any` if all have it.
    package let provider: String
    /// What the provider does and how the gateway reacts, in one sentence.
    package let summary: String

    /// Makes a quirk.
    package init(_ name: String, of provider: String, _ summary: String) {
        self.name = name
        self.provider = provider
        self.summary = summary
    }

    /// All quirks, grouped by provider in the order of the catalogue.
    package static let all: [DemoQuirk] = DemoCatalogue.all.flatMap(\.quirks) + PinQuirk.quirks + QuirkInjector.quirks

    /// Providers and their quirks as lines; a provider without quirks is left out.
    package static func listing(of providers: [String]) -> String {
        let groups = providers.map { name in
            let lines = self.all.filter { $0.provider == name }.map { "  \($0.name)\n      \($0.summary)" }
            return (lines.isEmpty ? [] : [name] + lines).joined(separator: "\n")
        }
        return groups.filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    /// Providers and their quirks as one JSON object of objects.
    package static func listingJSON(of providers: [String]) -> String {
        let groups = providers.map { name in
            let quirks = self.all.filter { $0.provider == name }.map { ($0.name, JSON.string($0.summary)) }
            return (name, JSON.object(Dictionary(quirks) { $1 }))
        }
        return JSON.object(Dictionary(groups) { $1 }).text
    }
}

/// The quirks that are on.
package struct DemoQuirks: Sendable, Hashable {
    /// No quirk.
    package static let none = DemoQuirks(on: [])

    /// The names, in the order of the catalogue.
    package var names: [String] { DemoQuirk.all.map(\.name).filter { self.on.contains($0) } }
    /// The quirks that are on, with their summaries; empty if none is.
    package var summary: String {
        let chosen = DemoQuirk.all.filter { self.on.contains($0.name) }
        guard !chosen.isEmpty else { return "" }
        return "\nQuirks that are on:\n\n" + chosen.map { "    \($0.name): \($0.summary)\n" }.joined()
    }
    private let on: Set<String>

    private init(on: Set<String>) {
        self.on = on
    }

    /// Switches quirks on by name.
    ///
    /// - Throws: If a quirk does not exist; the detail names the nearest that does.
    package init(_ names: some Sequence<String>) throws(Failure) {
        let known = DemoQuirk.all.map(\.name)
        for name in names where !known.contains(name) {
            throw Failure(
                .demoQuirk,
                "there is no quirk '\(name)'\(SpellingSuggestion.nearest(name, known))"
            )
        }
        self.on = Set(names)
    }

    /// Whether the quirk is on.
    package func contains(_ name: String) -> Bool { self.on.contains(name) }

    /// The simulated providers that have these quirks.
    package var providers: [String] {
        DemoCatalogue.all.map(\.name).filter { provider in
            DemoQuirk.all.contains { $0.provider == provider && self.on.contains($0.name) }
        }
    }
}

/// Suggests a name for a mistyped one.
enum SpellingSuggestion {
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
