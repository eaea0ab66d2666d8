// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateEndpoints
import GateHTTP
import GateSessions
import GateTestSupport
import Testing

@testable import GateIngress
@testable import GateRuntime

private let gate = "https://gate.example.com"
private let eve: [String: JSON] = ["sub": "eve", "email": "eve@example.com", "email_verified": true, "name": "Eve"]

@Suite struct LongReturnPathTests {
    private let long = "/cart?q=" + String(repeating: "abcdefgh", count: 1000)

    /// Where a browser is sent that opens a path of an app.
    private func invited(
        _ gateway: GatewayFixture,
        _ browser: Browser,
        _ path: String,
        app: String,
        host: String
    ) throws -> String {
        let head = try gateway.head("GET \(path)", host, "Sec-Fetch-Mode: navigate\r\n")
        let response = SignInRedirect(runtime: gateway.runtime).response(
            for: head,
            route: try gateway.route(app),
            client: IPAddress("192.0.2.1")
        )
        browser.keep(response, host: host)
        return try #require(response.location)
    }

    @Test func `W-06: a long address of an app on the gateway's host is reached after the sign-in`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let path = "/wiki" + self.long
        let start = try self.invited(gateway, browser, path, app: "wiki", host: GatewayFixture.gate)
        #expect(start.utf8.count < 200)
        let provider = try #require(try await browser.open(start).location)
        let back = try await browser.open(try browser.callback(to: provider, provider: "staff"))
        let final = try await browser.open(try #require(back.location))
        #expect(final.status == 303 && final.location == gate + path)
    }

    @Test func `W-06: the app's rule is asked at the callback although the address is long`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let start = try self.invited(gateway, browser, "/wiki" + self.long, app: "wiki", host: GatewayFixture.gate)
        let provider = try #require(try await browser.open(start).location)
        let page = try await browser.open(try browser.callback(to: provider, provider: "staff", as: eve))
        #expect(page.status == 403 && page.text.contains("You may not open wiki"))
    }

    @Test func `W-06: an expired attempt with a reference that has expired as well ends on a page that explains it`()
        async throws
    {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let start = try self.invited(gateway, browser, "/wiki" + self.long, app: "wiki", host: GatewayFixture.gate)
        let callback = try browser.callback(to: try #require(try await browser.open(start).location), provider: "staff")
        gateway.clock.advance(by: 660)
        browser.jar[GatewayFixture.gate]?["__Host-gatehouse"] = try await gateway.session(of: .staff()).ticket.text
        let onward = try #require(try await browser.open(callback).location)
        let page = try await browser.open(onward, "Accept: */*\r\n")
        #expect(page.status == 400 && page.code == "signin.return_lost")
    }

    @Test func `W-06: a long address of an app on its own host is reached after the transfer`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("staff"))
        let toGateway = try self.invited(gateway, browser, self.long, app: "shop", host: "shop.example.com")
        #expect(toGateway.utf8.count < 1000)
        let code = try #require(try await browser.open(toGateway).location)
        let back = try #require(try await browser.open(code).location)
        #expect(try await browser.open(back).location == "https://shop.example.com\(self.long)")
    }

    @Test func `W-06: a URL over 8 KiB ends on a page that explains it`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let place = ReturnPathStore.Place(path: try #require(ReturnPath("/wiki")), isWhole: false)
        let path = gateway.runtime.longPaths.reference(
            to: place,
            on: GatewayFixture.gate,
            for: nil,
            now: gateway.clock.now
        )
        let page = try await browser.open("\(gate)\(path)")
        #expect(page.status == 400 && page.text.contains("The link was too long"))
        #expect(links(page) == ["Try again": "\(gate)/wiki"])
    }

    @Test func `W-06: a dropped reference ends on a page that explains it`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let place = ReturnPathStore.Place(path: try #require(ReturnPath(self.long)), isWhole: true)
        let path = gateway.runtime.longPaths.reference(
            to: place,
            on: GatewayFixture.gate,
            for: nil,
            now: gateway.clock.now
        )
        #expect(
            try await browser.open("https://shop.example.com\(path)", "Accept: */*\r\n").code == "signin.return_lost"
        )
        #expect(try await browser.open("\(gate)\(path)").location == gate + self.long)
        gateway.clock.advance(by: 660)
        let page = try await browser.open("\(gate)\(path)")
        #expect(page.status == 400 && page.text.contains("signin.return_lost"))
    }

    @Test(arguments: ["//evil.example", "/\\evil.example", "https://evil.example", "/a/../b"])
    func `a path that is not on this site is not kept`(target: String) {
        #expect(ReturnPath(target) == nil)
        #expect(ReturnPath(target + String(repeating: "a", count: 5000)) == nil)
    }
}

@Suite struct TransferBoundTests {
    @Test func `X-15: forty navigations leave five cookies of transfers`() throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let host = "shop.example.com"
        for _ in 0..<40 {
            let cookies = (browser.jar[host] ?? [:]).map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
            let lines = "Sec-Fetch-Mode: navigate\r\n" + (cookies.isEmpty ? "" : "Cookie: \(cookies)\r\n")
            let head = try gateway.head("GET /cart", host, lines)
            browser.keep(
                SignInRedirect(runtime: gateway.runtime).response(for: head, route: try gateway.route("shop")),
                host: host
            )
        }
        #expect(browser.jar[host]?.count == 5)
    }

    @Test func `X-07: one sign-in gets a bounded number of codes a minute`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("staff"))
        let head = try gateway.head("GET /cart", "shop.example.com", "Sec-Fetch-Mode: navigate\r\n")
        let toGateway = try #require(
            SignInRedirect(runtime: gateway.runtime).response(for: head, route: try gateway.route("shop")).location
        )
        // More than the limit, since a slow machine earns some while it goes through them.
        var response = try await browser.open(toGateway, "Accept: */*\r\n")
        var admitted = 0
        while response.status == 303, admitted < 10 * TransferLimiter.perMinute {
            admitted += 1
            response = try await browser.open(toGateway, "Accept: */*\r\n")
        }
        #expect(
            response.status == 429 && response.code == "handover.too_often" && admitted >= TransferLimiter.perMinute
        )
        // Others are not concerned.
        let other = Browser(gateway)
        try await other.open(try await other.begin("staff"))
        #expect(try await other.open(toGateway).status == 303)
    }
}

@Suite struct AdmissionChangeTests {
    @Test func `X-04: a reload that changes who is admitted drops sessions from the caches of the loops`() async throws
    {
        let before = AdmissionFingerprints(["staff": "a", "guests": "g"], earlier: [:])
        let gateway = try GatewayFixture(admissions: before)
        let ada = try await gateway.session(of: .staff())
        let guest = try await gateway.session(of: .guest)
        for issued in [ada, guest] {
            gateway.loop.remember(issued.session, of: issued.ticket, in: gateway.runtime.sessions)
        }
        #expect(gateway.loop.sessions.count == 2)
        let after = try GatewayFixture(admissions: AdmissionFingerprints(["staff": "b", "guests": "g"], earlier: [:]))
        gateway.loop.replace(with: after.runtime)
        #expect(gateway.loop.sessions.count == 1)
        // A look-up that began before the reload ends after it.
        gateway.loop.remember(ada.session, of: ada.ticket, in: gateway.runtime.sessions)
        #expect(gateway.loop.sessions.count == 1)
    }
}
