// SPDX-License-Identifier: Apache-2.0

/// A deviation of a provider from what a client expects, to be switched on in the demo.
package struct DemoQuirk: Sendable, Hashable {
    /// The name on the command line, such as `google-short-issuer`.
    package let name: String
    /// The simulated provider that has it; `any` if all have it.
    package let provider: String
    /// What the provider does and how the gateway reacts, in one sentence.
    package let summary: String

    package init(_ name: String, of provider: String, _ summary: String) {
        self.name = name
        self.provider = provider
        self.summary = summary
    }
}

package struct DemoQuirks: Sendable, Hashable {
    package let names: Set<String>

    /// Switches quirks on; ``DemoCatalogue`` checks their names.
    init(_ names: Set<String>) {
        self.names = names
    }

    func contains(_ quirk: DemoQuirk) -> Bool { self.names.contains(quirk.name) }
}
