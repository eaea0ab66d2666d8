// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateOpenID
import GateProviders
import Testing

@Suite struct AuthorizationTests {
    private func query(_ location: String) throws -> Form {
        let address = try #require(WebURL(location))
        return try #require(Form(encoded: address.query ?? ""))
    }

    @Test func `T-05 the request asks for a code with S256, state and nonce, and for nothing else`() async throws {
        let fixture = try ProviderFixture()
        let (location, attempt) = try await fixture.begin("/wiki?page=1")
        let query = try self.query(location)
        #expect(location.hasPrefix("\(ProviderFixture.issuer)/authorize?"))
        #expect(query["response_type"] == "code")
        #expect(query["client_id"] == "gate:house")
        #expect(query["redirect_uri"] == ProviderFixture.callback)
        #expect(query["scope"] == "openid email profile")
        #expect(query["state"] == attempt.state)
        #expect(query["nonce"] == attempt.nonce)
        #expect(query["code_challenge_method"] == "S256")
        #expect(query["code_challenge"]?.utf8.count == 43)
        #expect(query.fields.count == 8)
        #expect(!location.contains(attempt.verifier))
        #expect(attempt.returnPath.value == "/wiki?page=1")
        #expect(attempt.expiry == Instant(seconds: 1_790_000_700))
    }

    @Test func `an endpoint with a query of its own keeps it`() async throws {
        let metadata = ProviderFixture.metadata.with([
            "authorization_endpoint": .string("\(ProviderFixture.issuer)/authorize?realm=a%26b")
        ])
        let (location, _) = try await ProviderFixture(metadata: metadata).begin()
        #expect(location.hasPrefix("\(ProviderFixture.issuer)/authorize?realm=a%26b&response_type=code&"))
    }

    @Test(arguments: [(.oidc, 1), (.github, 0)] as [(ProviderType, Int)])
    func `the browser goes to the URL of the file, whatever the metadata contain`(
        type: ProviderType,
        fetches: Int
    ) async throws {
        var settings = ProviderFixture.settings(type)
        settings.authorizationEndpoint = WebURL("http://localhost:9400/authorize?realm=a")
        let fixture = try ProviderFixture(settings)
        let (location, _) = try await fixture.begin()
        #expect(location.hasPrefix("http://localhost:9400/authorize?realm=a&response_type=code&client_id="))
        #expect(fixture.transport.requests.count == fetches)
    }

    @Test func `Google is asked to let the user choose, with the hosted domain as a hint`() async throws {
        var google = ProviderFixture.settings(.google, id: "google")
        google.hostedDomains = ["example.org"]
        let fixture = try ProviderFixture(
            google,
            metadata: ProviderFixture.metadata.with(["issuer": "https://accounts.google.com"])
        )
        let query = try self.query(try await fixture.begin().location)
        #expect(query["prompt"] == "select_account")
        // B-12: Google issues a refresh token when the user consents.
        #expect(query["access_type"] == "offline")
        #expect(query["hd"] == "example.org")
    }

    @Test func `GitHub is asked without a nonce and without discovery`() async throws {
        let fixture = try ProviderFixture(ProviderFixture.settings(.github, id: "github"))
        let (location, _) = try await fixture.begin()
        let query = try self.query(location)
        #expect(location.hasPrefix("https://github.com/login/oauth/authorize?"))
        #expect(query["nonce"] == nil)
        #expect(query["scope"] == "user:email")
        #expect(query["code_challenge_method"] == "S256")
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test func `Z-03: another account is asked for once, whatever the file adds`() async throws {
        var settings = ProviderFixture.settings(.github, id: "github")
        settings.authorizationParameters = [Form.Field("prompt", "consent"), Form.Field("login", "ada")]
        let fixture = try ProviderFixture(settings)
        let usual = try self.query(try await fixture.begin().location)
        #expect(usual["prompt"] == "consent" && usual["login"] == "ada")
        let (location, _) = try await fixture.party.authorization(
            returnPath: .root,
            replacedTicket: nil,
            offersOtherAccounts: true
        )
        let query = try self.query(location)
        #expect(query["prompt"] == "select_account" && query["login"] == "ada")
    }

    @Test func `a hand-over comes back, unless it is too long`() async throws {
        let fixture = try ProviderFixture()
        let attempt = try await fixture.party.authorization(returnPath: .root, replacedTicket: "h").attempt
        #expect(attempt.replacedTicket == "h")
        await #expect(throws: Failure.self) {
            try await fixture.party.authorization(returnPath: .root, replacedTicket: String(repeating: "h", count: 257))
        }
    }

    @Test func `where a challenge breaks the exchange neither challenge nor verifier is sent`() async throws {
        var settings = ProviderFixture.settings()
        settings.pkce = .off
        let fixture = try ProviderFixture(
            settings,
            metadata: ProviderFixture.metadata.with(["code_challenge_methods_supported": ["plain"]])
        )
        let (location, attempt) = try await fixture.begin()
        let query = try self.query(location)
        #expect(query.single("code_challenge") == .absent && query.single("code_challenge_method") == .absent)
        try fixture.issue(for: attempt)
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == nil)
        let request = try #require(fixture.transport.requests.first { $0.address.path == "/token" })
        #expect(!String(decoding: request.body ?? [], as: UTF8.self).contains("code_verifier"))
    }

    @Test func `the response by a form is requested if it is configured`() async throws {
        var settings = ProviderFixture.settings()
        settings.responseMode = .formPost
        #expect(try self.query(try await ProviderFixture(settings).begin().location)["response_mode"] == "form_post")
        #expect(try self.query(try await ProviderFixture().begin().location).single("response_mode") == .absent)
    }

    @Test func `what the file adds replaces no parameter of the protocol`() async throws {
        var settings = ProviderFixture.settings()
        settings.authorizationParameters = [
            Form.Field("redirect_uri", "https://evil.example"), Form.Field("state", "x"), Form.Field("acr_values", "2"),
        ]
        let (location, attempt) = try await ProviderFixture(settings).begin()
        let query = try self.query(location)
        #expect(query["redirect_uri"] == ProviderFixture.callback && query["state"] == attempt.state)
        #expect(query["acr_values"] == "2")
    }
}
