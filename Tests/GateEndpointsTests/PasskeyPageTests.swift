// SPDX-License-Identifier: Apache-2.0

import GateAccounts
import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GateOperations
import GatePages
import GatePasskeys
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateEndpoints
@testable import GateRuntime

private let gate = "https://gate.example.com"
private let use = "\(gate)/oauth2/passkey"
private let list = "\(gate)/oauth2/passkeys"
private let navigation = "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Site: same-origin\r\n"

/// the passkeys of signed-in users.
@Suite struct PasskeyPageTests {
    private let lines = LogLines()
    private let gateway: GatewayFixture
    private let browser: Browser

    init() throws {
        let start = ContinuousClock.now
        self.gateway = try GatewayFixture(
            log: RequestLog(logger: self.lines.logger),
            signIns: SignInLimiter { start },
            features: [.passkeys, .connections, .accounts]
        )
        self.browser = Browser(self.gateway)
    }

    private func saved(_ user: String = "staff:ada") async throws -> [SavedPasskey] {
        try await self.gateway.runtime.users.passkeys?.passkeys(of: user)?.all ?? []
    }

    private func session() async throws -> Session {
        let text = try #require(self.browser.jar[GatewayFixture.gate]?["__Host-gatehouse"])
        let sessions = self.gateway.runtime.sessions
        let ticket = try #require(sessions.ticket(text.utf8, host: GatewayFixture.gate))
        let found = try await sessions.session(for: ticket, host: GatewayFixture.gate, now: self.gateway.clock.now)
        return try #require(found)
    }

    /// Confirms the session by a new sign-in with the provider; returns the page on which passkeys are changed.
    private func confirmed(as claims: [String: JSON] = Browser.ada) async throws -> Response {
        let page = try await self.browser.open(list)
        let start = try #require(links(page)["Confirm"])
        let location = try #require(try await self.browser.open(start).location)
        let callback = try self.browser.callback(to: location, provider: "staff", as: claims)
        let back = try #require(try await self.browser.open(callback).location)
        return try await self.browser.open(back)
    }

    /// The form with which a passkey is added.
    private func addForm(_ page: Response) throws -> PageForm {
        try #require(page.forms.first { $0.options?["pubKeyCredParams"] != nil })
    }

    /// Signs in and adds a passkey.
    private func withPasskey(_ number: UInt8 = 1) async throws -> SoftAuthenticator {
        _ = try await self.gateway.signIn(self.browser)
        let form = try self.addForm(try await self.confirmed())
        let key = SoftAuthenticator(number)
        let response = try await self.browser.submit(
            form,
            ["credential": key.registration(try form.challenge).text, "name": "Phone"]
        )
        #expect(response.status == 303)
        return key
    }

    /// The form with which a passkey is used on a page.
    private func useForm(_ address: String = use) async throws -> PageForm {
        try #require(try await self.browser.open(address).forms.first { $0.options?["rpId"] == "example.com" })
    }

    private func late(_ response: Response) -> Bool {
        response.status == 403 && response.rejection?.reason == .passkeyLate
            && response.text.contains("The page was open for too long")
    }

    // MARK: Who gets the pages

    @Test(arguments: ["passkey", "passkeys"])
    func `without passkeys there are no such pages`(page: String) async throws {
        let response = try await Browser(try GatewayFixture()).open("\(gate)/oauth2/\(page)")
        #expect(response.status == 404 && response.text.contains("endpoint.none"))
    }

    @Test(arguments: ["passkey", "passkeys"])
    func `who has no session signs in first and comes back with the way on`(page: String) async throws {
        let response = try await self.browser.open("\(gate)/oauth2/\(page)?rd=%2Fwiki")
        let back = Form([Form.Field("rd", "/oauth2/\(page)?rd=%2Fwiki")]).encoded
        #expect(response.status == 303 && response.location == "\(gate)/oauth2/sign_in?\(back)")
        let script = try await self.browser.open("\(gate)/oauth2/\(page)", "Accept: */*\r\n")
        #expect(script.status == 401 && script.code == "session.none")
    }

