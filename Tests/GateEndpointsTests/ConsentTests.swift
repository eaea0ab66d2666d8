// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GatePolicy
import GateRuntime
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateEndpoints

private let gate = "https://gate.example.com"
private let address = "\(gate)/oauth2/authorize"

extension ClientFixture {
    /// The parameters of a request for a code of the service `relay`, some of them changed; an empty value leaves one out.
    fileprivate static func fields(_ changes: [String: String] = [:]) -> [String: String] {
        let values = [
            "response_type": "code", "client_id": "relay", "redirect_uri": ClientFixture.redirectURI, "state": "s",
            "scope": "openid email", "code_challenge": ClientFixture.challenge, "code_challenge_method": "S256",
        ]
        return values.merging(changes) { $1 }.filter { !$0.value.isEmpty }
    }

    /// The URL of such a request.
    fileprivate static func request(_ changes: [String: String] = [:]) -> String {
        let fields = self.fields(changes).sorted { $0.key < $1.key }.map { Form.Field($0.key, $0.value) }
        return "\(address)?\(Form(fields).encoded)"
    }

    /// The response to it.
    fileprivate func ask(
        _ changes: [String: String] = [:],
        _ lines: String = "Accept: text/html\r\n"
    ) async throws -> Response {
        try await self.browser.open(ClientFixture.request(changes), lines)
    }

    /// The tokens for the code of a response; the service has to prove to be itself.
    fileprivate func tokens(for response: Response) async throws -> JSON {
        let form = WebURL(response.location ?? "")?.query.flatMap { Form(encoded: $0) }
        let code = try #require(form?["code"])
        #expect(form?["state"] == "s" && form?["iss"] == gate)
        let fields = [("grant_type", "authorization_code"), ("code", code), ("code_verifier", ClientFixture.verifier)]
        return try await self.post("token", fields, as: "relay").json
    }
}

/// Q-28: the decisions of the authorization endpoint beside those about a new sign-in.
@Suite struct AuthorizationTests {
    /// A fixture whose browser has a session.
    private func signedIn(
        as profile: Profile = .staff(),
        client: (inout ClientSettings) -> Void = { _ in },
        app: (inout AppSettings) -> Void = { _ in }
    ) async throws -> ClientFixture {
        let fixture = try ClientFixture(client: client, app: app)
        _ = try await fixture.gateway.signIn(fixture.browser, as: profile)
        return fixture
    }

    private func asksToSignIn(_ response: Response, otherAccount: Bool = false) -> Bool {
        let location = response.location ?? ""
        return response.status == 303 && location.hasPrefix("\(gate)/oauth2/")
            && location.contains("rd=%2Foauth2%2Fauthorize%3F")
            && location.hasSuffix("&prompt=select_account") == otherAccount
    }

    @Test func `a user with a session gets a code for the client, by no stored response`() async throws {
        let fixture = try await self.signedIn()
        let response = try await fixture.ask()
        #expect(response.status == 303 && response.head.headerFields[.cacheControl] == "no-store")
        #expect(response.head.headerFields[.referrerPolicy] == "no-referrer" && response.rejection == nil)
        let tokens = try await fixture.tokens(for: response)
        #expect(tokens["scope"] == "openid email" && tokens["access_token"] != nil)
    }

    @Test func `without clients, and on the host of an app, there is no such endpoint`() async throws {
        for (browser, host) in [
            (Browser(try GatewayFixture()), gate), (try ClientFixture().browser, "https://shop.example.com"),
        ] {
            for path in ["authorize", "device", "end_session"] {
                let response = try await browser.open("\(host)/oauth2/\(path)", "Accept: */*\r\n")
                #expect(response.status == 404 && response.code == "endpoint.none", "\(host) \(path)")
            }
        }
    }

    @Test(arguments: [
        ["client_id": "none"], ["client_id": ""], ["redirect_uri": "https://evil.example/"],
        ["redirect_uri": "\(ClientFixture.redirectURI)/x"],
    ])
    func `what no client of ours asks for is shown to the user, and redirects nowhere`(
        changes: [String: String]
    ) async throws {
        let response = try await self.signedIn().ask(changes, "Accept: */*\r\n")
        #expect(response.status == 400 && response.code == "client.request" && response.location == nil)
    }

