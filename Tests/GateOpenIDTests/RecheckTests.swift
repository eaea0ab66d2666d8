// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Testing

@testable import GateOpenID

/// What a provider reports about a user who signed in earlier, and what becomes of the session.
@Suite struct RecheckTests {
    private let fixture: ProviderFixture
    private let tokenURL = "\(ProviderFixture.issuer)/token"
    private let userinfoURL = "\(ProviderFixture.issuer)/userinfo"

    init() throws {
        self.init(try ProviderFixture())
    }

    private init(_ fixture: ProviderFixture) {
        self.fixture = fixture
    }

    /// A user who has signed in, with a refresh token or without.
    private func signedIn(refreshToken: String? = "rt-1", lifetime: Int64 = 3600) async throws -> RecheckedUser {
        let (_, attempt) = try await self.fixture.begin()
        try self.issue(nonce: attempt.nonce, refreshToken: refreshToken, lifetime: lifetime)
        let signIn = try await self.fixture.signIn(self.fixture.callback(attempt), attempt).signIn
        let (grant, idToken) = (try #require(signIn.grant), try #require(signIn.idToken))
        return RecheckedUser(grant: grant, profile: signIn.profile, idToken: idToken)
    }

    private func issue(
        nonce: String? = nil,
        refreshToken: String? = nil,
        lifetime: Int64 = 3600,
        _ changes: [String: JSON?] = [:],
        hasIDToken: Bool = true
    ) throws {
        let claims = self.fixture.claims.with(["nonce": nonce.map { .string($0) }]).with(changes)
        var response: [String: JSON] = [
            "access_token": "at-2", "token_type": "Bearer", "expires_in": .int(lifetime),
        ]
        if hasIDToken { response["id_token"] = .string(try token(claims, by: .rs256, kid: "k1")) }
        response["refresh_token"] = refreshToken.map { .string($0) }
        self.fixture.transport.stub(self.tokenURL, .object(response))
    }

    private func recheck(_ user: RecheckedUser, acceptsPartial: Bool = false) async throws -> RecheckResult {
        try await self.fixture.party.recheck(user, looksUpGroups: false, acceptsPartial: acceptsPartial)
    }

    /// The result in words.
    private func result(_ user: RecheckedUser, acceptsPartial: Bool = false) async -> String {
        do throws(Failure) {
            switch try await self.fixture.party.recheck(user, looksUpGroups: false, acceptsPartial: acceptsPartial) {
            case .confirmed: return "confirmed"
            case .partial(_, let failure): return "partial, \(failure.code)"
            case .refreshed(_, let failure): return "refreshed, \(failure.code)"
            case .ended(let failure): return "ended, \(failure.code)"
            case .needsUser: return "needs user"
            }
        } catch {
            return "not asked, \(error.code)"
        }
    }

    @Test func `a refresh token is redeemed, and new claims become the profile`() async throws {
        let user = try await self.signedIn()
        try self.issue(refreshToken: "rt-2", ["email": "ada@new.example"])
        self.fixture.transport.stub(self.userinfoURL, ["sub": "ada", "name": "Ada Byron"])
        guard case .confirmed(let signIn) = try await self.recheck(user) else {
            Issue.record("not confirmed")
            return
        }
        #expect(signIn.profile.user == "staff:ada" && signIn.profile.name == "Ada Byron")
        #expect(signIn.profile.email == "ada@new.example")
        #expect(signIn.grant?.refreshToken == Secret(text: "rt-2") && signIn.grant?.accessToken != nil)
        #expect(
            signIn.grant?.kept(withAccessToken: false).accessToken == nil,
            "no session keeps it unless an app gets it"
        )
        let sent = self.fixture.transport.requests.last { $0.address.description == self.tokenURL }
        let form = try #require(sent?.body.flatMap { Form(encoded: String(decoding: $0, as: UTF8.self)) })
        #expect(form["grant_type"] == "refresh_token" && form["refresh_token"] == "rt-1")
        #expect(form["code"] == nil && form["redirect_uri"] == nil && form["scope"] == nil)
    }

