// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateDemo

/// Prints quirks.
enum QuirkList {
    /// Providers and their quirks as lines; a provider without quirks has its name only.
    static func text(of providers: [String]) -> String {
        let groups = providers.map { name in
            let lines = self.quirks(of: name).map { "  \($0.name)\n      \($0.summary)" }
            return ([name] + lines).joined(separator: "\n")
        }
        return groups.joined(separator: "\n\n")
    }

    /// Providers and their quirks as one JSON object of objects.
    static func json(of providers: [String]) -> String {
        let groups = providers.map { name in
            let quirks = self.quirks(of: name).map { ($0.name, JSON.string($0.summary)) }
            return (name, JSON.object(Dictionary(quirks) { $1 }))
        }
        return JSON.object(Dictionary(groups) { $1 }).text
    }

    /// The quirks that are on, with their summaries; empty if none is.
    static func text(on quirks: DemoQuirks) -> String {
        let chosen = DemoCatalogue.quirks.filter { quirks.names.contains($0.name) }
        guard !chosen.isEmpty else { return "" }
        return "\nQuirks that are on:\n\n" + chosen.map { "    \($0.name): \($0.summary)\n" }.joined()
    }

    private static func quirks(of provider: String) -> [DemoQuirk] {
        DemoCatalogue.quirks.filter { $0.provider == provider }
    }
}
