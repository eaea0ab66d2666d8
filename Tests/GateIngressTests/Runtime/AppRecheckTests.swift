// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GatePolicy
import GateSessions
import GateTestSupport
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

/// Re-checks that an app has of its own: the wiki on the gate's host beside `/`.
///
/// The sessions of these tests have no grant, so a re-check that is due leads the user over the provider.
@Suite struct AppRecheckTests {
    private func policy(_ seconds: Int64?) -> RecheckPolicy {
        RecheckPolicy(interval: seconds.map { .seconds($0) }, maxStale: .seconds(900))
    }

    private func gateway(all: Int64?, wiki: Int64?) throws -> GatewayFixture {
        let own = self.policy(wiki)
        return try GatewayFixture(recheck: self.policy(all), app: { if $0.route.app == "wiki" { $0.recheck = own } })
    }

    /// The verdict on a navigation, after the session was looked up if it had to be.
    private func verdict(_ gateway: GatewayFixture, _ path: String, _ ticket: Ticket) async throws -> String {
        gateway.loop.advance(to: .uptimeNanoseconds(0))
        gateway.loop.advance(to: .now())
        let head = try gateway.head("GET \(path)", GatewayFixture.gate, cookie(ticket))
        let request = gateway.request(head)
        guard case .need(.session) = request.decide(gateway.loop) else { return gateway.verdict(head) }
        let lookUp = SessionLookUp(runtime: gateway.runtime, route: request.route)
        switch try await lookUp.session(for: ticket, host: GatewayFixture.gate, mayAskUser: true) {
        case .none: return gateway.verdict(head, lookup: .done)
        case .needsUser(let session): return gateway.verdict(head, lookup: .needsUser(provider: session.provider))
        case .session(let session):
            gateway.loop.remember(session, of: ticket, in: gateway.runtime.sessions, foundBy: lookUp)
            return gateway.verdict(head, lookup: .done)
        }
    }

    @Test func `an app with a shorter interval asks again, others go on`() async throws {
        let gateway = try self.gateway(all: 3000, wiki: 300)
        let ticket = try await gateway.session(of: .staff()).ticket
        gateway.clock.advance(by: 239)
        #expect(try await self.verdict(gateway, "/wiki", ticket) == "forwarded to wiki")
        // A navigation is led over the provider half a minute to a minute before.
        gateway.clock.advance(by: 31)
        // The cache lets go of everything, as it does after a second here: it does not use the clock of the test.
        gateway.loop.sessions.adopt { _ in false }
        #expect(try await self.verdict(gateway, "/", ticket) == "forwarded to front")
        #expect(try await self.verdict(gateway, "/wiki", ticket) == "re-check for wiki with staff")
        #expect(try await self.verdict(gateway, "/", ticket) == "forwarded to front")
    }

    @Test func `an app asks again although no other does, and one that never asks is served`() async throws {
        let first = try self.gateway(all: nil, wiki: 300)
        let one = try await first.session(of: .staff()).ticket
        first.clock.advance(by: 300)
        #expect(try await self.verdict(first, "/wiki", one) == "re-check for wiki with staff")
        #expect(try await self.verdict(first, "/", one) == "forwarded to front")
        let second = try self.gateway(all: 300, wiki: nil)
        let two = try await second.session(of: .staff()).ticket
        second.clock.advance(by: 3000)
        #expect(try await self.verdict(second, "/wiki", two) == "forwarded to wiki")
        #expect(try await self.verdict(second, "/", two) == "re-check for front with staff")
    }

    @Test func `a session that one app has cached waits for no re-check longer than another app allows`() async throws {
        let gateway = try self.gateway(all: 3000, wiki: 60)
        let ticket = try await gateway.session(of: .staff()).ticket
        gateway.clock.advance(by: 50)
        #expect(try await self.verdict(gateway, "/", ticket) == "forwarded to front")
        // The cache has it for 30 seconds.
        gateway.clock.advance(by: 10)
        #expect(try await self.verdict(gateway, "/wiki", ticket) == "re-check for wiki with staff")
    }

    @Test func `a confirmation counts for all apps`() async throws {
        let gateway = try self.gateway(all: 3000, wiki: 300)
        let issued = try await gateway.session(of: .staff())
        gateway.clock.advance(by: 300)
        let sessions = gateway.runtime.sessions
        let stored = try #require(try await sessions.stored(issued.ticket))
        let signIn = SignIn(profile: issued.session.profile)
        #expect(try await sessions.update(stored, with: signIn, confirmed: gateway.clock.now))
        #expect(try await self.verdict(gateway, "/wiki", issued.ticket) == "forwarded to wiki")
        gateway.clock.advance(by: 2399)
        #expect(try await self.verdict(gateway, "/", issued.ticket) == "forwarded to front")
    }

    @Test func `the endpoints of the gateway ask as for all apps`() async throws {
        let gateway = try self.gateway(all: 3000, wiki: 300)
        #expect(SessionLookUp(runtime: gateway.runtime).policy == self.policy(3000))
    }
}
