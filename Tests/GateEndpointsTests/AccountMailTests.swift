// SPDX-License-Identifier: Apache-2.0

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

/// links that users of local accounts ask for.
@Suite struct AccountMailTests {
    private let gateway: GatewayFixture
    private let browser: Browser

    init() throws {
        let start = ContinuousClock.now
        let features: GatewayFeatures = [.accounts, .mail, .registration]
        self.gateway = try GatewayFixture(signIns: SignInLimiter { start }, features: features)
        self.browser = Browser(self.gateway)
    }

    private func ask(_ email: String, _ page: String = "recover", _ lines: String = "") async throws -> Response {
        try await self.browser.post("\(gate)/oauth2/\(page)/local", ["email": email], lines)
    }

    /// The form behind the link in the next message.
    private func followed() async throws -> PageForm {
        let link = try #require(try await self.gateway.mailbox.next().link)
        return try await self.browser.open(link).form(with: "token")
    }

    private static let typed = [
        "name": "Grace", "new_password": GatewayFixture.password, "repeat_password": GatewayFixture.password,
    ]

    @Test func `a recovery leads to the page for a new password, whose sessions end`() async throws {
        let account = try await self.gateway.addAccount()
        let profile = try self.gateway.accounts.profile(of: account)
        let session = try await self.gateway.session(of: profile)
        #expect(try await self.browser.open("\(gate)/oauth2/recover/local").forms.count == 1)
        let sent = try await self.ask("ada@example.org")
        #expect(sent.status == 200 && sent.text.contains("Check your mailbox"))
        let message = try await self.gateway.mailbox.next()
        #expect(
            message.recipient == "ada@example.org"
                && message.link?.hasPrefix("\(gate)/oauth2/link/local?token=") == true
        )
        let form = try await self.browser.open(try #require(message.link)).form(with: "token")
        #expect(try await self.browser.submit(form, Self.typed).status == 200)
        let sessions = self.gateway.runtime.sessions
        let now = self.gateway.clock.now
        #expect(try await sessions.session(for: session.ticket, host: GatewayFixture.gate, now: now) == nil)
    }

    @Test(arguments: ["recover", "join"])
    func `the response does not show whether there is an account, and only its owner gets a link`(
        page: String
    ) async throws {
        try await self.gateway.addAccount()
        let unknown = try await self.ask("eve@example.org", page)
        if page == "join" { #expect(try await self.gateway.mailbox.next().recipient == "eve@example.org") }
        let known = try await self.ask("ada@example.org", page)
        #expect(unknown.status == 200 && known.status == 200 && known.text == unknown.text)
        let message = try await self.gateway.mailbox.next()
        #expect(message.recipient == "ada@example.org")
        // Who has an account already is led to the sign-in.
        #expect(page == "recover" || message.link == "\(gate)/oauth2/start/local")
    }

    @Test(arguments: [("recover", "ada"), ("recover", ""), ("join", "ada"), ("join", "ada@example.com")])
    func `an address that may not be used is rejected`(page: String, email: String) async throws {
        let response = try await self.ask(email, page)
        #expect(response.status == 400 && response.text.contains("This is not an email address that can be used here"))
        #expect(response.text.contains("value=\"\(email)\""))
    }

    @Test(arguments: [(254, true), (255, false)])
    func `only what could be an address is shown again`(length: Int, isShown: Bool) async throws {
        let email = String(repeating: "n", count: length)
        #expect(try await self.ask(email).text.contains("value=\"\(email)\"") == isShown)
    }

    @Test func `a registration proves the address, and works once`() async throws {
        #expect(try await self.ask("grace@example.org", "join").status == 200)
        let form = try await self.followed()
        #expect(form.action == "\(gate)/oauth2/join/local")
        for (typed, remark) in [
            (["repeat_password": "x"], "The two passwords differ"),
            (["new_password": "short", "repeat_password": "short"], "Use at least"),
        ] {
            let response = try await self.browser.submit(form, Self.typed.merging(typed) { $1 })
            #expect(
                response.status == 400 && response.text.contains(remark) && response.text.contains("value=\"Grace\"")
            )
        }
        let done = try await self.browser.submit(form, Self.typed)
        #expect(done.status == 200 && links(done).values.contains("\(gate)/oauth2/start/local"))
        let account = try #require(try await self.gateway.accounts.account(called: "grace@example.org"))
        #expect(account.isEmailVerified && account.name == "Grace" && account.password != nil)
        let again = try await self.browser.submit(form, Self.typed)
        #expect(again.status == 400 && again.text.contains("account.link"))
    }

