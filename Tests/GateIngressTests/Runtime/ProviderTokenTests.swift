// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateEndpoints
import GateFixtures
import GateHeaders
import GateOperations
import GatePolicy
import GateSessions
import GateTestSupport
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

/// The provider's token that an app gets in `Authorization`.
@Suite struct ProviderTokenTests {
    /// A gateway whose wiki gets a token, with a sign-in to which the provider responded with these members.
    private func signedIn(
        _ kind: ProviderTokenKind = .accessToken,
        _ members: [String: JSON] = [:],
        recheck: RecheckPolicy = .never
    ) async throws -> (GatewayFixture, Ticket) {
        let gateway = try GatewayFixture(
            recheck: recheck,
            app: { app in if app.route.app == "wiki" { app.identity.authorization = .providerToken(kind) } }
        )
        gateway.providers.setTokenExtras(members)
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("staff", returnPath: "/wiki"))
        return (gateway, try #require(browser.begun.first).ticket)
    }

    private func session(_ gateway: GatewayFixture, _ ticket: Ticket) async throws -> Session {
        let found = try await gateway.runtime.sessions.session(
            for: ticket,
            host: GatewayFixture.gate,
            now: gateway.clock.now
        )
        return try #require(found)
    }

    /// The value of `Authorization` for an app, and for how many seconds the lines may be used.
    private func sent(
        _ gateway: GatewayFixture,
        _ session: Session,
        to app: String = "wiki"
    ) throws -> (value: String?, seconds: Int64) {
        let now = gateway.clock.now
        let made = try gateway.runtime.identityLines(for: session, on: try gateway.route(app), now: now)
        let lines = String(buffer: made.lines).split(separator: "\r\n")
        let found = lines.filter { $0.hasPrefix("Authorization: ") }
        #expect(found.count <= 1)
        return (found.first.map { String($0.dropFirst(15)) }, made.refreshAt.since(now).wholeSeconds)
    }

    @Test func `the app that asks for it gets the access token, and no other app does`() async throws {
        let (gateway, ticket) = try await self.signedIn(.accessToken, ["access_token": "at-1", "expires_in": 300])
        let session = try await self.session(gateway, ticket)
        #expect(try self.sent(gateway, session).value == "Bearer at-1")
        #expect(try self.sent(gateway, session, to: "front").value == nil)
    }

    @Test func `an access token is sent until a second before it expires, and no longer`() async throws {
        let (gateway, ticket) = try await self.signedIn(.accessToken, ["access_token": "at-1", "expires_in": 300])
        let session = try await self.session(gateway, ticket)
        gateway.clock.advance(by: 298)
        let last = try self.sent(gateway, session)
        #expect(last.value == "Bearer at-1" && last.seconds == 1)
        gateway.clock.advance(by: 1)
        #expect(try self.sent(gateway, session).value == nil)
    }

    @Test func `an access token without a known lifetime is sent as long as the session lives`() async throws {
        let (gateway, ticket) = try await self.signedIn(.accessToken, ["access_token": "at-1"])
        let session = try await self.session(gateway, ticket)
        gateway.clock.advance(by: 3000)
        let sent = try self.sent(gateway, session)
        #expect(sent.value == "Bearer at-1" && sent.seconds == 60)
    }

    @Test func `an ID token is sent until a second before its own end`() async throws {
        let (gateway, ticket) = try await self.signedIn(.idToken)
        let session = try await self.session(gateway, ticket)
        let token = try #require(session.idToken?.withText { $0 })
        #expect(try self.sent(gateway, session).value == "Bearer \(token)")
        gateway.clock.advance(by: 298)
        #expect(try self.sent(gateway, session).seconds == 1)
        gateway.clock.advance(by: 1)
        #expect(try self.sent(gateway, session).value == nil)
    }

    @Test func `the access token stays in the session beside a refresh token only if an app gets it`() async throws {
        let members: [String: JSON] = ["access_token": "at-1", "refresh_token": "rt-1"]
        let (gateway, ticket) = try await self.signedIn(.accessToken, members)
        #expect(try await self.session(gateway, ticket).grant?.accessToken == Secret(text: "at-1"))
        let (other, second) = try await self.signedIn(.idToken, members)
        let grant = try await self.session(other, second).grant
        #expect(grant?.accessToken == nil && grant?.refreshToken == Secret(text: "rt-1"))
    }

