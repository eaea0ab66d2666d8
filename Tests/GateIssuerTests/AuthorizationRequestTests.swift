// SPDX-License-Identifier: Apache-2.0

import GateAssertion
import GateClients
import GateCore
import GatePolicy
import GateSessions
import GateTestSupport
import Testing

@testable import GateIssuer

let gate = "https://gate.example.com"
let noon = Instant(seconds: 1_800_000_000)

/// An issuer with a native client, a confidential one, and two apps.
struct IssuerFixture {
    let sealer = Sealer([Secret([UInt8](repeating: 1, count: 32))])
    let issuer: Issuer

    init() throws {
        var notes = try IssuerFixture.client("notes", .native, "com.example.notes:/signed-in")
        notes.audiences = ["wiki", "ledger"]
        var forum = try IssuerFixture.client("forum", .confidential, "https://forum.example.com/callback")
        forum.secrets = [Secret(text: "new secret"), Secret(text: "old+secret%")]
        forum.redirectURIs.append(try RedirectURI("https://forum.example.com/other?x=1"))
        let key = try AssertionKey(from: RandomBytes { [UInt8](repeating: 5, count: $0) })
        self.issuer = Issuer(
            signer: TokenSigner(keys: AssertionKeys(signing: key), issuer: gate),
            clients: [notes, forum],
            audiences: ["wiki": "https://wiki.example.com", "ledger": "https://apps.example.com/ledger"],
            sealer: self.sealer
        )
    }

    private static func client(
        _ id: String,
        _ kind: ClientSettings.Kind,
        _ redirectURI: String
    ) throws -> ClientSettings {
        let origin = try #require(Origin(scheme: "https", host: "gate.example.com", port: 443))
        var client = ClientSettings(id: id, kind: kind, route: Route(app: id, origin: origin, path: "/"))
        client.redirectURIs = [try RedirectURI(redirectURI)]
        return client
    }

    /// The challenge of the example in RFC 7636 appendix B.
    static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

    /// A valid request of the native client with some parameters changed; nil leaves one out.
    static func form(_ changes: [String: String?] = [:]) -> Form {
        var values: [String: String?] = [
            "client_id": "notes", "redirect_uri": "com.example.notes:/signed-in", "response_type": "code",
            "code_challenge": self.challenge, "code_challenge_method": "S256", "state": "s t&", "scope": "openid email",
        ]
        for (name, value) in changes { values[name] = .some(value) }
        return Form(values.sorted { $0.key < $1.key }.compactMap { name, value in value.map { Form.Field(name, $0) } })
    }

    func error(_ form: Form) -> OAuthError.Code? {
        guard case .error(let error, _) = self.issuer.authorizationRequest(form) else { return nil }
        return error.code
    }
}

@Suite struct AuthorizationRequestTests {
    private let fixture: IssuerFixture

    init() throws {
        self.fixture = try IssuerFixture()
    }

    private func request(_ form: Form) throws -> AuthorizationRequest {
        guard case .valid(let request) = self.fixture.issuer.authorizationRequest(form) else {
            Issue.record("\(self.fixture.issuer.authorizationRequest(form))")
            throw OAuthError(.serverError, "not valid")
        }
        return request
    }

    @Test func `RFC 6749 §4.1.1: a complete request`() throws {
        let request = try self.request(IssuerFixture.form(["nonce": "n", "max_age": "60", "prompt": "login consent"]))
        #expect(request.client.id == "notes" && request.target.state == "s t&")
        #expect(request.terms.scopes == ["openid", "email"] && request.terms.nonce == "n")
        let userinfo = "\(gate)/oauth2/userinfo"
        #expect(request.terms.audiences == ["https://wiki.example.com", "https://apps.example.com/ledger", userinfo])
        #expect(request.maxAge == .seconds(60) && request.prompt.login && request.prompt.consent)
        #expect(!request.prompt.none && !request.prompt.selectAccount && !request.namesAudiences)
    }

    @Test func `RFC 9207 §2: each response has the issuer beside code and state`() throws {
        let target = try self.request(IssuerFixture.form()).target
        let end = "&state=s%20t%26&iss=https%3A%2F%2Fgate.example.com"
        #expect(target.url(code: "c/d") == "com.example.notes:/signed-in?code=c%2Fd\(end)")
        let error = target.url(OAuthError(.accessDenied, "a \"b\""))
        #expect(error == "com.example.notes:/signed-in?error=access_denied&error_description=a%20%27b%27\(end)")
    }

    @Test func `a redirect URI with a query keeps it`() throws {
        let form = IssuerFixture.form([
            "client_id": "forum", "redirect_uri": "https://forum.example.com/other?x=1", "state": nil,
        ])
        let url = try self.request(form).target.url(code: "c")
        #expect(url == "https://forum.example.com/other?x=1&code=c&iss=https%3A%2F%2Fgate.example.com")
    }

    @Test(
        arguments: [
            ["client_id": nil], ["client_id": "absent"], ["redirect_uri": "com.example.notes:/signed-in/"],
            ["redirect_uri": "https://evil.example/"], ["client_id": "forum"],
            ["client_id": "forum", "redirect_uri": nil],
        ] as [[String: String?]]
    )
    func `RFC 6749 §4.1.2.1: without a registered client and redirect URI nothing is redirected`(
        changes: [String: String?]
    ) {
        guard case .untrusted = self.fixture.issuer.authorizationRequest(IssuerFixture.form(changes)) else {
            Issue.record("\(changes)")
            return
        }
    }

