// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GateProviders
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateEndpoints
@testable import GateRuntime

private let gate = "https://gate.example.com"
private let sessionCookie = "__Host-gatehouse"
private let script = "Accept: */*\r\n"

extension Browser {
    /// The parameters with which a URL sends the browser to a provider.
    fileprivate func asked(_ address: String) async throws -> Form {
        let location = try #require(try await self.open(address).location)
        return try #require(WebURL(location)?.query.flatMap { Form(encoded: $0) })
    }
}

/// the page with the providers.
@Suite struct ProviderChoiceTests {
    /// The providers that the page offers, in order.
    private func offered(_ response: Response) -> [String] {
        response.text.matches(of: /\/oauth2\/start\/([a-z]+)\?/).map { String($0.1) }
    }

    @Test(arguments: [
        ("ada@example.org", "staff"), ("ADA@EXAMPLE.ORG", "staff"), ("g@example.net", "guests"),
    ])
    func `an email address leads to the provider of its domain, which learns it`(
        email: String,
        provider: String
    ) async throws {
        let gateway = try GatewayFixture(domains: ["staff": ["example.org"], "guests": ["example.net"]])
        let browser = Browser(gateway)
        let query = Form([Form.Field("email", email), Form.Field("rd", "/x")]).encoded
        let response = try await browser.open("\(gate)/oauth2/sign_in?\(query)")
        let start = try #require(response.location)
        #expect(response.status == 303 && start.hasPrefix("\(gate)/oauth2/start/\(provider)?rd=%2Fx&login_hint="))
        #expect(try await browser.asked(start)["login_hint"]?.lowercased() == email.lowercased())
    }

    @Test(arguments: ["ada@example.com", "ada", ""])
    func `an unknown address gets the page once more, which shows it`(email: String) async throws {
        let gateway = try GatewayFixture(domains: ["staff": ["example.org"]])
        let query = Form([Form.Field("email", email)]).encoded
        let page = try await Browser(gateway).open("\(gate)/oauth2/sign_in?\(query)")
        #expect(page.status == 200 && page.text.contains("No sign-in service is set up for this email address"))
        #expect(page.text.contains("value=\"\(email)\"") && self.offered(page) == ["staff", "guests"])
    }

    @Test func `an address does not lead to a provider that the app does not accept`() async throws {
        let gateway = try GatewayFixture(domains: ["guests": ["example.net"]])
        let response = try await Browser(gateway).open("\(gate)/oauth2/sign_in?email=g%40example.net&rd=%2Fwiki")
        #expect(response.location == "\(gate)/oauth2/start/staff?rd=%2Fwiki")
    }

    @Test func `another account stays asked for, and addresses are asked for only where they lead anywhere`()
        async throws
    {
        let known = Browser(try GatewayFixture(domains: ["staff": ["example.org"]]))
        let page = try await known.open("\(gate)/oauth2/sign_in?prompt=select_account")
        #expect(page.text.contains("type=\"email\"") && page.text.contains("name=\"prompt\" value=\"select_account\""))
        let email = try await known.open("\(gate)/oauth2/sign_in?prompt=select_account&email=a%40example.org")
        #expect(email.location?.contains("prompt=select_account") == true)
        let plain = try await Browser(try GatewayFixture()).open("\(gate)/oauth2/sign_in")
        #expect(!plain.text.contains("type=\"email\"") && !plain.text.contains("select_account"))
    }

    @Test func `the provider used last comes first, and those that do not respond last`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        #expect(self.offered(try await browser.open("\(gate)/oauth2/sign_in")) == ["staff", "guests"])
        let done = try await browser.open(try await browser.begin("guests"))
        let cookie = try #require(done.cookies.first { $0.hasPrefix("\(sessionCookie)-provider=") })
        #expect(cookie.contains("; Max-Age=\(400 * 86_400);"))
        #expect(self.offered(try await browser.open("\(gate)/oauth2/sign_in")) == ["guests", "staff"])
        let failing = Browser(try GatewayFixture(failing: ["guests"]))
        failing.jar = browser.jar
        let page = try await failing.open("\(gate)/oauth2/sign_in")
        #expect(self.offered(page) == ["staff", "guests"] && page.text.contains("Not responding right now"))
    }

    @Test func `on an app's host the choice begins with a transfer to it`() async throws {
        let browser = Browser(try GatewayFixture())
        for path in ["sign_in", "start/staff", "start"] {
            let response = try await browser.open("https://shop.example.com/oauth2/\(path)?rd=%2Fcart")
            #expect(response.location?.hasPrefix("\(gate)/oauth2/handover?request=") == true, "\(path)")
        }
        #expect(try await browser.open("\(gate)/oauth2/start").status == 200, "without a name it is the page")
    }
}

