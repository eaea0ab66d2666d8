// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateOpenID
import GateProviders
import Synchronization
import Testing

@Suite struct FloodTests {
    /// A provider that returns another token for each code, and its documents only when the test lets it.
    private final class Provider: ProviderTransport {
        private let counts = Mutex<[String: Int]>([:])
        private let gates: [String: Latch]
        private let clock: TestClock

        init(_ clock: TestClock, holding gates: [String: Latch] = [:]) {
            self.clock = clock
            self.gates = gates
        }

        /// How often a place was asked for.
        func count(_ path: String) -> Int { self.counts.withLock { $0[path] ?? 0 } }

        func response(to request: ProviderRequest, provider: String) async throws(Failure) -> ProviderResponse {
            let path = request.address.path
            self.counts.withLock { $0[path, default: 0] += 1 }
            await self.gates[path]?.pass()
            switch path {
            case "/.well-known/openid-configuration": return self.response(ProviderFixture.metadata)
            case "/keys": return self.response(["keys": [TestKey.edDSA.named("k1")]])
            case "/token": return self.response(try self.tokens(request.body ?? []))
            default: return self.response(["sub": "ada"])
            }
        }

        private func response(_ json: JSON) -> ProviderResponse {
            ProviderResponse(
                status: 200,
                headers: [(name: "Content-Type", value: "application/json")],
                body: Array(json.text.utf8)
            )
        }

        /// A token of the key and the nonce that the code names, as in `k1:nonce`.
        private func tokens(_ body: [UInt8]) throws(Failure) -> JSON {
            let form = Form(encoded: String(decoding: body, as: UTF8.self))
            let code = (form?["code"] ?? "").split(separator: ":").map(String.init)
            let now = self.clock.now.seconds
            let claims: JSON = [
                "iss": .string(ProviderFixture.issuer), "aud": "gate:house", "sub": "ada", "iat": .int(now),
                "exp": .int(now + 600), "nonce": .string(code.last ?? ""),
            ]
            guard let text = try? token(claims, by: .edDSA, kid: code.first) else {
                throw Failure(.providerUnknown, "the test created no token")
            }
            return ["access_token": "at-1", "token_type": "Bearer", "id_token": .string(text)]
        }
    }

    private static let discovery = "/.well-known/openid-configuration"
    private let clock = TestClock()

    private func party(_ provider: Provider) throws -> RelyingParty {
        var settings = ProviderFixture.settings()
        // These tests are about fetches; the queue in front of the connections has its own.
        settings.maxConnections = 20_000
        return try RelyingParty(
            definition: try ProviderDefinition(settings),
            settings: settings,
            redirectURI: ProviderFixture.callback,
            transport: provider,
            clock: self.clock.clock,
            random: Self.unique()
        )
    }

    /// One whole sign-in with a token by that key; the code of the failure, nil for a sign-in.
    private func outcome(_ party: RelyingParty, kid: String = "k1") async -> String? {
        do throws(Failure) {
            let (_, attempt) = try await party.authorization(returnPath: .root, replacedTicket: nil)
            let callback = Form([Form.Field("state", attempt.state), Form.Field("code", "\(kid):\(attempt.nonce)")])
            _ = try await party.user(of: callback, attempt)
            return nil
        } catch {
            return error.code
        }
    }

    /// Bytes that begin with another number each time, so that no two attempts of a flood are the same.
    private static func unique() -> RandomBytes {
        let counter = Counter()
        return RandomBytes { count in
            let next = counter.next()
            return (0..<count).map { UInt8(truncatingIfNeeded: next >> (8 * ($0 % 4))) }
        }
    }

    /// Lets the others go on until the condition holds, or long enough to be sure that it never will.
    private func until(_ condition: () -> Bool) async {
        for _ in 0..<10_000_000 where !condition() { await Task.yield() }
    }

    @Test func `ten thousand unknown key names in a second lead to one fetch at most`() async throws {
        let provider = Provider(self.clock)
        let party = try self.party(provider)
        #expect(await self.outcome(party) == nil)
        let refused = await withTaskGroup(of: String?.self) { group in
            for number in 0..<10_000 {
                group.addTask { await self.outcome(party, kid: "unknown-\(number)") }
            }
            return await group.reduce(into: 0) { $0 += $1 == "id_token.key_unknown" ? 1 : 0 }
        }
        #expect(refused == 10_000)
        #expect(provider.count("/token") == 10_001)
        #expect(provider.count("/keys") <= 2, "the first one and one for all the unknown names")
        #expect(await self.outcome(party) == nil, "a good token is still accepted")
    }

    @Test func `unknown key names that come to a fresh gateway first lead to no more fetches`() async throws {
        let provider = Provider(self.clock)
        let party = try self.party(provider)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                group.addTask { _ = await self.outcome(party, kid: "unknown-\(number % 500)") }
            }
        }
        #expect(provider.count(Self.discovery) == 1 && provider.count("/keys") <= 2)
        self.clock.advance(by: 30)
        for number in 0..<100 { _ = await self.outcome(party, kid: "later-\(number)") }
        #expect(provider.count("/keys") <= 3, "thirty seconds later there is one more for all of them")
    }

    @Test func `a thousand first sign-ins at once lead to one discovery and one fetch of the keys`() async throws {
        let gates = [Self.discovery: Latch(), "/keys": Latch()]
        let provider = Provider(self.clock, holding: gates)
        let party = try self.party(provider)
        let begun = Counter()
        let attempts = (0..<1000).map { _ in
            Task {
                _ = begun.next()
                return await self.outcome(party)
            }
        }
        await self.until { begun.count == 1000 && provider.count(Self.discovery) == 1 }
        gates[Self.discovery]?.open()
        await self.until { provider.count("/keys") == 1 }
        gates["/keys"]?.open()
        for attempt in attempts { #expect(await attempt.value == nil) }
        #expect(provider.count(Self.discovery) == 1 && provider.count("/keys") == 1)
    }
}
