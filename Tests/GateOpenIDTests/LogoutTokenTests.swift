// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Testing

@testable import GateOpenID

@Suite struct LogoutTokenTests {
    private static let event = "http://schemas.openid.net/event/backchannel-logout"
    private static let claims: JSON = [
        "iss": "https://id.example.com", "aud": "gate:house", "sub": "ada", "sid": "s1", "jti": "j1",
        "iat": 1_790_000_000, "exp": 1_790_000_120, "events": [event: [:]],
    ]

    /// Why a token is rejected; nil if it is accepted.
    private func rejection(
        _ changes: [String: JSON?] = [:],
        by key: TestKey = .rs256,
        kid: String? = "k1",
        header: [String: JSON?] = ["typ": "logout+jwt"]
    ) async throws -> String? {
        let fixture = try ProviderFixture()
        let text = try token(Self.claims.with(changes), by: key, kid: kid, header: header)
        return await self.failure(text, fixture)?.detail
    }

    private func failure(_ text: String, _ fixture: ProviderFixture) async -> Failure? {
        do throws(Failure) {
            _ = try await fixture.party.logoutToken(text)
            return nil
        } catch {
            return error
        }
    }

    @Test func `rp-backchannel-rpinitlogout: a valid token names issuer, subject, session and id`() async throws {
        let fixture = try ProviderFixture()
        let text = try token(Self.claims, by: .rs256, header: ["typ": "logout+jwt"])
        let logout = try await fixture.party.logoutToken(text)
        #expect(logout.issuer == "https://id.example.com" && logout.subject == "ada" && logout.session == "s1")
        #expect(logout.id == "j1" && logout.expiry == Instant(seconds: 1_790_000_661))
    }

    @Test(arguments: ["logout+jwt", "application/logout+JWT", "JWT", nil] as [JSON?])
    func `T-42 the type is that of a logout token, JWT or absent`(type: JSON?) async throws {
        #expect(try await self.rejection(header: ["typ": type]) == nil)
    }

    @Test(arguments: ["at+jwt", "id+jwt", "secevent+jwt", "", 1] as [JSON])
    func `T-42 a token of another type is rejected`(type: JSON) async throws {
        #expect(try await self.rejection(header: ["typ": type])?.hasPrefix("id_token.type") == true)
    }

    @Test(
        arguments: [
            (["iss": "https://evil.example"], "id_token.issuer"), (["iss": nil], "id_token.issuer"),
            (["aud": "another"], "id_token.audience"), (["aud": ["gate:house", "another"]], "id_token.audience"),
            (["aud": nil], "id_token.audience"), (["iat": nil], "id_token.issued_at"),
            (["iat": 1_789_999_000], "id_token.issued_at"), (["iat": 1_790_000_700], "id_token.issued_at"),
            (["exp": 1_789_999_900], "id_token.expired"), (["exp": "soon"], "id_token.expired"),
            (["nbf": 1_790_000_700], "id_token.not_before"),
            (["events": nil], "id_token.type"), (["events": [:]], "id_token.type"),
            (["events": ["http://schemas.openid.net/event/other": [:]]], "id_token.type"),
            (["events": [event: true]], "id_token.type"), (["events": [event: "{}"]], "id_token.type"),
            (["events": [.string(event)]], "id_token.type"),
            (["nonce": "n"], "id_token.nonce"), (["nonce": .null], "id_token.nonce"),
            (["jti": nil], "id_token.malformed"), (["jti": 1], "id_token.malformed"),
            (["jti": ""], "id_token.malformed"),
            (["jti": .string(String(repeating: "j", count: 256))], "id_token.malformed"),
            (["sub": nil, "sid": nil], "id_token.subject"), (["sid": 1], "id_token.subject"),
            (["sub": ""], "id_token.subject"), (["sub": .null], "id_token.subject"),
        ] as [([String: JSON?], String)]
    )
    func `a token that breaks a rule is rejected before any key is fetched`(
        changes: [String: JSON?],
        code: String
    ) async throws {
        let fixture = try ProviderFixture()
        let failure = await self.failure(try token(Self.claims.with(changes), by: .rs256), fixture)
        #expect(failure?.reason == .logoutToken && failure?.detail.hasPrefix("\(code): ") == true, "\(failure as Any)")
        #expect(fixture.transport.requests.allSatisfy { !"\($0.address)".hasSuffix("/keys") })
    }

    @Test(arguments: [["sub": nil], ["sid": nil], ["exp": nil], ["events": [event: ["more": 1]]]] as [[String: JSON?]])
    func `sub or sid suffices, exp may be missing, and the event may have members`(
        changes: [String: JSON?]
    ) async throws {
        #expect(try await self.rejection(changes) == nil)
    }