/// the beginning and the end of a sign-in at a provider.
@Suite struct StartTests {
    private func signedIn(_ gateway: GatewayFixture, _ claims: [String: JSON] = Browser.ada) async throws -> Browser {
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("staff", as: claims))
        return browser
    }

    private static let silent = "\(gate)/oauth2/start/staff?rd=%2Fwiki&prompt=none"

    @Test func `a usual sign-in asks the provider for nothing special`() async throws {
        let browser = Browser(try GatewayFixture())
        let asked = try await browser.asked("\(gate)/oauth2/start/staff?rd=%2F")
        #expect(asked["prompt"] == nil && asked["max_age"] == nil && asked["login_hint"] == nil)
        #expect(try await browser.asked("\(gate)/oauth2/start/staff?prompt=select_account")["prompt"] == "login")
        let hinted = try await browser.asked("\(gate)/oauth2/start/staff?login_hint=ada%40example.org")
        #expect(hinted["login_hint"] == "ada@example.org")
    }

    @Test func `a hint of the file is not replaced by what a user types`() async throws {
        let gateway = try GatewayFixture(provider: { $0.authorizationParameters = [Form.Field("login_hint", "fixed")] })
        let asked = try await Browser(gateway).asked("\(gate)/oauth2/start/staff?login_hint=ada%40example.org")
        #expect(asked["login_hint"] == "fixed")
    }

    @Test func `a browser, and a network, begin so many sign-ins a minute`() async throws {
        let start = ContinuousClock.now
        let gateway = try GatewayFixture(signIns: SignInLimiter { start })
        let limits = gateway.runtime.limits.signIns
        let browser = Browser(gateway)
        // The first one is not known to be of this browser.
        for _ in 0...limits.perMinute { #expect(try await browser.open("\(gate)/oauth2/start/staff").status == 303) }
        let over = try await browser.open("\(gate)/oauth2/start/staff", script)
        #expect(over.status == 429 && over.code == "signin.too_often")
        let client = IPAddress("192.0.2.1")
        for _ in 0..<limits.perNetwork { try gateway.runtime.services.signIns.start(by: client, within: limits) }
        let other = Browser(gateway)
        #expect(try await other.open("\(gate)/oauth2/start/staff").status == 303)
        other.client = client
        #expect(try await other.open("\(gate)/oauth2/start/staff", script).code == "signin.too_often")
    }

    @Test func `while memory is short no sign-in begins, and confirmations go on`() async throws {
        let gateway = try GatewayFixture()
        let browser = try await self.signedIn(gateway)
        gateway.runtime.services.signIns.close(true)
        let response = try await browser.open("\(gate)/oauth2/start/staff", script)
        #expect(response.status == 503 && response.code == "signin.overloaded")
        #expect(try await browser.open(Self.silent).status == 303)
        #expect(gateway.runtime.services.signIns.count == 0)
    }

    @Test func `a sign-in that has begun or failed gives its places back`() async throws {
        let gateway = try GatewayFixture()
        let browser = try await self.signedIn(gateway)
        _ = try await browser.open(Self.silent)
        _ = try await browser.open("\(gate)/oauth2/callback/staff?code=c&state=s")
        #expect(gateway.runtime.services.signIns.count == 0)
        let provider = try #require(gateway.runtime.providers["staff"])
        var free = 0
        while provider.waiting.acquire() { free += 1 }
        #expect(free == 400)
    }

    // MARK: Confirmations without a page

    @Test func `a confirmation shows no page of the provider, for the browser's own session with it`() async throws {
        let gateway = try GatewayFixture()
        let browser = try await self.signedIn(gateway)
        #expect(try await browser.asked(Self.silent)["prompt"] == "none")
        #expect(try await browser.asked(Self.silent.replacing("staff", with: "guests"))["prompt"] != "none")
        #expect(try await Browser(gateway).asked(Self.silent)["prompt"] != "none")
    }

    @Test func `a session is confirmed so often a minute, whatever its network does`() async throws {
        let start = ContinuousClock.now
        let gateway = try GatewayFixture(signIns: SignInLimiter { start })
        let browser = try await self.signedIn(gateway)
        let limits = gateway.runtime.limits.signIns
        browser.client = IPAddress("192.0.2.1")
        for _ in 0..<limits.perNetwork {
            try gateway.runtime.services.signIns.start(by: browser.client, within: limits)
        }
        for _ in 0..<limits.confirmationsPerMinute { #expect(try await browser.open(Self.silent).status == 303) }
        #expect(try await browser.open(Self.silent, script).code == "signin.too_often")
    }

    private func silentCallback(_ browser: Browser, as claims: [String: JSON] = Browser.ada) async throws -> String {
        let location = try #require(try await browser.open(Self.silent).location)
        return try browser.callback(to: location, provider: "staff", as: claims)
    }

    @Test func `a confirmed session goes on, once for each callback`() async throws {
        let gateway = try GatewayFixture()
        let browser = try await self.signedIn(gateway)
        let ticket = browser.jar[GatewayFixture.gate]?[sessionCookie]
        let callback = try await self.silentCallback(browser)
        let jar = browser.jar
        let response = try await browser.open(callback)
        #expect(response.status == 303 && response.location == "\(gate)/wiki")
        #expect(browser.jar[GatewayFixture.gate]?[sessionCookie] == ticket && browser.begun.count == 1)
        browser.jar = jar
        #expect(try await browser.open(callback).location == "\(gate)/wiki")
        #expect(gateway.providers.count("/token") == 2)
    }

    @Test func `another user at the provider is led over its page, and the session stays`() async throws {
        let gateway = try GatewayFixture()
        let browser = try await self.signedIn(gateway)
        let callback = try await self.silentCallback(browser, as: Browser.ada.merging(["sub": "eve"]) { $1 })
        let response = try await browser.open(callback)
        #expect(response.status == 303 && response.location == "\(gate)/oauth2/start/staff?rd=%2Fwiki")
        #expect(response.cookies.contains { $0.contains("-attempt-") && $0.contains("; Max-Age=0;") })
        #expect(
            try await browser.open("\(gate)/oauth2/userinfo").json["user"] == "staff:ada" && browser.begun.count == 1
        )
    }

    @Test(arguments: [
        ("login_required", 403), ("interaction_required", 403), ("access_denied", 403), ("invalid_scope", 502),
    ])
    func `what the provider does not do without a page is done with one, and what it does not do then has failed`(
        error: String,
        status: Int
    ) async throws {
        let gateway = try GatewayFixture()
        let browser = try await self.signedIn(gateway)
        let page = "\(gate)/oauth2/start/staff?rd=%2Fwiki"
        for start in [Self.silent, page] {
            let state = try #require(try await browser.asked(start)["state"])
            let query = Form([Form.Field("error", error), Form.Field("state", state)]).encoded
            let response = try await browser.open("\(gate)/oauth2/callback/staff?\(query)", script)
            #expect(response.status == (start == page ? status : 303))
            #expect(response.location == (start == page ? nil : page))
        }
        #expect(browser.begun.count == 1)
    }

    @Test func `a provider that is down at confirmations is left alone for a while`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        _ = try await gateway.signIn(browser)
        gateway.providers.stub("/.well-known/openid-configuration", 503)
        for _ in 0..<RecheckBreaker.maxFailures {
            #expect(gateway.runtime.services.rechecks.pause(of: "staff") == nil)
            #expect(try await browser.open(Self.silent, script).status == 502)
        }
        #expect(gateway.runtime.services.rechecks.pause(of: "staff") != nil)
    }

    // MARK: Several gateways

    @Test(arguments: [true, false])
    func `where gateways share a store, a callback is used up before the provider is asked`(
        sharesStore: Bool
    ) async throws {
        let first = try GatewayFixture(sharesStore: sharesStore)
        let second = try GatewayFixture(sharing: first, sharesStore: sharesStore)
        let browser = Browser(first)
        let callback = try await browser.begin("staff")
        let other = Browser(second)
        other.jar = browser.jar
        #expect(try await browser.open(callback).status == 303)
        let response = try await other.open(callback, script)
        #expect(response.status == 400 && other.begun.isEmpty)
        // Either way the attempt is spent; the code goes to the provider twice only where gateways do not know each other.
        #expect(first.providers.count("/token") == (sharesStore ? 1 : 2))
    }

    @Test
    func `B-01: a callback is used up for one gateway by another, also with an error, and not by a store that fails`()
        async throws
    {
        let first = try GatewayFixture(sharesStore: true)
        let second = try GatewayFixture(sharing: first, sharesStore: true)
        let browser = Browser(first)
        let callback = try await browser.begin("staff")
        let state = try #require(callback.split(separator: "?").last.flatMap { Form(encoded: $0)?["state"] })
        let denied = Form([Form.Field("error", "access_denied"), Form.Field("state", state)]).encoded
        let other = Browser(second)
        other.jar = browser.jar
        first.store.fail("spend")
        let failed = try await browser.open(callback, script)
        #expect(failed.code == "session.store_unavailable" && first.providers.count("/token") == 0)
        #expect(try await browser.open(callback).status == 303 && first.providers.count("/token") == 1)
        let late = try await other.open("\(gate)/oauth2/callback/staff?\(denied)", script)
        #expect(late.code == "openid.attempt_lost" && other.begun.isEmpty)
    }

    @Test func `callbacks that wait for a provider are bounded`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let callback = try await browser.begin("staff")
        let staff = try #require(gateway.runtime.providers["staff"])
        while staff.waiting.acquire() {}
        let response = try await browser.open(callback, script)
        #expect(response.status == 503 && response.code == "provider.busy")
    }

    @Test func `who is denied spends the attempt, and keeps the session of other apps`() async throws {
        let gateway = try GatewayFixture()
        let browser = try await self.signedIn(gateway)
        let eve: [String: JSON] = ["sub": "eve", "email": "eve@example.com", "email_verified": true]
        let callback = try await browser.begin("staff", returnPath: "/wiki", as: eve)
        let jar = browser.jar
        #expect(try await browser.open(callback, script).code == "policy.refused")
        #expect(try await browser.open("\(gate)/oauth2/userinfo").json["user"] == "staff:ada")
        browser.jar = jar
        #expect(try await browser.open(callback).status == 303 && browser.begun.count == 1)
    }
}
