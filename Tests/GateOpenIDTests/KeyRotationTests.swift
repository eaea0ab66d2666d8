// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateOpenID
import GateProviders
import Testing

@Suite struct KeyRotationTests {
    private let keys = "\(ProviderFixture.issuer)/keys"
    private let discovery = "\(ProviderFixture.issuer)/.well-known/openid-configuration"

    private func outcome(
        _ fixture: ProviderFixture,
        by key: TestKey = .rs256,
        kid: String? = "k1"
    ) async throws -> String? {
        let (_, attempt) = try await fixture.begin()
        let now = fixture.clock.now.seconds
        try fixture.issue(for: attempt, ["iat": .int(now), "exp": .int(now + 600)], by: key, kid: kid)
        return await fixture.rejection(fixture.callback(attempt), attempt)
    }

    @Test func `a key that is new since the last fetch is found by one more`() async throws {
        let fixture = try ProviderFixture()
        #expect(try await self.outcome(fixture) == nil)
        fixture.transport.stub(self.keys, ["keys": [TestKey.es256.named("k2")]])
        #expect(try await self.outcome(fixture, by: .es256, kid: "k2") == nil)
        #expect(fixture.transport.count(self.keys) == 2)
        #expect(try await self.outcome(fixture) == nil)
    }

    @Test func `T-50 unknown names in a row lead to one fetch`() async throws {
        let fixture = try ProviderFixture()
        #expect(try await self.outcome(fixture) == nil)
        for number in 0..<20 {
            #expect(try await self.outcome(fixture, kid: "random-\(number)") == "id_token.key_unknown")
        }
        #expect(fixture.transport.count(self.keys) == 2)
    }

    @Test func `T-51 a rotation during the cooldown signs in after thirty seconds`() async throws {
        let fixture = try ProviderFixture()
        #expect(try await self.outcome(fixture, kid: "bogus") == "id_token.key_unknown")
        fixture.transport.stub(self.keys, ["keys": [TestKey.es256.named("k2")]])
        #expect(try await self.outcome(fixture, by: .es256, kid: "k2") == "id_token.key_unknown")
        fixture.clock.advance(by: 30)
        #expect(try await self.outcome(fixture, by: .es256, kid: "k2") == nil)
    }

    @Test func `T-52 with the provider's documents gone for hours users still sign in`() async throws {
        let fixture = try ProviderFixture()
        #expect(try await self.outcome(fixture) == nil)
        fixture.transport.fail(self.keys)
        fixture.transport.fail(self.discovery)
        for _ in 0..<4 {
            fixture.clock.advance(by: 7200)
            #expect(try await self.outcome(fixture) == nil)
        }
        #expect(fixture.failures.count >= 2)
    }

    @Test func `T-53 a redirect in place of a key set is rejected`() async throws {
        let fixture = try ProviderFixture()
        fixture.transport.stub(self.keys, 302, "")
        #expect(try await self.outcome(fixture) == "provider.redirected")
        #expect(Set(fixture.transport.addresses).count == 2)
    }

    @Test func `T-54 discovery that changes its issuer is rejected, the old one stays`() async throws {
        let fixture = try ProviderFixture()
        #expect(try await self.outcome(fixture) == nil)
        let evil = ProviderFixture.metadata.with([
            "issuer": "https://evil.example", "token_endpoint": "https://evil.example/token",
        ])
        fixture.transport.stub(self.discovery, evil)
        fixture.clock.advance(by: 7200)
        #expect(try await self.outcome(fixture) == nil)
        #expect(fixture.failures.count >= 1)
        #expect(!fixture.transport.addresses.contains("https://evil.example/token"))
    }

    @Test func `two servers of a provider that know different keys do no harm`() async throws {
        let fixture = try ProviderFixture()
        fixture.transport.stub(self.keys, ["keys": [TestKey.rs256.named("k1")]], age: "300")
        #expect(try await self.outcome(fixture) == nil)
        fixture.transport.stub(self.keys, ["keys": [TestKey.es256.named("k2")]], age: "300")
        fixture.clock.advance(by: 300)
        #expect(try await self.outcome(fixture) == nil)
        #expect(try await self.outcome(fixture, by: .es256, kid: "k2") == nil)
        #expect(fixture.transport.count(self.keys) == 2)
    }

    @Test func `a key set over its limits is rejected`() async throws {
        let many = Array(repeating: TestKey.es256.named("k"), count: 101)
        let deep = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)
        let big = "{\"keys\":[],\"x\":\"" + String(repeating: "x", count: 524_288) + "\"}"
        for (body, code) in [
            (JSON.object(["keys": .array(many)]).text, "openid.key_set"), (deep, "provider.malformed_json"),
            (big, "provider.too_large"), (#"{"keys":[],"keys":[]}"#, "provider.malformed_json"),
        ] {
            let fixture = try ProviderFixture()
            fixture.transport.stub(self.keys, 200, body)
            #expect(try await self.outcome(fixture) == code)
        }
    }

    @Test func `documents have five seconds and their own bounds`() async throws {
        let fixture = try ProviderFixture()
        try await fixture.party.prepare()
        #expect(fixture.transport.requests.map(\.limit) == [262_144, 524_288])
        #expect(fixture.transport.requests.allSatisfy { $0.timeout == .seconds(5) && $0.method == "GET" })
    }
}
