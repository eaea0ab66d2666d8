// SPDX-License-Identifier: Apache-2.0

import GateAccounts
import GateCore
import GateFixtures
import GateHTTP
import GateOperations
import GatePasskeys
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateEndpoints
@testable import GateRuntime

private let gate = "https://gate.example.com"
private let page = "\(gate)/oauth2/connected"
private let grace: [String: JSON] = ["sub": "grace", "email": "grace@example.net", "email_verified": true]

/// accounts at several providers that a user connects.
@Suite struct ConnectedTests {
    private let lines = LogLines()
    private let gateway: GatewayFixture
    private let browser: Browser
    private let connections: AccountConnections

    init() throws {
        let start = ContinuousClock.now
        self.gateway = try GatewayFixture(
            log: RequestLog(logger: self.lines.logger),
            signIns: SignInLimiter { start },
            features: [.passkeys, .connections, .accounts]
        )
        self.browser = Browser(self.gateway)
        self.connections = try #require(self.gateway.runtime.users.connections)
    }

    private func isLive(_ issued: IssuedSession) async throws -> Bool {
        let (sessions, now) = (self.gateway.runtime.sessions, self.gateway.clock.now)
        return try await sessions.session(for: issued.ticket, host: GatewayFixture.gate, now: now) != nil
    }

    private func known() async throws -> [String] {
        try await self.connections.accounts(of: "staff:ada")?.all.map(\.user) ?? []
    }

    /// The page after the user has confirmed the session by a sign-in.
    private func confirmed() async throws -> Response {
        _ = try await self.gateway.signIn(self.browser)
        let start = try #require(links(try await self.browser.open(page))["Confirm"])
        let location = try #require(try await self.browser.open(start).location)
        let back = try await self.browser.open(try self.browser.callback(to: location, provider: "staff")).location
        return try await self.browser.open(try #require(back))
    }

    /// The button of a provider on that page.
    private func button(_ response: Response, _ provider: String = "guests") throws -> String {
        try #require(links(response).values.first { $0.hasPrefix("\(gate)/oauth2/start/\(provider)?") })
    }

    /// The question after a sign-in with another account.
    private func question(_ button: String, as claims: [String: JSON] = grace) async throws -> Response {
        let location = try #require(try await self.browser.open(button).location)
        let callback = try self.browser.callback(to: location, provider: "guests", as: claims)
        return try await self.browser.open(callback)
    }

    private func late(_ response: Response) -> Bool {
        response.status == 403 && response.rejection?.reason == .passkeyLate
    }

    // MARK: Who gets the page

    @Test func `without connected accounts there is no such page`() async throws {
        let response = try await Browser(try GatewayFixture()).open(page)
        #expect(response.status == 404 && response.text.contains("endpoint.none"))
    }

    @Test func `who has no session signs in first, at the gateway's host`() async throws {
        let back = "\(gate)/oauth2/sign_in?rd=%2Foauth2%2Fconnected"
        #expect(try await self.browser.open(page).location == back)
        #expect(try await self.browser.open("https://shop.example.com/oauth2/connected").location == page)
        let script = try await self.browser.open(page, "Accept: */*\r\n")
        #expect(script.status == 401 && script.code == "session.none")
    }

    @Test func `a user confirms the session before a change, for one page load`() async throws {
        _ = try await self.gateway.signIn(self.browser)
        let first = try await self.browser.open(page)
        #expect(
            first.status == 200 && links(first)["Confirm"] != nil
                && !links(first).values.contains { $0.contains("start/guests") }
        )
        #expect(first.head.headerFields[.contentSecurityPolicy]?.contains("script-src") == false)
        #expect(links(try await self.confirmed())["Confirm"] == nil)
        #expect(links(try await self.browser.open("\(page)?confirm=1"))["Confirm"] != nil)
    }

    // MARK: Connecting

