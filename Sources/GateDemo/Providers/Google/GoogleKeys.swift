// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// Google's key set: a new key every eight days, two published, three for some hours at the change-over. [O]
final class GoogleKeys: Sendable {
    private let key: DemoKey
    private let rollsOver: Bool
    private let idle: [JSON]
    private let state = Mutex(State())

    private struct State {
        var tokens = 0
        var fetches = 0
    }

    init(_ stage: SimulatorContext) {
        self.key = stage.key
        self.rollsOver = stage.has(GoogleQuirk.rollOver)
        self.idle = [String(stage.key.id.reversed()), hexadecimal(stage.random.bytes(20))].map { id in
            Self.jwk(id: id, modulus: DemoKey.idleModulus(stage.random))
        }
    }

    /// The name of the key for the next token: with a roll-over, a new one from the second on.
    func signer() -> String {
        let tokens = self.state.withLock { state in
            state.tokens += 1
            return state.tokens
        }
        return self.rollsOver && tokens > 1 ? self.next : self.key.id
    }

    private var next: String { self.key.named("next").id }

    /// The keys, their members and themselves in an order that changes from answer to answer. [O]
    ///
    /// `max-age` counts down with `Age`; the values were seen. [O]
    var answer: DemoResponse {
        let fetches = self.state.withLock { state in
            state.fetches += 1
            return state.fetches
        }
        var generator = SystemRandomNumberGenerator()
        let texts = self.published(at: fetches).shuffled(using: &generator).map { key in
            let members = (key.object ?? [:]).shuffled(using: &generator).map {
                "\(JSON.string($0.key).text): \($0.value.text)"
            }
            return "{ \(members.joined(separator: ", ")) }"
        }
        let fields = [
            (name: "Content-Type", value: "application/json; charset=UTF-8"),
            (name: "Cache-Control", value: "public, max-age=24873, must-revalidate, no-transform"),
            (name: "Age", value: "5059"),
        ]
        let body = "{ \"keys\": [ \(texts.joined(separator: ", ")) ] }"
        return DemoResponse(status: 200, fields: fields, body: Array(body.utf8))
    }

    private func published(at fetch: Int) -> [JSON] {
        let own = Self.jwk(id: self.key.id, modulus: self.key.modulus)
        guard self.rollsOver, fetch > 1 else { return [own, self.idle[0]] }
        let next = Self.jwk(id: self.next, modulus: self.key.modulus)
        return fetch == 2 ? [own, next, self.idle[1]] : [next, self.idle[1]]
    }

    private static func jwk(id: String, modulus: String) -> JSON {
        ["kty": "RSA", "alg": "RS256", "use": "sig", "e": "AQAB", "kid": .string(id), "n": .string(modulus)]
    }
}