    @Test(arguments: [
        (["response_type": "token"], "unsupported_response_type"), (["code_challenge": ""], "invalid_request"),
        (["resource": "https://evil.example"], "invalid_target"), (["prompt": "none login"], "invalid_request"),
    ])
    func `other mistakes go to the client, and into the log`(changes: [String: String], error: String) async throws {
        let response = try await self.signedIn().ask(changes)
        #expect(response.status == 303 && response.redirectError == error)
        #expect(response.location?.hasPrefix(ClientFixture.redirectURI) == true)
        #expect(response.rejection?.reason == .clientRejected && response.rejection?.incident != nil)
    }

    @Test func `RFC 6749 §3.1: a posted request is led on as a link, whose cookie comes along`() async throws {
        let fixture = try await self.signedIn()
        let response = try await fixture.browser.post(address, ClientFixture.fields(), "Sec-Fetch-Site: cross-site\r\n")
        #expect(response.status == 303 && response.location == ClientFixture.request())
        let json = try await fixture.browser.open(
            address,
            method: "POST",
            body: "{}",
            "Content-Type: application/json\r\n"
        )
        #expect(json.status == 400 && json.code == "client.request")
    }

    @Test(arguments: ["Sec-Fetch-Mode: no-cors\r\n", "Sec-Purpose: prefetch\r\n", "Sec-Fetch-Dest: iframe\r\n"])
    func `what a page loads gets no code, unless the client asks for none to be seen`(lines: String) async throws {
        let fixture = try await self.signedIn()
        let response = try await fixture.ask([:], "Accept: */*\r\n\(lines)")
        #expect(response.status == 403 && response.code == "request.not_navigation")
        #expect(try await fixture.ask(["prompt": "none"], lines).redirectError == nil)
    }

    @Test func `OIDC Core §3.1.2.6: prompt=none shows nothing, and names what would be needed`() async throws {
        let fixture = try ClientFixture()
        #expect(try await fixture.ask(["prompt": "none"]).redirectError == "login_required")
        _ = try await fixture.gateway.signIn(fixture.browser)
        #expect(try await fixture.ask(["prompt": "none"]).redirectError == nil)
        #expect(try await fixture.ask(["prompt": "none", "max_age": "0"]).redirectError == "login_required")
        #expect(try await fixture.ask(["prompt": "none", "provider": "guests"]).redirectError == "login_required")
        let asking = try ClientFixture(sharing: fixture, client: { $0.asksConsent = true })
        #expect(try await asking.ask(["prompt": "none"]).redirectError == "consent_required")
        let strict = try ClientFixture(
            sharing: fixture,
            client: { client in
                var entry = AccessEntry(at: RulePlace(line: 1))
                entry.request = [.passkey(within: nil)]
                client.route.access = .entries([entry])
            }
        )
        #expect(try await strict.ask(["prompt": "none"]).redirectError == "interaction_required")
        let page = try await strict.ask()
        #expect(page.location?.hasPrefix("\(gate)/oauth2/passkey?rd=%2Foauth2%2Fauthorize%3F") == true)
    }

    @Test func `a user of another provider, or another user than expected, signs in with another account`() async throws
    {
        let fixture = try await self.signedIn(as: .guest)
        #expect(self.asksToSignIn(try await fixture.ask(["provider": "staff"]), otherAccount: true))
        #expect(try await fixture.ask(["provider": "staff"]).location?.contains("/oauth2/start/staff?") == true)
        #expect(try await fixture.ask(["provider": "guests"]).redirectError == nil)
        let closed = try ClientFixture(sharing: fixture, client: { $0.route.providers = ["staff"] })
        #expect(self.asksToSignIn(try await closed.ask(), otherAccount: true))

        let tokens = try await fixture.tokens(for: try await fixture.ask())
        let hint = try #require(tokens["id_token"]?.string)
        #expect(try await fixture.ask(["id_token_hint": hint]).redirectError == nil)
        _ = try await fixture.gateway.signIn(fixture.browser)
        #expect(self.asksToSignIn(try await fixture.ask(["id_token_hint": hint]), otherAccount: true))
        #expect(try await fixture.ask(["id_token_hint": "x"]).redirectError == "invalid_request")
    }

