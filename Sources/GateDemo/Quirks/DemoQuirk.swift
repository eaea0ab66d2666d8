// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// One way in which a provider differs from what a client would expect, to be switched on in the demo.
package struct DemoQuirk: Sendable, Hashable {
    /// The name on the command line, such as `google-short-issuer`.
    package let name: String
    /// The simulated provider that has it; `any` if all of them can be made to behave so.
    package let provider: String
    /// What the provider does, and what the gateway does about it, in one sentence.
    package let summary: String

    /// Names a quirk.
    package init(_ name: String, of provider: String, _ summary: String) {
        self.name = name
        self.provider = provider
        self.summary = summary
    }

    /// Every quirk, those of one provider together, in the order of the catalogue.
    package static let all: [DemoQuirk] = DemoCatalogue.all.flatMap(\.quirks) + PinQuirk.quirks + QuirkInjector.quirks
}

/// The quirks that are switched on.
package struct DemoQuirks: Sendable, Hashable {
    /// Nothing is odd.
    package static let none = DemoQuirks(on: [])

    /// The names, in the order of the catalogue.
    package var names: [String] { DemoQuirk.all.map(\.name).filter { self.on.contains($0) } }
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

/// Helps with names that were mistyped.
enum SpellingSuggestion {
    /// `; did you mean '…'?` with the name that takes the fewest changes, if it takes few.
    static func nearest(_ text: String, _ names: [String]) -> String {
        let ranked = names.map { (name: $0, distance: self.distance(text, $0)) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return "" }
        return best.distance <= max(2, text.count / 2) ? "; did you mean '\(best.name)'?" : ""
    }

    /// How many letters have to be changed, added or left out.
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
