// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GateHTTP
import GateOperations
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateEndpoints
@testable import GateRuntime

private let gate = "https://gate.example.com"
private let sessionCookie = "__Host-gatehouse"
private let form = "Content-Type: application/x-www-form-urlencoded\r\n"

@Suite struct BackChannelLogoutTests {
    private let lines = LogLines()
    private let gateway: GatewayFixture

    init() throws {
        self.gateway = try GatewayFixture(log: RequestLog(logger: self.lines.logger))
    }

    private func signedIn(_ claims: [String: JSON] = Browser.ada) async throws -> Browser {
        let browser = Browser(self.gateway)
        try await browser.open(try await browser.begin("staff", as: claims))
        return browser
    }

    private func token(_ claims: [String: JSON]) -> String {
        let event: JSON = ["http://schemas.openid.net/event/backchannel-logout": [:]]
        let all = ["jti": "j1", "events": event].merging(claims) { $1 }
        return self.gateway.providers.token(all, of: "https://id.staff.example")
    }

    private func post(
        _ token: String,
        to provider: String = "staff",
        host: String = gate,
        _ lines: String = form
    ) async throws -> Response {
        try await Browser(self.gateway).open(
            "\(host)/oauth2/backchannel-logout/\(provider)",
            method: "POST",
            body: "logout_token=\(token)",
            lines
        )
    }

    private func isSignedIn(_ browser: Browser) async throws -> Bool {
        try await browser.open("\(gate)/oauth2/userinfo").status == 200
    }

    @Test func `rp-backchannel-rpinitlogout: all sessions of the subject end, then the response is 200`() async throws {
        let browsers = [try await self.signedIn(), try await self.signedIn()]
        let eve = try await self.signedIn(Browser.ada.merging(["sub": "eve"]) { $1 })
        let response = try await self.post(self.token(["sub": "ada"]))
        #expect(response.status == 200 && response.body.isEmpty && response.cookies.isEmpty)
        #expect(response.head.headerFields[.cacheControl] == "no-store")
        for browser in browsers { #expect(try await !self.isSignedIn(browser)) }
        #expect(try await self.isSignedIn(eve))
        let line = try #require(self.lines.all.last { $0.message == "signed out" })
        #expect(line.values["by"] == "back-channel logout" && line.values["provider"] == "staff")
        #expect(line.values["subject"] == "ada" && line.values["sign_ins"] == "2")
    }

    @Test func `with sid only that session ends, and a token works once`() async throws {
        let first = try await self.signedIn(Browser.ada.merging(["sid": "s1"]) { $1 })
        let second = try await self.signedIn(Browser.ada.merging(["sid": "s2"]) { $1 })
        let token = self.token(["sid": "s1"])
        #expect(try await self.post(token).status == 200)
        #expect(try await !self.isSignedIn(first))
        #expect(try await self.isSignedIn(second))
        let again = try await self.post(token)
        #expect(again.status == 400 && again.code == "logout.replayed")
    }

    @Test func `a user who is signed out already is signed out`() async throws {
        #expect(try await self.post(self.token(["sub": "stranger"])).status == 200)
    }

    @Test func `a store that is down is 503 with JSON, and the same token works afterwards`() async throws {
        let browser = try await self.signedIn()
        self.gateway.store.isDown = true
        let response = try await self.post(self.token(["sub": "ada"]))
        #expect(response.status == 503 && response.code == "session.store_unavailable")
        #expect(response.head.headerFields[.retryAfter] == "2")
        #expect(response.head.headerFields[.cacheControl] == "no-store")
        self.gateway.store.isDown = false
        #expect(try await self.post(self.token(["sub": "ada"])).status == 200)
        #expect(try await !self.isSignedIn(browser))
    }

    @Test(arguments: ["", "x=1", "logout_token=a&logout_token=b", "logout_token=a", "logout_token=%FF"])
    func `a body without exactly one valid token is 400 with JSON, for browsers as well`(body: String) async throws {
        let response = try await Browser(self.gateway).open(
            "\(gate)/oauth2/backchannel-logout/staff",
            method: "POST",
            body: body,
            "\(form)Accept: text/html\r\n"
        )
        #expect(
            response.status == 400 && response.code == (body == "logout_token=a" ? "logout.token" : "logout.request")
        )
        #expect(!self.gateway.store.calls.contains("families"))
    }

