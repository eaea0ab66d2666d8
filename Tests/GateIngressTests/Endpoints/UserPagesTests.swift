// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateEndpoints
import GateFixtures
import GateHTTP
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateIngress
@testable import GateRuntime

private let gate = "https://gate.example.com"

@Suite struct RejectionPageTests {
    /// The page for a user who opens the wiki in a browser with a session.
    private func page(
        _ gateway: GatewayFixture,
        as profile: Profile,
        path: String = "/wiki/page?x=1"
    ) async throws -> String {
        let ticket = try await gateway.cachedSession(of: profile)
        return try gateway.received(
            "GET \(path) HTTP/1.1\r\nHost: \(GatewayFixture.gate)\r\nSec-Fetch-Mode: navigate\r\n\(cookie(ticket))\r\n"
        )
    }

    @Test func `Z-04: the 403 page names the user and the app, and offers another account and sign-out`() async throws {
        let page = try await self.page(try GatewayFixture(), as: .staff("eve", email: "eve@example.com"))
        #expect(page.hasPrefix("HTTP/1.1 403 ") && page.contains("You may not open wiki"))
        #expect(page.contains("You are signed in as <strong>Ada Lovelace</strong> (eve@example.com, staff)."))
        let back = "rd=%2Fwiki%2Fpage%3Fx%3D1&amp;prompt=select_account"
        #expect(page.contains("href=\"\(gate)/oauth2/sign_in?\(back)\"><span>Sign in with another account</span></a>"))
        #expect(page.contains("href=\"\(gate)/oauth2/sign_out\"><span>Sign out</span></a>"))
        #expect(page.contains("href=\"\(gate)/oauth2/apps\"><span>Show my apps</span></a>"))
    }

    @Test func `a script gets none of that`() async throws {
        let gateway = try GatewayFixture()
        let ticket = try await gateway.cachedSession(of: .staff("eve", email: "eve@example.com"))
        let response = try gateway.received(
            "GET /wiki HTTP/1.1\r\nHost: \(GatewayFixture.gate)\r\n\(cookie(ticket))\r\n"
        )
        #expect(response.contains("{\"error\":\"policy.refused\"") && !response.contains("eve@example.com"))
    }

    @Test(arguments: [
        ("GET /\u{1} HTTP/1.1\r\n", "The request was not understood"),
        ("GET / HTTP/1.1\r\nBad Name: x\r\n", "The request was not understood"),
        ("GET /%zz HTTP/1.1\r\n", "This address is not accepted"),
    ])
    func `Z-05: a browser gets a page for a request that cannot be read`(start: String, title: String) throws {
        let gateway = try GatewayFixture()
        let accept = "Accept: text/html,application/xhtml+xml\r\n"
        let page = try gateway.received("\(start)Host: \(GatewayFixture.gate)\r\n\(accept)\r\n")
        #expect(page.hasPrefix("HTTP/1.1 400 ") && page.contains("content-type: text/html; charset=utf-8\r\n"))
        #expect(page.contains("<h1>\(title)</h1>") && page.contains("content-security-policy: "))
        let fetch = "Sec-Fetch-Mode: cors\r\n"
        for lines in ["", "\(accept)\(fetch)", "\(accept)X-Requested-With: XMLHttpRequest\r\n", "Accept: */*\r\n"] {
            let response = try gateway.received("\(start)Host: \(GatewayFixture.gate)\r\n\(lines)\r\n")
            #expect(response.contains("content-type: application/json\r\n"), "\(lines)")
        }
    }
}

@Suite struct FrontPageTests {
    @Test func `Z-03: the front page is the list only where no app has it`() throws {
        let gateway = try GatewayFixture(without: ["front"])
        #expect(gateway.verdict(try gateway.head("GET /", GatewayFixture.gate)) == "endpoint")
        #expect(gateway.verdict(try gateway.head("POST /", GatewayFixture.gate)) == "refused route.none")
        #expect(gateway.verdict(try gateway.head("GET /x", GatewayFixture.gate)) == "refused route.none")
        #expect(gateway.verdict(try gateway.head("GET /", "elsewhere.example.com")) == "refused route.none")
        let full = try GatewayFixture()
        #expect(full.verdict(try full.head("GET /", GatewayFixture.gate)) == "sign in for front")
    }
}
