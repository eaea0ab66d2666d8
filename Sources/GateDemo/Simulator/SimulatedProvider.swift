// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension SimulatedProvider {
    /// A provider that is all said by its traits.
    static func codeFlow(
        _ name: String,
        clientID: String,
        quirks: [DemoQuirk],
        lines: @escaping @Sendable (SimulatorContext) -> [String],
        traits: @escaping @Sendable (SimulatorContext) -> CodeFlowTraits,
    ) -> SimulatedProvider {
        SimulatedProvider(
            name: name,
            clientID: clientID,
            quirks: quirks,
            make: { stage in CodeFlowSimulator(traits(stage), on: stage) },
            lines: { stage in ["type: \(name)"] + lines(stage) },
        )
    }
}