    @Test func `with several providers the user chooses, with one the sign-in goes straight there`() async throws {
        let fixture = try ClientFixture()
        #expect(try await fixture.ask().location?.hasPrefix("\(gate)/oauth2/sign_in?rd=") == true)
        #expect(self.asksToSignIn(try await fixture.ask()))
        let one = try ClientFixture(client: { $0.route.providers = ["guests"] })
        #expect(try await one.ask().location?.hasPrefix("\(gate)/oauth2/start/guests?rd=") == true)
        let other = try await one.ask(["provider": "staff"])
        #expect(other.location?.hasPrefix("\(gate)/oauth2/start/guests?rd=") == true)
    }

    @Test func `whom the rules of the client deny gets no code, and the log names the rule`() async throws {
        let fixture = try await self.signedIn(client: { $0.route.access = .entries([]) })
        let response = try await fixture.ask()
        #expect(response.redirectError == "access_denied" && response.rejection?.reason == .policyRefused)
    }

    @Test func `a rule that asks for a later authentication leads to a sign-in once`() async throws {
        let fixture = try ClientFixture(client: { client in
            var entry = AccessEntry(at: RulePlace(line: 1))
            entry.request = [.authenticated(within: .seconds(300))]
            client.route.access = .entries([entry])
            client.route.providers = ["staff"]
        })
        let now = fixture.gateway.clock.now.seconds
        let old = Browser.ada.merging(["auth_time": .int(now - 301)]) { $1 }
        try await fixture.browser.open(try await fixture.browser.begin("staff", as: old))
        let first = try await fixture.ask()
        #expect(self.asksToSignIn(first))
        let next = try #require(first.location)
        let start = try #require(try await fixture.browser.open(next).location)
        let callback = try fixture.browser.callback(to: start, provider: "staff", as: old)
        let back = try #require(try await fixture.browser.open(callback).location)
        #expect(try await fixture.browser.open(back).redirectError == "login_required")
    }

    @Test func `where a rule is one of an app, no user is admitted`() async throws {
        let fixture = try await self.signedIn(client: { client in
            client.route.publicRules = [PublicRule(method: nil, path: "/")]
        })
        let response = try await fixture.ask([:], "Accept: */*\r\n")
        #expect(response.status == 400 && response.code == "client.request")
    }

    @Test func `apps that the user may not enter are left out, unless the client names them`() async throws {
        let fixture = try await self.signedIn(app: { app in
            if app.route.app == "desk" { app.route.access = .entries([]) }
        })
        let tokens = try await fixture.tokens(for: try await fixture.ask())
        let part = try #require(tokens["access_token"]?.string?.split(separator: ".").dropFirst().first)
        let claims = try JSON(parsing: try #require(Base64URL.decode(String(part))))
        #expect(claims["aud"] == [.string(ClientFixture.shop), .string(ClientFixture.userinfo)])
        #expect(try await fixture.ask(["resource": ClientFixture.desk]).redirectError == "access_denied")
    }

    @Test func `the account that a client expects goes on to the provider, if it is short`() async throws {
        let fixture = try ClientFixture(client: { $0.route.providers = ["staff"] })
        for (hint, expected) in [("ada@example.org", "ada@example.org"), (String(repeating: "a", count: 257), nil)] {
            let start = try #require(try await fixture.ask(["login_hint": hint]).location)
            let provider = try #require(try await fixture.browser.open(start).location)
            #expect(WebURL(provider)?.query.flatMap { Form(encoded: $0)?["login_hint"] } == expected)
        }
    }
}

/// Q-28: the page that asks the user before a client is signed in.
@Suite struct ConsentTests {
    private let fixture: ClientFixture
    private var browser: Browser { self.fixture.browser }

    init() throws {
        self.fixture = try ClientFixture(
            client: { client in
                client.asksConsent = true
                client.name = "Relay"
            },
            app: { app in
                if app.route.app == "shop" { app.route.scopes = [AppScope(name: "orders", text: "read your orders")] }
            }
        )
    }

    private func form(_ changes: [String: String] = [:]) async throws -> PageForm {
        _ = try await self.fixture.gateway.signIn(self.browser)
        return try await self.fixture.ask(changes).form(with: "consent")
    }

    private func choose(_ form: PageForm, _ choice: String = "allow", _ lines: String = "") async throws -> Response {
        try await self.browser.submit(form, choice.isEmpty ? [:] : ["choice": choice], lines)
    }