    @Test func `a sign-in with another account leads to a question, and the consent connects the two`() async throws {
        let button = try self.button(try await self.confirmed())
        #expect(button.hasSuffix("&prompt=select_account"))
        let jar = self.browser.jar
        let begun = self.browser.begun.count
        let question = try await self.question(button)
        #expect(question.status == 200 && question.text.contains("<strong>grace@example.net</strong>"))
        #expect(self.browser.begun.count == begun && self.browser.jar == jar, "no session begins")
        #expect(try await self.known().isEmpty)
        let other = try await self.gateway.session(
            of: Profile(provider: "guests", issuer: "https://id.guests.example", subject: "grace")
        )
        let form = try question.form(with: "consent")
        #expect(form.action == page)
        let done = try await self.browser.submit(form)
        #expect(done.status == 303 && done.location == "\(page)?changed=1")
        #expect(try await self.known() == ["staff:ada", "guests:grace"])
        #expect(try await !self.isLive(other), "its sessions have another key for apps")
        #expect(try await self.browser.open("\(gate)/oauth2/userinfo").status == 200)
        #expect(self.lines.all.contains { $0.values["change"] == "account connected: guests:grace" })
        #expect(try await self.browser.open("\(page)?changed=1").text.contains("Your connected accounts have changed"))
        // Apps know the user by the first account from now on.
        let guest = Browser(self.gateway)
        try await guest.open(try await guest.begin("guests", as: grace))
        #expect(guest.begun.last?.session.profile.forwardedKey == "staff:ada")
    }

    @Test func `the other sign-in belongs to the session on whose page it began`() async throws {
        let button = try self.button(try await self.confirmed())
        let jar = self.browser.jar
        for session in [nil, try await self.gateway.session(of: .staff()), try await self.gateway.session(of: .guest)] {
            self.browser.jar = jar
            let location = try #require(try await self.browser.open(button).location)
            let callback = try self.browser.callback(to: location, provider: "guests", as: grace)
            self.browser.jar[GatewayFixture.gate]?["__Host-gatehouse"] = session?.ticket.text
            let response = try await self.browser.open(callback)
            #expect(response.status == 409 && response.text.contains("account.connected"))
            #expect(self.browser.begun.allSatisfy { $0.session.provider == "staff" })
        }
        #expect(try await self.known().isEmpty)
    }

    @Test func `the account of the session is not connected to itself`() async throws {
        let button = try self.button(try await self.confirmed(), "staff")
        let location = try #require(try await self.browser.open(button).location)
        let response = try await self.browser.open(try self.browser.callback(to: location, provider: "staff"))
        #expect(response.status == 409 && response.text.contains("account.connected"))
    }

    @Test(arguments: [(599, 200), (600, 303)] as [(Int64, Int)])
    func `after ten minutes the other sign-in is a usual one`(seconds: Int64, status: Int) async throws {
        let button = try self.button(try await self.confirmed())
        self.gateway.clock.advance(by: seconds)
        let response = try await self.question(button)
        #expect(response.status == status)
        #expect((self.browser.begun.last?.session.provider == "guests") == (status == 303))
    }

    @Test func `a request to connect that we have not sealed is a usual sign-in`() async throws {
        _ = try await self.gateway.signIn(self.browser)
        for text in ["x", "", "AAAA"] {
            let back = Form([Form.Field("rd", "/oauth2/connected?with=\(text)")]).encoded
            #expect(try await self.question("\(gate)/oauth2/start/guests?\(back)").status == 303)
        }
    }

    @Test func `a callback with a question works once`() async throws {
        let button = try self.button(try await self.confirmed())
        let location = try #require(try await self.browser.open(button).location)
        let callback = try self.browser.callback(to: location, provider: "guests", as: grace)
        let jar = self.browser.jar
        #expect(try await self.browser.open(callback).status == 200)
        self.browser.jar = jar
        #expect(try await self.browser.open(callback).status == 303, "the user has a session and goes on")
        #expect(self.gateway.providers.count("/token") == 2)
    }

    @Test(arguments: [(599, true), (600, false)] as [(Int64, Bool)])
    func `the question is over after ten minutes`(seconds: Int64, isGood: Bool) async throws {
        let form = try await self.question(try self.button(try await self.confirmed())).form(with: "consent")
        self.gateway.clock.advance(by: seconds)
        #expect(try await self.late(self.browser.submit(form)) != isGood)
        #expect(try await self.known().isEmpty != isGood)
    }

