// SPDX-License-Identifier: Apache-2.0

import Crypto
import GateCore
import GateProviders
import Testing

@testable import GateOpenID

/// Revocation of tokens at the provider, RFC 7009.
@Suite struct RevocationTests {
    private static let endpoint = "\(ProviderFixture.issuer)/revoke"

    private func fixture(
        _ settings: ProviderSettings = ProviderFixture.settings(),
        endpoint: JSON? = .string(Self.endpoint)
    ) throws -> ProviderFixture {
        let metadata = ProviderFixture.metadata.with(["revocation_endpoint": endpoint])
        let fixture = try ProviderFixture(settings, metadata: metadata)
        fixture.transport.stub(Self.endpoint, 200, "")
        return fixture
    }

    private func grant(refreshToken: String? = "rt-secret", accessToken: String? = nil) -> ProviderGrant {
        var grant = ProviderGrant()
        grant.refreshToken = refreshToken.map { Secret(text: $0) }
        grant.accessToken = accessToken.map { Secret(text: $0) }
        return grant
    }

    /// What became of the tokens, in words.
    private func result(_ fixture: ProviderFixture, _ grant: ProviderGrant) async -> String {
        do throws(Failure) {
            switch try await fixture.party.revoke(grant) {
            case .revoked: return "revoked"
            case .notOffered: return "not offered"
            }
        } catch {
            return error.code
        }
    }

    private func sent(_ fixture: ProviderFixture) -> [(form: Form?, request: ProviderRequest)] {
        fixture.transport.requests.filter { "\($0.address)" == Self.endpoint }.map {
            (Form(encoded: String(decoding: $0.body ?? [], as: UTF8.self)), $0)
        }
    }

    @Test(
        arguments: [("rt-secret", nil, "refresh_token"), (nil, "at-secret", "access_token")]
            as [(String?, String?, String)]
    )
    func `one token is posted with the client authentication of the token endpoint`(
        refreshToken: String?,
        accessToken: String?,
        hint: String
    ) async throws {
        let fixture = try self.fixture()
        #expect(
            await self.result(fixture, self.grant(refreshToken: refreshToken, accessToken: accessToken)) == "revoked"
        )
        let sent = try #require(self.sent(fixture).first)
        #expect(self.sent(fixture).count == 1 && sent.request.method == "POST")
        #expect(sent.form?["token"] == refreshToken ?? accessToken && sent.form?["token_type_hint"] == hint)
        #expect(sent.request.headers.contains { $0.name == "Authorization" && $0.value.hasPrefix("Basic ") })
    }

    @Test func `an assertion is for the revocation endpoint, and useless elsewhere`() async throws {
        var settings = ProviderFixture.settings()
        settings.privateKey = Secret(text: P256.Signing.PrivateKey().pemRepresentation)
        settings.clientAuthentication = .privateKeyJWT
        let fixture = try self.fixture(settings)
        #expect(await self.result(fixture, self.grant()) == "revoked")
        let assertion = try #require(self.sent(fixture).first?.form?["client_assertion"])
        let claims = try #require(Base64URL.decode(String(assertion.split(separator: ".")[1])))
        #expect(try JSON(parsing: claims)["aud"] == .string(Self.endpoint))
    }

    @Test func `without an endpoint, a token or the wish nothing is sent`() async throws {
        var off = ProviderFixture.settings()
        off.revokesTokens = false
        let cases = [
            (try self.fixture(endpoint: nil), self.grant()),
            (try self.fixture(endpoint: "http://id.example.com/x"), self.grant()),
            (try self.fixture(endpoint: 7), self.grant()), (try self.fixture(), self.grant(refreshToken: nil)),
            (try self.fixture(off), self.grant()),
        ]
        for (fixture, grant) in cases {
            #expect(await self.result(fixture, grant) == "not offered")
            #expect(!fixture.transport.requests.contains { $0.method == "POST" })
        }
    }

    @Test func `a malformed revocation endpoint fails no sign-in`() async throws {
        let fixture = try self.fixture(endpoint: "ftp://id.example.com/x")
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == nil)
    }

    @Test(arguments: [
        (400, #"{"error":"unsupported_token_type","error_description":"rt-secret"}"#, "provider.refused"),
        (401, #"{"error":"invalid_client"}"#, "openid.client_refused"), (503, "{}", "provider.unavailable"),
        (503, #"{"error":"server_error"}"#, "provider.unavailable"), (404, "rt-secret", "provider.refused"),
        (302, "", "provider.redirected"), (204, "", "provider.refused"),
    ])
    func `a failure has its own code, no token, and is not repeated`(
        status: Int,
        body: String,
        code: String
    ) async throws {
        let fixture = try self.fixture()
        fixture.transport.stub(Self.endpoint, status, body)
        do throws(Failure) {
            _ = try await fixture.party.revoke(self.grant())
            Issue.record("revoked")
        } catch {
            #expect(error.code == code && !error.detail.contains("rt-secret"))
        }
        #expect(self.sent(fixture).count == 1)
    }

    @Test func `only so many revocations are in progress, others wait`() async throws {
        let queue = RevocationQueue(connections: 4)
        try await queue.acquire()
        let waiting = Task { try await queue.acquire() }
        queue.release()
        try await waiting.value
        queue.release()
    }
}