    /// The session as a request for the wiki is served with it; nil if it is not.
    private func served(_ gateway: GatewayFixture, _ ticket: Ticket, mayAskUser: Bool) async throws -> Session? {
        let route = try gateway.route("wiki")
        let lookUp = SessionLookUp(runtime: gateway.runtime, route: route, patience: .seconds(60))
        let found = try await lookUp.session(for: ticket, host: GatewayFixture.gate, mayAskUser: mayAskUser)
        guard case .session(let session) = found else { return nil }
        return session
    }

    @Test func `a request waits for a new access token if the old one has expired`() async throws {
        let policy = RecheckPolicy(interval: .seconds(3600), maxStale: .seconds(900))
        let members: [String: JSON] = ["access_token": "at-1", "refresh_token": "rt-1", "expires_in": 300]
        let (gateway, ticket) = try await self.signedIn(.accessToken, members, recheck: policy)
        gateway.providers.setTokenExtras(members.merging(["access_token": "at-2"]) { $1 })
        gateway.clock.advance(by: 301)
        let session = try #require(try await self.served(gateway, ticket, mayAskUser: false))
        #expect(try self.sent(gateway, session).value == "Bearer at-2")
    }

    @Test func `a provider that does not refresh it delays no session and ends none`() async throws {
        let policy = RecheckPolicy(interval: .seconds(3600), maxStale: .seconds(900))
        let members: [String: JSON] = ["access_token": "at-1", "refresh_token": "rt-1", "expires_in": 300]
        let (gateway, ticket) = try await self.signedIn(.accessToken, members, recheck: policy)
        gateway.providers.stub("/token", 503)
        gateway.clock.advance(by: 301)
        let session = try #require(try await self.served(gateway, ticket, mayAskUser: true))
        #expect(try self.sent(gateway, session).value == nil)
    }

    @Test func `an expired token that another app left in the cache is looked up again, once`() async throws {
        let policy = RecheckPolicy(interval: .seconds(3600), maxStale: .seconds(900))
        let members: [String: JSON] = ["access_token": "at-1", "refresh_token": "rt-1", "expires_in": 300]
        let (gateway, ticket) = try await self.signedIn(.accessToken, members, recheck: policy)
        gateway.providers.stub("/token", 503)
        gateway.clock.advance(by: 301)
        gateway.loop.sessions.adopt { _ in false }
        func verdict(_ path: String) throws -> String {
            gateway.loop.advance(to: .uptimeNanoseconds(0))
            gateway.loop.advance(to: .now())
            return gateway.verdict(try gateway.head("GET \(path)", GatewayFixture.gate, cookie(ticket)))
        }
        func lookUp(for app: String) async throws {
            let lookUp = SessionLookUp(runtime: gateway.runtime, route: try gateway.route(app), patience: .seconds(60))
            let host = GatewayFixture.gate
            guard case .session(let session) = try await lookUp.session(for: ticket, host: host, mayAskUser: false)
            else {
                Issue.record("the session is served")
                return
            }
            gateway.loop.remember(session, of: ticket, in: gateway.runtime.sessions, foundBy: lookUp)
        }
        try await lookUp(for: "front")
        #expect(try verdict("/") == "forwarded to front")
        #expect(try verdict("/wiki") == "needs session")
        try await lookUp(for: "wiki")
        // The provider does not respond: no further request waits for it.
        #expect(try verdict("/wiki") == "forwarded to wiki")
        #expect(try verdict("/") == "forwarded to front")
    }

    @Test(arguments: [(ProviderTokenKind.accessToken, false), (.idToken, true)])
    func `where an app gets the access token, a session is cached no longer than that may be sent`(
        kind: ProviderTokenKind,
        isLonger: Bool
    ) async throws {
        let members: [String: JSON] = ["access_token": "at-1", "refresh_token": "rt-1", "expires_in": 20]
        let (gateway, ticket) = try await self.signedIn(kind, members)
        let key = try #require(CookieKey(ticket))
        let before = NIODeadline.now()
        gateway.loop.remember(try await self.session(gateway, ticket), of: ticket, in: gateway.runtime.sessions)
        func isCached(_ seconds: Int64) -> Bool {
            gateway.loop.sessions.session(key, host: GatewayFixture.gate, now: before + .seconds(seconds)) != nil
        }
        #expect(isCached(19))
        // The cache begins to count after `before`, in far less than its further ten seconds.
        #expect(isCached(29) == isLonger)
    }