    @Test func `RFC 6749 §3.1.2.3: a client with one redirect URI may leave it out`() throws {
        #expect(
            try self.request(IssuerFixture.form(["redirect_uri": nil])).terms.redirectURI
                == "com.example.notes:/signed-in"
        )
    }

    @Test(
        arguments: [
            // E-11, RFC 6749 §4.1.2.1: what is missing is not what is not supported.
            (["response_type": "token"], .unsupportedResponseType), (["response_type": nil], .invalidRequest),
            (["response_type": "code id_token"], .unsupportedResponseType), (["code_challenge": nil], .invalidRequest),
            (["code_challenge_method": "plain"], .invalidRequest), (["code_challenge_method": nil], .invalidRequest),
            (["code_challenge": "short"], .invalidRequest), (["response_mode": "fragment"], .invalidRequest),
            (["request": "x"], .requestNotSupported), (["request_uri": "https://x"], .requestURINotSupported),
            (["registration": "x"], .registrationNotSupported), (["prompt": "none login"], .invalidRequest),
            (["prompt": "create"], .invalidRequest), (["max_age": "-1"], .invalidRequest),
            (["max_age": "x"], .invalidRequest), (["resource": "https://evil.example"], .invalidTarget),
            (["resource": gate], .invalidTarget), (["id_token_hint": "x.y.z"], .invalidRequest),
            (["state": String(repeating: "s", count: 2049)], .invalidRequest),
            (["nonce": String(repeating: "n", count: 2049)], .invalidRequest),
            (["scope": String(repeating: "x ", count: 65)], .invalidScope),
        ] as [([String: String?], OAuthError.Code)]
    )
    func `each wrong parameter has its error`(changes: [String: String?], code: OAuthError.Code) {
        #expect(self.fixture.error(IssuerFixture.form(changes)) == code)
    }

    @Test(arguments: ["client_id", "redirect_uri", "state", "scope", "code_challenge", "nonce", "unknown"])
    func `RFC 6749 §3.1: a repeated parameter is an error`(name: String) {
        var form = IssuerFixture.form(["nonce": "n", "unknown": "x"])
        form.append(name, form[name] ?? "")
        let isTrusted = name != "client_id" && name != "redirect_uri"
        switch self.fixture.issuer.authorizationRequest(form) {
        case .error(let error, _): #expect(error.code == .invalidRequest && isTrusted)
        case .untrusted: #expect(!isTrusted)
        case .valid: Issue.record("\(name)")
        }
    }

    @Test(
        arguments: [
            ("https://wiki.example.com", "https://wiki.example.com"),
            ("https://wiki.example.com/", "https://wiki.example.com"),
            ("https://apps.example.com/ledger", "https://apps.example.com/ledger"),
        ]
    )
    func `RFC 8707 §2: a resource narrows the audiences`(resource: String, audience: String) throws {
        let request = try self.request(IssuerFixture.form(["resource": resource]))
        #expect(request.terms.audiences == [audience] && request.namesAudiences)
    }

    @Test func `OpenID Connect Core §3.1.2.1: an unknown scope is ignored`() throws {
        #expect(
            try self.request(IssuerFixture.form(["scope": "openid openid x email"])).terms.scopes == [
                "openid", "email",
            ]
        )
    }

    @Test(arguments: HostileNumbers.texts) func `B-05: any max_age is read within bounds or rejected`(
        text: String
    ) throws {
        let form = IssuerFixture.form(["max_age": text])
        guard case .valid(let request) = self.fixture.issuer.authorizationRequest(form) else {
            #expect(self.fixture.error(form) == .invalidRequest)
            return
        }
        #expect(request.maxAge.map { $0 >= .zero && $0 <= .seconds(1 << 32) } ?? text.isEmpty)
    }

    // E-11
    @Test(
        arguments: [
            ("https://WIKI.example.com", true), ("HTTPS://wiki.Example.com/", true),
            ("https://wiki.example.com:443", true),
            ("https://Apps.example.com/ledger", true), ("https://apps.example.com:443/ledger/", true),
            ("https://apps.example.com/LEDGER", false), ("http://wiki.example.com", false),
            ("https://wiki.example.com:8443", false), ("https://wiki.example.com/x", false),
            ("https://wiki.example.com.evil.example", false), ("https://wiki.example.com?x=1", false),
            ("https://user@wiki.example.com", false), ("https://wiki.example.com#x", false),
        ] as [(String, Bool)]
    )
    func `RFC 3986 §6.2: a resource is the same URL in every spelling of scheme, host and port`(
        resource: String,
        isSame: Bool
    ) {
        #expect((self.fixture.error(IssuerFixture.form(["resource": resource])) == nil) == isSame)
    }

    // E-10
    @Test func `the audience of tokens for no app is one URL of the gateway, which ends as no app's does`() {
        #expect(self.fixture.issuer.userinfo == "\(gate)/oauth2/userinfo")
    }
}
