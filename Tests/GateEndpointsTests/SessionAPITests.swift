// SPDX-License-Identifier: Apache-2.0

import GateAccounts
import GateClients
import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GateOperations
import GatePolicy
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateEndpoints
@testable import GateRuntime

private let gate = "https://gate.example.com"
private let api = "\(gate)/api/session"
private let bearer = "Bearer realm=\"gatehouse\""

/// A gateway with the session API, and an account.
private struct APISetting {
    let fixture: ClientFixture
    let lines = LogLines()
    var gateway: GatewayFixture { self.fixture.gateway }
    var browser: Browser { self.fixture.browser }

    init(
        _ features: GatewayFeatures = [.accounts, .sessionAPI, .mail, .registration, .connections],
        client: (inout ClientSettings) -> Void = { _ in },
        app: (inout AppSettings) -> Void = { _ in }
    ) async throws {
        let start = ContinuousClock.now
        self.fixture = try ClientFixture(
            log: RequestLog(logger: self.lines.logger),
            signIns: SignInLimiter { start },
            features: features,
            client: client,
            app: app
        )
        if features.contains(.accounts) { try await self.gateway.addAccount() }
    }

    /// The response to a JSON object.
    func post(_ name: String, _ members: [String: String], _ lines: String = "") async throws -> Response {
        try await self.browser.open(
            "\(api)/\(name)",
            method: "POST",
            body: JSON.object(members.mapValues { .string($0) }).text,
            "Content-Type: application/json\r\n\(lines)"
        )
    }

    static let login = ["client_id": "notes", "username": "ada@example.org", "password": GatewayFixture.password]

    func logIn(_ more: [String: String] = [:], _ lines: String = "") async throws -> Response {
        try await self.post("login", APISetting.login.merging(more) { $1 }.filter { $0.value != "-" }, lines)
    }

    /// Whether a refresh token goes on.
    func refreshes(_ tokens: JSON) async throws -> Response {
        try await self.post("refresh", ["refresh_token": tokens["refresh_token"]?.string ?? ""])
    }

    func me(_ tokens: JSON) async throws -> Response {
        let token = tokens["access_token"]?.string ?? ""
        return try await self.browser.open("\(api)/me", "Authorization: Bearer \(token)\r\n")
    }
}

extension Response {
    /// The code of the error, and what the app does about it.
    fileprivate var error: String {
        "\(self.errorCode ?? "none") \(self.json["error"]?["recovery"]?.string ?? "none")"
    }

    fileprivate var errorCode: String? { self.json["error"]?["code"]?.string }
}

/// Q-28: the session API of native apps.
@Suite struct SessionAPITests {
    // MARK: The API

    @Test func `it is at its path on the gateway's host, where it is on`() async throws {
        let setting = try await APISetting()
        for path in ["", "/", "/other", "/login/x"] {
            let response = try await setting.browser.open("\(api)\(path)", "Accept: */*\r\n")
            #expect(response.status == 404 && response.error == "not_found correct_request", "\(path)")
        }
        for address in ["\(gate)/api/sessions", "https://shop.example.com/api/session/me"] {
            let response = try await setting.browser.open(address, "Accept: */*\r\n")
            #expect(response.status == 404 && response.code == "endpoint.none", "\(address)")
        }
        let off = try await APISetting([.accounts])
        #expect(try await off.browser.open("\(api)/me", "Accept: */*\r\n").code == "endpoint.none")
    }

    @Test(arguments: [
        ("register", "POST"), ("login", "POST"), ("refresh", "POST, OPTIONS"), ("logout", "POST, OPTIONS"),
        ("me", "GET, HEAD, OPTIONS"),
    ])
    func `each operation has its methods, and pages may ask for those that take no password`(
        name: String,
        methods: String
    ) async throws {
        let setting = try await APISetting()
        for method in ["GET", "POST", "PUT", "DELETE", "OPTIONS"] where !methods.contains(method) {
            let response = try await setting.browser.open("\(api)/\(name)", method: method, "Accept: */*\r\n")
            #expect(response.status == 405 && response.head.headerFields[.allow] == methods)
            #expect(response.error == "method_not_allowed correct_request")
        }
        guard methods.contains("OPTIONS") else { return }
        let preflight = try await setting.browser.open("\(api)/\(name)", method: "OPTIONS")
        #expect(preflight.status == 204 && preflight.head.headerFields[.accessControlAllowOrigin] == "*")
        #expect(preflight.head.headerFields[.accessControlAllowMethods] == methods)
        #expect(preflight.head.headerFields[.accessControlAllowHeaders] == "Authorization, Content-Type, DPoP")
    }