    @Test func `T-30 an unsigned token, one of another algorithm and one of another key are rejected`() async throws {
        let unsigned = TestKey(algorithm: "none", jwk: [:]) { _ in [] }
        #expect(try await self.rejection(by: unsigned)?.hasPrefix("id_token.unsigned") == true)
        let hmac = TestKey.hmac("HS256", "s+c r/t")
        #expect(try await self.rejection(by: hmac)?.hasPrefix("id_token.algorithm") == true)
        #expect(try await self.rejection(by: .otherRS256)?.hasPrefix("id_token.signature") == true)
        #expect(try await self.rejection(kid: "k2")?.hasPrefix("id_token.key_unknown") == true)
    }

    @Test func `T-42 an ID token ends no session`() async throws {
        let fixture = try ProviderFixture()
        let text = try token(fixture.claims.with(["nonce": "n", "jti": "j1", "sid": "s1"]), by: .rs256)
        #expect(await self.failure(text, fixture)?.reason == .logoutToken)
    }

    @Test func `T-42 a logout token signs no user in, whatever its type and nonce are`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt, ["events": [Self.event: [:]], "jti": "j1"])
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == "id_token.type")
    }

    @Test func `logout tokens with unknown keys do not use up the fetches of sign-ins`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        for kid in ["a", "b", "c"] {
            let text = try token(Self.claims, by: .otherRS256, kid: kid)
            let failure = await self.failure(text, fixture)
            #expect(failure?.reason == .logoutUnverified && failure?.detail.hasPrefix("id_token.key_unknown") == true)
        }
        // One fetch for the first use, one for the first unknown name.
        let count = { fixture.transport.requests.count { "\($0.address)".hasSuffix("/keys") } }
        #expect(count() == 2)
        fixture.transport.stub("\(ProviderFixture.issuer)/keys", ["keys": [TestKey.es256.named("new")]])
        try fixture.issue(for: attempt, by: .es256, kid: "new")
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == nil)
    }

    @Test func `keys that cannot be fetched are an outage, not an invalid token`() async throws {
        let fixture = try ProviderFixture(metadata: ["issuer": "https://evil.example"])
        let failure = await self.failure(try token(Self.claims, by: .rs256), fixture)
        #expect(failure?.reason == .logoutUnverified && failure?.kind == .overloaded)
    }

    @Test func `a provider without ID tokens has no logout tokens`() async throws {
        var settings = ProviderFixture.settings(.github, id: "github")
        settings.issuer = nil
        let fixture = try ProviderFixture(settings)
        #expect(await self.failure(try token(Self.claims, by: .rs256), fixture)?.reason == .logoutToken)
    }

    @Test func `W-01: a logout token under the client secret is accepted where ID tokens are`() async throws {
        var settings = ProviderFixture.settings()
        settings.signatureAlgorithms = [.hs256]
        let secret = "0123456789abcdef0123456789abcdef"
        settings.clientSecret = Secret(text: secret)
        let fixture = try ProviderFixture(settings)
        #expect(await self.failure(try token(Self.claims, by: .hmac("HS256", secret)), fixture) == nil)
        let forged = try token(Self.claims, by: .hmac("HS256", "\(secret)x"))
        #expect(await self.failure(forged, fixture)?.detail.hasPrefix("id_token.signature") == true)
    }

    @Test func `the session at the provider and a mapped subject are part of a sign-in`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt, ["sid": "s1"])
        let signIn = try await fixture.signIn(fixture.callback(attempt), attempt).signIn
        #expect(signIn.providerSession == "s1" && signIn.subjectClaim == nil)
        var settings = ProviderFixture.settings()
        settings.profile = ["subject": ["id_token:/email"]]
        let mapped = try ProviderFixture(settings)
        let (_, second) = try await mapped.begin()
        try mapped.issue(for: second, ["sid": .string(String(repeating: "s", count: 256))])
        let other = try await mapped.signIn(mapped.callback(second), second).signIn
        #expect(
            other.providerSession == nil && other.subjectClaim == "ada" && other.profile.subject == "ada@example.org"
        )
    }

    @Test func `only pages of the provider may frame the response to a front-channel logout`() async throws {
        let metadata = ProviderFixture.metadata.with([
            "authorization_endpoint": "https://pages.example.com/authorize",
            "end_session_endpoint": "https://bye.example.com/logout",
        ])
        let fixture = try ProviderFixture(metadata: metadata)
        #expect(fixture.party.pageOrigins.map { "\($0)" } == ["https://id.example.com"])
        #expect(fixture.transport.requests.isEmpty)
        _ = try await fixture.begin()
        let origins = fixture.party.pageOrigins.map { "\($0)" }.sorted()
        #expect(origins == ["https://bye.example.com", "https://id.example.com", "https://pages.example.com"])
    }
}
