// SPDX-License-Identifier: Apache-2.0

import GateAssertion
import GateCore
import GateEndpoints
import GateFixtures
import GateHTTP
import GateHeaders
import GateOperations
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateRuntime

private let gate = "https://gate.example.com"
private let sessionCookie = "__Host-gatehouse"

@Suite struct SignOutEndpointTests {
    private func signedIn() async throws -> (GatewayFixture, Browser) {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("staff"))
        return (gateway, browser)
    }

    @Test func `A-13 the session ends in the store first, then in the browser, then at the provider`() async throws {
        let (gateway, browser) = try await self.signedIn()
        let ticket = try #require(browser.jar[GatewayFixture.gate]?[sessionCookie])
        let response = try await browser.open("\(gate)/oauth2/sign_out", method: "POST")
        #expect(gateway.store.calls.last == "removeFamily")
        #expect(browser.jar[GatewayFixture.gate]?[sessionCookie] == nil)
        #expect(response.cookies.first == "\(sessionCookie)=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax")
        #expect(response.cookies.count == 2 && response.cookies[1].hasPrefix("\(sessionCookie)-sign-out="))
        let location = try #require(response.location.flatMap { WebURL($0) })
        let form = try #require(Form(encoded: location.query ?? ""))
        #expect("\(location.origin)\(location.path)" == "https://id.staff.example/logout")
        #expect(form["post_logout_redirect_uri"] == "\(gate)/oauth2/sign_out" && form["id_token_hint"] != nil)
        browser.jar[GatewayFixture.gate] = [sessionCookie: ticket]
        #expect(try await browser.open("\(gate)/oauth2/userinfo").status == 401)
    }

    @Test func `the feed hears of it`() async throws {
        let (gateway, browser) = try await self.signedIn()
        let heard = TestFlag()
        gateway.feed.subscribe { _ in heard.value = true }
        try await browser.open("\(gate)/oauth2/sign_out", method: "POST")
        #expect(heard.value)
    }

    @Test func `if the store is down the user gets an error and keeps the cookie`() async throws {
        let (gateway, browser) = try await self.signedIn()
        gateway.store.isDown = true
        let response = try await browser.open("\(gate)/oauth2/sign_out", method: "POST", "Accept: */*\r\n")
        #expect(
            response.status == 503 && response.cookies.isEmpty
                && browser.jar[GatewayFixture.gate]?[sessionCookie] != nil
        )
    }

    @Test(arguments: ["Sec-Fetch-Site: cross-site", "Origin: https://evil.example", "Origin: null"])
    func `another site cannot sign a user out`(line: String) async throws {
        let (gateway, browser) = try await self.signedIn()
        let response = try await browser.open("\(gate)/oauth2/sign_out", method: "POST", "\(line)\r\n")
        #expect(response.status == 403 && response.code == "request.cross_site")
        #expect(!gateway.store.calls.contains("removeFamily"))
    }

    @Test func `a mere link signs no user out`() async throws {
        let (gateway, browser) = try await self.signedIn()
        let page = try await browser.open("\(gate)/oauth2/sign_out")
        #expect(page.status == 200 && page.text.contains("<form method=\"post\"") && page.text.contains("Ada Lovelace"))
        let policy = page.head.headerFields[.contentSecurityPolicy]
        #expect(policy?.contains("form-action 'self' https://id.staff.example") == true)
        #expect(!gateway.store.calls.contains("removeFamily"))
    }
}