    @Test func `a provider that does not rotate keeps its refresh token`() async throws {
        let user = try await self.signedIn()
        try self.issue()
        guard case .confirmed(let signIn) = try await self.recheck(user) else {
            Issue.record("not confirmed")
            return
        }
        #expect(signIn.grant?.refreshToken == Secret(text: "rt-1"))
    }

    @Test func `without a new ID token the claims of the sign-in hold on`() async throws {
        let user = try await self.signedIn()
        try self.issue(refreshToken: "rt-2", hasIDToken: false)
        guard case .confirmed(let signIn) = try await self.recheck(user) else {
            Issue.record("not confirmed")
            return
        }
        #expect(signIn.profile.email == "ada@example.org" && signIn.idToken == nil)
    }

    @Test func `without a new ID token the members of userinfo replace the claims of the sign-in`() async throws {
        let user = try await self.signedIn()
        try self.issue(refreshToken: "rt-2", hasIDToken: false)
        self.fixture.transport.stub(self.userinfoURL, ["sub": "ada", "email": "ada@new.example"])
        guard case .confirmed(let signIn) = try await self.recheck(user) else {
            Issue.record("not confirmed")
            return
        }
        #expect(signIn.profile.email == "ada@new.example")
    }

    @Test func `without the ID token of the sign-in no refresh token is spent`() async throws {
        let user = try await self.signedIn()
        let before = self.fixture.transport.requests.count
        let withoutToken = RecheckedUser(grant: user.grant, profile: user.profile, idToken: nil)
        #expect(await self.result(withoutToken) == "needs user")
        #expect(self.fixture.transport.requests.count == before)
    }

    @Test(arguments: [
        ("invalid_grant", 400), ("bad_refresh_token", 200), ("interaction_required", 400), ("access_denied", 403),
    ])
    func `A-14 an error about the user ends the session`(error: String, status: Int) async throws {
        let user = try await self.signedIn()
        self.fixture.transport.stub(self.tokenURL, status, (["error": .string(error)] as JSON).text)
        #expect(await self.result(user) == "ended, provider.grant_ended")
    }

    @Test(arguments: [
        ("invalid_client", 401, "openid.client_refused"), ("unauthorized_client", 400, "openid.client_refused"),
        ("invalid_scope", 400, "openid.client_refused"), ("temporarily_unavailable", 400, "provider.unavailable"),
        ("server_error", 500, "provider.unavailable"), ("not_invalid_grant", 503, "provider.unavailable"),
        ("slow_down", 429, "provider.unavailable"),
    ])
    func `A-14 an error about the gateway or the provider ends no session`(
        error: String,
        status: Int,
        code: String
    ) async throws {
        let user = try await self.signedIn()
        self.fixture.transport.stub(self.tokenURL, status, (["error": .string(error)] as JSON).text)
        #expect(await self.result(user) == "not asked, \(code)")
    }

