// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GateHTTP
import GateOpenID
import GateSessions
import GateTestSupport
import Synchronization
import Testing

@testable import GateIngress
@testable import GateRuntime

private let gate = "https://gate.example.com"
private let policy = RecheckPolicy(interval: .seconds(1800), maxStale: .seconds(900))

/// What a request gets whose session has to be confirmed, while other requests and gateways are at it as well.
@Suite struct SessionLookUpTests {
    /// A gateway with re-checks, and a user who has signed in with `staff`.
    private func signedIn(
        _ members: [String: JSON] = ["refresh_token": "rt-1"]
    ) async throws -> (GatewayFixture, Ticket) {
        let gateway = try GatewayFixture(recheck: policy)
        return (gateway, try await gateway.signIn(members))
    }

    @Test func `a due session is served, and its result is there afterwards`() async throws {
        let (gateway, ticket) = try await self.signedIn()
        gateway.clock.advance(by: 1790)
        gateway.providers.setClaims(Browser.ada.merging(["name": "Ada Byron"]) { $1 })
        #expect(try await gateway.found(ticket) == "Ada Lovelace")
        gateway.clock.advance(by: 10)
        #expect(
            try await gateway.found(ticket) == "Ada Byron",
            "it waits for the re-check in progress, or finds its result"
        )
        #expect(gateway.providers.count("/token") == 2)
    }

    @Test func `a gateway that gets the reservation after another one's re-check asks nothing`() async throws {
        let (gateway, ticket) = try await self.signedIn()
        let other = try GatewayFixture(recheck: policy, sharing: gateway).runtime
        gateway.clock.advance(by: 1800)
        gateway.store.interrupt("lock") {
            let lookUp = SessionLookUp(runtime: other, patience: .seconds(60))
            _ = await lookUp.result(for: ticket, host: GatewayFixture.gate, mayAskUser: false)
        }
        #expect(try await gateway.found(ticket) == "Ada Lovelace")
        #expect(gateway.providers.count("/token") == 2, "one for the sign-in, one for the re-check")
    }

    @Test func `a result is stored although the session changed during the re-check`() async throws {
        let (gateway, ticket) = try await self.signedIn()
        gateway.clock.advance(by: 1800)
        gateway.providers.setTokenExtras(["refresh_token": "rt-2"])
        let sessions = gateway.runtime.sessions
        gateway.store.interrupt("replace") {
            guard let stored = try? await sessions.stored(ticket) else { return }
            var change = SignIn(profile: stored.session.profile)
            change.grant = stored.session.grant
            change.profile.name = "another writer"
            _ = try? await sessions.update(stored, with: change, confirmed: nil)
        }
        #expect(try await gateway.found(ticket) == "Ada Lovelace")
        let stored = try #require(try await sessions.stored(ticket))
        #expect(stored.session.grant?.refreshToken == Secret(text: "rt-2"))
    }

    @Test func `a session that changed but was not confirmed is not served when it is stale`() async throws {
        let (gateway, ticket) = try await self.signedIn()
        gateway.clock.advance(by: 2700)
        let sessions = gateway.runtime.sessions
        let seen = try #require(try await sessions.stored(ticket))
        #expect(try await sessions.reserveRecheck(of: seen, now: gateway.clock.now), "another gateway is at it")
        gateway.store.interrupt("lock") {
            var change = SignIn(profile: seen.session.profile)
            change.grant = seen.session.grant
            change.profile.name = "not confirmed"
            _ = try? await sessions.update(seen, with: change, confirmed: nil)
        }
        await #expect(throws: Failure.self) { try await gateway.found(ticket) }
        #expect(gateway.providers.count("/token") == 1)
    }

    @Test func `tokens that are about one user do not stop the re-checks of the others`() async throws {
        let gateway = try GatewayFixture(recheck: policy)
        var tickets: [Ticket] = []
        for _ in 0...RecheckBreaker.maxFailures { tickets.append(try await gateway.signIn(["refresh_token": "rt-1"])) }
        gateway.clock.advance(by: 1800)
        gateway.providers.setClaims(Browser.ada.merging(["nonce": "of another sign-in"]) { $1 })
        for ticket in tickets.dropLast() { #expect(try await gateway.found(ticket) == "Ada Lovelace") }
        let asked = gateway.providers.count("/token")
        #expect(asked == tickets.count + RecheckBreaker.maxFailures)
        #expect(try await gateway.found(try #require(tickets.last)) == "Ada Lovelace")
        #expect(gateway.providers.count("/token") == asked + 1)
    }

    @Test func `a user whose re-check failed is not asked about again at once`() async throws {
        let (gateway, ticket) = try await self.signedIn()
        gateway.clock.advance(by: 1800)
        gateway.providers.setClaims(Browser.ada.merging(["nonce": "of another sign-in"]) { $1 })
        for _ in 0..<3 { #expect(try await gateway.found(ticket) == "Ada Lovelace") }
        #expect(gateway.providers.count("/token") == 2)
    }

    @Test
    func
        `B-12: other requests than navigations are served until the session is stale, which differs from a missing one`()
        async throws
    {
        let (gateway, ticket) = try await self.signedIn(["expires_in": 60])
        gateway.clock.advance(by: 2699)
        #expect(try await gateway.found(ticket) == "Ada Lovelace")
        gateway.clock.advance(by: 1)
        #expect(try await gateway.found(ticket) == "needs user")
    }

    @Test func `B-12: a navigation is led over the provider before the session is due, up to twice a tenth`()
        async throws
    {
        let (gateway, ticket) = try await self.signedIn(["expires_in": 60])
        gateway.clock.advance(by: 1439)
        #expect(try await gateway.found(ticket, mayAskUser: true) == "Ada Lovelace")
        gateway.clock.advance(by: 181)
        #expect(try await gateway.found(ticket, mayAskUser: true) == "needs user")
        #expect(try await gateway.found(ticket) == "Ada Lovelace")
    }

    @Test func `a navigation is not led to a provider that is down`() async throws {
        let (gateway, ticket) = try await self.signedIn(["expires_in": 60])
        gateway.clock.advance(by: 1800)
        #expect(try await gateway.found(ticket, mayAskUser: true) == "needs user")
        let failure = Failure(.providerTimeout, "the test simulates it")
        for _ in 0..<RecheckBreaker.maxFailures { _ = gateway.runtime.services.rechecks.failed("staff", failure) }
        #expect(try await gateway.found(ticket, mayAskUser: true) == "Ada Lovelace")
    }

    @Test func `a profile without userinfo is accepted when the session is stale, and asked for again soon`()
        async throws
    {
        let (gateway, ticket) = try await self.signedIn()
        gateway.clock.advance(by: 2700)
        gateway.providers.stub("/userinfo", 503)
        #expect(try await gateway.found(ticket) == "Ada Lovelace")
        let first = gateway.providers.count("/token")
        gateway.clock.advance(by: 300)
        gateway.providers.stub("/userinfo")
        #expect(try await gateway.found(ticket) == "Ada Lovelace")
        #expect(gateway.providers.count("/token") == first + 1)
        gateway.clock.advance(by: 1400)
        #expect(try await gateway.found(ticket) == "Ada Lovelace")
        #expect(gateway.providers.count("/token") == first + 1, "this one was complete")
    }
}

/// A sign-in without a page of the provider.
@Suite struct SilentSignInTests {
    private func due() async throws -> (GatewayFixture, Browser) {
        let gateway = try GatewayFixture(recheck: policy)
        let browser = Browser(gateway)
        gateway.providers.setTokenExtras(["expires_in": 60])
        try await browser.open(try await browser.begin("staff", returnPath: "/wiki"))
        gateway.clock.advance(by: 1800)
        return (gateway, browser)
    }

    private func ticket(_ browser: Browser) -> String? { browser.jar[GatewayFixture.gate]?["__Host-gatehouse"] }

    private func begin(_ browser: Browser, _ provider: String = "staff") async throws -> String {
        let response = try await browser.open("\(gate)/oauth2/start/\(provider)?rd=/wiki/a&prompt=none")
        return try #require(response.location)
    }

    private func query(_ location: String) -> Form? { WebURL(location)?.query.flatMap { Form(encoded: $0) } }

    @Test func `the session goes on with its ticket, hosts and lifetime`() async throws {
        let (gateway, browser) = try await self.due()
        let old = try #require(self.ticket(browser))
        let created = try await gateway.session(old)?.created
        let asked = try await self.begin(browser)
        #expect(self.query(asked)?["prompt"] == "none" && self.query(asked)?["login_hint"] == "ada@example.org")
        let claims = Browser.ada.merging(["name": "Ada Byron"]) { $1 }
        let response = try await browser.open(try browser.callback(to: asked, provider: "staff", as: claims))
        #expect(response.location == "\(gate)/wiki/a" && self.ticket(browser) == old)
        #expect(
            browser.jar[GatewayFixture.gate]?.keys.contains { $0.contains("attempt") } == false,
            "the attempt's cookie is gone"
        )
        let session = try await gateway.session(old)
        #expect(session?.profile.name == "Ada Byron" && session?.created == created)
        #expect(try await gateway.found(try #require(Ticket(old.utf8.map { $0 }))) == "Ada Byron")
    }

    @Test func `another session at the provider begins another one here`() async throws {
        let (gateway, browser) = try await self.due()
        let old = try #require(self.ticket(browser))
        let claims = Browser.ada.merging(["sid": "another"]) { $1 }
        try await browser.open(try browser.callback(to: try await self.begin(browser), provider: "staff", as: claims))
        let new = try #require(self.ticket(browser))
        #expect(new != old)
        #expect(try await gateway.session(old) == nil)
        #expect(try await gateway.session(new)?.providerSession == "another")
    }

    @Test func `another user at the provider is not swapped in without a page`() async throws {
        let (gateway, browser) = try await self.due()
        let old = try #require(self.ticket(browser))
        let claims: [String: JSON] = ["sub": "eve", "email": "eve@example.org", "email_verified": true]
        let callback = try browser.callback(to: try await self.begin(browser), provider: "staff", as: claims)
        let response = try await browser.open(callback)
        #expect(response.location == "\(gate)/oauth2/start/staff?rd=%2Fwiki%2Fa")
        #expect(self.ticket(browser) == old)
        #expect(try await gateway.session(old)?.profile.user == "staff:ada")
    }

    @Test func `a user who may not enter an app any more keeps the session, with the new profile`() async throws {
        let (gateway, browser) = try await self.due()
        let old = try #require(self.ticket(browser))
        let claims = Browser.ada.merging(["email": "ada@example.com"]) { $1 }
        let callback = try browser.callback(to: try await self.begin(browser), provider: "staff", as: claims)
        #expect(try await browser.open(callback).status == 403)
        #expect(try await gateway.session(old)?.profile.email == "ada@example.com", "a link must not sign users out")
    }

    @Test func `a silent callback works once`() async throws {
        let (_, browser) = try await self.due()
        let callback = try browser.callback(to: try await self.begin(browser), provider: "staff")
        let jar = browser.jar
        #expect(try await browser.open(callback).location == "\(gate)/wiki/a")
        browser.jar = [GatewayFixture.gate: jar[GatewayFixture.gate]?.filter { $0.key.contains("attempt") } ?? [:]]
        #expect(try await browser.open(callback).code != nil || self.ticket(browser) == nil)
        #expect(self.ticket(browser) == nil)
    }

    @Test func `only the provider of the session is asked silently, and hears whose it is`() async throws {
        let (_, browser) = try await self.due()
        let asked = try await self.begin(browser, "guests")
        #expect(self.query(asked)?["prompt"] == nil && self.query(asked)?["login_hint"] == nil)
        browser.jar = [:]
        let stranger = try await self.begin(browser)
        #expect(self.query(stranger)?["prompt"] == nil && self.query(stranger)?["login_hint"] == nil)
    }
}

extension GatewayFixture {
    /// Signs a user in with `staff`; the token response has these members as well.
    fileprivate func signIn(_ members: [String: JSON]) async throws -> Ticket {
        self.providers.setTokenExtras(members)
        let browser = Browser(self)
        try await browser.open(try await browser.begin("staff", returnPath: "/wiki"))
        return try #require(browser.begun.first).ticket
    }

    /// The name in the session that a request gets, or what is needed instead.
    fileprivate func found(_ ticket: Ticket, mayAskUser: Bool = false) async throws(Failure) -> String {
        // A machine that is busy with other tests must not look like a provider that is slow.
        let lookUp = SessionLookUp(runtime: self.runtime, patience: .seconds(60))
        switch try await lookUp.session(for: ticket, host: GatewayFixture.gate, mayAskUser: mayAskUser) {
        case .none: return "none"
        case .session(let session): return session.profile.name ?? ""
        case .needsUser: return "needs user"
        }
    }

    /// The live session of a cookie.
    fileprivate func session(_ cookie: String) async throws -> Session? {
        let ticket = try #require(Ticket(Array(cookie.utf8)))
        return try await self.runtime.sessions.session(for: ticket, host: GatewayFixture.gate, now: self.clock.now)
    }
}
