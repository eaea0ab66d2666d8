// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateEndpoints
import GateFixtures
import GatePolicy
import GateSessions
import GateTestSupport
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

/// Lifetimes of sessions that an app has of its own: the wiki on the gate's host beside `/`.
@Suite struct AppLifetimesTests {
    private func gateway(_ limits: SessionLimits) throws -> GatewayFixture {
        try GatewayFixture(app: { if $0.route.app == "wiki" { $0.sessionLimits = limits } })
    }

    /// The verdict on a request, after the store was asked if it had to be.
    private func verdict(
        _ gateway: GatewayFixture,
        _ path: String,
        _ ticket: Ticket,
        host: String = GatewayFixture.gate
    ) async throws -> String {
        gateway.loop.advance(to: .uptimeNanoseconds(0))
        gateway.loop.advance(to: .now())
        let head = try gateway.head("GET \(path)", host, cookie(ticket))
        let verdict = gateway.verdict(head)
        guard verdict == "needs session" else { return verdict }
        let session = try await gateway.runtime.sessions.session(for: ticket, host: host, now: gateway.clock.now)
        if let session { gateway.loop.remember(session, of: ticket, in: gateway.runtime.sessions) }
        return gateway.verdict(head, lookup: .done)
    }

    /// The cache lets go of everything, as it does after half a minute.
    private func forget(_ gateway: GatewayFixture) { gateway.loop.sessions.adopt { _ in false } }

    @Test func `after an app's lifetime it needs a new sign-in, and the session goes on for others`() async throws {
        let gateway = try self.gateway(SessionLimits(lifetime: .seconds(5000)))
        let ticket = try await gateway.session(of: .staff()).ticket
        for _ in 0..<2 {
            gateway.clock.advance(by: 2499)
            self.forget(gateway)
            #expect(try await self.verdict(gateway, "/wiki", ticket) == "forwarded to wiki")
        }
        gateway.clock.advance(by: 1)
        #expect(try await self.verdict(gateway, "/wiki", ticket) == "forwarded to wiki")
        gateway.clock.advance(by: 1)
        #expect(try await self.verdict(gateway, "/wiki", ticket) == "sign in for wiki")
        #expect(try await self.verdict(gateway, "/", ticket) == "forwarded to front")
    }

    @Test func `a session that was idle too long for an app is not made good by use of another`() async throws {
        let gateway = try self.gateway(SessionLimits(idle: .seconds(900)))
        let ticket = try await gateway.session(of: .staff()).ticket
        gateway.clock.advance(by: 899)
        #expect(try await self.verdict(gateway, "/wiki", ticket) == "forwarded to wiki")
        self.forget(gateway)
        gateway.clock.advance(by: 900)
        for _ in 0..<2 {
            #expect(try await self.verdict(gateway, "/", ticket) == "forwarded to front")
            #expect(try await self.verdict(gateway, "/wiki", ticket) == "sign in for wiki")
            self.forget(gateway)
            gateway.clock.advance(by: 60)
        }
    }

    @Test func `a cached session ends for the app in time, not when the cache lets go of it`() async throws {
        let gateway = try self.gateway(SessionLimits(idle: .seconds(900)))
        let ticket = try await gateway.cachedSession(of: .staff())
        #expect(try await self.verdict(gateway, "/wiki", ticket) == "forwarded to wiki")
        gateway.clock.advance(by: 900)
        #expect(try await self.verdict(gateway, "/", ticket) == "forwarded to front")
        #expect(try await self.verdict(gateway, "/wiki", ticket) == "sign in for wiki")
    }

    @Test func `the store decides before an app ends a session, and if it is down no user signs in again`() async throws
    {
        let gateway = try self.gateway(SessionLimits(lifetime: .seconds(600)))
        let ticket = try await gateway.cachedSession(of: .staff())
        gateway.clock.advance(by: 600)
        gateway.loop.advance(to: .uptimeNanoseconds(0))
        gateway.loop.advance(to: .now())
        let head = try gateway.head("GET /wiki", GatewayFixture.gate, cookie(ticket))
        #expect(gateway.verdict(head) == "needs session")
        let outage = LookedUp.unavailable(Failure(.sessionStoreUnavailable, "scripted"))
        #expect(gateway.verdict(head, lookup: outage) == "refused session.store_unavailable")
        #expect(gateway.verdict(head, lookup: .done) == "sign in for wiki")
    }