    @Test func `the token counts in the body of a form only`() async throws {
        let browser = try await self.signedIn()
        let token = self.token(["sub": "ada"])
        let query = try await Browser(self.gateway).open(
            "\(gate)/oauth2/backchannel-logout/staff?logout_token=\(token)",
            method: "POST",
            form
        )
        #expect(query.status == 400)
        #expect(try await self.post(token, "Content-Type: text/plain\r\n").status == 400)
        #expect(try await self.isSignedIn(browser))
    }

    @Test func `the token of one provider ends no session of another`() async throws {
        let browser = try await self.signedIn()
        let token = self.token(["sub": "ada"])
        let other = try await self.post(token, to: "guests")
        #expect(other.status == 400 && other.code == "logout.token")
        #expect(try await self.isSignedIn(browser))
        #expect(try await self.post(token, to: "unknown").status == 404)
        #expect(try await self.post(token, to: "staff", host: "https://shop.example.com").status == 404)
        #expect(try await self.isSignedIn(browser))
    }

    @Test(arguments: ["GET", "HEAD", "PUT", "DELETE"])
    func `another method is 405`(method: String) async throws {
        let response = try await Browser(self.gateway).open("\(gate)/oauth2/backchannel-logout/staff", method: method)
        #expect(response.status == 405 && response.head.headerFields[.allow] == "POST")
    }
}

@Suite struct FrontChannelLogoutTests {
    private static let issuer = "https://id.staff.example"
    private let gateway: GatewayFixture

    init() throws {
        self.gateway = try GatewayFixture()
    }

    private func signedIn(_ session: JSON?) async throws -> Browser {
        let browser = Browser(self.gateway)
        var claims = Browser.ada
        claims["sid"] = session
        try await browser.open(try await browser.begin("staff", as: claims))
        return browser
    }

    private func frame(_ browser: Browser, _ query: String, provider: String = "staff") async throws -> Response {
        try await browser.open("\(gate)/oauth2/frontchannel-logout/\(provider)?\(query)")
    }

    private static func query(_ issuer: String = issuer, _ session: String = "s1") -> String {
        Form([Form.Field("iss", issuer), Form.Field("sid", session)]).encoded
    }

    @Test func `rp-frontchannel-rpinitlogout: the session that is named ends, and no other one`() async throws {
        let (browser, other) = (try await self.signedIn("s1"), try await self.signedIn("s1"))
        let requests = self.gateway.providers.requests
        let page = try await self.frame(browser, Self.query())
        #expect(page.status == 200 && page.cookies.count == 1)
        #expect(try await browser.open("\(gate)/oauth2/userinfo").status == 401)
        #expect(try await other.open("\(gate)/oauth2/userinfo").status == 200)
        #expect(self.gateway.providers.requests == requests)
    }

    @Test func `only a page of the provider may frame it, and nothing stores it`() async throws {
        let page = try await self.frame(Browser(self.gateway), "")
        let policy = page.head.headerFields[.contentSecurityPolicy]
        #expect(policy == "default-src 'none'; base-uri 'none'; frame-ancestors https://id.staff.example")
        #expect(page.head.headerFields[.xFrameOptions] == nil && page.head.headerFields[.cacheControl] == "no-store")
    }

    @Test(arguments: [
        query("https://evil.example"), query("\(issuer)/"), query(issuer, "s2"), query(issuer, ""), "sid=s1",
        "iss=\(issuer)", "", "\(query())&sid=s1", "\(query())&iss=x",
    ])
    func `a request that does not name the session ends nothing and gets the same page`(query: String) async throws {
        let browser = try await self.signedIn("s1")
        let page = try await self.frame(browser, query)
        #expect(page.status == 200 && page.cookies.isEmpty)
        #expect(try await browser.open("\(gate)/oauth2/userinfo").status == 200)
        #expect(try await self.frame(Browser(self.gateway), Self.query()).body == page.body)
    }