    @Test(arguments: ["login", "register", "refresh", "logout"])
    func `a body is a JSON object of texts`(name: String) async throws {
        let setting = try await APISetting()
        let type = "Content-Type: application/json\r\n"
        for (body, lines) in [
            ("", type), ("[]", type), ("{\"client_id\":1}", type), ("{\"refresh_token\":null}", type),
            ("{\"a\":\"x\",\"a\":\"y\"}", type), ("{}", "Content-Type: text/plain\r\n"), ("a=b", ""),
        ] {
            let response = try await setting.browser.open("\(api)/\(name)", method: "POST", body: body, lines)
            #expect(response.status == 400 && response.error == "invalid_request correct_request", "\(body)")
            #expect(response.head.headerFields[.cacheControl] == "no-store")
            #expect(response.head.headerFields[.accessControlAllowOrigin] == "*" && response.rejection?.incident != nil)
        }
    }

    // MARK: Login

    @Test func `the right password gets tokens, the user, and a mark for the device`() async throws {
        let setting = try await APISetting()
        let response = try await setting.logIn(["scope": "openid email"])
        #expect(response.status == 200 && response.head.headerFields[.cacheControl] == "no-store")
        let tokens = response.json
        #expect(tokens["token_type"] == "Bearer" && tokens["expires_in"] == 600 && tokens["id_token"] == nil)
        #expect(tokens["scope"] == "openid email" && tokens["user"]?["email"] == "ada@example.org")
        #expect(tokens["user"]?["name"] == nil && tokens["device"]?.string != nil)
        #expect(response.cookies.isEmpty && setting.browser.begun.count == 1)
        let me = try await setting.me(tokens)
        #expect(me.status == 200 && me.json["user"]?["email"] == "ada@example.org")
        #expect(try await setting.refreshes(tokens).status == 200)
        #expect(setting.lines.all.contains { $0.message == "client signed in" && $0.values["client"] == "notes" })
    }

    @Test(
        arguments: [
            (["password": "x"], 403, "wrong_credentials", "sign_in"),
            (["username": "eve"], 403, "wrong_credentials", "sign_in"),
            (["password": "-"], 400, "invalid_request", "correct_request"),
            (["username": "-"], 400, "invalid_request", "correct_request"),
            (["client_id": "-"], 400, "invalid_request", "correct_request"),
            (["client_id": "none"], 400, "invalid_request", "correct_request"),
            (["client_id": "relay"], 501, "not_enabled", "sign_in"),
            (["resource": "https://evil.example"], 400, "invalid_request", "correct_request"),
        ] as [([String: String], Int, String, String)]
    )
    func `a login that is not right begins no session`(
        members: [String: String],
        status: Int,
        code: String,
        recovery: String
    ) async throws {
        let setting = try await APISetting()
        let response = try await setting.logIn(members)
        #expect(response.status == status && response.error == "\(code) \(recovery)")
        #expect(response.json["error"]?["incident"]?.string == response.rejection?.incident)
        #expect(setting.browser.begun.isEmpty && !setting.gateway.store.calls.contains("insert"))
        #expect((response.rejection?.reason == .accountCredentials) == (code == "wrong_credentials"))
    }

    @Test(arguments: ["Origin: https://evil.example\r\n", "Origin: \(gate)\r\n", "Sec-Fetch-Site: same-origin\r\n"])
    func `no page in a browser sends passwords`(lines: String) async throws {
        let setting = try await APISetting()
        let members = ["client_id": "notes", "email": "grace@example.org"]
        for response in [try await setting.logIn([:], lines), try await setting.post("register", members, lines)] {
            #expect(response.status == 403 && response.error == "page_rejected correct_request")
        }
        #expect(setting.browser.begun.isEmpty)
    }

