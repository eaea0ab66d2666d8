// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GateSessions
import GateTestSupport
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

/// the wall clock of a running gateway jumps, and is set right again later.
@Suite struct ClockJumpTests {
    private static let tenYears: Int64 = 3650 * 86_400

    /// Whether the store has a session for a ticket now.
    private func isLive(_ gateway: GatewayFixture, _ issued: IssuedSession) async throws -> Bool {
        let sessions = gateway.runtime.sessions
        let host = GatewayFixture.gate
        return try await sessions.session(for: issued.ticket, host: host, now: gateway.clock.now) != nil
    }

    @Test(arguments: [3500, -3500, -3600, 8 * 3600, ClockJumpTests.tenYears, -ClockJumpTests.tenYears] as [Int64])
    func `R-60 no session is lost by a jump, forward or back, once the clock is right again`(jump: Int64) async throws {
        let gateway = try GatewayFixture()
        let issued = try await gateway.session(of: .staff())
        gateway.clock.advance(by: jump)
        _ = try await self.isLive(gateway, issued)
        gateway.clock.advance(by: -jump)
        #expect(try await self.isLive(gateway, issued))
    }

    @Test func `R-60 a clock that is set back by an hour rejects only the sessions of that hour`() async throws {
        let gateway = try GatewayFixture()
        let old = try await gateway.session(of: .staff())
        gateway.clock.advance(by: 3000)
        #expect(try await self.isLive(gateway, old))
        gateway.clock.advance(by: 2000)
        let new = try await gateway.session(of: .staff("eve", email: "eve@example.org"))
        gateway.clock.advance(by: -3600)
        // The cookie of the new one was issued 3600 seconds in the future.
        #expect(try await self.isLive(gateway, old))
        #expect(try await !self.isLive(gateway, new))
        gateway.clock.advance(by: 3299)
        #expect(try await !self.isLive(gateway, new))
        gateway.clock.advance(by: 1)
        #expect(try await self.isLive(gateway, new))
    }

    @Test func `R-60 the sweep of a clock that was set back removes nothing`() async throws {
        let gateway = try GatewayFixture()
        let issued = try await gateway.session(of: .staff())
        for jump in [3600, ClockJumpTests.tenYears] {
            gateway.clock.advance(by: -jump)
            let idle = gateway.runtime.sessions.lifetimes.idle
            #expect(try await gateway.runtime.store.removeExpired(at: gateway.clock.now, idle: idle) == 0)
            gateway.clock.advance(by: jump)
            #expect(try await self.isLive(gateway, issued))
        }
    }

    @Test func `R-60 a cached session is served through a jump back, since caches have a clock of their own`()
        async throws
    {
        let gateway = try GatewayFixture()
        let ticket = try await gateway.cachedSession(of: .staff())
        gateway.clock.advance(by: -ClockJumpTests.tenYears)
        gateway.loop.advance(to: .uptimeNanoseconds(0))
        gateway.loop.advance(to: .now())
        let head = try gateway.head("GET /wiki", GatewayFixture.gate, cookie(ticket))
        #expect(gateway.verdict(head) == "forwarded to wiki")
    }

    @Test(arguments: [3600, -3600, ClockJumpTests.tenYears, -ClockJumpTests.tenYears] as [Int64])
    func `R-60 users can sign in at once after a jump`(jump: Int64) async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("staff"))
        gateway.clock.advance(by: jump)
        let other = Browser(gateway)
        let response = try await other.open(try await other.begin("staff"))
        #expect(response.status == 303 && other.jar[GatewayFixture.gate]?["__Host-gatehouse"] != nil)
    }
}
