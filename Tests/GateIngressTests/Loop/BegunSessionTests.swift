// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GateSessions
import GateTestSupport
import Testing

@testable import GateIngress
@testable import GateRuntime

private let sessionCookie = "__Host-gatehouse"

/// Sessions that have just begun, in the cache of the loop.
@Suite struct BegunSessionTests {
    @Test func `the session that a sign-in begins is known to the loop before the browser has its ticket`() async throws
    {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("staff", returnPath: "/wiki"))
        let begun = try #require(browser.begun.first)
        #expect(browser.begun.count == 1 && browser.jar[GatewayFixture.gate]?[sessionCookie] == begun.ticket.text)
        gateway.loop.remember(begun.session, of: begun.ticket, in: gateway.runtime.sessions)
        let head = try gateway.head(
            "GET /wiki",
            GatewayFixture.gate,
            "Cookie: \(sessionCookie)=\(begun.ticket.text)\r\n"
        )
        #expect(gateway.verdict(head) == "forwarded to wiki")
    }

    @Test func `a session that ended before the loop cached it stays ended`() async throws {
        let gateway = try GatewayFixture()
        let begun = try await gateway.session(of: .staff())
        gateway.loop.sessions.removeFamily(begun.session.familyKey)
        gateway.loop.remember(begun.session, of: begun.ticket, in: gateway.runtime.sessions)
        #expect(gateway.loop.sessions.count == 0)
    }
}