    @Test func `without a client that takes passwords the operations are off`() async throws {
        let setting = try await APISetting(client: { $0.passwordProvider = nil })
        for name in ["login", "register"] {
            let response = try await setting.post(name, APISetting.login, "Origin: https://evil.example\r\n")
            #expect(response.status == 501 && response.error == "not_enabled sign_in")
        }
        let other = try await APISetting(client: { if $0.id == "notes" { $0.passwordProvider = "staff" } })
        #expect(try await other.logIn().status == 501)
    }

    @Test func `wrong passwords are limited by name, and by network`() async throws {
        let setting = try await APISetting()
        for _ in 0..<PasswordThrottle.freeAttempts { #expect(try await setting.logIn(["password": "x"]).status == 403) }
        let slow = try await setting.logIn()
        #expect(slow.status == 429 && slow.error == "too_many_attempts retry_later")
        #expect(slow.head.headerFields[.retryAfter] == "2" && slow.rejection?.reason == .accountTooMany)

        setting.browser.client = IPAddress("192.0.2.1")
        let limit = setting.gateway.runtime.limits.signIns.failuresPerMinute
        for number in 0..<limit {
            #expect(try await setting.logIn(["username": "eve\(number)", "password": "x"]).status == 403)
        }
        let last = try await setting.logIn()
        #expect(last.status == 429 && last.rejection?.reason == .signInFailing)
        #expect(last.head.headerFields[.retryAfter] != nil)
    }

    @Test func `right passwords count as sign-ins of the network, and not as failures`() async throws {
        let setting = try await APISetting()
        setting.browser.client = IPAddress("192.0.2.1")
        let limits = setting.gateway.runtime.limits.signIns
        for _ in 0...limits.failuresPerMinute { #expect(try await setting.logIn().status == 200) }
        for _ in 0..<limits.perNetwork {
            _ = try? setting.gateway.runtime.services.signIns.start(by: IPAddress("192.0.2.1"), within: limits)
        }
        let response = try await setting.logIn()
        #expect(response.status == 429 && response.rejection?.reason == .signInTooOften)
    }

    @Test func `the mark of a device gives it a limit of its own`() async throws {
        let setting = try await APISetting()
        let device = try #require(try await setting.logIn().json["device"]?.string)
        for _ in 0...PasswordThrottle.freeAttempts { _ = try await setting.logIn(["password": "x"]) }
        #expect(try await setting.logIn().status == 429)
        #expect(try await setting.logIn(["device": "x"]).status == 429)
        #expect(try await setting.logIn(["device": device]).status == 200)
    }

    // MARK: Rules

    @Test func `whom the rules of the client deny, or of all of its apps, gets nothing`() async throws {
        let denied = try await APISetting(client: { $0.route.access = .entries([]) })
        let response = try await denied.logIn()
        #expect(response.status == 403 && response.error == "access_denied sign_in")
        #expect(response.rejection?.reason == .policyRefused && denied.browser.begun.isEmpty)
        let closed = try await APISetting(app: { $0.route.access = .entries([]) })
        #expect(try await closed.logIn().error == "access_denied sign_in")
        #expect(closed.browser.begun.isEmpty && !closed.gateway.store.calls.contains("insert"))
    }

    private func passkey(_ route: inout Route) {
        var entry = AccessEntry(at: RulePlace(line: 1))
        entry.request = [.passkey(within: nil)]
        route.access = .entries([entry])
    }

    @Test func `a rule that asks for a passkey sends the user to the browser`() async throws {
        let client = try await APISetting(client: { self.passkey(&$0.route) })
        #expect(try await client.logIn().error == "passkey_required sign_in")
        let app = try await APISetting(app: { if $0.route.app == "desk" { self.passkey(&$0.route) } })
        #expect(try await app.logIn(["resource": ClientFixture.desk]).error == "passkey_required sign_in")
        #expect(app.browser.begun.isEmpty)
        #expect(try await app.logIn(["resource": ClientFixture.shop]).status == 200)
        #expect(try await app.logIn().status == 200)
    }

    // Q-20
    @Test func `Q-20: the app that is named has to admit the user; of others those are left out that do not`()
        async throws
    {
        let setting = try await APISetting(app: { if $0.route.app == "desk" { $0.route.access = .entries([]) } })
        let named = try await setting.logIn(["resource": ClientFixture.desk])
        #expect(named.status == 403 && named.error == "access_denied sign_in")
        #expect(setting.browser.begun.isEmpty)
        let tokens = try await setting.logIn().json
        let part = try #require(tokens["access_token"]?.string?.split(separator: ".").dropFirst().first)
        let claims = try JSON(parsing: try #require(Base64URL.decode(String(part))))
        #expect(claims["aud"] == .string(ClientFixture.shop))
    }

    @Test func `a rule for the network of the client holds`() async throws {
        let setting = try await APISetting(client: { client in
            var entry = AccessEntry(at: RulePlace(line: 1))
            entry.request = [.network([CIDRRange("192.0.2.0/24")].compactMap(\.self))]
            client.route.access = .entries([entry])
        })
        setting.browser.client = IPAddress("198.51.100.1")
        #expect(try await setting.logIn().error == "access_denied sign_in")
        setting.browser.client = IPAddress("192.0.2.1")
        #expect(try await setting.logIn().status == 200)
    }

    @Test func `a disabled first account admits no connected one`() async throws {
        let setting = try await APISetting()
        let connections = try #require(setting.gateway.runtime.users.connections)
        let grace = try await setting.gateway.addAccount("grace@example.org")
        let accounts = try setting.gateway.accounts
        let ada = try #require(try await accounts.account(called: "ada@example.org"))
        _ = try await connections.connect(accounts.profile(of: ada), to: accounts.profile(of: grace))
        #expect(try await setting.logIn(["scope": "openid"]).json["user"]?["sub"] == .string("local:\(grace.id)"))
        _ = try await accounts.setDisabled(true, grace.id)
        let response = try await setting.logIn()
        #expect(response.status != 200 && response.rejection?.reason == .accountDisabled)
        #expect(setting.browser.begun.count == 1)
    }

    // MARK: Earlier sign-ins

    @Test func `a login with the refresh token of the app's last one ends that`() async throws {
        let setting = try await APISetting()
        let first = try await setting.logIn().json
        let token = try #require(first["refresh_token"]?.string)
        let second = try await setting.logIn(["refresh_token": token]).json
        #expect(try await setting.refreshes(first).status == 401)
        #expect(try await setting.me(first).status == 401)
        #expect(try await setting.refreshes(second).status == 200)
        let third = try await setting.logIn(["refresh_token": "x"])
        #expect(third.status == 200)
        #expect(try await setting.me(second).status == 200, "without its token it goes on")
    }

    // Q-15
    @Test func `Q-15: a grant of a browser goes on, whatever the app sends with a login`() async throws {
        let setting = try await APISetting()
        let account = try #require(try await setting.gateway.accounts.account(called: "ada@example.org"))
        let profile = try setting.gateway.accounts.profile(of: account)
        let browserGrant = try await setting.fixture.tokens(for: [ClientFixture.shop], user: profile)
        let token = try #require(browserGrant["refresh_token"]?.string)
        #expect(try await setting.logIn(["refresh_token": token]).status == 200)
        #expect(try await setting.refreshes(browserGrant).status == 200)
    }

    // Q-21
    @Test(arguments: ["insert", "trimFamily"])
    func `Q-21: a login whose second write fails leaves no session`(call: String) async throws {
        let setting = try await APISetting()
        let account = try #require(try await setting.gateway.accounts.account(called: "ada@example.org"))
        let profile = try setting.gateway.accounts.profile(of: account)
        setting.gateway.store.fail(call, after: call == "insert" ? 1 : 0)
        let response = try await setting.logIn()
        #expect(response.status == 503 && response.error == "unavailable retry_later")
        #expect(response.head.headerFields[.retryAfter] == "2")
        let now = setting.gateway.clock.now
        let left = try await setting.gateway.runtime.sessions.signIns(of: profile, limit: 10, now: now)
        #expect(left.items.isEmpty)
        #expect(try await setting.logIn().status == 200)
    }

    @Test func `a store that is down does not make a password wrong`() async throws {
        let setting = try await APISetting()
        setting.gateway.store.isDown = true
        let response = try await setting.logIn()
        #expect(response.status == 503 && response.error == "unavailable retry_later")
    }

    // MARK: The second factor

    @Test func `after the password a code is asked for, which works once`() async throws {
        let setting = try await APISetting()
        let accounts = try setting.gateway.accounts
        let account = try #require(try await accounts.account(called: "ada@example.org"))
        let recovery = try await setting.gateway.addCodes(to: account).recovery
        let asked = try await setting.logIn()
        #expect(asked.status == 403 && asked.error == "code_required enter_code")
        let wrong = try await setting.logIn(["code": "000000"])
        #expect(wrong.status == 403 && wrong.error == "wrong_code enter_code")
        #expect(wrong.rejection?.reason == .accountCredentials)
        let code = try #require(recovery.first)
        #expect(try await setting.logIn(["code": code, "password": "x"]).errorCode == "wrong_credentials")
        #expect(try await setting.logIn(["code": code]).status == 200)
        #expect(try await setting.logIn(["code": code]).error == "wrong_code enter_code")
        #expect(setting.browser.begun.count == 1)
    }

    // MARK: Refresh, logout, me

    @Test func `a refresh needs the token of a public client that may refresh`() async throws {
        let setting = try await APISetting()
        let tokens = try await setting.logIn(["scope": "openid"]).json
        let refreshed = try await setting.refreshes(tokens)
        #expect(refreshed.status == 200 && refreshed.json["id_token"] == nil && refreshed.json["user"]?["sub"] != nil)
        let missing = try await setting.post("refresh", [:])
        #expect(missing.error == "invalid_request correct_request")
        let token = try #require(refreshed.json["refresh_token"]?.string)
        for members in [
            ["refresh_token": "x"], ["refresh_token": token, "client_id": "store"],
            ["refresh_token": token, "client_id": "none"],
        ] {
            let response = try await setting.post("refresh", members)
            #expect(response.status == 401 && response.error == "session_ended sign_in")
            #expect(response.head.headerFields[.wwwAuthenticate] == bearer)
        }
        #expect(try await setting.post("refresh", ["refresh_token": token, "client_id": "notes"]).status == 200)
        let confidential = try await setting.fixture.tokens(of: "relay")
        #expect(try await setting.refreshes(confidential).status == 401)
        let closed = try ClientFixture(
            sharing: setting.fixture,
            features: [.accounts, .sessionAPI],
            client: { $0.grants = [.authorizationCode] }
        )
        let body = JSON.object(["refresh_token": .string(token)]).text
        let response = try await closed.browser.open(
            "\(api)/refresh",
            method: "POST",
            body: body,
            "Content-Type: application/json\r\n"
        )
        #expect(response.status == 400 && response.errorCode == "invalid_request")
    }

    @Test(arguments: [true, false])
    func `a logout ends the sign-in of the app`(byAccessToken: Bool) async throws {
        let setting = try await APISetting()
        let tokens = try await setting.logIn().json
        let other = try await setting.logIn().json
        let response: Response
        if byAccessToken {
            let token = try #require(tokens["access_token"]?.string)
            response = try await setting.post("logout", [:], "Authorization: Bearer \(token)\r\n")
        } else {
            response = try await setting.post(
                "logout",
                ["refresh_token": try #require(tokens["refresh_token"]?.string)]
            )
        }
        #expect(response.status == 200 && response.json == [:])
        #expect(try await setting.me(tokens).status == 401)
        #expect(try await setting.refreshes(tokens).status == 401)
        #expect(try await setting.me(other).status == 200)
        #expect(setting.lines.all.contains { $0.message == "signed out" && $0.values["by"] == "client" })
    }

    @Test func `a logout without a token of a public client ends nothing`() async throws {
        let setting = try await APISetting()
        #expect(try await setting.post("logout", [:]).error == "invalid_request correct_request")
        #expect(try await setting.post("logout", ["refresh_token": "x"]).error == "session_ended sign_in")
        let relay = try await setting.fixture.tokens(of: "relay")
        let token = try #require(relay["access_token"]?.string)
        let response = try await setting.post("logout", [:], "Authorization: Bearer \(token)\r\n")
        #expect(response.status == 401 && response.error == "invalid_token sign_in")
        #expect(try await setting.post("logout", ["refresh_token": relay["refresh_token"]?.string ?? ""]).status == 401)
        let fields = [("token", token)]
        #expect(try await setting.fixture.post("introspect", fields, as: "relay").json["active"] == true)
    }

    @Test func `me has the claims of the token's scopes, and no token of a service`() async throws {
        let setting = try await APISetting()
        let plain = try await setting.me(try await setting.logIn(["scope": "openid"]).json)
        #expect(plain.json["user"]?["sub"] != nil && plain.json["user"]?["email"] == nil)
        #expect(plain.head.headerFields[.cacheControl] == "no-store")
        let relay = try await setting.me(try await setting.fixture.tokens(of: "relay"))
        #expect(relay.status == 401 && relay.error == "invalid_token sign_in")
        #expect(relay.head.headerFields[.wwwAuthenticate] == bearer)
        #expect(try await setting.me([:]).status == 401)
        #expect(try await setting.browser.open("\(api)/me").status == 401)
    }

    // MARK: Registration

    @Test func `a registration sends a link, with a name that the app proposes`() async throws {
        let setting = try await APISetting()
        let members = ["client_id": "notes", "email": "grace@example.org", "name": "Grace", "language": "de"]
        let response = try await setting.post("register", members)
        #expect(response.status == 202 && response.json == [:])
        let message = try await setting.gateway.mailbox.next()
        #expect(message.recipient == "grace@example.org")
        let page = try await setting.browser.open(try #require(message.link))
        #expect(page.text.contains("value=\"Grace\""))
        // Whether there is an account makes no difference.
        let known = try await setting.post("register", members.merging(["email": "ada@example.org"]) { $1 })
        #expect(known.status == 202 && known.body == response.body)
        #expect(try await setting.gateway.mailbox.next().link == "\(gate)/oauth2/start/local")
    }

    @Test(
        arguments: [
            (["password": "x"], 400, "invalid_request"), (["email": "-"], 400, "email_rejected"),
            (["email": "grace@example.com"], 400, "email_rejected"), (["email": "grace"], 400, "email_rejected"),
            (["client_id": "relay"], 501, "not_enabled"),
        ] as [([String: String], Int, String)]
    )
    func `a registration that is not possible sends nothing`(
        members: [String: String],
        status: Int,
        code: String
    ) async throws {
        let setting = try await APISetting()
        let all = ["client_id": "notes", "email": "grace@example.org"].merging(members) { $1 }.filter {
            $0.value != "-"
        }
        let response = try await setting.post("register", all)
        #expect(response.status == status && response.errorCode == code)
    }

    @Test(arguments: [[.accounts, .sessionAPI, .mail], [.accounts, .sessionAPI, .registration]] as [GatewayFeatures])
    func `without registration or mail server users cannot register`(features: GatewayFeatures) async throws {
        let setting = try await APISetting(features)
        let response = try await setting.post("register", ["client_id": "notes", "email": "grace@example.org"])
        #expect(response.status == 501 && response.error == "not_enabled sign_in")
    }

    @Test func `a network asks for twenty links an hour`() async throws {
        let setting = try await APISetting()
        setting.browser.client = IPAddress("192.0.2.1")
        for number in 0..<20 {
            let members = ["client_id": "notes", "email": "eve\(number)@example.org"]
            #expect(try await setting.post("register", members).status == 202)
        }
        let response = try await setting.post("register", ["client_id": "notes", "email": "eve@example.org"])
        #expect(response.status == 429 && response.error == "too_many_attempts retry_later")
        #expect(response.head.headerFields[.retryAfter] != nil)
    }
}