    @Test func `the consent is for one sign-in, and no other form of ours passes for it`() async throws {
        let form = try await self.question(try self.button(try await self.confirmed())).form(with: "consent")
        let session = try #require(self.browser.begun.last?.session)
        let (sealer, now) = (self.gateway.runtime.sealer, self.gateway.clock.now)
        let asked = Form([
            Form.Field("provider", "guests"), Form.Field("issuer", "https://id.guests.example"),
            Form.Field("subject", "grace"), Form.Field("name", "grace"),
        ])
        for kind in [Consent.Kind.client, .device, .credentials] {
            let field = Consent(kind, to: asked, of: session, now: now).sealed(by: sealer)
            #expect(self.late(try await self.browser.post(page, ["consent": field])), "\(kind)")
        }
        for field in ["", "x", Consent(.connect, to: Form(), of: session, now: now).sealed(by: sealer)] {
            #expect(self.late(try await self.browser.post(page, ["consent": field])))
        }
        _ = try await self.gateway.signIn(self.browser)
        #expect(self.late(try await self.browser.submit(form)))
        #expect(try await self.known().isEmpty)
    }

    @Test(arguments: [
        "Sec-Fetch-Site: cross-site\r\n", "Origin: https://evil.example\r\n",
        "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\n",
    ])
    func `a change comes from our page, by a navigation`(lines: String) async throws {
        let form = try await self.question(try self.button(try await self.confirmed())).form(with: "consent")
        let response = try await self.browser.submit(form, [:], lines)
        #expect(response.status == 403 && response.text.contains("request.cross_site"))
        #expect(try await self.known().isEmpty)
    }

    @Test func `an account that another user has connected is named on the page, and stays theirs`() async throws {
        let other = Profile(provider: "guests", issuer: "https://id.guests.example", subject: "grace")
        _ = try await self.connections.connect(other, to: .staff("eve"))
        let form = try await self.question(try self.button(try await self.confirmed())).form(with: "consent")
        let response = try await self.browser.submit(form)
        #expect(response.status == 409 && response.rejection?.reason == .accountConnected)
        #expect(response.text.contains("The account was not connected") && response.rejection?.incident != nil)
        #expect(try await self.connections.forwardedKey(of: "guests:grace") == "staff:eve")
    }

    // MARK: Disconnecting

    @Test func `an account is disconnected by a form of the confirmed page, and its sessions end`() async throws {
        let other = Profile(provider: "guests", issuer: "https://id.guests.example", subject: "grace")
        _ = try await self.connections.connect(other, to: .staff())
        #expect(try await self.browser.open(page).forms.isEmpty)
        let form = try #require(try await self.confirmed().forms.first { $0.buttons["disconnect"] != nil })
        #expect(form.buttons["disconnect"] == "guests:grace")
        let session = try await self.gateway.session(of: other)
        let unknown = try await self.browser.submit(form, ["disconnect": "guests:none"])
        #expect(unknown.status == 303 && unknown.location == page)
        let first = try await self.browser.submit(form, ["disconnect": "staff:ada"])
        #expect(first.status == 303 && first.location == page)
        #expect(try await self.known().count == 2)
        #expect(try await self.isLive(session))
        let done = try await self.browser.submit(form, ["disconnect": "guests:grace"])
        #expect(done.status == 303 && done.location == "\(page)?changed=1")
        #expect(try await self.known().isEmpty)
        #expect(try await !self.isLive(session))
        #expect(self.lines.all.contains { $0.values["change"] == "account disconnected: guests:grace" })
    }

    @Test func `the form of a disconnection is for one sign-in, and over after ten minutes`() async throws {
        let other = Profile(provider: "guests", issuer: "https://id.guests.example", subject: "grace")
        _ = try await self.connections.connect(other, to: .staff())
        let form = try #require(try await self.confirmed().forms.first { $0.buttons["disconnect"] != nil })
        let jar = self.browser.jar
        _ = try await self.gateway.signIn(self.browser)
        #expect(self.late(try await self.browser.submit(form, ["disconnect": "guests:grace"])))
        self.browser.jar = jar
        self.gateway.clock.advance(by: 600)
        #expect(self.late(try await self.browser.submit(form, ["disconnect": "guests:grace"])))
        #expect(try await self.known().count == 2)
    }

