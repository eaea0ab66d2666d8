// SPDX-License-Identifier: Apache-2.0

/// What a demo is to consist of.
package struct DemoOptions: Sendable, Hashable {
    /// The providers to simulate, in the order of the catalogue.
    package let providers: [String]
    /// What is to be odd about them.
    package let quirks: DemoQuirks
    /// The port on which the gateway will listen, which callbacks and assertions name.
    package let gatewayPort: Int
    /// The port of the gateway's operations address; 0 for any that is free.
    package let operationsPort: Int
    /// The port of the first provider's pages, which those of the others follow; 0 for any that are free.
    package let providerPort: Int

    /// Makes a plan.
    package init(
        providers: [String],
        quirks: DemoQuirks,
        gatewayPort: Int,
        operationsPort: Int = 0,
        providerPort: Int = 0
    ) {
        self.providers = providers
        self.quirks = quirks
        self.gatewayPort = gatewayPort
        self.operationsPort = operationsPort
        self.providerPort = providerPort
    }

    /// The port of each provider's pages, in the order of the providers; 0 for any that is free.
    package var pagePorts: [Int] {
        self.providers.indices.map { self.providerPort == 0 ? 0 : self.providerPort + $0 }
    }
}
