// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import GateCore

/// The gateway as a simulated provider has it registered.
struct DemoClient: Sendable {
    let id: String
    let secret: Secret
    /// The one redirect address, compared exactly.
    let callback: String
    /// The file that the secret is written to.
    let secretFile: String
    /// The gateway's key for providers that want a signed assertion instead of a secret, ES256.
    let signingKey: P256.Signing.PrivateKey
    /// The PEM file that this key is written to.
    let signingKeyFile: String
}

/// Where a simulated provider is.
struct SimulatorURLs: Sendable {
    /// What the gateway calls, https; the issuer too.
    let base: String
    /// What browsers are sent to: plain, as no browser knows the demo's certificate authority.
    let pages: String

    /// The same server under another name, which must be as foreign to a client as any other.
    var other: String { self.base.replacing("localhost", with: "127.0.0.1") }
}

/// A sample person of a simulated provider.
struct DemoUser: Sendable {
    /// What the button of the sign-in page sends.
    let id: String
    let name: String
    /// What makes this person interesting, for the sign-in page.
    let note: String
    /// The members that the provider says about the person.
    let record: [String: JSON]
    /// What other addresses of the provider say about the person, by a name of the simulator's own.
    var more: [String: JSON] = [:]
}
