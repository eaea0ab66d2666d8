// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateCore
import GateFixtures
import GateHTTP
import GatePolicy
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateEndpoints
@testable import GateRuntime

private let gate = "https://gate.example.com"
private let address = "\(gate)/oauth2/end_session"
private let target = "https://notes.example.org/bye"

/// OpenID Connect RP-Initiated Logout.
@Suite struct EndSessionTests {
    private let fixture: ClientFixture
    private var browser: Browser { self.fixture.browser }

    init() throws {
        self.fixture = try ClientFixture(client: { client in
            client.postLogoutRedirectURIs = [target, "\(target)?from=gate"].compactMap { try? RedirectURI($0) }
            if client.id == "store" { client.postLogoutRedirectURIs = [] }
        })
    }

    /// An ID token for `relay` of the session that the browser has.
    private func hint(as profile: Profile = .staff()) async throws -> String {
        let issued = try await self.fixture.gateway.session(of: profile)
        self.browser.jar[GatewayFixture.gate] = ["__Host-gatehouse": issued.ticket.text]
        let fields = [
            "response_type": "code", "client_id": "relay", "redirect_uri": ClientFixture.redirectURI, "scope": "openid",
            "code_challenge": ClientFixture.challenge, "code_challenge_method": "S256",
        ]
        let query = Form(fields.sorted { $0.key < $1.key }.map { Form.Field($0.key, $0.value) }).encoded
        let location = try await self.browser.open("\(gate)/oauth2/authorize?\(query)").location
        let code = WebURL(location ?? "")?.query.flatMap { Form(encoded: $0)?["code"] }
        let redeemed = [
            ("grant_type", "authorization_code"), ("code", try #require(code)),
            ("code_verifier", ClientFixture.verifier),
        ]
        return try #require(try await self.fixture.post("token", redeemed, as: "relay").json["id_token"]?.string)
    }

    private func open(_ fields: [String: String]) async throws -> Response {
        let form = Form(fields.sorted { $0.key < $1.key }.map { Form.Field($0.key, $0.value) })
        return try await self.browser.open("\(address)?\(form.encoded)")
    }

    private func isSignedIn() async throws -> Bool {
        try await self.browser.open("\(gate)/oauth2/userinfo", "Accept: */*\r\n").status == 200
    }

    @Test(arguments: [true, false])
    func `with an ID token of the session the user is signed out, and led back with the state`(
        isPost: Bool
    ) async throws {
        let fields = ["id_token_hint": try await self.hint(), "post_logout_redirect_uri": target, "state": "a b"]
        let response = try await (isPost ? self.browser.post(address, fields) : self.open(fields))
        #expect(response.status == 303 && self.browser.jar[GatewayFixture.gate]?["__Host-gatehouse"] == nil)
        #expect(try await !self.isSignedIn())
        let next = try #require(response.location)
        #expect(next.hasPrefix("\(address)?next="))
        #expect(try await self.browser.open(next).location == "\(target)?state=a%20b")
    }

    @Test func `without one of this session the user is asked first`() async throws {
        let first = try await self.hint()
        let foreign = try await self.hint()
        for hint in [first, "x", nil] {
            var fields = ["client_id": "relay", "post_logout_redirect_uri": target]
            fields["id_token_hint"] = hint
            let response = try await self.open(fields)
            #expect(
                response.location?.hasPrefix("\(gate)/oauth2/sign_out?rd=%2Foauth2%2Fend_session%3Fnext%3D") == true
            )
            #expect(try await self.isSignedIn())
        }
        let plain = try await self.open([:])
        #expect(plain.location == "\(gate)/oauth2/sign_out")
        #expect(try await self.isSignedIn())
        #expect(try await self.open(["id_token_hint": foreign]).status == 303)
        #expect(try await !self.isSignedIn())
    }

    @Test func `an access token does not count as a hint`() async throws {
        _ = try await self.hint()
        let token = try #require(try await self.fixture.tokens(of: "relay")["access_token"]?.string)
        _ = try await self.open(["id_token_hint": token])
        #expect(try await self.isSignedIn())
    }

    @Test(arguments: [
        ["client_id": "relay", "post_logout_redirect_uri": "https://evil.example/"],
        ["client_id": "relay", "post_logout_redirect_uri": "\(target)/x"],
        ["client_id": "store", "post_logout_redirect_uri": target],
        ["client_id": "none", "post_logout_redirect_uri": target],
        ["post_logout_redirect_uri": target],
    ])
    func `a URI that the client has not registered is rejected, and the user stays signed in`(
        fields: [String: String]
    ) async throws {
        _ = try await self.hint()
        let response = try await self.open(fields)
        #expect(response.status == 400 && response.text.contains("client.request") && response.location == nil)
        #expect(try await self.isSignedIn())
    }