    @Test func `a token that was refreshed while the user could not be confirmed is sent`() async throws {
        let policy = RecheckPolicy(interval: .seconds(3600), maxStale: .seconds(900))
        let members: [String: JSON] = ["access_token": "at-1", "refresh_token": "rt-1", "expires_in": 300]
        let (gateway, ticket) = try await self.signedIn(.accessToken, members, recheck: policy)
        gateway.providers.setTokenExtras(members.merging(["access_token": "at-2", "id_token": .null]) { $1 })
        gateway.providers.stub("/userinfo", 503)
        gateway.clock.advance(by: 301)
        let lookUp = SessionLookUp(runtime: gateway.runtime, route: try gateway.route("wiki"), patience: .seconds(60))
        let found = try await lookUp.session(for: ticket, host: GatewayFixture.gate, mayAskUser: false)
        guard case .session(let session) = found else {
            Issue.record("the session is served")
            return
        }
        #expect(try self.sent(gateway, session).value == "Bearer at-2")
    }

    @Test func `a session on another host has the tokens of its sign-in`() async throws {
        let gateway = try GatewayFixture(
            app: { app in if app.route.app == "shop" { app.identity.authorization = .providerToken(.idToken) } }
        )
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("staff", returnPath: "/"))
        let first = try await self.session(gateway, try #require(browser.begun.first).ticket)
        let head = try gateway.head("GET /cart", "shop.example.com", "Sec-Fetch-Mode: navigate\r\n")
        let redirect = SignInRedirect(runtime: gateway.runtime).response(for: head, route: try gateway.route("shop"))
        browser.keep(redirect, host: "shop.example.com")
        let back = try #require(redirect.location)
        let withCode = try #require(try await browser.open(back).location)
        try await browser.open(withCode)
        let cookie = try #require(browser.jar["shop.example.com"]?["__Host-gatehouse"])
        let ticket = try #require(Ticket(Array(cookie.utf8)))
        let now = gateway.clock.now
        let session = try #require(
            try await gateway.runtime.sessions.session(for: ticket, host: "shop.example.com", now: now)
        )
        let token = try #require(first.idToken?.withText { $0 })
        #expect(session.id != first.id)
        #expect(try self.sent(gateway, session, to: "shop").value == "Bearer \(token)")
    }

    @Test func `a token that is left out is logged once for a session, and never for a machine`() async throws {
        let lines = LogLines()
        let gateway = try GatewayFixture(
            log: RequestLog(logger: lines.logger),
            app: { app in if app.route.app == "wiki" { app.identity.authorization = .providerToken(.accessToken) } }
        )
        let now = gateway.clock.now
        let session = Session.machine(.staff(), id: "m", family: "m", now: now)
        var robot = Profile(provider: "token", issuer: "gatehouse", subject: "robot")
        robot.name = "Robot"
        let service = Session.machine(robot, id: "s", family: "s", now: now)
        #expect(try self.sent(gateway, service).value == nil && lines.all.isEmpty)
        for _ in 0..<3 { #expect(try self.sent(gateway, session).value == nil) }
        #expect(lines.all.map(\.message) == ["token of the provider not sent"])
        #expect(lines.all.first?.values["reason"] == "absent" && lines.all.first?.values["user"] == "staff:ada")
    }

    @Test func `a token that is not visible ASCII is not sent`() async throws {
        let gateway = try GatewayFixture()
        var grant = ProviderGrant()
        for text in ["", "a b", "a\r\nX-Forwarded-User: root", "\u{E9}", "a\u{7F}"] {
            grant.accessToken = Secret(text: text)
            var signIn = SignIn(profile: .staff())
            signIn.grant = grant
            let now = gateway.clock.now
            let session = try await gateway.runtime.sessions.issue(signIn, host: GatewayFixture.gate, now: now).session
            guard case .absent = ProviderToken(.accessToken, of: session, at: now) else {
                Issue.record("'\(text)' is sent")
                continue
            }
        }
    }
}
