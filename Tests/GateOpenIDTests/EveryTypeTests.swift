// SPDX-License-Identifier: Apache-2.0

import Crypto
import GateCore
import GateOpenID
import GateProviders
import Testing

/// What holds for each type of provider in the catalogue, whatever else is special about it.
@Suite struct EveryTypeTests {
    private static let tenant = "8eae0000-2b34-4da1-9baa-8bc8c9d6a490"

    /// The issuers of the types that have ID tokens.
    private static let issuers: [String: String] = [
        "google": "https://accounts.google.com",
        "microsoft": "https://login.microsoftonline.com/\(tenant)/v2.0",
        "apple": "https://appleid.apple.com",
        "gitlab": "https://gitlab.com",
        "okta": "https://acme.okta.com/oauth2/default",
        "auth0": "https://acme.eu.auth0.com/",
        "keycloak": "https://id.example.org/realms/acme",
        "linkedin": "https://www.linkedin.com/oauth",
        "slack": "https://slack.com",
        "oidc": ProviderFixture.issuer,
    ]

    private static let openID = ProviderType.all.filter(\.isOpenID)

    private func fixture(_ type: ProviderType) throws -> ProviderFixture {
        var settings = ProviderFixture.settings(type, id: "staff")
        let issuer = Self.issuers[type.name]
        settings.issuer = type.required.contains(.issuer) ? issuer : nil
        settings.tenant = type == .microsoft ? Self.tenant : nil
        settings.privateKey = type == .apple ? Secret(text: P256.Signing.PrivateKey().pemRepresentation) : nil
        settings.keyID = "K1"
        settings.teamID = "T1"
        settings.authorizationEndpoint = type.isOpenID ? nil : WebURL("\(ProviderFixture.issuer)/authorize")
        settings.tokenEndpoint = WebURL("\(ProviderFixture.issuer)/token")
        settings.apiURL = type.settings.contains(.apiURL) ? WebURL(ProviderFixture.issuer) : nil
        if type == .oauth2 { settings.profile = ["subject": ["api:/user#/id"]] }
        var fixture = try ProviderFixture(
            settings,
            metadata: ProviderFixture.metadata.with(["issuer": issuer.map(JSON.string)])
        )
        fixture.claims = fixture.claims.with([
            "iss": issuer.map(JSON.string), "tid": .string(Self.tenant), "oid": "00000000-1111-2222-3333-444455556666",
            "https://slack.com/team_id": "T0123", "https://slack.com/user_id": "U0123",
        ])
        return fixture
    }

    private func outcome(
        _ type: ProviderType,
        _ changes: [String: JSON?] = [:],
        header: [String: JSON?] = [:]
    ) async throws -> String? {
        let fixture = try self.fixture(type)
        let (_, attempt) = try await fixture.begin()
        let claims = fixture.claims.with(["nonce": .string(attempt.nonce)]).with(changes)
        let text = try token(claims, by: .rs256, header: header)
        fixture.transport.stub(
            "\(ProviderFixture.issuer)/token",
            ["access_token": "at-1", "token_type": "Bearer", "id_token": .string(text)]
        )
        return await fixture.rejection(fixture.callback(attempt), attempt)
    }

    @Test func `every type with ID tokens has an issuer here`() {
        #expect(Set(Self.openID.map(\.name)) == Set(Self.issuers.keys))
    }

    @Test(arguments: openID)
    func `a proper token signs in`(type: ProviderType) async throws {
        #expect(try await self.outcome(type) == nil)
    }

    @Test(
        arguments: openID,
        [
            (["iss": "https://evil.example"], "id_token.issuer"), (["iss": nil], "id_token.issuer"),
            (["aud": "another"], "id_token.audience"), (["aud": ["gate:house", "another"]], "id_token.audience"),
            (["azp": "another"], "id_token.authorized_party"), (["nonce": "another"], "id_token.nonce"),
            (["at_hash": "AAAAAAAAAAAAAAAAAAAAAA"], "id_token.access_token_hash"),
            (["exp": 1_790_000_000], "id_token.expired"), (["nbf": 1_790_000_900], "id_token.not_before"),
            (["exp": 1_790_090_000], "id_token.lifetime"), (["iat": 1_789_990_000], "id_token.issued_at"),
        ] as [([String: JSON?], String)]
    )
    func `a token that is wrong is refused at every type`(
        type: ProviderType,
        wrong: ([String: JSON?], String)
    ) async throws {
        #expect(try await self.outcome(type, wrong.0) == wrong.1)
    }

