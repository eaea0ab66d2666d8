// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateAccounts
@testable import GateEndpoints
@testable import GateRuntime

private let gate = "https://gate.example.com"
private let password = GatewayFixture.password
private let new = "a whole new password of mine"

/// What users of local accounts do to their credentials: a gateway with one account, and whether a browser is signed in.
private struct Setting {
    let gateway: GatewayFixture
    let browser: Browser
    let account: Account
    var accounts: LocalAccounts { get throws { try self.gateway.accounts } }

    init(_ features: GatewayFeatures = [.accounts, .passkeys, .connections]) async throws {
        let start = ContinuousClock.now
        self.gateway = try GatewayFixture(signIns: SignInLimiter { start }, features: features)
        self.browser = Browser(self.gateway)
        self.account = try await self.gateway.addAccount()
    }

    var profile: Profile { get throws { try self.accounts.profile(of: self.account) } }

    func isLive(_ issued: IssuedSession) async throws -> Bool {
        let now = self.gateway.clock.now
        return try await self.gateway.runtime.sessions.session(for: issued.ticket, host: GatewayFixture.gate, now: now)
            != nil
    }

    /// Whether a password is the right one.
    func isRight(_ text: String) async throws -> Bool {
        let origin = LocalAccounts.Origin(client: nil, device: nil)
        switch try await self.accounts.check("ada@example.org", text, from: origin) {
        case .admitted, .needsCode: return true
        case .rejected, .tooMany: return false
        }
    }

    func link() async throws -> String {
        let made = try await self.accounts.reset(self.account.id, verifiesEmail: true, removesCodes: false)
        return try #require(made?.token)
    }

    func codes() async throws -> Secret? { try await self.accounts.store.account(self.account.id)?.codes?.secret }
}

/// links by which users choose a password.
@Suite struct AccountLinkTests {
    private static let typed = ["new_password": new, "repeat_password": new]

    private func open(_ token: String, _ setting: Setting) async throws -> Response {
        try await setting.browser.open("\(gate)/oauth2/link/local?token=\(token)")
    }

    @Test func `a link is opened as often as wanted, and used once`() async throws {
        let setting = try await Setting()
        let token = try await setting.link()
        for _ in 0..<3 {
            let page = try await self.open(token, setting)
            #expect(page.status == 200 && page.text.contains("value=\"ada@example.org\" readonly"))
            #expect(try page.form(with: "token").hidden == ["token": token])
            #expect(try page.form(with: "token").action == "\(gate)/oauth2/link/local")
        }
        let form = try await self.open(token, setting).form(with: "token")
        let done = try await setting.browser.submit(form, Self.typed)
        #expect(done.status == 200 && done.text.contains("The link is used up"))
        #expect(links(done) == ["Sign in": "\(gate)/oauth2/start/local"])
        #expect(try await setting.isRight(new))
        let again = try await setting.browser.submit(form, Self.typed)
        #expect(again.status == 400 && again.text.contains("account.link"))
        #expect(try await self.open(token, setting).status == 400)
    }

    @Test func `a new password ends all sessions of the user, and of no other`() async throws {
        let setting = try await Setting()
        let own = try await setting.gateway.session(of: try setting.profile)
        let other = try await setting.gateway.session(of: .staff())
        let form = try await self.open(try await setting.link(), setting).form(with: "token")
        #expect(try await setting.isLive(own))
        #expect(try await setting.browser.submit(form, Self.typed).status == 200)
        #expect(try await !setting.isLive(own))
        #expect(try await setting.isLive(other))
    }

    @Test(
        arguments: [
            (["new_password": new, "repeat_password": "\(new)x"], "The two passwords differ"),
            (["new_password": new], "The two passwords differ"),
            (["new_password": "short", "repeat_password": "short"], "Use at least"),
            ([:], "Use at least"),
        ] as [([String: String], String)]
    )
    func `a password that is typed wrong or that no rule accepts changes nothing`(
        typed: [String: String],
        remark: String
    ) async throws {
        let setting = try await Setting()
        let own = try await setting.gateway.session(of: try setting.profile)
        let token = try await setting.link()
        let form = try await self.open(token, setting).form(with: "token")
        let response = try await setting.browser.submit(form, typed)
        #expect(response.status == 400 && response.text.contains(remark))
        #expect(try response.form(with: "token").hidden == ["token": token])
        #expect(try await setting.isLive(own))
        #expect(try await setting.browser.submit(form, Self.typed).status == 200)
    }

    @Test(arguments: ["Sec-Fetch-Site: cross-site\r\n", "Origin: https://evil.example\r\n"])
    func `another site uses no link`(lines: String) async throws {
        let setting = try await Setting()
        let form = try await self.open(try await setting.link(), setting).form(with: "token")
        let response = try await setting.browser.submit(form, Self.typed, lines)
        #expect(response.status == 403 && response.text.contains("request.cross_site"))
        #expect(try await !setting.isRight(new))
    }