    @Test(arguments: ["", "x"])
    func `a registration needs a link of ours`(token: String) async throws {
        let typed = Self.typed.merging(["token": token]) { $1 }
        let response = try await self.browser.post("\(gate)/oauth2/join/local", typed)
        #expect(response.status == 400 && response.text.contains("account.link"))
        #expect(try await self.browser.open("\(gate)/oauth2/join/local?token=\(token)").status == 400)
    }

    @Test func `a link of a registration is valid for an hour`() async throws {
        _ = try await self.ask("grace@example.org", "join")
        let form = try await self.followed()
        self.gateway.clock.advance(by: 3600)
        #expect(try await self.browser.submit(form, Self.typed).status == 400)
    }

    @Test(arguments: ["recover", "join"])
    func `another site asks for no link and registers no user`(page: String) async throws {
        for line in ["Sec-Fetch-Site: cross-site\r\n", "Origin: https://evil.example\r\n"] {
            let response = try await self.ask("ada@example.org", page, line)
            #expect(response.status == 403 && response.text.contains("request.cross_site"))
        }
    }

    @Test(arguments: ["recover", "join"])
    func `the pages are on the gateway's host, for providers with local accounts, with a mail server`(
        page: String
    ) async throws {
        let elsewhere = try await self.browser.open("https://shop.example.com/oauth2/\(page)/local")
        #expect(elsewhere.status == 303 && elsewhere.location == "\(gate)/oauth2/\(page)/local")
        for provider in ["staff", "none"] {
            let response = try await self.browser.open("\(gate)/oauth2/\(page)/\(provider)")
            #expect(response.status == 404 && response.text.contains("endpoint.none"))
        }
        let silent = Browser(try GatewayFixture(features: [.accounts, .registration]))
        #expect(try await silent.open("\(gate)/oauth2/\(page)/local").status == 404)
        let closed = Browser(try GatewayFixture(features: [.accounts, .mail]))
        #expect(try await closed.open("\(gate)/oauth2/\(page)/local").status == (page == "join" ? 404 : 200))
    }

    @Test func `a network asks for twenty links an hour, whatever they are about`() async throws {
        self.browser.client = IPAddress("192.0.2.1")
        for number in 0..<20 {
            #expect(try await self.ask("eve\(number)@example.org", number % 2 == 0 ? "recover" : "join").status == 200)
        }
        let response = try await self.ask("eve@example.org")
        #expect(response.status == 429 && response.rejection?.reason == .accountTooMany)
        #expect(
            response.text.contains("Too many requests. Wait ") && response.text.contains("value=\"eve@example.org\"")
        )
        let seconds = try #require(response.head.headerFields[.retryAfter].flatMap { Int($0) })
        #expect((1...180).contains(seconds))
        // Other texts than addresses do not count, and other networks go on.
        self.browser.client = IPAddress("198.51.100.1")
        for _ in 0..<20 { #expect(try await self.ask("eve").status == 400) }
        #expect(try await self.ask("eve@example.org").status == 200)
    }

    @Test func `a mailbox gets five messages an hour`() async throws {
        try await self.gateway.addAccount()
        try await self.gateway.addAccount("grace@example.org")
        for _ in 0..<5 {
            _ = try await self.ask("ada@example.org")
            #expect(try await self.gateway.mailbox.next().recipient == "ada@example.org")
        }
        #expect(try await self.ask("ada@example.org").status == 200)
        _ = try await self.ask("grace@example.org")
        #expect(try await self.gateway.mailbox.next().recipient == "grace@example.org")
    }
}
