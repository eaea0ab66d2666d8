// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// Microsoft's key sets: several keys, no `alg`, and other keys from one fetch to the next. [O]
///
/// Each key names the issuer whose tokens it signs: all tenants, or personal accounts only. [D]
final class MicrosoftKeys: Sendable {
    private let base: String
    private let key: DemoKey
    private let idleModuli: [String]
    private let signsAsConsumer: Bool
    private let alternates: Bool
    private let state = Mutex(State())

    private struct State {
        var tokens = 0
        var fetches = 0
    }

    init(_ stage: SimulatorContext) {
        self.base = stage.address.base
        self.key = stage.key
        self.idleModuli = [DemoKey.idleModulus(stage.random), DemoKey.idleModulus(stage.random)]
        self.signsAsConsumer = stage.has(MicrosoftQuirk.consumerKey)
        self.alternates = stage.has(MicrosoftQuirk.alternatingKeys)
    }

    /// The name of the key for the next token.
    func signer(isConsumer: Bool) -> String {
        let tokens = self.state.withLock { state in
            state.tokens += 1
            return state.tokens
        }
        if isConsumer || self.signsAsConsumer { return self.id("consumers") }
        return self.id(self.alternates && tokens.isMultiple(of: 2) ? "second" : "first")
    }

    /// The keys now; the answer may be kept for a day. [K]
    var answer: DemoResponse {
        let fetches = self.state.withLock { state in
            state.fetches += 1
            return state.fetches
        }
        let isSecond = self.alternates && fetches.isMultiple(of: 2)
        let idle = self.idleModuli[fetches % self.idleModuli.count]
        let keys = [
            self.jwk(id: String(idle.prefix(27)), modulus: idle, tenant: "{tenantid}"),
            self.jwk(id: self.id("consumers"), modulus: self.key.modulus, tenant: MicrosoftSimulator.consumers),
            self.jwk(id: self.id(isSecond ? "second" : "first"), modulus: self.key.modulus, tenant: "{tenantid}"),
        ]
        return .json(["keys": .array(keys)], fields: [("Cache-Control", "max-age=86400, private")])
    }

    private func id(_ name: String) -> String { String(self.key.named(name).id.prefix(27)) }

    private func jwk(id: String, modulus: String, tenant: String) -> JSON {
        [
            "kty": "RSA", "use": "sig", "kid": .string(id), "x5t": .string(id), "n": .string(modulus), "e": "AQAB",
            "cloud_instance_name": "microsoftonline.com", "issuer": .string("\(self.base)/\(tenant)/v2.0"),
        ]
    }
}