    @Test(
        arguments: [
            (-90, nil, nil, "confirmed"), (90, nil, "id_token.issued_at", "refreshed, id_token.issued_at"),
            (90, 120, nil, "confirmed"), (-90, 0, nil, "confirmed"),
        ] as [(Int64, Int64?, String?, String)]
    )
    func `R-44 a provider whose clock differs by 90 seconds ends no session, and signs users in within clock_leeway`(
        skew: Int64,
        leeway: Int64?,
        rejection: String?,
        result: String
    ) async throws {
        var settings = ProviderFixture.settings()
        settings.clockLeeway = leeway.map { .seconds($0) }
        let fixture = try ProviderFixture(settings)
        let (_, attempt) = try await fixture.begin()
        let there = fixture.clock.now.seconds + skew
        let claims: [String: JSON?] = ["iat": .int(there), "exp": .int(there + 300)]
        try fixture.issue(for: attempt, claims)
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == rejection)
        let test = RecheckTests(fixture)
        let user = try await test.signedIn()
        try test.issue(refreshToken: "rt-2", claims)
        #expect(await test.result(user) == result)
    }

    @Test func `tokens about another user end the session`() async throws {
        let user = try await self.signedIn()
        try self.issue(refreshToken: "rt-2", ["sub": "eve"])
        #expect(await self.result(user) == "ended, provider.grant_ended")
        try self.issue(refreshToken: "rt-2")
        self.fixture.transport.stub(self.userinfoURL, ["sub": "eve", "name": "Eve"])
        #expect(await self.result(user) == "ended, provider.grant_ended")
    }

    @Test func `a token with the nonce of another sign-in is rejected, and the new grant is kept`() async throws {
        let user = try await self.signedIn()
        try self.issue(nonce: "another", refreshToken: "rt-2")
        guard case .refreshed(let grant, let failure) = try await self.recheck(user) else {
            Issue.record("not refreshed")
            return
        }
        #expect(grant.refreshToken == Secret(text: "rt-2") && failure.code == "id_token.nonce")
    }

    @Test func `a forged ID token confirms no user`() async throws {
        let user = try await self.signedIn()
        let forged = try token(self.fixture.claims, by: .rs256, kid: "k1") + "x"
        self.fixture.transport.stub(
            self.tokenURL,
            ["access_token": "at", "token_type": "Bearer", "refresh_token": "rt-2", "id_token": .string(forged)]
        )
        #expect(await self.result(user).hasPrefix("refreshed, id_token."))
    }

    @Test func `a userinfo endpoint that is down confirms no user until that is accepted`() async throws {
        let user = try await self.signedIn()
        try self.issue(refreshToken: "rt-2")
        self.fixture.transport.stub(self.userinfoURL, 503, "{}")
        #expect(await self.result(user) == "refreshed, provider.unavailable")
        #expect(await self.result(user, acceptsPartial: true) == "partial, provider.unavailable")
    }

    @Test func `without a refresh token userinfo is asked with the access token`() async throws {
        let user = try await self.signedIn(refreshToken: nil)
        let before = self.fixture.transport.count(self.tokenURL)
        #expect(await self.result(user) == "confirmed")
        #expect(self.fixture.transport.count(self.tokenURL) == before)
        self.fixture.transport.stub(self.userinfoURL, 401, #"{"error":"invalid_token"}"#)
        #expect(await self.result(user) == "ended, provider.grant_ended")
        self.fixture.transport.stub(self.userinfoURL, 403, #"{"error":"insufficient_scope"}"#)
        #expect(await self.result(user) == "not asked, provider.api_refused")
        self.fixture.transport.stub(self.userinfoURL, 500, "{}")
        #expect(await self.result(user) == "not asked, provider.unavailable")
    }

    @Test func `an access token that has expired is not sent; the user has to come`() async throws {
        let user = try await self.signedIn(refreshToken: nil, lifetime: 60)
        let before = self.fixture.transport.requests.count
        self.fixture.clock.advance(by: 60)
        #expect(await self.result(user) == "needs user")
        #expect(self.fixture.transport.requests.count == before)
        #expect(
            await self.result(RecheckedUser(grant: ProviderGrant(), profile: user.profile, idToken: nil))
                == "needs user"
        )
    }

    @Test func `the refresh token is in no failure, even if the provider repeats it`() async throws {
        let user = try await self.signedIn(refreshToken: "rt-secret-0123456789")
        self.fixture.transport.stub(
            self.tokenURL,
            400,
            #"{"error":"invalid_grant","error_description":"token rt-secret-0123456789 is unknown"}"#
        )
        guard case .ended(let failure) = try await self.recheck(user) else {
            Issue.record("not ended")
            return
        }
        #expect(!failure.detail.contains("rt-secret"))
    }
}
