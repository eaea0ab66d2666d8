// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GatePolicy
import GateProviders
import GateSessions
import GateTestSupport
import Testing

@testable import GateEndpoints
@testable import GateRuntime

/// Q-28: what the authorization endpoint asks of a user, and what its responses report about that.
@Suite struct AuthorizeTests {
    private let fixture: ClientFixture
    private var browser: Browser { self.fixture.browser }
    private var clock: TestClock { self.fixture.gateway.clock }

    init() throws {
        self.fixture = try ClientFixture()
    }

    /// The same over providers to which the gateway pushes its requests.
    private init(isPushing: Bool) throws {
        self.fixture = try ClientFixture(provider: { $0.pushesAuthorization = isPushing })
    }

    /// The URL of a request of the service `relay`, with some parameters changed.
    private func request(_ changes: [String: String] = [:]) -> String {
        let values = [
            "response_type": "code", "client_id": "relay", "redirect_uri": ClientFixture.redirectURI, "state": "s",
            "scope": "openid email", "code_challenge": ClientFixture.challenge, "code_challenge_method": "S256",
            "provider": "staff",
        ]
        let fields = values.merging(changes) { $1 }.sorted { $0.key < $1.key }.map { Form.Field($0.key, $0.value) }
        return "https://\(GatewayFixture.gate)/oauth2/authorize?\(Form(fields).encoded)"
    }

    /// The response to a URL that is not to lead through a sign-in.
    private func open(_ url: String) async throws -> Response { try await self.browser.open(url) }

    /// Whether a response sends the browser to a sign-in.
    private func asksToSignIn(_ response: Response) -> Bool {
        response.location?.hasPrefix("https://\(GatewayFixture.gate)/oauth2/start/staff?") ?? false
    }

    /// What the provider is asked where a response leads, and the response to the request after the sign-in.
    private func signedIn(
        _ response: Response,
        as claims: [String: JSON] = [:]
    ) async throws -> (asked: Form, back: String, response: Response) {
        let (asked, back) = try await self.ledBack(response, as: claims)
        return (asked, back, try await self.open(back))
    }

