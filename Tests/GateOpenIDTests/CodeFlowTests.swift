// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateOpenID
import GateProviders
import Testing

@Suite struct CodeFlowTests {
    private func tokenRequest(_ fixture: ProviderFixture) throws -> (request: ProviderRequest, form: Form) {
        let request = try #require(fixture.transport.requests.first { $0.address.path.hasSuffix("token") })
        let body = String(decoding: try #require(request.body), as: UTF8.self)
        return (request, try #require(Form(encoded: body)))
    }

    private func header(_ name: String, _ request: ProviderRequest) -> String? {
        request.headers.first { $0.name == name }?.value
    }

    @Test func `the code goes to the token endpoint with verifier and Basic authentication`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == nil)
        let (request, form) = try self.tokenRequest(fixture)
        #expect(request.method == "POST" && request.limit == 262_144 && request.timeout == .seconds(10))
        #expect(form["grant_type"] == "authorization_code" && form["code"] == "c/1")
        #expect(form["redirect_uri"] == ProviderFixture.callback && form["code_verifier"] == attempt.verifier)
        #expect(form["client_secret"] == nil && form["client_id"] == nil)
        let pair = Data("gate%3Ahouse:s%2Bc%20r%2Ft".utf8).base64EncodedString()
        #expect(self.header("Authorization", request) == "Basic \(pair)")
        #expect(self.header("Content-Type", request) == "application/x-www-form-urlencoded")
        #expect(self.header("Origin", request) == nil)
    }