    @Test func `the page names client, apps, scopes and where the browser goes, and may redirect only there`()
        async throws
    {
        _ = try await self.fixture.gateway.signIn(self.browser)
        let page = try await self.fixture.ask(["scope": "openid orders"])
        #expect(page.status == 200 && page.text.contains("Relay") && page.text.contains("notes.example.org"))
        #expect(page.text.contains("<li>shop: read your orders</li>") && page.text.contains("<li>desk</li>"))
        #expect(page.text.contains("Ada Lovelace"))
        let policy = page.head.headerFields[.contentSecurityPolicy]
        #expect(policy?.hasSuffix("form-action 'self' https://notes.example.org") == true)
        #expect(try page.form(with: "consent").action == address)
    }

    @Test func `with the consent the client gets its code, without one an error`() async throws {
        let form = try await self.form()
        #expect(try await self.fixture.tokens(for: try await self.choose(form))["access_token"] != nil)
        for choice in ["deny", "", "ALLOW", "x"] {
            let response = try await self.choose(form, choice)
            #expect(response.redirectError == "access_denied", "\(choice)")
            #expect(response.location?.contains("state=s") == true)
        }
    }

    @Test(arguments: [
        "Sec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Site: same-site\r\n", "Origin: https://evil.example\r\n",
    ])
    func `another site consents to nothing`(lines: String) async throws {
        let response = try await self.choose(try await self.form(), "allow", lines)
        #expect(response.status == 403 && response.text.contains("request.cross_site"))
    }

    @Test(arguments: [(599, 303), (600, 400)] as [(Int64, Int)])
    func `the page is over after ten minutes`(seconds: Int64, status: Int) async throws {
        let form = try await self.form()
        self.fixture.gateway.clock.advance(by: seconds)
        let response = try await self.choose(form)
        #expect(response.status == status && (status == 303 || response.text.contains("client.request")))
    }

    @Test func `the consent of one sign-in does not count in another: that user is asked`() async throws {
        let form = try await self.form()
        _ = try await self.fixture.gateway.signIn(self.browser, as: .staff("eve"))
        for choice in ["allow", "deny"] {
            let response = try await self.choose(form, choice)
            #expect(response.status == 303 && response.location?.hasPrefix("\(address)?") == true)
            let next = try #require(response.location)
            #expect(try await self.browser.open(next).forms.count == 1)
        }
        self.browser.jar = [:]
        #expect(try await self.choose(form).location?.hasPrefix("\(address)?") == true)
    }

    @Test func `no other form of ours passes for a consent to a client`() async throws {
        let session = try await self.fixture.gateway.signIn(self.browser)
        let (sealer, now) = (self.fixture.gateway.runtime.sealer, self.fixture.gateway.clock.now)
        let asked = Form(ClientFixture.fields().map { Form.Field($0.key, $0.value) })
        for kind in [Consent.Kind.device, .credentials, .connect, .disconnect] {
            let field = Consent(kind, to: asked, of: session, now: now).sealed(by: sealer)
            let response = try await self.browser.post(address, ["consent": field, "choice": "allow"])
            #expect(response.status == 400, "\(kind)")
        }
        let field = Consent(.client, to: asked, of: session, now: now).sealed(by: sealer)
        #expect(try await self.browser.post(address, ["consent": field, "choice": "allow"]).redirectError == nil)
    }

    @Test func `a scope that the page did not show is not granted, whatever a reload makes of it`() async throws {
        let before = try ClientFixture(sharing: self.fixture, client: { $0.asksConsent = true })
        _ = try await before.gateway.signIn(before.browser)
        let form = try await before.ask(["scope": "openid orders"]).form(with: "consent")
        self.browser.jar = before.browser.jar
        let tokens = try await self.fixture.tokens(for: try await self.choose(form))
        #expect(tokens["scope"] == "openid")
        let again = try await self.fixture.ask(["scope": "openid orders"]).form(with: "consent")
        #expect(try await self.fixture.tokens(for: try await self.choose(again))["scope"] == "openid orders")
    }

