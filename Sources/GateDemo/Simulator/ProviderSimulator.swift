// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A simulated provider: answers what the real one would.
protocol ProviderSimulator: Sendable {
    /// Answers what browsers ask for; nil for everything else.
    ///
    /// Reached over https as well as over the plain port that browsers are sent to.
    func page(for request: DemoRequest) -> DemoResponse?

    /// Answers everything else, which is reached over https only.
    func response(to request: DemoRequest) -> DemoResponse
}

/// All that a simulated provider is given when it starts.
struct SimulatorContext: Sendable {
    /// Where it is.
    let address: SimulatorURLs
    /// The gateway, as registered with it.
    let client: DemoClient
    /// Signs its ID tokens with RS256; the same key for all providers, under a name of this provider's own.
    let key: DemoKey
    /// The codes and access tokens that it has given out.
    let grants: DemoGrants
    let clock: WallClock
    let random: RandomBytes
    /// What is to be odd about it.
    let quirks: DemoQuirks

    /// Whether this is to be odd.
    func has(_ quirk: DemoQuirk) -> Bool { self.quirks.contains(quirk.name) }
}

/// One provider of the demo: its name, its code and its part of the gateway's file.
struct SimulatedProvider: Sendable {
    /// The name on the command line, in the file and in the callback's path.
    let name: String
    /// The client id, of the form that the provider gives out.
    let clientID: String
    /// What can be switched on about it.
    let quirks: [DemoQuirk]
    /// Makes the simulator.
    let make: @Sendable (SimulatorContext) -> any ProviderSimulator
    /// The lines of the file below the provider's name, without indentation, without what ``credentials`` gives.
    ///
    /// `client_id` and `tls` are added to them.
    let lines: @Sendable (SimulatorContext) -> [String]
    /// The lines by which the gateway proves itself: a secret in a file, unless the provider wants something else.
    var credentials: @Sendable (DemoClient) -> [String] = { client in
        ["client_secret: \(quoted("${file:\(client.secretFile)}"))"]
    }
}

/// A double-quoted YAML scalar, which takes the same escapes as JSON.
func quoted(_ text: String) -> String { JSON.string(text).text }
