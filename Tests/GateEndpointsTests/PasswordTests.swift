// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GatePolicy
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateAccounts
@testable import GateEndpoints
@testable import GateRuntime

private let gate = "https://gate.example.com"
private let sessionCookie = "__Host-gatehouse"

/// Q-28: sign-ins with the password of a local account.
@Suite struct PasswordTests {
    private let gateway: GatewayFixture
    private let browser: Browser
    private static let right = ["username": "ada@example.org", "password": GatewayFixture.password]

    init() throws {
        let start = ContinuousClock.now
        self.gateway = try GatewayFixture(
            signIns: SignInLimiter { start },
            features: [.accounts, .passkeys, .mail, .registration],
            app: { $0.route.providers.insert("local") }
        )
        self.browser = Browser(self.gateway)
    }

    /// The page with the form for name and password.
    private func start(_ path: String = "/") async throws -> Response {
        let query = Form([Form.Field("rd", path)]).encoded
        return try await self.browser.open("\(gate)/oauth2/start/local?\(query)")
    }

    private func form(_ path: String = "/") async throws -> PageForm {
        try await self.start(path).form(with: "state")
    }

    private var isSignedIn: Bool { self.browser.jar[GatewayFixture.gate]?[sessionCookie] != nil }

    /// The session of the browser.
    private func session() async throws -> Session {
        let text = try #require(self.browser.jar[GatewayFixture.gate]?[sessionCookie])
        let sessions = self.gateway.runtime.sessions
        let ticket = try #require(sessions.ticket(text.utf8, host: GatewayFixture.gate))
        let found = try await sessions.session(for: ticket, host: GatewayFixture.gate, now: self.gateway.clock.now)
        return try #require(found)
    }

    @Test func `the right password begins a session, marks the browser and leads back`() async throws {
        let account = try await self.gateway.addAccount()
        let page = try await self.start("/wiki/a?b=c")
        #expect(page.status == 200 && page.head.headerFields[.cacheControl] == "no-store")
        #expect(page.text.contains("to continue to <strong>wiki</strong>"))
        let policy = page.head.headerFields[.contentSecurityPolicy]
        #expect(policy?.hasSuffix("form-action 'self'; script-src \(gate)/oauth2/passkey.js") == true)
        let response = try await self.browser.submit(try page.form(with: "state"), Self.right)
        #expect(response.status == 303 && response.location == "\(gate)/wiki/a?b=c")
        let session = try await self.session()
        #expect(session.profile.user == "local:\(account.id)" && session.passkeyUsed == nil)
        #expect(session.methods == ["pwd"])
        #expect(session.profile.authTime == self.gateway.clock.now && session.profile.emailVerified)
        #expect(response.cookies.contains { $0.hasPrefix("__Host-gatehouse-attempt-") && $0.contains("; Max-Age=0;") })
        let mark = response.cookies.first { $0.hasPrefix("__Host-gatehouse-device=") }
        #expect(mark?.contains("; Max-Age=\(180 * 86_400); Path=/; Secure; HttpOnly; SameSite=Lax") == true)
        #expect(self.browser.begun.map(\.session.id) == [session.id])
    }

    @Test func `a wrong password and an unknown name get the same page, and no session`() async throws {
        try await self.gateway.addAccount()
        var texts: Set<String> = []
        for typed in [
            ["username": "ada@example.org", "password": "x"], ["username": "eve@example.org", "password": "x"],
        ] {
            let form = try await self.form()
            let response = try await self.browser.submit(form, typed)
            #expect(response.status == 403 && response.rejection?.reason == .accountCredentials)
            #expect(response.rejection?.incident != nil && response.head.headerFields[.retryAfter] == nil)
            #expect(try response.form(with: "state").hidden["state"] == form.hidden["state"])
            #expect(response.text.contains("value=\"\(typed["username"] ?? "")\""))
            let state = try #require(form.hidden["state"])
            texts.insert(response.text.replacing(state, with: "").replacing(typed["username"] ?? "", with: ""))
        }
        // The challenge for a passkey is the random part of the state.
        let plain = Set(texts.map { $0.replacing(/challenge&quot;:&quot;[^&]*/, with: "") })
        #expect(plain.count == 1 && plain.first?.contains("The name or the password is wrong") == true)
        #expect(!self.isSignedIn && !self.gateway.store.calls.contains("insert"))
    }