    @Test func `on an app's host both lead to the gateway's`() async throws {
        let listed = try await self.browser.open("https://shop.example.com/oauth2/passkeys")
        #expect(listed.status == 303 && listed.location == list)
        let used = try #require(
            try await self.browser.open("https://shop.example.com/oauth2/passkey?rd=%2Fcart").location
        )
        #expect(used.hasPrefix("\(gate)/oauth2/handover?request="))
        _ = try await self.gateway.signIn(self.browser)
        // The transfer asks for a passkey.
        let next = try #require(try await self.browser.open(used).location)
        #expect(next.hasPrefix("\(use)?rd=%2Foauth2%2Fhandover"))
    }

    @Test func `a session that is due is confirmed first, where a navigation asks`() async throws {
        let gateway = try GatewayFixture(
            recheck: RecheckPolicy(interval: .seconds(1800), maxStale: .seconds(900)),
            features: [.passkeys]
        )
        let browser = Browser(gateway)
        _ = try await gateway.signIn(browser)
        gateway.clock.advance(by: 3000)
        let response = try await browser.open("\(use)?rd=%2Fwiki")
        let back = Form([Form.Field("rd", "/oauth2/passkey?rd=%2Fwiki"), .silent]).encoded
        #expect(response.status == 303 && response.location == "\(gate)/oauth2/start/staff?\(back)")
    }

    // MARK: Confirmation by a sign-in

    @Test func `a user without a passkey confirms the session by a fresh sign-in, for one page load`() async throws {
        _ = try await self.gateway.signIn(self.browser)
        let page = try await self.browser.open("\(list)?rd=%2Fwiki")
        #expect(page.status == 200 && page.forms.isEmpty && page.text.contains("You have no passkey yet"))
        let start = try #require(links(page)["Confirm"])
        let back = Form([Form.Field("rd", "/oauth2/passkeys?confirm=1&rd=%2Fwiki")]).encoded
        #expect(start == "\(gate)/oauth2/start/staff?\(back)")
        let location = try #require(try await self.browser.open(start).location)
        #expect(WebURL(location)?.query.flatMap { Form(encoded: $0)?["max_age"] } == "60")
        let callback = try self.browser.callback(to: location, provider: "staff")
        let done = try await self.browser.open(callback)
        let line = try #require(done.cookies.first { $0.hasPrefix("__Host-gatehouse-confirmed=") })
        #expect(line.hasSuffix("; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Lax"))
        let confirmed = try #require(done.location)
        let jar = self.browser.jar
        let first = try await self.browser.open(confirmed)
        #expect(first.forms.count == 1)
        #expect(first.cookies.contains { $0.hasPrefix("__Host-gatehouse-confirmed=;") })
        let policy = first.head.headerFields[.contentSecurityPolicy]
        #expect(policy?.hasSuffix("form-action 'self'; script-src \(gate)/oauth2/passkey.js") == true)
        #expect(try await self.browser.open(confirmed).forms.isEmpty)
        self.browser.jar = jar
        #expect(try await self.browser.open(confirmed).forms.isEmpty, "the cookie works once")
    }

    @Test(arguments: ["Sec-Fetch-Mode: cors\r\n", "Sec-Fetch-Dest: iframe\r\n", "Sec-Purpose: prefetch\r\n"])
    func `a confirmation is for a navigation of the user`(lines: String) async throws {
        let page = try await self.confirmation()
        #expect(try await self.browser.open(page, "Accept: text/html\r\n\(lines)").forms.isEmpty)
    }

    /// A browser with the cookie of a confirmation, and the page that it is for.
    private func confirmation() async throws -> String {
        _ = try await self.gateway.signIn(self.browser)
        let start = try #require(links(try await self.browser.open(list))["Confirm"])
        let location = try #require(try await self.browser.open(start).location)
        return try #require(
            try await self.browser.open(try self.browser.callback(to: location, provider: "staff")).location
        )
    }

    @Test(arguments: [(599, 1), (600, 0)] as [(Int64, Int)])
    func `a confirmation is over after ten minutes`(seconds: Int64, forms: Int) async throws {
        let page = try await self.confirmation()
        self.gateway.clock.advance(by: seconds)
        #expect(try await self.browser.open(page).forms.count == forms)
    }

    @Test func `a confirmation is for one sign-in and one page`() async throws {
        let page = try await self.confirmation()
        let jar = self.browser.jar
        _ = try await self.gateway.signIn(self.browser)
        #expect(try await self.browser.open(page).forms.isEmpty)
        self.browser.jar = jar
        let connected = try await self.browser.open("\(gate)/oauth2/connected")
        #expect(links(connected)["Confirm"] != nil && connected.forms.isEmpty)
    }

    @Test(arguments: [(120, 303), (121, 403)] as [(Int64, Int)])
    func `an authentication that the provider reports as older confirms nothing`(age: Int64, status: Int) async throws {
        _ = try await self.gateway.signIn(self.browser)
        let start = try #require(links(try await self.browser.open(list))["Confirm"])
        let location = try #require(try await self.browser.open(start).location)
        let time = JSON.int(self.gateway.clock.now.seconds - age)
        let claims = Browser.ada.merging(["auth_time": time]) { $1 }
        let response = try await self.browser.open(
            try self.browser.callback(to: location, provider: "staff", as: claims)
        )
        #expect(response.status == status)
        #expect(status == 303 || response.text.contains("policy.authentication_stale"))
    }

    // MARK: The first passkey

    @Test func `a first passkey is added once, and counts as used`() async throws {
        _ = try await self.gateway.signIn(self.browser)
        let form = try self.addForm(try await self.confirmed())
        #expect(form.options?["authenticatorSelection"]?["residentKey"] == "preferred")
        let key = SoftAuthenticator()
        let credential = ["credential": key.registration(try form.challenge).text, "name": "  My   key "]
        let added = try await self.browser.submit(form, credential)
        #expect(added.status == 303 && added.location == "\(list)?changed=1")
        let saved = try await self.saved()
        #expect(saved.map(\.passkey.name) == ["My key"])
        #expect(try await self.session().passkeyUsed == self.gateway.clock.now)
        #expect(
            self.lines.all.contains {
                $0.message == "credentials changed" && $0.values["change"] == "passkey added: My key"
            }
        )
        #expect(try await self.browser.open("\(list)?changed=1").text.contains("Your passkeys have changed"))
        #expect(try await !self.browser.open(list).text.contains("Your passkeys have changed"))
        #expect(self.late(try await self.browser.submit(form, credential)))
        #expect(try await self.saved().count == 1)
    }

    //
    @Test func `Q-08: the form for the first passkey of another tab does nothing once there is one`() async throws {
        _ = try await self.gateway.signIn(self.browser)
        let first = try self.addForm(try await self.confirmed())
        let second = try self.addForm(try await self.confirmed())
        // Both sign-ins replace the session, so that only the second one has a form that is current.
        #expect(self.late(try await self.submitAdded(first, 1)))
        let third = try await self.browser.open(list)
        #expect(third.forms.isEmpty)
        #expect(try await self.submitAdded(second, 2).status == 303)
        #expect(try await self.saved().count == 1)
    }

    //
    @Test func `Q-08: a form of the same sign-in that was made before there was a passkey does nothing`() async throws {
        let page = try await self.confirmation()
        let session = try await self.session()
        let made = try self.addForm(try await self.browser.open(page))
        let ceremony = PasskeyCeremony(
            .change,
            handle: [UInt8](repeating: 7, count: 32),
            isFirst: true,
            returnPath: nil,
            of: session,
            now: self.gateway.clock.now,
            random: self.gateway.runtime.services.random
        )
        let field = ceremony.sealed(by: self.gateway.runtime.sealer)
        #expect(try await self.submitAdded(made, 1).status == 303)
        let response = try await self.browser.post(
            list,
            [
                PasskeyCeremony.field: field, "name": "Thief",
                "credential": SoftAuthenticator(2).registration(ceremony.challenge.text).text,
            ]
        )
        #expect(self.late(response))
        #expect(try await self.saved().count == 1)
        let id = try #require(try await self.saved().first?.id)
        #expect(self.late(try await self.browser.post(list, [PasskeyCeremony.field: field, "remove": id])))
        #expect(try await self.saved().count == 1)
    }

    private func submitAdded(_ form: PageForm, _ number: UInt8) async throws -> Response {
        let credential = SoftAuthenticator(number).registration(try form.challenge).text
        return try await self.browser.submit(form, ["credential": credential, "name": "Key \(number)"])
    }

    @Test(arguments: [
        ("", "Passkey"), ("   ", "Passkey"), ("a\u{7}b", "Passkey"), ("a  b", "a b"),
        (String(repeating: "n", count: 61), String(repeating: "n", count: 60)), ("\u{FFFE}x", "x"),
    ])
    func `a name is shortened, and one that cannot be shown is replaced`(typed: String, name: String) async throws {
        _ = try await self.gateway.signIn(self.browser)
        let form = try self.addForm(try await self.confirmed())
        let credential = SoftAuthenticator().registration(try form.challenge).text
        #expect(try await self.browser.submit(form, ["credential": credential, "name": typed]).status == 303)
        #expect(try await self.saved().map(\.passkey.name) == [name])
    }

    @Test func `a user of a local account gets a passkey that names the account`() async throws {
        let account = try await self.gateway.addAccount()
        let profile = try self.gateway.accounts.profile(of: account)
        _ = try await self.gateway.signIn(self.browser, as: profile)
        let page = try await self.browser.open(list)
        let start = try #require(links(page)["Confirm"])
        let form = try await self.browser.open(start).form(with: "state")
        let typed = ["username": "ada@example.org", "password": GatewayFixture.password]
        let back = try #require(try await self.browser.submit(form, typed).location)
        let add = try self.addForm(try await self.browser.open(back))
        #expect(add.options?["authenticatorSelection"]?["residentKey"] == "required")
        let hex = profile.subject.replacing("-", with: "")
        let handle = try #require(add.options?["user"]?["id"]?.string.flatMap { Base64URL.decode($0) })
        #expect(handle.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == hex)
    }

    // MARK: The use

    @Test func `a passkey is used, noted in the session, and leads on`() async throws {
        let key = try await self.withPasskey()
        self.gateway.clock.advance(by: 60)
        let form = try await self.useForm("\(use)?rd=%2Fwiki")
        #expect(form.options?["allowCredentials"]?.array?.count == 1)
        let response = try await self.browser.submit(
            form,
            ["credential": try key.assertion(form.challenge).text],
            navigation
        )
        #expect(response.status == 303 && response.location == "\(gate)/wiki")
        #expect(try await self.session().passkeyUsed == self.gateway.clock.now)
        #expect(try await self.saved().first?.used == self.gateway.clock.now)
        #expect(self.lines.all.contains { $0.message == "passkey used" && $0.values["passkey"] == "Phone" })
    }

    //
    @Test func `Q-09: the form of a use works once, in its sign-in, for ten minutes`() async throws {
        let key = try await self.withPasskey()
        let form = try await self.useForm()
        #expect(
            try await self.browser.submit(form, ["credential": try key.assertion(form.challenge).text]).status == 303
        )
        #expect(self.late(try await self.browser.submit(form, ["credential": try key.assertion(form.challenge).text])))
        let elsewhere = try await self.useForm()
        _ = try await self.gateway.signIn(self.browser)
        let credential = try key.assertion(elsewhere.challenge).text
        #expect(self.late(try await self.browser.submit(elsewhere, ["credential": credential])))
        #expect(try await self.session().passkeyUsed == nil)
        let old = try await self.useForm()
        self.gateway.clock.advance(by: 600)
        #expect(self.late(try await self.browser.submit(old, ["credential": try key.assertion(old.challenge).text])))
        #expect(try await self.session().passkeyUsed == nil)
    }

    @Test func `a form is spent with a response that is rejected`() async throws {
        let key = try await self.withPasskey()
        let (form, other) = (try await self.useForm(), try await self.useForm())
        let wrong = try await self.browser.submit(form, ["credential": try key.assertion(other.challenge).text])
        #expect(wrong.status == 403 && wrong.rejection?.reason == .passkeyRejected)
        #expect(wrong.text.contains("The passkey was not accepted") && wrong.forms.count == 1)
        #expect(self.late(try await self.browser.submit(form, ["credential": try key.assertion(form.challenge).text])))
    }

    @Test func `a passkey of another user, and a copied one, are rejected`() async throws {
        let key = try await self.withPasskey()
        let copy = key.copy()
        let form = try await self.useForm()
        #expect(
            try await self.browser.submit(form, ["credential": try key.assertion(form.challenge).text]).status == 303
        )
        let next = try await self.useForm()
        let cloned = try await self.browser.submit(next, ["credential": try copy.assertion(next.challenge).text])
        #expect(cloned.status == 403 && cloned.rejection?.reason == .passkeyCloned)
        #expect(cloned.text.contains("This passkey seems to have been copied"))
        let third = try await self.useForm()
        let stranger = SoftAuthenticator(9)
        let response = try await self.browser.submit(
            third,
            ["credential": try stranger.assertion(third.challenge).text]
        )
        #expect(response.status == 403 && response.rejection?.reason == .passkeyRejected)
    }

    @Test func `rejected responses count for the network, late forms do not`() async throws {
        let key = try await self.withPasskey()
        self.browser.client = IPAddress("192.0.2.1")
        let limit = self.gateway.runtime.limits.signIns.failuresPerMinute
        let spent = try await self.useForm()
        for number in 0...limit {
            let response = try await self.browser.submit(spent, ["credential": try key.assertion(spent.challenge).text])
            #expect(number == 0 || self.late(response))
        }
        for _ in 0..<limit {
            #expect(try await self.browser.submit(try await self.useForm(), ["credential": "{}"]).status == 403)
        }
        let last = try await self.useForm()
        let response = try await self.browser.submit(last, ["credential": try key.assertion(last.challenge).text])
        #expect(response.status == 429 && response.text.contains("signin.failing"))
    }

    @Test(arguments: [
        "Sec-Fetch-Site: cross-site\r\n", "Origin: https://evil.example\r\n",
        "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\n",
    ])
    func `a form about passkeys comes from our page, by a navigation`(lines: String) async throws {
        let key = try await self.withPasskey()
        let form = try await self.useForm()
        let credential = try key.assertion(form.challenge).text
        for address in [use, list] {
            let response = try await self.browser.post(
                address,
                form.hidden.merging(["credential": credential]) { $1 },
                lines
            )
            #expect(response.status == 403 && response.text.contains("request.cross_site"))
        }
        #expect(try await self.browser.submit(form, ["credential": credential]).status == 303)
    }

    @Test func `a form for one purpose does not pass for another`() async throws {
        let key = try await self.withPasskey()
        let (used, confirmed) = (try await self.useForm(), try await self.useForm(list))
        for (form, address) in [(used, list), (confirmed, use)] {
            let fields = form.hidden.merging(["credential": try key.assertion(form.challenge).text]) { $1 }
            let response = try await self.browser.post(address, fields)
            #expect(response.status == 403 && response.text.contains("request.cross_site"))
        }
        for address in [use, list] {
            #expect(try await self.browser.post(address, ["credential": "{}"]).status == 403)
        }
    }

    @Test func `a user without a passkey is led to the page where one is added`() async throws {
        _ = try await self.gateway.signIn(self.browser)
        let page = try await self.browser.open("\(use)?rd=%2Fwiki")
        #expect(page.status == 200 && page.forms.isEmpty)
        let start = Form([Form.Field("rd", "/oauth2/passkeys?confirm=1&rd=%2Fwiki")]).encoded
        #expect(links(page).values.contains("\(gate)/oauth2/start/staff?\(start)"))
        let session = try await self.session()
        let ceremony = PasskeyCeremony(
            .use,
            handle: [],
            returnPath: nil,
            of: session,
            now: self.gateway.clock.now,
            random: self.gateway.runtime.services.random
        )
        let field = ceremony.sealed(by: self.gateway.runtime.sealer)
        let key = SoftAuthenticator()
        let fields = [PasskeyCeremony.field: field, "credential": try key.assertion(ceremony.challenge.text).text]
        let response = try await self.browser.post(use, fields)
        #expect(response.status == 403 && response.rejection?.reason == .passkeyLate && response.forms.isEmpty)
    }

    // MARK: Changes with a passkey

    /// The page on which passkeys are changed, after a use of one.
    private func confirmed(with key: SoftAuthenticator) async throws -> Response {
        let form = try await self.useForm(list)
        return try await self.browser.submit(form, ["credential": try key.assertion(form.challenge).text])
    }

    @Test func `who has a passkey confirms with it, and a sign-in does not`() async throws {
        let key = try await self.withPasskey()
        let page = try await self.browser.open(list)
        #expect(links(page)["Confirm"] == nil && page.forms.count == 1)
        let start = Form([Form.Field("rd", "/oauth2/passkeys?confirm=1")]).encoded
        let location = try #require(try await self.browser.open("\(gate)/oauth2/start/staff?\(start)").location)
        let back = try await self.browser.open(try self.browser.callback(to: location, provider: "staff")).location
        let unconfirmed = try await self.browser.open(try #require(back))
        #expect(unconfirmed.forms.count == 1 && unconfirmed.forms[0].options?["rpId"] != nil)
        let confirmed = try await self.confirmed(with: key)
        #expect(confirmed.status == 200 && confirmed.forms.count == 2)
        #expect(try self.addForm(confirmed).options?["excludeCredentials"]?.array?.count == 1)
        #expect(try await self.submitAdded(try self.addForm(confirmed), 2).status == 303)
        #expect(try await self.saved().map(\.passkey.name) == ["Phone", "Key 2"])
    }

    @Test func `a removal ends the other sessions of the user, and those of connected accounts`() async throws {
        let key = try await self.withPasskey()
        let connections = try #require(self.gateway.runtime.users.connections)
        _ = try await connections.connect(.guest, to: .staff())
        let others = [
            try await self.gateway.session(of: .staff()), try await self.gateway.session(of: .guest),
            try await self.gateway.session(of: .staff("eve")),
        ]
        let page = try await self.confirmed(with: key)
        let form = try #require(page.forms.first { $0.buttons["remove"] != nil })
        let id = try #require(form.buttons["remove"])
        let removed = try await self.browser.submit(form, ["remove": id])
        #expect(removed.status == 303 && removed.location == "\(list)?changed=1")
        #expect(try await self.saved().isEmpty)
        var live: [Bool] = []
        for other in others {
            let now = self.gateway.clock.now
            let sessions = self.gateway.runtime.sessions
            live.append(try await sessions.session(for: other.ticket, host: GatewayFixture.gate, now: now) != nil)
        }
        #expect(live == [false, false, true])
        #expect(try await self.session().profile.user == "staff:ada")
        #expect(self.lines.all.contains { $0.values["change"] == "passkey removed: Phone" })
    }

    @Test func `a form of a change works once, also for a passkey that there is not`() async throws {
        let key = try await self.withPasskey()
        let page = try await self.confirmed(with: key)
        let form = try #require(page.forms.first { $0.buttons["remove"] != nil })
        let unknown = try await self.browser.submit(form, ["remove": "none"])
        #expect(unknown.status == 303)
        #expect(self.late(try await self.browser.submit(form, ["remove": form.buttons["remove"] ?? ""])))
        #expect(try await self.saved().count == 1)
        let second = try await self.confirmed(with: key)
        let again = try #require(second.forms.first { $0.buttons["remove"] != nil })
        self.gateway.clock.advance(by: 600)
        #expect(self.late(try await self.browser.submit(again, ["remove": again.buttons["remove"] ?? ""])))
        #expect(try await self.saved().count == 1)
    }

    @Test func `a form with which a passkey is added adds one`() async throws {
        let key = try await self.withPasskey()
        let form = try self.addForm(try await self.confirmed(with: key))
        #expect(try await self.submitAdded(form, 2).status == 303)
        #expect(self.late(try await self.submitAdded(form, 3)))
        #expect(try await self.saved().map(\.passkey.name) == ["Phone", "Key 2"])
    }

    @Test func `a passkey of a connected account proves the user as well, with its own record`() async throws {
        let key = try await self.withPasskey()
        let connections = try #require(self.gateway.runtime.users.connections)
        _ = try await connections.connect(.guest, to: .staff())
        _ = try await self.gateway.signIn(self.browser, as: .guest)
        let form = try await self.useForm()
        #expect(
            try await self.browser.submit(form, ["credential": try key.assertion(form.challenge).text]).status == 303
        )
        #expect(try await self.session().passkeyUsed == self.gateway.clock.now)
        #expect(try await self.saved("guests:g1").isEmpty)
    }

    @Test func `F-01: a passkey of a connected account is removed there`() async throws {
        let key = try await self.withPasskey()
        let connections = try #require(self.gateway.runtime.users.connections)
        _ = try await connections.connect(.guest, to: .staff())
        _ = try await self.gateway.signIn(self.browser, as: .guest)
        let page = try await self.confirmed(with: key)
        let form = try #require(page.forms.first { $0.buttons["remove"] != nil })
        let removed = try await self.browser.submit(form, ["remove": try #require(form.buttons["remove"])])
        #expect(removed.status == 303 && removed.location == "\(list)?changed=1")
        #expect(try await self.saved().isEmpty)
    }

    @Test func `a session that ends meanwhile gets no passkey noted`() async throws {
        let key = try await self.withPasskey()
        let form = try await self.useForm()
        let credential = try key.assertion(form.challenge).text
        let (sessions, store) = (self.gateway.runtime.sessions, self.gateway.store)
        store.interrupt("replaceEntry") { _ = try? await sessions.endAll(of: .staff()) }
        let response = try await self.browser.submit(form, ["credential": credential])
        #expect(response.status == 401 && response.text.contains("session.none"))
    }
}
