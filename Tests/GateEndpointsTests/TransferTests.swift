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

@testable import GateEndpoints
@testable import GateRuntime

private let gate = "https://gate.example.com"
private let script = "Accept: */*\r\n"

/// which session is transferred to an app's host.
@Suite struct TransferDecisionTests {
    /// Where a browser is sent that opens an app on a host of its own.
    private func knock(
        _ gateway: GatewayFixture,
        _ browser: Browser,
        app: String = "shop",
        host: String? = nil,
        step: SignInStep = .signIn
    ) throws -> String {
        let host = host ?? "\(app).example.com"
        let head = try gateway.head("GET /cart", host, "Sec-Fetch-Mode: navigate\r\n")
        let response = SignInRedirect(runtime: gateway.runtime).response(
            for: head,
            route: try gateway.route(app),
            step: step
        )
        browser.keep(response, host: host)
        return try #require(response.location)
    }

    private func leadsToSignIn(_ response: Response) -> Bool {
        response.location?.hasPrefix("\(gate)/oauth2/sign_in?rd=%2Foauth2%2Fhandover") ?? false
    }

    private func hasCode(_ response: Response) -> Bool {
        response.location?.hasPrefix("https://shop.example.com/oauth2/handover?code=") ?? false
    }

    @Test func `another account is asked for although there is a session`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        _ = try await gateway.signIn(browser)
        let url = try self.knock(gateway, browser)
        #expect(self.hasCode(try await browser.open(url)))
        let other = try await browser.open("\(url)&prompt=select_account")
        #expect(self.leadsToSignIn(other) && other.location?.hasSuffix("&prompt=select_account") == true)
    }

    @Test(arguments: [(59, true), (60, false)] as [(Int64, Bool)])
    func `a session that is older than the app accepts is not transferred`(age: Int64, isGood: Bool) async throws {
        let gateway = try GatewayFixture(app: { app in
            if app.route.app == "shop" { app.sessionLimits = SessionLimits(lifetime: .seconds(60)) }
        })
        let browser = Browser(gateway)
        _ = try await gateway.signIn(browser)
        gateway.clock.advance(by: age)
        let response = try await browser.open(try self.knock(gateway, browser))
        #expect(self.hasCode(response) == isGood && self.leadsToSignIn(response) != isGood)
    }

    private func asking(_ condition: RequestCondition) throws -> GatewayFixture {
        try GatewayFixture(app: { app in
            guard app.route.app == "shop" else { return }
            var entry = AccessEntry(at: RulePlace(line: 1))
            entry.request = [condition]
            app.route.access = .entries([entry])
        })
    }

    @Test(arguments: [(300, true), (301, false), (nil, false)] as [(Int64?, Bool)])
    func `an authentication that is older than a rule of the app asks for is not enough`(
        age: Int64?,
        isGood: Bool
    ) async throws {
        let gateway = try self.asking(.authenticated(within: .seconds(300)))
        let browser = Browser(gateway)
        var profile = Profile.staff()
        profile.authTime = age.map { gateway.clock.now.advanced(by: .seconds(-$0)) }
        _ = try await gateway.signIn(browser, as: profile)
        let response = try await browser.open(try self.knock(gateway, browser))
        #expect(self.hasCode(response) == isGood && self.leadsToSignIn(response) != isGood)
    }

    @Test func `a sign-in for such an app asks the provider for it, and an older one is rejected`() async throws {
        let gateway = try self.asking(.authenticated(within: .seconds(300)))
        for (age, status) in [(360, 303), (361, 403)] as [(Int64, Int)] {
            let browser = Browser(gateway)
            let chooser = try #require(try await browser.open(try self.knock(gateway, browser)).location)
            let start = chooser.replacing("/sign_in?", with: "/start/staff?")
            let provider = try #require(try await browser.open(start).location)
            #expect(WebURL(provider)?.query.flatMap { Form(encoded: $0)?["max_age"] } == "300")
            let time = JSON.int(gateway.clock.now.seconds - age)
            let claims = Browser.ada.merging(["auth_time": time]) { $1 }
            let done = try await browser.open(try browser.callback(to: provider, provider: "staff", as: claims))
            #expect(done.status == status)
            #expect(status == 303 || done.text.contains("policy.authentication_stale"))
        }
    }

    @Test func `where a passkey is asked for, one counts that is used since then`() async throws {
        let gateway = try self.asking(.passkey(within: nil))
        let browser = Browser(gateway)
        let issued = try await gateway.session(of: .staff())
        browser.jar[GatewayFixture.gate] = ["__Host-gatehouse": issued.ticket.text]
        let sessions = gateway.runtime.sessions
        _ = try await sessions.notePasskey("hwk", in: issued.ticket, at: gateway.clock.now)
        gateway.clock.advance(by: 60)
        let url = try self.knock(gateway, browser, step: .passkey)
        let asked = try await browser.open(url)
        #expect(asked.location?.hasPrefix("\(gate)/oauth2/passkey?rd=%2Foauth2%2Fhandover") == true)
        _ = try await sessions.notePasskey("hwk", in: issued.ticket, at: gateway.clock.now)
        #expect(self.hasCode(try await browser.open(url)))
        #expect(self.hasCode(try await browser.open(try self.knock(gateway, browser))))
    }

    @Test(arguments: [("store.example.com", true), ("x.apps.example.com", false)])
    func `F-02: a passkey counts on a host that an app names, and not on others below a wildcard`(
        host: String,
        counts: Bool
    ) async throws {
        let gateway = try GatewayFixture(app: GatewayFixture.severalHosts)
        let browser = Browser(gateway)
        let issued = try await gateway.session(of: .staff())
        browser.jar[GatewayFixture.gate] = ["__Host-gatehouse": issued.ticket.text]
        _ = try await gateway.runtime.sessions.notePasskey("hwk", in: issued.ticket, at: gateway.clock.now)
        let code = try #require(try await browser.open(try self.knock(gateway, browser, host: host)).location)
        try await browser.open(code)
        #expect(browser.begun.map(\.session.host) == [host])
        #expect(browser.begun.map { $0.session.passkeyUsed != nil } == [counts])
    }

    @Test func `a session that is due is confirmed first, at a provider that the app accepts`() async throws {
        let policy = RecheckPolicy(interval: .seconds(1800), maxStale: .seconds(900))
        let gateway = try GatewayFixture(recheck: policy)
        for (profile, app) in [(Profile.staff(), "shop"), (Profile.guest, "desk")] {
            let browser = Browser(gateway)
            _ = try await gateway.signIn(browser, as: profile)
            gateway.clock.advance(by: 3000)
            let response = try await browser.open(try self.knock(gateway, browser, app: app))
            let silent = "\(gate)/oauth2/start/staff?rd=%2Foauth2%2Fhandover"
            #expect(response.location?.hasPrefix(silent) == true)
            #expect(response.location?.hasSuffix("&prompt=none") == (app == "shop"))
        }
    }

    @Test(arguments: [(599, 303), (600, 400)] as [(Int64, Int)])
    func `a request is valid for ten minutes`(seconds: Int64, status: Int) async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let url = try self.knock(gateway, browser)
        gateway.clock.advance(by: seconds)
        let response = try await browser.open(url, script)
        #expect(response.status == status && (status == 303 || response.code == "handover.request"))
    }

    @Test func `a request for a host that no app has is rejected`() async throws {
        let gateway = try GatewayFixture()
        let url = try self.knock(gateway, Browser(gateway))
        let without = try GatewayFixture(without: ["shop"], sharing: gateway)
        let response = try await Browser(without).open(url, script)
        #expect(response.status == 400 && response.code == "handover.request")
    }

    @Test func `the code becomes a session of the host, known to the loop, and takes the cookie of the transfer`()
        async throws
    {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        _ = try await gateway.signIn(browser)
        let code = try #require(try await browser.open(try self.knock(gateway, browser)).location)
        let names = try #require(browser.jar["shop.example.com"]?.keys.sorted())
        #expect(names.count == 1 && names[0].hasPrefix("__Host-gatehouse-handover-"))
        let response = try await browser.open(code)
        #expect(response.status == 303 && response.location == "https://shop.example.com/cart")
        #expect(browser.jar["shop.example.com"].map { Array($0.keys) } == ["__Host-gatehouse"])
        #expect(browser.begun.map(\.session.host) == ["shop.example.com"])
        #expect(response.head.headerFields[.cacheControl] == "no-store")
    }

    @Test func `a code whose session has ended leads to a new sign-in`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        _ = try await gateway.signIn(browser)
        let code = try #require(try await browser.open(try self.knock(gateway, browser)).location)
        _ = try await gateway.runtime.sessions.endAll(of: .staff())
        let response = try await browser.open(code)
        #expect(response.location?.hasPrefix("\(gate)/oauth2/handover?request=") == true && browser.begun.isEmpty)
    }

    @Test func `a code is redeemed at the app's host, and a request carried out at the gateway's`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        _ = try await gateway.signIn(browser)
        let url = try self.knock(gateway, browser)
        let code = try #require(try await browser.open(url).location)
        for address in [code.replacing("shop.", with: "gate."), url.replacing("gate.", with: "shop.")] {
            let response = try await browser.open(address, script)
            #expect(response.status == 400 && response.code == "handover.parameters")
        }
    }
}

