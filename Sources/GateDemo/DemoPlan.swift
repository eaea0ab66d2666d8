// SPDX-License-Identifier: Apache-2.0

/// What a demo is to consist of.
package struct DemoPlan: Sendable, Hashable {
    /// The providers to simulate, in the order of the catalogue.
    package let providers: [String]
    /// What is to be odd about them.
    package let quirks: DemoQuirks
    /// The port on which the gateway will listen, which callbacks and assertions name.
    package let gatewayPort: Int
    /// The port of the gateway's operations address; 0 for any that is free.
    package let operationsPort: Int

    /// Makes a plan.
    package init(providers: [String], quirks: DemoQuirks, gatewayPort: Int, operationsPort: Int = 0) {
        self.providers = providers
        self.quirks = quirks
        self.gatewayPort = gatewayPort
        self.operationsPort = operationsPort
    }
}