    @Test(arguments: [(320, true), (321, false)])
    func `only a name that could be one is shown again`(length: Int, isShown: Bool) async throws {
        let name = String(repeating: "n", count: length)
        let response = try await self.browser.submit(try await self.form(), ["username": name, "password": "x"])
        #expect(response.status == 403 && response.text.contains("value=\"\(name)\"") == isShown)
    }

    // Q-10
    @Test func `Q-10: a password for one provider ends no attempt with another`() async throws {
        try await self.gateway.addAccount()
        let callback = try await self.browser.begin("staff")
        let state = try #require(WebURL(callback)?.query.flatMap { Form(encoded: $0)?["state"] })
        let response = try await self.browser.post(
            "\(gate)/oauth2/password/local",
            Self.right.merging(["state": state]) { $1 },
            "Accept: */*\r\n"
        )
        #expect(response.status == 400 && response.text.contains("openid.provider_mismatch"))
        #expect(!self.isSignedIn && !self.gateway.store.calls.contains("insert"))
    }

    @Test func `the form belongs to its attempt and browser, and to no other`() async throws {
        try await self.gateway.addAccount()
        let (form, other) = (try await self.form(), try await self.form())
        let (state, second) = (try #require(form.hidden["state"]), try #require(other.hidden["state"]))
        let mixed = "\(state.prefix(22)).\(second.suffix(43))"
        for (text, code) in [
            (mixed, "openid.state_mismatch"), ("", "openid.attempt_lost"),
            (String(state.dropLast()), "openid.attempt_lost"),
        ] {
            let response = try await self.browser.submit(form, Self.right.merging(["state": text]) { $1 })
            #expect(response.status == 400 && response.text.contains(code), "\(text)")
        }
        let stranger = Browser(self.gateway)
        let lost = try await stranger.submit(form, Self.right)
        #expect(lost.status == 400 && lost.text.contains("openid.attempt_lost"))
        #expect(!self.isSignedIn && stranger.jar.isEmpty && !self.gateway.store.calls.contains("insert"))
        #expect(try await self.browser.submit(form, Self.right).status == 303)
    }

    @Test(arguments: [
        ("\(gate)/oauth2/password/local", "Sec-Fetch-Site: cross-site\r\n", 403, "request.cross_site"),
        ("\(gate)/oauth2/password/local", "Sec-Fetch-Site: same-site\r\n", 403, "request.cross_site"),
        ("\(gate)/oauth2/password/local", "Origin: https://shop.example.com\r\n", 403, "request.cross_site"),
        ("\(gate)/oauth2/password/staff", "", 404, "provider.none"),
        ("\(gate)/oauth2/password/none", "", 404, "provider.none"),
        ("https://shop.example.com/oauth2/password/local", "", 404, "provider.none"),
    ])
    func `passwords come from our page on the gateway's host`(
        address: String,
        lines: String,
        status: Int,
        code: String
    ) async throws {
        try await self.gateway.addAccount()
        let form = try await self.form()
        self.browser.jar["shop.example.com"] = self.browser.jar[GatewayFixture.gate]
        let response = try await self.browser.post(address, form.hidden.merging(Self.right) { $1 }, lines)
        #expect(response.status == status && response.text.contains(code))
        #expect(!self.isSignedIn && !self.gateway.store.calls.contains("insert"))
    }

    @Test func `another body than a form is rejected`() async throws {
        let response = try await self.browser.open(
            "\(gate)/oauth2/password/local",
            method: "POST",
            body: "username=a",
            "Content-Type: text/plain\r\n"
        )
        #expect(response.status == 400 && response.code == "openid.callback")
    }

    @Test(arguments: [(599, 303), (600, 400)] as [(Int64, Int)])
    func `the form is over after ten minutes`(seconds: Int64, status: Int) async throws {
        try await self.gateway.addAccount()
        let form = try await self.form()
        self.gateway.clock.advance(by: seconds)
        let response = try await self.browser.submit(form, Self.right)
        #expect(response.status == status && self.isSignedIn == (status == 303))
        #expect(status == 303 || response.text.contains("openid.attempt_expired"))
    }

    @Test func `a form signs in once; a user with a session goes on`() async throws {
        try await self.gateway.addAccount()
        let form = try await self.form("/wiki")
        let attempt = self.browser.jar
        #expect(try await self.browser.submit(form, Self.right).status == 303)
        let signedIn = self.browser.jar
        self.browser.jar = attempt
        let again = try await self.browser.submit(form, Self.right)
        #expect(again.status == 400 && again.text.contains("openid.attempt_lost"))
        self.browser.jar = attempt.merging(signedIn) { $0.merging($1) { $1 } }
        let known = try await self.browser.submit(form, Self.right)
        #expect(known.status == 303 && known.location == "\(gate)/wiki" && self.browser.begun.count == 1)
    }

    @Test func `a sign-in ends the session that the browser had`() async throws {
        try await self.gateway.addAccount()
        _ = try await self.browser.submit(try await self.form(), Self.right)
        let old = try #require(self.browser.jar[GatewayFixture.gate]?[sessionCookie])
        _ = try await self.browser.submit(try await self.form(), Self.right)
        self.browser.jar[GatewayFixture.gate]?[sessionCookie] = old
        #expect(try await self.browser.open("\(gate)/oauth2/userinfo", "Accept: */*\r\n").status == 401)
    }

    @Test func `whom the rules of the app do not admit gets no session`() async throws {
        try await self.gateway.addAccount("eve@example.com")
        let form = try await self.form("/wiki")
        let typed = ["username": "eve@example.com", "password": GatewayFixture.password]
        let response = try await self.browser.submit(form, typed)
        #expect(response.status == 403 && response.text.contains("policy.refused") && !self.isSignedIn)
    }

    // MARK: The second factor

    /// Adds the second factor to a new account.
    private func withCodes() async throws -> Secret {
        try await self.gateway.addCodes(to: try await self.gateway.addAccount()).secret
    }

    @Test func `after the password a code is asked for, which works once`() async throws {
        let secret = try await self.withCodes()
        let asked = try await self.browser.submit(try await self.form("/wiki"), Self.right)
        #expect(asked.status == 200 && !self.isSignedIn && asked.rejection == nil)
        let form = try asked.form(with: "proof")
        let wrong = try await self.browser.submit(form, ["code": "000000"])
        #expect(wrong.status == 403 && wrong.rejection?.reason == .accountCredentials && !self.isSignedIn)
        #expect(wrong.text.contains("The code is wrong, or was used before"))
        let again = try wrong.form(with: "proof")
        #expect(again.hidden == form.hidden)
        let code = self.gateway.code(secret, later: 1)
        let done = try await self.browser.submit(again, ["code": code])
        #expect(done.status == 303 && done.location == "\(gate)/wiki" && self.isSignedIn)
        #expect(try await self.session().methods == ["pwd", "otp"])
        let second = try await self.browser.submit(try await self.form(), Self.right).form(with: "proof")
        #expect(try await self.browser.submit(second, ["code": code]).status == 403)
    }

    @Test func `the proof of a password is for one attempt, and for five minutes`() async throws {
        let secret = try await self.withCodes()
        let form = try await self.browser.submit(try await self.form(), Self.right).form(with: "proof")
        let proof = try #require(form.hidden["proof"])
        let other = try await self.form()
        let late = "That took too long. Sign in once more"
        let moved = try await self.browser.submit(other, ["proof": proof, "code": self.gateway.code(secret, later: 1)])
        #expect(moved.status == 200 && moved.text.contains(late) && !self.isSignedIn)
        let fresh = try await self.browser.submit(other, Self.right).form(with: "proof")
        self.gateway.clock.advance(by: 300)
        let over = try await self.browser.submit(fresh, ["code": self.gateway.code(secret)])
        #expect(over.text.contains(late) && !self.isSignedIn)
    }

    // MARK: Limits

    @Test func `after five wrong passwords each has to wait, and the page names the time`() async throws {
        try await self.gateway.addAccount()
        let wrong = ["username": "ada@example.org", "password": "x"]
        for _ in 0..<PasswordThrottle.freeAttempts {
            #expect(try await self.browser.submit(try await self.form(), wrong).status == 403)
        }
        let form = try await self.form()
        let response = try await self.browser.submit(form, Self.right)
        #expect(response.status == 429 && response.rejection?.reason == .accountTooMany && !self.isSignedIn)
        #expect(response.head.headerFields[.retryAfter] == "2")
        #expect(response.text.contains("Wait 2 seconds") && !response.text.contains("is wrong"))
    }

    @Test func `wrong passwords count for the network, and right ones do not`() async throws {
        try await self.gateway.addAccount()
        self.browser.client = IPAddress("192.0.2.1")
        let limit = self.gateway.runtime.limits.signIns.failuresPerMinute
        for _ in 0...limit {
            #expect(try await self.browser.submit(try await self.form(), Self.right).status == 303)
        }
        for number in 0..<limit {
            let typed = ["username": "eve\(number)@example.org", "password": "x"]
            #expect(try await self.browser.submit(try await self.form(), typed).status == 403)
        }
        let last = try await self.browser.submit(try await self.form(), Self.right)
        #expect(last.status == 429 && last.text.contains("signin.failing"))
        self.browser.client = IPAddress("198.51.100.1")
        #expect(try await self.browser.submit(try await self.form(), Self.right).status == 303)
    }

    @Test func `a known device has a limit of its own`() async throws {
        try await self.gateway.addAccount()
        #expect(try await self.browser.submit(try await self.form(), Self.right).status == 303)
        self.browser.client = IPAddress("192.0.2.1")
        let stranger = Browser(self.gateway)
        stranger.client = IPAddress("192.0.2.1")
        for _ in 0...PasswordThrottle.freeAttempts {
            let form = try await stranger.open("\(gate)/oauth2/start/local").form(with: "state")
            _ = try await stranger.submit(form, ["username": "ada@example.org", "password": "x"])
        }
        #expect(try await self.browser.submit(try await self.form(), Self.right).status == 303)
    }

    // MARK: Passkeys

    /// A passkey of a new account, in an authenticator.
    private func withPasskey() async throws -> (key: SoftAuthenticator, handle: [UInt8], account: Account) {
        let account = try await self.gateway.addAccount()
        let passkeys = try #require(self.gateway.runtime.users.passkeys)
        let handle = try #require(LocalAccounts.handle(of: account.id))
        let key = SoftAuthenticator()
        try await key.add(to: passkeys, of: "local:\(account.id)", handle: handle)
        return (key, handle, account)
    }

    private func passkeyForm() async throws -> PageForm {
        try #require(try await self.start("/wiki").forms.first { $0.options != nil })
    }

    @Test func `a passkey signs its user in without a password, once for its attempt`() async throws {
        let (key, handle, account) = try await self.withPasskey()
        let form = try await self.passkeyForm()
        let attempt = self.browser.jar
        let credential = try key.assertion(form.challenge, handle: handle).text
        let response = try await self.browser.submit(form, ["credential": credential])
        #expect(response.status == 303 && response.location == "\(gate)/wiki")
        let session = try await self.session()
        #expect(session.profile.user == "local:\(account.id)" && session.passkeyUsed == self.gateway.clock.now)
        #expect(session.methods == ["hwk"])
        self.browser.jar = attempt
        let again = try await self.browser.submit(form, ["credential": credential])
        #expect(again.status == 403 && !self.isSignedIn)
        let next = try key.assertion(form.challenge, handle: handle).text
        let spent = try await self.browser.submit(form, ["credential": next])
        #expect(spent.status == 400 && spent.text.contains("openid.attempt_lost") && !self.isSignedIn)
    }

    @Test func `a passkey for another challenge, of no account, or of a disabled one is rejected`() async throws {
        let (key, handle, account) = try await self.withPasskey()
        let (form, other) = (try await self.passkeyForm(), try await self.passkeyForm())
        let remark = "The passkey was not accepted. Use another one or try once more"
        let credentials = [
            try key.assertion(other.challenge, handle: handle).text,
            try key.assertion(form.challenge, handle: [UInt8](repeating: 0, count: 16)).text,
            try key.assertion(form.challenge).text, "{}", "", "x",
        ]
        for credential in credentials {
            let response = try await self.browser.submit(form, ["credential": credential])
            #expect(response.status == 403 && response.rejection?.reason == .passkeyRejected, "\(credential)")
            #expect(response.text.contains(remark) && response.rejection?.incident != nil)
        }
        _ = try await self.gateway.accounts.setDisabled(true, account.id)
        let disabled = try key.assertion(form.challenge, handle: handle).text
        #expect(try await self.browser.submit(form, ["credential": disabled]).status == 403)
        #expect(!self.isSignedIn && !self.gateway.store.calls.contains("insert"))
    }

    @Test func `without passkeys none is offered and none is accepted`() async throws {
        let plain = try GatewayFixture(features: [.accounts])
        let browser = Browser(plain)
        let page = try await browser.open("\(gate)/oauth2/start/local")
        #expect(page.forms.count == 1 && !page.text.contains("<script"))
        #expect(page.head.headerFields[.contentSecurityPolicy]?.contains("script-src") == false)
        let response = try await browser.submit(try page.form(with: "state"), ["credential": "{}"])
        #expect(response.status == 403 && response.text.contains("passkey.rejected"))
    }

    // MARK: The page

    @Test func `the page leads to a recovery and a registration where there are some`() async throws {
        let page = try await self.start()
        let all = links(page)
        #expect(all["Forgot your password?"] == "\(gate)/oauth2/recover/local")
        #expect(all["Create an account"] == "\(gate)/oauth2/join/local")
        for features in [GatewayFeatures.accounts, [.accounts, .registration]] {
            let plain = try await Browser(try GatewayFixture(features: features)).open("\(gate)/oauth2/start/local")
            #expect(links(plain).isEmpty && plain.text.contains("ask the administrator"))
        }
        let closed = try await Browser(try GatewayFixture(features: [.accounts, .mail])).open(
            "\(gate)/oauth2/start/local"
        )
        #expect(Array(links(closed).keys) == ["Forgot your password?"])
    }

    @Test(arguments: [
        ("ada@example.org", "ada@example.org"), ("ada", ""), ("a@\(String(repeating: "e", count: 250)).org", ""),
    ])
    func `the page has the email address that a user has typed before`(hint: String, name: String) async throws {
        let query = Form([Form.Field("login_hint", hint)]).encoded
        let page = try await self.browser.open("\(gate)/oauth2/start/local?\(query)")
        #expect(page.text.contains("name=\"username\" value=\"\(name)\""))
    }

    @Test func `a form that leads to an app of another host may be redirected there`() async throws {
        let head = try self.gateway.head("GET /cart", "shop.example.com", "Sec-Fetch-Mode: navigate\r\n")
        let transfer = SignInRedirect(runtime: self.gateway.runtime).response(
            for: head,
            route: try self.gateway.route("shop")
        )
        let path = String(try #require(transfer.location).dropFirst(gate.count))
        let policy = try await self.start(path).head.headerFields[.contentSecurityPolicy]
        #expect(policy?.contains("form-action 'self' https://shop.example.com;") == true)
    }
}