    // MARK: With a passkey

    @Test func `who has a passkey confirms with that alone`() async throws {
        _ = try await self.confirmed()
        let session = try #require(self.browser.begun.last?.session)
        let passkeys = try #require(self.gateway.runtime.users.passkeys)
        let key = SoftAuthenticator()
        try await key.add(to: passkeys, of: "staff:ada")
        // The cookie of a sign-in does not count any more.
        let start = Form([Form.Field("rd", "/oauth2/connected?confirm=1")]).encoded
        let location = try #require(try await self.browser.open("\(gate)/oauth2/start/staff?\(start)").location)
        let back = try await self.browser.open(try self.browser.callback(to: location, provider: "staff")).location
        let first = try await self.browser.open(try #require(back))
        let form = try #require(first.forms.first { $0.options != nil })
        #expect(!links(first).values.contains { $0.contains("/oauth2/start/") })
        #expect(
            first.head.headerFields[.contentSecurityPolicy]?.hasSuffix("; script-src \(gate)/oauth2/passkey.js") == true
        )
        let wrong = try await self.browser.submit(form, ["credential": "{}"])
        #expect(wrong.status == 403 && wrong.rejection?.reason == .passkeyRejected)
        let confirmed = try await self.browser.submit(form, ["credential": try key.assertion(form.challenge).text])
        #expect(confirmed.status == 200 && links(confirmed).values.contains { $0.contains("start/guests") })
        #expect(self.late(try await self.browser.submit(form, ["credential": try key.assertion(form.challenge).text])))
        // A form of another purpose confirms nothing.
        let now = self.browser.begun.last?.session ?? session
        let ceremony = PasskeyCeremony(
            .use,
            handle: [],
            returnPath: nil,
            of: now,
            now: self.gateway.clock.now,
            random: self.gateway.runtime.services.random
        )
        let fields = [
            PasskeyCeremony.field: ceremony.sealed(by: self.gateway.runtime.sealer),
            "credential": try key.assertion(ceremony.challenge.text).text,
        ]
        #expect(self.late(try await self.browser.post(page, fields)))
    }

    // MARK: Sign-ins of connected accounts

    @Test func `a sign-in with an account whose first one is disabled begins no session`() async throws {
        let account = try await self.gateway.addAccount()
        let profile = try self.gateway.accounts.profile(of: account)
        let other = Profile(provider: "guests", issuer: "https://id.guests.example", subject: "grace")
        _ = try await self.connections.connect(other, to: profile)
        try await self.browser.open(try await self.browser.begin("guests", as: grace))
        #expect(self.browser.begun.last?.session.profile.forwardedKey == profile.user)
        _ = try await self.gateway.accounts.setDisabled(true, account.id)
        let response = try await self.browser.open(try await self.browser.begin("guests", as: grace))
        #expect(response.status == 403 && response.text.contains("account.disabled"))
        #expect(self.browser.begun.count == 1)
    }

    @Test func `F-07: a session that is due ends once the first account of its user is disabled`() async throws {
        let policy = RecheckPolicy(interval: .seconds(1800), maxStale: .seconds(900))
        let gateway = try GatewayFixture(recheck: policy, features: [.connections, .accounts])
        let account = try await gateway.addAccount()
        var profile = Profile.guest
        profile.connectedKey = try gateway.accounts.profile(of: account).user
        let issued = try await gateway.session(of: profile)
        let (lookUp, sessions) = (SessionLookUp(runtime: gateway.runtime), gateway.runtime.sessions)
        func isLive() async throws -> Bool {
            _ = await lookUp.result(for: issued.ticket, host: GatewayFixture.gate, mayAskUser: true)
            let now = gateway.clock.now
            return try await sessions.session(for: issued.ticket, host: GatewayFixture.gate, now: now) != nil
        }
        gateway.clock.advance(by: 1900)
        #expect(try await isLive())
        _ = try await gateway.accounts.setDisabled(true, account.id)
        #expect(try await !isLive())
    }
}
