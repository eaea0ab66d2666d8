// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GatePages
import GateSessions
import GateTestSupport
import Testing

@testable import GateRuntime

private let gate = "https://gate.example.com"
private let name = "__Host-gatehouse"

/// The endpoints where a cookie has the whole session.
@Suite struct WholeSessionTests {
    private func signedIn(_ gateway: GatewayFixture) async throws -> Browser {
        let browser = Browser(gateway)
        #expect(try await browser.open(try await browser.begin("staff", returnPath: "/wiki")).status == 303)
        return browser
    }

    @Test func `a sign-out deletes the cookie and every piece, and offers no sign-out everywhere`() async throws {
        let gateway = try GatewayFixture(keepsSessions: false)
        let browser = try await self.signedIn(gateway)
        let page = try await browser.open("\(gate)/oauth2/sign_out")
        #expect(page.status == 200 && page.text.contains("Sign out</button>") && !page.text.contains("everywhere"))
        let form = "Accept: text/html\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        let everywhere = try await browser.open("\(gate)/oauth2/sign_out", method: "POST", body: "sessions=all", form)
        #expect(everywhere.status == 400 && everywhere.text.contains("session.not_kept"))
        #expect(browser.jar[GatewayFixture.gate]?[name] != nil)
        browser.jar[GatewayFixture.gate]?["\(name)_1"] = "stale"
        let out = try await browser.open("\(gate)/oauth2/sign_out", method: "POST", form)
        #expect(out.status == 303 && out.cookies.count == 2)
        #expect(browser.jar[GatewayFixture.gate]?.keys.contains { $0 == name || $0.hasPrefix("\(name)_") } == false)
    }

    @Test(arguments: [("ada@example.org", 303), ("ada@example.com", 403)])
    func `a re-check puts the new profile into the same session, also if the app denies it`(
        email: String,
        status: Int
    ) async throws {
        let gateway = try GatewayFixture(keepsSessions: false)
        let browser = try await self.signedIn(gateway)
        let first = try #require(browser.begun.first).session
        gateway.clock.advance(by: 600)
        let query = Form([Form.Field("rd", "/wiki"), .silent]).encoded
        let response = try await browser.open("\(gate)/oauth2/start/staff?\(query)")
        let claims = Browser.ada.merging(["email": .string(email), "name": "Ada Byron"]) { $1 }
        let callback = try browser.callback(to: try #require(response.location), provider: "staff", as: claims)
        #expect(try await browser.open(callback).status == status)
        let value = try #require(browser.jar[GatewayFixture.gate]?[name])
        let sessions = gateway.runtime.sessions
        let ticket = try #require(sessions.ticket(Array(value.utf8), host: GatewayFixture.gate))
        let session = try await sessions.session(for: ticket, host: GatewayFixture.gate, now: gateway.clock.now)
        #expect(session?.id == first.id && session?.created == first.created && session?.family == first.family)
        #expect(session?.profile.email == email && session?.profile.name == "Ada Byron")
    }

    @Test func `userinfo renews no cookie: a sign-out in another tab may come between`() async throws {
        let gateway = try GatewayFixture(keepsSessions: false)
        let browser = try await self.signedIn(gateway)
        gateway.clock.advance(by: 3599)
        let response = try await browser.open("\(gate)/oauth2/userinfo")
        #expect(response.cookies.isEmpty && response.status == 200)
        gateway.clock.advance(by: 1)
        #expect(try await browser.open("\(gate)/oauth2/userinfo").status == 401)
    }
}