    @Test func `a provider that lists only the body gets the secret in the body`() async throws {
        let fixture = try ProviderFixture(
            metadata: ProviderFixture.metadata.with(["token_endpoint_auth_methods_supported": ["client_secret_post"]])
        )
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == nil)
        let (request, form) = try self.tokenRequest(fixture)
        #expect(form["client_secret"] == "s+c r/t" && form["client_id"] == "gate:house")
        #expect(self.header("Authorization", request) == nil)
    }

    @Test func `T-06 after a bad nonce nothing is asked with the access token`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt, ["nonce": "other"])
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == "id_token.nonce")
        #expect(fixture.transport.count("\(ProviderFixture.issuer)/userinfo") == 0)
    }

    @Test func `a provider of OpenID Connect must give an ID token`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        fixture.transport.stub("\(ProviderFixture.issuer)/token", ["access_token": "at-1", "token_type": "Bearer"])
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == "openid.id_token_missing")
        #expect(fixture.transport.count("\(ProviderFixture.issuer)/userinfo") == 0)
    }

    @Test(arguments: [["sub": "eve"], ["sub": "ADA"], ["sub": ""]] as [JSON])
    func `userinfo about another user ends the sign-in`(userinfo: JSON) async throws {
        let fixture = try ProviderFixture()
        fixture.transport.stub("\(ProviderFixture.issuer)/userinfo", userinfo)
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == "openid.userinfo_subject")
    }

    @Test func `the access token goes to userinfo in the header only`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == nil)
        let request = try #require(fixture.transport.requests.last)
        #expect(request.address.description == "\(ProviderFixture.issuer)/userinfo")
        #expect(self.header("Authorization", request) == "Bearer at-1" && request.body == nil)
    }

    @Test func `userinfo that calls itself signed and is not ends the sign-in`() async throws {
        let fixture = try ProviderFixture()
        let userinfo = "\(ProviderFixture.issuer)/userinfo"
        fixture.transport.stub(userinfo, 200, #"{"sub":"ada"}"#, type: "application/jwt")
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == "openid.userinfo_token")
    }

    @Test func `GitHub signs a user in by two calls with its headers`() async throws {
        let fixture = try ProviderFixture(ProviderFixture.settings(.github, id: "github"))
        self.stubGitHub(fixture.transport)
        let (_, attempt) = try await fixture.begin()
        let callback = fixture.callback(attempt, ["iss": "https://github.com/login/oauth"])
        let signIn = try await fixture.signIn(callback, attempt).signIn
        #expect(signIn.profile.user == "github:73205511")
        #expect(signIn.profile.verifiedEmail?.description == "ada@example.org")
        #expect(signIn.idToken == nil && signIn.endSession == nil)
        let (_, form) = try self.tokenRequest(
            fixture,
            path: "https://github.com/login/oauth/access_token"
        )
        #expect(form["client_secret"] == "s+c r/t" && form["code_verifier"] == attempt.verifier)
        for request in fixture.transport.requests.dropFirst() {
            #expect(self.header("User-Agent", request) == "gatehouse")
            #expect(self.header("Accept", request) == "application/vnd.github+json")
            #expect(self.header("X-GitHub-Api-Version", request) == "2022-11-28")
            #expect(self.header("Authorization", request) == "Bearer gho_INVENTED0123456789abcdefABCDEF012345")
        }
    }

    @Test func `GitHub without the right to read email addresses signs the user in without one`() async throws {
        for status in [401, 403, 404] {
            let fixture = try ProviderFixture(ProviderFixture.settings(.github, id: "github"))
            self.stubGitHub(fixture.transport)
            fixture.transport.stub("https://api.github.com/user/emails?per_page=100", status, #"{"message":"no"}"#)
            let (_, attempt) = try await fixture.begin()
            let signIn = try await fixture.signIn(fixture.callback(attempt), attempt)
            #expect(signIn.profile.subject == "73205511" && signIn.profile.email == nil)
            #expect(signIn.notes.count == 1 && signIn.notes.first?.contains("/user/emails responded \(status)") == true)
        }
    }

    @Test func `GitHub's user cannot be missing, and its issuer must be its own`() async throws {
        let fixture = try ProviderFixture(ProviderFixture.settings(.github, id: "github"))
        self.stubGitHub(fixture.transport)
        fixture.transport.stub("https://api.github.com/user", 401, #"{"message":"Bad credentials"}"#)
        let (_, first) = try await fixture.begin()
        #expect(await fixture.rejection(fixture.callback(first), first) == "provider.api_refused")
        let (_, second) = try await fixture.begin()
        let foreign = fixture.callback(second, ["iss": "https://accounts.google.com"])
        #expect(await fixture.rejection(foreign, second) == "openid.issuer_mismatch")
    }

    @Test func `Google signs a user in with either spelling of its issuer and without userinfo`() async throws {
        for issuer in ["https://accounts.google.com", "accounts.google.com"] {
            let metadata = ProviderFixture.metadata.with(["issuer": "https://accounts.google.com"])
            let fixture = try ProviderFixture(ProviderFixture.settings(.google, id: "google"), metadata: metadata)
            let (_, attempt) = try await fixture.begin()
            try fixture.issue(
                for: attempt,
                ["iss": .string(issuer), "azp": "gate:house", "sub": "104729384756102938475"]
            )
            let callback = fixture.callback(attempt, ["iss": "https://accounts.google.com"])
            let signIn = try await fixture.signIn(callback, attempt)
            #expect(signIn.profile.user == "google:104729384756102938475")
            #expect(signIn.profile.issuer == "https://accounts.google.com")
            #expect(fixture.transport.count("\(ProviderFixture.issuer)/userinfo") == 0)
        }
    }

    private func stubGitHub(_ transport: FakeTransport) {
        transport.stub(
            "https://github.com/login/oauth/access_token",
            200,
            #"{"access_token":"gho_INVENTED0123456789abcdefABCDEF012345","scope":"user:email","token_type":"bearer"}"#
        )
        transport.stub(
            "https://api.github.com/user",
            200,
            #"{"login":"ada-example","id":73205511,"name":null}"#
        )
        transport.stub(
            "https://api.github.com/user/emails?per_page=100",
            200,
            #"[{"email":"ada@example.org","primary":true,"verified":true,"visibility":"private"}]"#
        )
    }

    private func tokenRequest(_ fixture: ProviderFixture, path: String) throws -> (request: ProviderRequest, form: Form)
    {
        let request = try #require(fixture.transport.requests.first { $0.address.description == path })
        let body = String(decoding: try #require(request.body), as: UTF8.self)
        return (request, try #require(Form(encoded: body)))
    }
}