/// how often providers may be wrong about logouts.
@Suite struct LogoutLimitTests {
    private let gateway: GatewayFixture

    init() throws {
        let start = ContinuousClock.now
        self.gateway = try GatewayFixture(signIns: SignInLimiter { start })
    }

    private func token(_ claims: [String: JSON] = ["sub": "ada"], id: String = "j1") -> String {
        let event: JSON = ["http://schemas.openid.net/event/backchannel-logout": [:]]
        let all = ["jti": .string(id), "events": event].merging(claims) { $1 }
        return self.gateway.providers.token(all, of: "https://id.staff.example")
    }

    private func post(_ token: String, from client: String = "192.0.2.1") async throws -> Response {
        let browser = Browser(self.gateway)
        browser.client = IPAddress(client)
        return try await browser.post("\(gate)/oauth2/backchannel-logout/staff", ["logout_token": token], script)
    }

    @Test func `invalid tokens of a client are counted, and delay no other client and no sign-in`() async throws {
        let limit = self.gateway.runtime.limits.signIns.failuresPerMinute
        for number in 0..<limit { #expect(try await self.post("x\(number)").status == 400) }
        let response = try await self.post(self.token())
        #expect(response.status == 429 && response.code == "logout.too_often")
        #expect(try await self.post(self.token(), from: "198.51.100.1").status == 200)
        let browser = Browser(self.gateway)
        browser.client = IPAddress("192.0.2.1")
        #expect(try await browser.open(try await browser.begin("staff")).status == 303)
    }

    @Test func `valid tokens, repeats, and keys or stores that are down do not count`() async throws {
        let limit = self.gateway.runtime.limits.signIns.failuresPerMinute
        for number in 0...limit { #expect(try await self.post(self.token(id: "j\(number)")).status == 200) }
        for _ in 0...limit { #expect(try await self.post(self.token(id: "j0")).code == "logout.replayed") }
        self.gateway.store.isDown = true
        for _ in 0...limit { #expect(try await self.post(self.token(id: "new")).status == 503) }
        self.gateway.store.isDown = false
        #expect(try await self.post(self.token(id: "new")).status == 200)
    }

    @Test func `a hundred logouts of a provider are in progress at a time, and each gives its place back`() async throws
    {
        let staff = try #require(self.gateway.runtime.providers["staff"])
        var free = 0
        while staff.logouts.acquire() { free += 1 }
        #expect(free == 100)
        let busy = try await self.post(self.token())
        #expect(busy.status == 503 && busy.code == "logout.busy")
        staff.logouts.release()
        #expect(try await self.post("x").status == 400)
        #expect(try await self.post(self.token()).status == 200)
    }
}