    /// What the provider is asked where a response leads, and where the browser goes after the sign-in.
    private func ledBack(
        _ response: Response,
        as claims: [String: JSON] = [:]
    ) async throws -> (asked: Form, back: String) {
        #expect(self.asksToSignIn(response))
        let start = try await self.open(try #require(response.location))
        let location = try #require(start.location)
        let sent = try #require(WebURL(location)?.query.flatMap { Form(encoded: $0) })
        let all = Browser.ada.merging(claims) { $1 }
        let callback = try self.browser.callback(to: location, provider: "staff", as: all)
        return (
            self.fixture.gateway.providers.parameters(of: sent), try #require(try await self.open(callback).location)
        )
    }

    /// Whether a response sends the browser to the client with a code.
    private func hasCode(_ response: Response) -> Bool {
        response.location?.hasPrefix(ClientFixture.redirectURI) == true && response.redirectError == nil
    }

    /// The claims of the ID token for the code of a response.
    private func claims(_ response: Response) async throws -> JSON {
        let code = WebURL(response.location ?? "")?.query.flatMap { Form(encoded: $0)?["code"] }
        let fields = [
            ("grant_type", "authorization_code"), ("code", try #require(code)),
            ("code_verifier", ClientFixture.verifier),
        ]
        return self.claims(ofTokens: try await self.fixture.post("token", fields, as: "relay").json)
    }

    private func claims(ofTokens tokens: JSON) -> JSON {
        let part = tokens["id_token"]?.string?.split(separator: ".").dropFirst().first
        guard let part, let bytes = Base64URL.decode(String(part)) else { return .null }
        return (try? JSON(parsing: bytes)) ?? .null
    }

    /// A browser with a session of a minute ago.
    private func signIn(as claims: [String: JSON] = [:]) async throws {
        let all = Browser.ada.merging(claims) { $1 }
        try await self.browser.open(try await self.browser.begin("staff", as: all))
        self.clock.advance(by: 60)
    }

    private var now: JSON { .int(self.clock.now.seconds) }

    // MARK: E-02: what the gateway adds to a request

    // E-02
    @Test(arguments: ["gatehouse_since", "gatehouse_sign_in", "gatehouse_scopes"])
    func `a value that a browser makes up does not pass for a new sign-in`(name: String) async throws {
        try await self.signIn(as: ["auth_time": self.now])
        for value in ["0", "x", "", "\(self.clock.now.seconds)", "\(self.clock.now.seconds - 840)"] {
            for demand in [["prompt": "login"], ["max_age": "1"], ["prompt": "select_account"]] {
                let response = try await self.open(self.request(demand.merging([name: value]) { $1 }))
                #expect(self.asksToSignIn(response), "\(demand) \(value)")
            }
        }
    }

    // E-02
    @Test func `what the gateway has sealed is for one request, one session, fifteen minutes, and one code`()
        async throws
    {
        try await self.signIn()
        let login = self.request(["prompt": "login"])
        let recent = ["auth_time": self.now]
        let (_, back) = try await self.ledBack(try await self.open(login), as: recent)
        let sealed = try #require(WebURL(back)?.query.flatMap { Form(encoded: $0)?["gatehouse_sign_in"] })
        // Another request of the same session.
        let others = [["state": "t"], ["scope": "openid"], ["prompt": "login consent"], ["nonce": "n"]]
        for change in others {
            let changed = ["prompt": "login", "gatehouse_sign_in": sealed].merging(change) { $1 }
            #expect(try await self.asksToSignIn(self.open(self.request(changed))), "\(change)")
        }
        // The same request of another session, although that is newer.
        let jar = self.browser.jar
        self.browser.jar = [:]
        try await self.signIn()
        #expect(try await self.asksToSignIn(self.open(back)))
        self.browser.jar = jar
        self.clock.advance(by: 840)
        #expect(try await self.hasCode(self.open(back)))
        // A reload asks for what the first request asked for.
        #expect(try await self.asksToSignIn(self.open(back)))
        let (_, late) = try await self.ledBack(try await self.open(login), as: ["auth_time": self.now])
        self.clock.advance(by: 901)
        #expect(try await self.asksToSignIn(self.open(late)))
    }

    // E-02
    @Test func `a sealed sign-in that was used gives no other code, and a request without a demand needs none`()
        async throws
    {
        try await self.signIn()
        let (_, back, first) = try await self.signedIn(
            try await self.open(self.request(["max_age": "300"])),
            as: ["auth_time": self.now]
        )
        #expect(self.hasCode(first))
        self.clock.advance(by: 240)
        // By then it is the time of the authentication that counts.
        #expect(try await self.hasCode(self.open(back)))
        self.clock.advance(by: 61)
        #expect(try await self.asksToSignIn(self.open(back)))
    }

    /// The response to the callback of a sign-in, which began without the cookies of return paths if they are hidden.
    private func callback(at start: String, hiding: Bool, as claims: [String: JSON]) async throws -> Response {
        let host = GatewayFixture.gate
        let all = self.browser.jar[host] ?? [:]
        let hidden = all.filter { hiding && $0.key.contains("gatehouse-return-") }
        #expect(hidden.isEmpty == !hiding)
        self.browser.jar[host] = all.filter { hidden[$0.key] == nil }
        let location = try #require(try await self.open(start).location)
        self.browser.jar[host]?.merge(hidden) { $1 }
        return try await self.open(try self.browser.callback(to: location, provider: "staff", as: claims))
    }

    // E-02
    @Test(arguments: [true, false])
    func `a client's request that the browser keeps to itself at the start does not count at the callback`(
        hiding: Bool
    ) async throws {
        try await self.signIn()
        // So long that the browser has it in a cookie.
        let request = self.request([
            "prompt": "login", "nonce": String(repeating: "n", count: 200), "state": String(repeating: "s", count: 900),
        ])
        let start = try #require(try await self.open(request).location)
        let claims = Browser.ada.merging(["auth_time": self.now]) { $1 }
        var response = try await self.callback(at: start, hiding: hiding, as: claims)
        for _ in 0..<2 { response = try await self.open(try #require(response.location)) }
        #expect(self.asksToSignIn(response) == hiding && self.hasCode(response) != hiding)
    }

    // E-02
    @Test(arguments: [true, false])
    func `a page that the browser keeps to itself at the start is not confirmed by the sign-in`(
        hiding: Bool
    ) async throws {
        let path = "/oauth2/passkeys?confirm=1&x=\(String(repeating: "x", count: 1500))"
        let query = Form([Form.Field("rd", path)]).encoded
        let page = try await self.open("https://\(GatewayFixture.gate)/oauth2/sign_in?\(query)")
        let start = try #require(links(page).values.first { $0.contains("/oauth2/start/staff?") })
        let response = try await self.callback(at: start, hiding: hiding, as: Browser.ada)
        #expect(response.status == 303)
        #expect(response.cookies.contains { $0.contains("gatehouse-confirmed=") } != hiding)
    }

    // E-02
    @Test func `a pushed request keeps what it asks for, whatever is beside its reference`() async throws {
        try await self.signIn(as: ["auth_time": self.now])
        let parameters = [
            ("response_type", "code"), ("redirect_uri", ClientFixture.redirectURI), ("prompt", "login"),
            ("code_challenge", ClientFixture.challenge), ("code_challenge_method", "S256"), ("scope", "openid"),
            ("provider", "staff"),
        ]
        let pushed = try await self.fixture.post("par", parameters, as: "relay")
        let uri = try #require(pushed.json["request_uri"]?.string)
        let reference = Form([Form.Field("client_id", "relay"), Form.Field("request_uri", uri)]).encoded
        let address = "https://\(GatewayFixture.gate)/oauth2/authorize"
        let used = try #require(try await self.open("\(address)?\(reference)").location)
        let forged = "\(used)&gatehouse_since=\(self.clock.now.seconds - 600)&prompt=none&max_age=9999"
        let response = try await self.open(forged)
        #expect(self.asksToSignIn(response))
        let (asked, _, done) = try await self.signedIn(response, as: ["auth_time": self.now])
        #expect(asked["prompt"] == "login" && done.redirectError == nil)
        #expect(done.location?.hasPrefix(ClientFixture.redirectURI) == true)
    }

    // MARK: E-09: prompt=login, max_age and auth_time

    // E-09
    @Test func `OIDC Core §3.1.2.1: prompt=login goes on to the provider`() async throws {
        let pushing = try AuthorizeTests(isPushing: true)
        try await pushing.signIn()
        let login = try await pushing.open(self.request(["prompt": "login"]))
        let (asked, _, response) = try await pushing.signedIn(login)
        #expect(asked["prompt"] == "login")
        // The provider had to ask the user, and reports no time: nor do we.
        #expect(try await pushing.claims(response)["auth_time"] == nil)
        #expect(try await self.hasCode(pushing.open(self.request())))
    }

    // E-09
    @Test(arguments: [(true, false), (false, false), (false, true)])
    func `prompt=login without a time from the provider counts only where the browser could not take it out`(
        isPushed: Bool,
        hasTime: Bool
    ) async throws {
        let suite = try AuthorizeTests(isPushing: isPushed)
        try await suite.signIn()
        let start = try await suite.open(self.request(["prompt": "login"]))
        let (asked, back, response) = try await suite.signedIn(start, as: hasTime ? ["auth_time": suite.now] : [:])
        #expect(asked["prompt"] == "login")
        let isProven = isPushed || hasTime
        #expect(response.redirectError == (isProven ? nil : "login_required") && self.hasCode(response) == isProven)
        guard !isProven else { return }
        #expect(try await suite.open(back).redirectError == "login_required", "and no sign-in without end")
    }

    // E-09
    @Test func `a pushed request without prompt=login proves nothing without a time from the provider`()
        async throws
    {
        let pushing = try AuthorizeTests(isPushing: true)
        try await pushing.signIn()
        let (_, _, response) = try await pushing.signedIn(try await pushing.open(self.request(["max_age": "300"])))
        #expect(response.redirectError == "login_required")
    }

    // E-09
    @Test(arguments: [0, 300] as [Int64])
    func `OIDC Core §3.1.2.1: max_age goes on to the provider, and its time into the ID token`(age: Int64) async throws
    {
        try await self.signIn()
        let response = try await self.open(self.request(["max_age": "\(age)"]))
        let time = self.clock.now.seconds - age
        let (asked, _, done) = try await self.signedIn(response, as: ["auth_time": .int(time)])
        #expect(asked["max_age"] == "\(age)" && asked["prompt"] != "login")
        #expect(try await self.claims(done)["auth_time"]?.integer == time)
        // Recent enough, as long as it is.
        #expect(try await !self.asksToSignIn(self.open(self.request(["max_age": "\(age)"]))))
    }

    // E-09
    @Test(arguments: [nil, -3600, -301 - 61] as [Int64?])
    func `OIDC Core §3.1.2.6: an authentication that cannot be had is login_required`(offset: Int64?) async throws {
        try await self.signIn()
        let time: [String: JSON] = offset.map { ["auth_time": .int(self.clock.now.seconds + $0)] } ?? [:]
        let (_, back, response) = try await self.signedIn(
            try await self.open(self.request(["max_age": "300"])),
            as: time
        )
        #expect(response.redirectError == "login_required")
        #expect(try await self.open(back).redirectError == "login_required", "and no sign-in without end")
    }

    // E-09
    @Test func `a provider that reports an older time has not authenticated the user again`() async throws {
        try await self.signIn()
        let response = try await self.open(self.request(["prompt": "login"]))
        let old = self.clock.now.seconds - 61
        #expect(
            try await self.signedIn(response, as: ["auth_time": .int(old)]).response.redirectError == "login_required"
        )
        let again = try await self.open(self.request(["prompt": "login"]))
        let fresh = self.clock.now.seconds - 60
        #expect(try await self.signedIn(again, as: ["auth_time": .int(fresh)]).response.redirectError == nil)
    }

    // E-09
    @Test func `OIDC Core §12.2: a refresh and an exchange keep the time of the original authentication`() async throws
    {
        let first = self.clock.now.seconds - 5
        let response = try await self.open(self.request())
        let (_, _, done) = try await self.signedIn(response, as: ["auth_time": .int(first)])
        let code = try #require(WebURL(done.location ?? "")?.query.flatMap { Form(encoded: $0)?["code"] })
        let redeemed = [
            ("grant_type", "authorization_code"), ("code", code), ("code_verifier", ClientFixture.verifier),
        ]
        var tokens = try await self.fixture.post("token", redeemed, as: "relay").json
        #expect(self.claims(ofTokens: tokens)["auth_time"]?.integer == first)
        // A re-check without a page of the provider, which reports a later authentication.
        self.clock.advance(by: 120)
        let gate = "https://\(GatewayFixture.gate)"
        let start = try await self.open("\(gate)/oauth2/start/staff?rd=%2F&prompt=none")
        let later = Browser.ada.merging(["auth_time": self.now]) { $1 }
        let callback = try self.browser.callback(to: try #require(start.location), provider: "staff", as: later)
        _ = try await self.open(callback)
        let refresh = [("grant_type", "refresh_token"), ("refresh_token", tokens["refresh_token"]?.string ?? "")]
        tokens = try await self.fixture.post("token", refresh, as: "relay").json
        #expect(self.claims(ofTokens: tokens)["auth_time"]?.integer == first)
        let access = try #require(tokens["access_token"]?.string)
        let exchanged = try await self.fixture.exchange(access, by: "store").json["access_token"]?.string
        for token in [access, try #require(exchanged)] {
            #expect(self.claims(ofTokens: ["id_token": .string(token)])["auth_time"]?.integer == first)
        }
    }

    // MARK: Q-19: what the app of `resource` asks for

    /// A request for a token for the app `desk` whose settings were changed, in the browser that is signed in.
    private func requestForDesk(_ app: (inout AppSettings) -> Void) async throws -> Response {
        let later = try ClientFixture(
            sharing: self.fixture,
            app: { settings in
                if settings.route.app == "desk" { app(&settings) }
            }
        )
        return try await later.browser.open(self.request(["resource": ClientFixture.desk]))
    }

    // Q-19
    @Test(arguments: [59, 60, 61] as [Int64])
    func `a sign-in that is older than the app of the resource accepts leads to a new one`(lifetime: Int64) async throws
    {
        try await self.signIn()
        let response = try await self.requestForDesk { $0.sessionLimits = SessionLimits(lifetime: .seconds(lifetime)) }
        #expect(self.asksToSignIn(response) == (lifetime <= 60))
    }

    // Q-19
    @Test(arguments: [true, false])
    func `an app of the resource that asks for a passkey leads to the page for one`(asks: Bool) async throws {
        try await self.signIn()
        let response = try await self.requestForDesk { app in
            var entry = AccessEntry(at: RulePlace(line: 1))
            if asks { entry.request = [.passkey(within: nil)] } else { entry.emailDomain = "example.org" }
            app.route.access = .entries([entry])
        }
        let isPasskeyPage = response.location?.hasPrefix("https://\(GatewayFixture.gate)/oauth2/passkey?") ?? false
        #expect(isPasskeyPage == asks)
        #expect(asks || response.location?.hasPrefix(ClientFixture.redirectURI) == true)
    }

    // Q-19
    @Test func `RFC 8707 §2: of several apps that are named each has to admit the user`() async throws {
        try await self.signIn()
        let response = try await self.requestForDesk { $0.route.access = .entries([]) }
        #expect(response.redirectError == "access_denied")
    }
}