    @Test func `a session that another request has replaced meanwhile keeps how long it was idle`() async throws {
        let gateway = try self.gateway(SessionLimits(idle: .seconds(900)))
        let ticket = try await gateway.session(of: .staff()).ticket
        gateway.clock.advance(by: 900)
        let (sessions, now) = (gateway.runtime.sessions, gateway.clock.now)
        async let first = sessions.session(for: ticket, host: GatewayFixture.gate, now: now)
        async let second = sessions.session(for: ticket, host: GatewayFixture.gate, now: now)
        #expect(try await first?.maxIdle == .seconds(900))
        #expect(try await second?.maxIdle == .seconds(900))
        #expect(gateway.store.calls.filter { $0 == "replace" }.count <= 2)
    }

    @Test func `without an app that has an idle time-out no session is replaced`() async throws {
        let gateway = try self.gateway(SessionLimits(lifetime: .seconds(900)))
        let ticket = try await gateway.session(of: .staff()).ticket
        gateway.clock.advance(by: 3000)
        let session = try await gateway.runtime.sessions.session(
            for: ticket,
            host: GatewayFixture.gate,
            now: gateway.clock.now
        )
        #expect(session?.maxIdle == .zero && !gateway.store.calls.contains("replace"))
    }
}

/// The same for an app on a host of its own, which gets its sessions by session transfer.
@Suite struct AppLifetimesOnOwnHostTests {
    private let shop = "shop.example.com"

    /// Where a browser without an accepted session is sent from the shop.
    private func knock(_ gateway: GatewayFixture, _ browser: Browser) throws -> String {
        let head = try gateway.head("GET /cart", self.shop, "Sec-Fetch-Mode: navigate\r\n")
        let response = SignInRedirect(runtime: gateway.runtime).response(for: head, route: try gateway.route("shop"))
        browser.keep(response, host: self.shop)
        return try #require(response.location)
    }

    private func isAccepted(_ gateway: GatewayFixture, _ browser: Browser) async throws -> Bool {
        let text = try #require(browser.jar[self.shop]?["__Host-gatehouse"])
        let ticket = try #require(Ticket(text.utf8))
        let now = gateway.clock.now
        let session = try await gateway.runtime.sessions.session(for: ticket, host: self.shop, now: now)
        return try gateway.route("shop").isCurrent(try #require(session), now: now)
    }

    /// Signs in on the way to the shop, from where the gateway's host sends the browser.
    private func signIn(_ gateway: GatewayFixture, _ browser: Browser, from chooser: String) async throws {
        #expect(chooser.contains("/oauth2/sign_in?"))
        let start = chooser.replacing("/sign_in?", with: "/start/staff?")
        let callback = try browser.callback(to: try #require(try await browser.open(start).location), provider: "staff")
        let back = try #require(try await browser.open(callback).location)
        try await self.transfer(browser, from: back)
    }

    private func transfer(_ browser: Browser, from back: String) async throws {
        let withCode = try #require(try await browser.open(back).location)
        #expect(withCode.hasPrefix("https://shop.example.com/oauth2/handover?code="))
        #expect(try await browser.open(withCode).location == "https://shop.example.com/cart")
    }

    private func gateway(_ limits: SessionLimits) throws -> GatewayFixture {
        try GatewayFixture(app: { if $0.route.app == "shop" { $0.sessionLimits = limits } })
    }

    @Test(arguments: [SessionLimits(lifetime: .seconds(1800)), SessionLimits(idle: .seconds(1800))])
    func `a session that is over for the app gets no code, and one new sign-in leads back`(
        limits: SessionLimits
    ) async throws {
        let gateway = try self.gateway(limits)
        let browser = Browser(gateway)
        let chooser = try #require(try await browser.open(try self.knock(gateway, browser)).location)
        try await self.signIn(gateway, browser, from: chooser)
        #expect(try await self.isAccepted(gateway, browser))
        gateway.clock.advance(by: 1800)
        #expect(try await !self.isAccepted(gateway, browser))
        let again = try #require(try await browser.open(try self.knock(gateway, browser)).location)
        try await self.signIn(gateway, browser, from: again)
        #expect(try await self.isAccepted(gateway, browser))
    }

    @Test func `an idle session of the app's host is replaced if the user was active elsewhere`() async throws {
        let gateway = try self.gateway(SessionLimits(idle: .seconds(900)))
        let browser = Browser(gateway)
        let chooser = try #require(try await browser.open(try self.knock(gateway, browser)).location)
        try await self.signIn(gateway, browser, from: chooser)
        for _ in 0..<2 {
            gateway.clock.advance(by: 600)
            #expect(try await browser.open("https://gate.example.com/oauth2/userinfo").status == 200)
        }
        #expect(try await !self.isAccepted(gateway, browser))
        try await self.transfer(browser, from: try self.knock(gateway, browser))
        #expect(try await self.isAccepted(gateway, browser))
    }
}