    @Test func `client_id and the hint name the same client`() async throws {
        let hint = try await self.hint()
        let response = try await self.open(["id_token_hint": hint, "client_id": "notes"])
        #expect(response.status == 400 && response.text.contains("client.request"))
        #expect(try await self.isSignedIn())
        #expect(try await self.open(["id_token_hint": hint, "client_id": "relay"]).status == 303)
        #expect(try await !self.isSignedIn())
    }

    @Test func `a browser without a session goes on at once`() async throws {
        let hint = try await self.hint()
        self.browser.jar = [:]
        #expect(try await self.open(["id_token_hint": hint, "post_logout_redirect_uri": target]).location == target)
        let query = ["client_id": "relay", "post_logout_redirect_uri": "\(target)?from=gate", "state": "s"]
        #expect(try await self.open(query).location == "\(target)?from=gate&state=s")
        #expect(try await self.open([:]).location == "\(gate)/oauth2/sign_out")
    }

    @Test func `where it leads afterwards is sealed`() async throws {
        for next in ["x", "", Base64URL.encode(Array("https://evil.example/".utf8))] {
            #expect(try await self.open(["next": next]).location == "\(gate)/oauth2/sign_out")
        }
        let form = try await self.browser.open(address, method: "POST", body: "x", "Content-Type: text/plain\r\n")
        #expect(form.status == 400 && form.code == "client.request")
    }
}

/// pushed requests in the browser, RFC 9126.
@Suite struct PushedRequestTests {
    private let fixture: ClientFixture

    init() throws {
        self.fixture = try ClientFixture(client: { $0.route.providers = ["staff"] })
    }

    /// The URL with a new reference.
    private func pushed(_ more: [(String, String)] = []) async throws -> String {
        let fields = [
            ("response_type", "code"), ("redirect_uri", ClientFixture.redirectURI), ("scope", "openid"),
            ("code_challenge", ClientFixture.challenge), ("code_challenge_method", "S256"),
        ]
        let json = try await self.fixture.post("par", fields + more, as: "relay").json
        let uri = try #require(json["request_uri"]?.string)
        let query = Form([Form.Field("client_id", "relay"), Form.Field("request_uri", uri)]).encoded
        return "\(gate)/oauth2/authorize?\(query)"
    }

    @Test func `a reference is spent once, for the browser that brings it`() async throws {
        let url = try await self.pushed()
        let browser = self.fixture.browser
        let first = try await browser.open(url)
        let used = try #require(first.location)
        #expect(first.status == 303 && used.hasPrefix("\(gate)/oauth2/authorize?") && used != url)
        let cookie = try #require(first.cookies.first { $0.hasPrefix("__Host-gatehouse-pushed=") })
        #expect(cookie.hasSuffix("; Max-Age=1800; Path=/; Secure; HttpOnly; SameSite=Lax"))
        for _ in 0..<2 {
            #expect(try await browser.open(used).location?.hasPrefix("\(gate)/oauth2/start/staff?") == true)
        }
        // The second request keeps the value of the browser.
        let second = try await browser.open(try await self.pushed())
        #expect(second.cookies.first { $0.hasPrefix("__Host-gatehouse-pushed=") } == cookie)
        let again = try await browser.open(url)
        #expect(again.redirectError == "invalid_request_uri")
        let other = Browser(self.fixture.gateway)
        #expect(try await other.open(used).redirectError == "invalid_request_uri")
    }

    @Test(arguments: ["Sec-Fetch-Mode: cors\r\n", "Sec-Purpose: prefetch\r\n"])
    func `what loads the URL in advance spends nothing`(lines: String) async throws {
        let url = try await self.pushed()
        let response = try await self.fixture.browser.open(url, "Accept: */*\r\n\(lines)")
        #expect(response.status == 403 && response.code == "request.not_navigation")
        #expect(try await self.fixture.browser.open(url).location?.hasPrefix("\(gate)/oauth2/authorize?") == true)
        let silent = try await self.pushed([("prompt", "none")])
        #expect(try await self.fixture.browser.open(silent, lines).status == 303)
    }

    @Test(arguments: [(89, true), (90, false)] as [(Int64, Bool)])
    func `a browser has ninety seconds to bring it`(seconds: Int64, isGood: Bool) async throws {
        let url = try await self.pushed()
        self.fixture.gateway.clock.advance(by: seconds)
        let response = try await self.fixture.browser.open(url)
        #expect(response.redirectError == (isGood ? nil : "invalid_request_uri"))
    }

    @Test(arguments: [(1799, true), (1800, false)] as [(Int64, Bool)])
    func `the user has half an hour to sign in`(seconds: Int64, isGood: Bool) async throws {
        let used = try #require(try await self.fixture.browser.open(try await self.pushed()).location)
        self.fixture.gateway.clock.advance(by: seconds)
        let response = try await self.fixture.browser.open(used)
        #expect(response.redirectError == (isGood ? nil : "invalid_request_uri"))
    }
}