    @Test func `the token counts where it belongs, for the provider of the account, on the gateway's host`()
        async throws
    {
        let setting = try await Setting()
        let token = try await setting.link()
        let typed = Self.typed.merging(["token": token]) { $1 }
        let inQuery = try await setting.browser.post("\(gate)/oauth2/link/local?token=\(token)", Self.typed)
        #expect(inQuery.status == 400 && inQuery.text.contains("account.link"))
        for address in [
            "\(gate)/oauth2/link/staff", "\(gate)/oauth2/link/none", "https://shop.example.com/oauth2/link/local",
        ] {
            let response = try await setting.browser.post(address, typed)
            #expect(response.status == 404 && response.text.contains("provider.none"), "\(address)")
            #expect(try await setting.browser.open("\(address)?token=\(token)").status == 404)
        }
        #expect(try await !setting.isRight(new))
    }

    @Test func `unknown tokens count as failed`() async throws {
        let setting = try await Setting()
        setting.browser.client = IPAddress("192.0.2.1")
        let token = try await setting.link()
        let limit = setting.gateway.runtime.limits.signIns.failuresPerMinute
        for _ in 0...limit { #expect(try await self.open(token, setting).status == 200) }
        for _ in 0..<limit { #expect(try await self.open("x", setting).status == 400) }
        let response = try await self.open(token, setting)
        #expect(response.status == 429 && response.text.contains("signin.failing"))
    }

    @Test(arguments: ["nothing", "connection", "passkey"])
    func `the page names what else signs the user in`(what: String) async throws {
        let setting = try await Setting()
        let runtime = setting.gateway.runtime
        let profile = try setting.profile
        if what == "connection" { _ = try await runtime.users.connections?.connect(.staff(), to: profile) }
        if what == "passkey", let passkeys = runtime.users.passkeys {
            try await SoftAuthenticator().add(to: passkeys, of: profile.user)
        }
        let form = try await self.open(try await setting.link(), setting).form(with: "token")
        let done = try await setting.browser.submit(form, Self.typed)
        #expect(done.text.contains("Your passkeys and connected accounts still") == (what != "nothing"))
        let start = "\(gate)/oauth2/start/local"
        #expect(links(done).values.contains(what == "nothing" ? start : "\(start)?rd=%2Foauth2%2Faccount"))
    }
}

/// the page about the password and the second factor.
@Suite struct CredentialsTests {
    private static let address = "\(gate)/oauth2/credentials"
    private static let change = [
        "action": "password", "password": password, "new_password": new, "repeat_password": new,
    ]

    /// A browser with a session, and the page.
    private func signedIn() async throws -> (setting: Setting, session: Session) {
        let setting = try await Setting()
        return (setting, try await setting.gateway.signIn(setting.browser, as: try setting.profile))
    }

    private func form(_ setting: Setting, _ action: String = "password") async throws -> PageForm {
        let page = try await setting.browser.open(Self.address)
        return try #require(page.forms.first { $0.buttons["action"] == action })
    }

    @Test func `who has no session signs in first, at the gateway's host`() async throws {
        let setting = try await Setting()
        let response = try await setting.browser.open(Self.address)
        #expect(response.location == "\(gate)/oauth2/sign_in?rd=%2Foauth2%2Fcredentials")
        let elsewhere = try await setting.browser.open("https://shop.example.com/oauth2/credentials")
        #expect(elsewhere.status == 303 && elsewhere.location == Self.address)
    }

    @Test func `users of other providers have no such page, and removed ones no account`() async throws {
        let (setting, _) = try await self.signedIn()
        _ = try await setting.accounts.setDisabled(true, setting.account.id)
        let disabled = try await setting.browser.open(Self.address)
        #expect(disabled.status == 401 && disabled.text.contains("session.none"))
        _ = try await setting.gateway.signIn(setting.browser)
        let other = try await setting.browser.open(Self.address)
        #expect(other.status == 404 && other.text.contains("endpoint.none"))
    }

    @Test func `a new password ends every session, this one too`() async throws {
        let (setting, _) = try await self.signedIn()
        let (own, other) = (
            try await setting.gateway.session(of: try setting.profile), try await setting.gateway.session(of: .staff())
        )
        let done = try await setting.browser.submit(try await self.form(setting), Self.change)
        #expect(done.status == 200 && done.text.contains("The password is changed, and you are signed out everywhere"))
        #expect(links(done).values.contains("\(gate)/oauth2/start/local"))
        #expect(try await !setting.isLive(own))
        #expect(try await setting.isLive(other))
        #expect(try await setting.browser.open("\(gate)/oauth2/userinfo", "Accept: */*\r\n").status == 401)
        #expect(try await setting.isRight(new))
    }

    @Test(
        arguments: [
            (["password": "x"], 403, "The current password is wrong"),
            (["password": ""], 403, "The current password is wrong"),
            (["repeat_password": "x"], 400, "The two passwords differ"),
            (["new_password": "short", "repeat_password": "short"], 400, "Use at least"),
            (["action": "other"], 404, "endpoint.none"), (["action": ""], 404, "endpoint.none"),
        ] as [([String: String], Int, String)]
    )
    func `a change that is typed wrong changes nothing`(typed: [String: String], status: Int, text: String) async throws
    {
        let (setting, _) = try await self.signedIn()
        let form = try await self.form(setting)
        let response = try await setting.browser.submit(form, Self.change.merging(typed) { $1 })
        #expect(response.status == status && response.text.contains(text))
        #expect((response.rejection?.reason == .accountCredentials) == (status == 403))
        #expect(try await setting.browser.open("\(gate)/oauth2/userinfo").status == 200)
        #expect(try await setting.isRight(password))
        #expect(try await setting.browser.submit(form, Self.change).status == 200, "and the form goes on")
    }

    @Test(arguments: [(599, 200), (600, 403)] as [(Int64, Int)])
    func `the form is over after ten minutes`(seconds: Int64, status: Int) async throws {
        let (setting, _) = try await self.signedIn()
        let form = try await self.form(setting)
        setting.gateway.clock.advance(by: seconds)
        #expect(try await setting.browser.submit(form, Self.change).status == status)
        #expect(try await setting.isRight(new) == (status == 200))
    }

    @Test(arguments: ["Sec-Fetch-Site: cross-site\r\n", "Origin: https://evil.example\r\n"])
    func `another site changes nothing`(lines: String) async throws {
        let (setting, _) = try await self.signedIn()
        let response = try await setting.browser.submit(try await self.form(setting), Self.change, lines)
        #expect(response.status == 403 && response.text.contains("request.cross_site"))
        #expect(try await setting.isRight(password))
    }

    @Test func `the form is for a change of credentials, in its sign-in, and nothing else passes for it`() async throws
    {
        let (setting, session) = try await self.signedIn()
        let (sealer, now) = (setting.gateway.runtime.sealer, setting.gateway.clock.now)
        let own = try #require(try await self.form(setting).hidden["consent"])
        let asked = Form([Form.Field("credentials", "change")])
        let other = try await setting.gateway.session(of: try setting.profile).session
        var fields = [
            "", "x", Consent(.credentials, to: Form(), of: session, now: now).sealed(by: sealer),
            Consent(.credentials, to: asked, of: other, now: now).sealed(by: sealer),
        ]
        for kind in [Consent.Kind.client, .device, .connect, .disconnect] {
            fields.append(Consent(kind, to: asked, of: session, now: now).sealed(by: sealer))
        }
        for field in fields {
            let response = try await setting.browser.post(Self.address, Self.change.merging(["consent": field]) { $1 })
            #expect(response.status == 403 && response.text.contains("request.cross_site"), "\(field)")
        }
        #expect(try await setting.browser.post(Self.address, Self.change).status == 403)
        #expect(try await setting.isRight(password))
        let done = try await setting.browser.post(Self.address, Self.change.merging(["consent": own]) { $1 })
        #expect(done.status == 200)
    }

    @Test func `after five wrong passwords each has to wait`() async throws {
        let (setting, _) = try await self.signedIn()
        let form = try await self.form(setting)
        let wrong = Self.change.merging(["password": "x"]) { $1 }
        for _ in 0..<PasswordThrottle.freeAttempts {
            #expect(try await setting.browser.submit(form, wrong).status == 403)
        }
        let response = try await setting.browser.submit(form, Self.change)
        #expect(response.status == 429 && response.rejection?.reason == .accountTooMany)
        #expect(response.head.headerFields[.retryAfter] == "2" && response.text.contains("Wait 2 seconds"))
    }

    @Test func `the second factor is added with a code and the password, and removed with both`() async throws {
        let (setting, _) = try await self.signedIn()
        let form = try await self.form(setting, "enrol")
        let enrolment = try #require(form.hidden["enrolment"])
        let secret = try #require(EnrolmentSecret(enrolment, for: setting.account, of: try setting.accounts)?.secret)
        let code = setting.gateway.code(secret)
        for (typed, status, text) in [
            (["password": password, "code": "000000"], 400, "The code is wrong. Check the clock"),
            (["password": "x", "code": code], 403, "The current password is wrong"),
            (["password": password, "code": code, "enrolment": "x"], 400, "Take the new secret over"),
        ] {
            let response = try await setting.browser.submit(form, typed.merging(["action": "enrol"]) { $1 })
            #expect(response.status == status && response.text.contains(text))
            #expect(try await setting.codes() == nil)
        }
        let done = try await setting.browser.submit(form, ["action": "enrol", "password": password, "code": code])
        #expect(done.status == 200 && done.text.contains("Keep these codes"))
        #expect(try await setting.codes() != nil)
        #expect(try await setting.browser.open("\(gate)/oauth2/userinfo").status == 200)

        let removal = try await self.form(setting, "remove")
        let next = setting.gateway.code(secret, later: 1)
        for (typed, status) in [
            (["password": password, "code": "000000"], 400), (["password": password, "code": code], 400),
            (["password": "x", "code": next], 403),
        ] {
            let response = try await setting.browser.submit(removal, typed.merging(["action": "remove"]) { $1 })
            #expect(response.status == status)
            #expect(try await setting.codes() != nil)
        }
        let gone = try await setting.browser.submit(removal, ["action": "remove", "password": password, "code": next])
        #expect(gone.status == 200 && gone.text.contains("The authenticator app is removed"))
        #expect(try await setting.codes() == nil)
    }
}
