// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GatePages
import GateSessions
import GateTestSupport
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

private let gate = "https://gate.example.com"
private let name = "__Host-gatehouse"

@Suite struct CookieSessionTests {
    private func signedIn(_ gateway: GatewayFixture) async throws -> Browser {
        let browser = Browser(gateway)
        #expect(try await browser.open(try await browser.begin("staff", returnPath: "/wiki")).status == 303)
        return browser
    }

    private func cookieLine(_ browser: Browser) throws -> String {
        let value = try #require(browser.jar[GatewayFixture.gate]?[name])
        return "Cookie: \(name)=\(value)\r\n"
    }

    @Test func `a sign-in sets the session itself, and requests are admitted by it without a call of the store`()
        async throws
    {
        let gateway = try GatewayFixture(keepsSessions: false)
        let browser = try await self.signedIn(gateway)
        let value = try #require(browser.jar[GatewayFixture.gate]?[name])
        #expect(value.utf8.count > Ticket.textCount && value == browser.begun.first?.ticket.text)
        let head = try gateway.head("GET /wiki", GatewayFixture.gate, try self.cookieLine(browser))
        #expect(gateway.verdict(head) == "needs session")
        let issued = try #require(browser.begun.first)
        gateway.loop.remember(issued.session, of: issued.ticket, in: gateway.runtime.sessions)
        #expect(gateway.verdict(head) == "forwarded to wiki")
        #expect(try await browser.open("\(gate)/oauth2/userinfo").status == 200)
        #expect(Set(gateway.store.calls) == ["spend"])
    }

    @Test func `C-06 C-08: a changed cookie counts as absent, also while the right one is cached`() async throws {
        let gateway = try GatewayFixture(keepsSessions: false)
        let browser = try await self.signedIn(gateway)
        let issued = try #require(browser.begun.first)
        gateway.loop.remember(issued.session, of: issued.ticket, in: gateway.runtime.sessions)
        let value = issued.ticket.text
        let last = value.hasSuffix("A") ? "B" : "A"
        for changed in [
            "\(name)=\(value.dropLast())\(last)", "\(name)=_\(value.dropFirst())", "\(name)=\(value); \(name)_1=x",
            "\(name)=\(value); \(name)=\(value)", "\(name)_0=\(value)", "\(name)=\(value); \(name)_99999999=x",
            "gatehouse=\(value)",
        ] {
            let head = try gateway.head("GET /wiki", GatewayFixture.gate, "Cookie: \(changed)\r\n")
            #expect(gateway.verdict(head) == "sign in for wiki", "\(changed)")
        }
    }
}

@Suite struct SessionRenewalTests {
    /// An exchange of a session that signed in some seconds ago, and what the client gets for a response of the app.
    private func head(
        _ lines: String = "",
        after seconds: Int64,
        keepsSessions: Bool = false,
        prepare: (GatewayFixture, IssuedSession) -> Void = { _, _ in }
    ) async throws -> String {
        let gateway = try GatewayFixture(keepsSessions: keepsSessions)
        let issued = try await gateway.session(of: .staff())
        gateway.loop.remember(issued.session, of: issued.ticket, in: gateway.runtime.sessions)
        gateway.clock.advance(by: seconds)
        let exchange = try ExchangeFixture(lines: cookie(issued.ticket), gateway: gateway)
        prepare(gateway, issued)
        try exchange.respond("HTTP/1.1 200 OK\r\n\(lines)Content-Length: 0\r\n\r\n")
        return exchange.client.received
    }

    @Test func `a response after a minute renews the cookie and may be stored by the browser only`() async throws {
        let head = try await self.head(after: 60)
        #expect(head.contains("Set-Cookie: \(name)=") && head.contains("; Path=/; Secure; HttpOnly; SameSite=Lax\r\n"))
        #expect(head.contains("Cache-Control: private\r\n") && head.hasSuffix("\r\n\r\n"))
    }

    @Test func `one before that does not, and none where a store keeps the sessions`() async throws {
        #expect(try await !self.head(after: 59).contains("Set-Cookie"))
        #expect(try await !self.head(after: 3000, keepsSessions: true).contains("Set-Cookie"))
    }

    @Test(arguments: ["public", "max-age=60, Public", "s-maxage=60"])
    func `a response that shared caches may store has no session`(value: String) async throws {
        #expect(try await !self.head("Cache-Control: \(value)\r\n", after: 60).contains("Set-Cookie"))
        #expect(try await self.head("Cache-Control: max-age=60\r\n", after: 60).contains("Set-Cookie"))
    }

    @Test func `a response that comes after the sign-out does not bring the session back`() async throws {
        let head = try await self.head(after: 60) { gateway, issued in
            gateway.loop.sessionEnded(issued.session.familyKey)
        }
        #expect(!head.contains("Set-Cookie"))
    }

    @Test func `requests in progress together renew it once in five seconds`() async throws {
        let gateway = try GatewayFixture(keepsSessions: false)
        let issued = try await gateway.session(of: .staff())
        gateway.loop.remember(issued.session, of: issued.ticket, in: gateway.runtime.sessions)
        gateway.clock.advance(by: 60)
        var renewals: [Bool] = []
        for seconds in [0, 0, 4, 1] as [Int64] {
            gateway.clock.advance(by: seconds)
            let exchange = try ExchangeFixture(lines: cookie(issued.ticket), gateway: gateway)
            try exchange.respond("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            renewals.append(exchange.client.received.contains("Set-Cookie"))
        }
        #expect(renewals == [true, false, false, true])
    }
}