    @Test func `a session without sid, or of another provider, does not end`() async throws {
        let plain = try await self.signedIn(nil)
        #expect(try await self.frame(plain, Self.query(Self.issuer, "")).cookies.isEmpty)
        let browser = try await self.signedIn("s1")
        #expect(try await self.frame(browser, Self.query(), provider: "guests").cookies.isEmpty)
        #expect(try await self.frame(browser, Self.query(), provider: "unknown").status == 404)
        #expect(try await browser.open("\(gate)/oauth2/userinfo").status == 200)
    }
}

@Suite struct SignOutEverywhereTests {
    private func signedIn(_ gateway: GatewayFixture, _ subject: String = "ada") async throws -> Browser {
        let browser = Browser(gateway)
        try await browser.open(
            try await browser.begin("staff", as: Browser.ada.merging(["sub": .string(subject)]) { $1 })
        )
        return browser
    }

    private func isSignedIn(_ browser: Browser) async throws -> Bool {
        try await browser.open("\(gate)/oauth2/userinfo").status == 200
    }

    private func signOut(_ browser: Browser, _ body: String, _ lines: String = form) async throws -> Response {
        try await browser.open("\(gate)/oauth2/sign_out", method: "POST", body: body, lines)
    }

    @Test func `a sign-out everywhere ends all sessions of the user, then goes on to the provider`() async throws {
        let lines = LogLines()
        let gateway = try GatewayFixture(log: RequestLog(logger: lines.logger))
        let (here, there) = (try await self.signedIn(gateway), try await self.signedIn(gateway))
        let eve = try await self.signedIn(gateway, "eve")
        let response = try await self.signOut(here, "sessions=all")
        #expect(response.status == 303 && response.location?.hasPrefix("https://id.staff.example/logout?") == true)
        #expect(try await !self.isSignedIn(here))
        #expect(try await !self.isSignedIn(there))
        #expect(try await self.isSignedIn(eve))
        let line = try #require(lines.all.last { $0.message == "signed out" })
        #expect(line.values["user"] == "staff:ada" && line.values["others"] == "1")
    }

    @Test(arguments: ["", "sessions=one", "sessions=", "sessions=all&sessions=all"])
    func `without the field only this session ends`(body: String) async throws {
        let gateway = try GatewayFixture()
        let (here, there) = (try await self.signedIn(gateway), try await self.signedIn(gateway))
        _ = try await self.signOut(here, body)
        #expect(try await !self.isSignedIn(here))
        #expect(try await self.isSignedIn(there))
    }

    @Test(arguments: ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: https://evil.example"])
    func `another site cannot sign a user out everywhere`(line: String) async throws {
        let gateway = try GatewayFixture()
        let browser = try await self.signedIn(gateway)
        let response = try await self.signOut(browser, "sessions=all", "\(form)\(line)\r\n")
        #expect(response.status == 403 && !gateway.store.calls.contains("families"))
    }

    @Test func `a ticket without a live session ends no others`() async throws {
        let gateway = try GatewayFixture()
        let old = try await self.signedIn(gateway)
        gateway.clock.advance(by: 3600)
        let there = try await self.signedIn(gateway)
        _ = try await self.signOut(old, "sessions=all")
        #expect(try await self.isSignedIn(there))
    }

    @Test func `if the store is down the user keeps the cookie and can repeat it`() async throws {
        let gateway = try GatewayFixture()
        let (here, there) = (try await self.signedIn(gateway), try await self.signedIn(gateway))
        gateway.store.isDown = true
        let failed = try await self.signOut(here, "sessions=all")
        #expect(failed.status == 503 && failed.cookies.isEmpty)
        gateway.store.isDown = false
        _ = try await self.signOut(here, "sessions=all")
        #expect(try await !self.isSignedIn(there))
    }

    @Test func `the page has a button for it that needs no script`() async throws {
        let gateway = try GatewayFixture()
        let page = try await self.signedIn(gateway).open("\(gate)/oauth2/sign_out")
        #expect(page.text.contains(#"<button class="button" name="sessions" value="all">"#))
        #expect(!page.text.contains("<script"))
    }
}