    @Test(arguments: [
        ("https://notes.example.org/callback", "", false), ("https://notes.example.org/callback", "consent", true),
        ("http://127.0.0.1/cb", "", true), ("com.example.notes:/cb", "", true),
    ])
    func `RFC 8252 §8.6: where any program could be the client, the user is asked`(
        uri: String,
        prompt: String,
        isAsked: Bool
    ) async throws {
        let fixture = try ClientFixture(client: { client in
            guard client.id == "notes", let redirect = try? RedirectURI(uri) else { return }
            client.redirectURIs = [redirect]
        })
        _ = try await fixture.gateway.signIn(fixture.browser)
        let response = try await fixture.ask(["client_id": "notes", "redirect_uri": uri, "prompt": prompt])
        #expect((response.status == 200) == isAsked && (response.status == 303) != isAsked)
        let target = uri.hasPrefix("com.") ? "com.example.notes:" : String(uri.split(separator: "/", maxSplits: 2)[1])
        let policy = response.head.headerFields[.contentSecurityPolicy]
        #expect(!isAsked || policy?.contains(target) == true)
    }
}

/// Q-28: clients without an entry in the file.
@Suite struct OpenClientTests {
    private static let uri = "https://app.example.net/callback"
    private let fixture: ClientFixture

    init() throws {
        var open = OpenClients()
        (open.dynamic, open.byURL) = (true, true)
        let documents = FakeProviders(clock: TestClock())
        documents.stub("/client.json", 200, Self.document)
        documents.stub("/other.json", 200, Self.document)
        self.fixture = try ClientFixture(open: open, documents: ClientDocuments(over: documents))
    }

    private static let document: JSON = [
        "client_id": "https://app.example.net/client.json", "client_name": "Tool", "redirect_uris": [.string(uri)],
        "token_endpoint_auth_method": "none",
    ]

    private func ask(_ id: String, _ changes: [String: String] = [:]) async throws -> Response {
        let fields = ["client_id": id, "redirect_uri": Self.uri, "resource": ClientFixture.shop].merging(changes) { $1 }
        return try await self.fixture.ask(fields)
    }

    private func register() async throws -> String {
        let response = try await self.fixture.browser.open(
            "\(gate)/oauth2/register",
            method: "POST",
            body: JSON.object(["redirect_uris": [.string(Self.uri)], "client_name": "Tool"]).text,
            "Content-Type: application/json\r\n"
        )
        return try #require(response.json["client_id"]?.string)
    }

    @Test(arguments: [true, false])
    func `RFC 9700 §4.11.2: until the user consents, errors are shown and not redirected`(
        isRegistered: Bool
    ) async throws {
        var id = "https://app.example.net/client.json"
        if isRegistered { id = try await self.register() }
        _ = try await self.fixture.gateway.signIn(self.fixture.browser)
        let error = try await self.ask(id, ["response_type": "token"])
        #expect(error.status == 400 && error.location == nil && error.text.contains("client.request"))
        #expect(try await self.ask(id, ["prompt": "none"]).status == 400)
        let page = try await self.ask(id)
        #expect(page.status == 200 && page.text.contains("Tool (\(isRegistered ? "not verified" : "app.example.net"))"))
        let form = try page.form(with: "consent")
        let denied = try await self.fixture.browser.submit(form, ["choice": "deny"])
        #expect(denied.redirectError == "access_denied")
        let allowed = try await self.fixture.browser.submit(form, ["choice": "allow"])
        #expect(allowed.location?.hasPrefix(Self.uri) == true && allowed.redirectError == nil)
    }

    @Test func `a document of another URL, or a missing one, makes a client unknown`() async throws {
        _ = try await self.fixture.gateway.signIn(self.fixture.browser)
        for id in [
            "https://app.example.net/other.json", "https://app.example.net/missing.json",
            "http://app.example.net/client.json",
        ] {
            let response = try await self.ask(id)
            #expect(response.status != 200 && response.location == nil, "\(id)")
        }
        let wrong = try await self.ask("https://app.example.net/client.json", ["redirect_uri": "https://evil.example/"])
        #expect(wrong.status == 400 && wrong.location == nil)
    }

    @Test func `a network has documents fetched as often as it may sign in, and known ones are free`() async throws {
        _ = try await self.fixture.gateway.signIn(self.fixture.browser)
        self.fixture.browser.client = IPAddress("192.0.2.1")
        let limit = self.fixture.gateway.runtime.limits.signIns.perMinute
        for number in 0..<(limit - 1) { _ = try await self.ask("https://app.example.net/\(number).json") }
        #expect(try await self.ask("https://app.example.net/client.json").status == 200)
        let over = try await self.ask("https://app.example.net/more.json")
        #expect(over.status == 429 && over.text.contains("signin.too_often"))
        #expect(try await self.ask("https://app.example.net/client.json").status == 200)
        self.fixture.browser.client = IPAddress("198.51.100.1")
        #expect(try await self.ask("https://app.example.net/more.json").status == 400)
    }
}