    @Test(
        arguments: openID,
        [
            (["alg": "none"], "id_token.algorithm"), (["alg": "HS256"], "id_token.algorithm"),
            (["alg": "RS512"], "id_token.algorithm"), (["kid": "k2"], "id_token.key_unknown"),
            (["crit": ["x"]], "id_token.critical_header"), (["typ": "at+jwt"], "id_token.type"),
        ] as [([String: JSON?], String)]
    )
    func `a token with another header is refused at every type`(
        type: ProviderType,
        wrong: ([String: JSON?], String)
    ) async throws {
        #expect(try await self.outcome(type, header: wrong.0) == wrong.1)
    }

    @Test(arguments: openID)
    func `metadata of another issuer are refused at every type`(type: ProviderType) async throws {
        var settings = ProviderFixture.settings(type, id: "staff")
        settings.issuer = type.required.contains(.issuer) ? Self.issuers[type.name] : nil
        settings.tenant = type == .microsoft ? Self.tenant : nil
        settings.privateKey = type == .apple ? Secret(text: P256.Signing.PrivateKey().pemRepresentation) : nil
        settings.keyID = "K1"
        settings.teamID = "T1"
        let fixture = try ProviderFixture(
            settings,
            metadata: ProviderFixture.metadata.with(["issuer": "https://evil.example"])
        )
        let failure = await #expect(throws: Failure.self) { try await fixture.begin() }
        #expect(failure?.reason == .openIDDiscoveryIssuerMismatch)
    }

    @Test(arguments: ProviderType.all)
    func `a callback of another issuer redeems no code at any type`(type: ProviderType) async throws {
        let fixture = try self.fixture(type)
        let (_, attempt) = try await fixture.begin()
        let before = fixture.transport.requests.count
        let callback = fixture.callback(attempt, ["iss": "https://evil.example"])
        #expect(await fixture.rejection(callback, attempt) == "openid.issuer_mismatch")
        #expect(fixture.transport.requests.dropFirst(before).allSatisfy { $0.method == "GET" })
    }

    @Test(arguments: ProviderType.all)
    func `each attempt is sealed with a challenge or a nonce of its own`(type: ProviderType) async throws {
        let fixture = try self.fixture(type)
        let first = try #require(WebURL(try await fixture.begin().location)?.query.flatMap { Form(encoded: $0) })
        let second = try #require(WebURL(try await fixture.begin().location)?.query.flatMap { Form(encoded: $0) })
        let seals = ["code_challenge", "nonce"].filter { first[$0] != nil }
        #expect(!seals.isEmpty)
        for seal in seals { #expect(first[seal] != second[seal]) }
    }

    @Test(
        arguments: [
            (nil, 60, nil), (nil, 61, "id_token.expired"), (120, 120, nil), (120, 121, "id_token.expired"),
            (0, 1, "id_token.expired"), (0, 0, "id_token.expired"), (1, 0, nil),
        ] as [(Int64?, Int64, String?)]
    )
    func `clocks may differ by as much as the file allows`(leeway: Int64?, late: Int64, code: String?) async throws {
        var settings = ProviderFixture.settings()
        settings.clockLeeway = leeway.map { .seconds($0) }
        let fixture = try ProviderFixture(settings)
        let (_, attempt) = try await fixture.begin()
        // A token lives until before its end, RFC 7519 §4.1.4.
        let now = fixture.clock.now.seconds
        try fixture.issue(for: attempt, ["iat": .int(now - 300), "exp": .int(now - late + (late > 0 ? 1 : 0))])
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == code)
    }

    @Test func `only the algorithms of the file are taken`() async throws {
        var settings = ProviderFixture.settings()
        settings.signatureAlgorithms = [.es256]
        let fixture = try ProviderFixture(settings)
        fixture.transport.stub(
            "\(ProviderFixture.issuer)/keys",
            ["keys": [TestKey.rs256.named("k1"), TestKey.es256.named("k2")]]
        )
        let (_, first) = try await fixture.begin()
        try fixture.issue(for: first)
        #expect(await fixture.rejection(fixture.callback(first), first) == "id_token.algorithm")
        let (_, second) = try await fixture.begin()
        try fixture.issue(for: second, by: .es256, kid: "k2")
        #expect(await fixture.rejection(fixture.callback(second), second) == nil)
    }
}
