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

@Suite struct SessionTransferEndpointTests {
    /// A stranger opens an app on a host of its own; the address is where it is sent.
    private func knock(
        _ gateway: GatewayFixture,
        _ browser: Browser,
        path: String = "/cart?x=1",
        app: String = "shop"
    ) throws -> String {
        let host = "\(app).example.com"
        let head = try gateway.head("GET \(path)", host, "Sec-Fetch-Mode: navigate\r\n")
        let response = SignInRedirect(runtime: gateway.runtime).response(for: head, route: try gateway.route(app))
        browser.keep(response, host: host)
        return try #require(response.location)
    }

    @Test func `a stranger on an app's host signs in at the gate and gets a session of that host`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let toGateway = try self.knock(gateway, browser)
        let chooser = try #require(try await browser.open(toGateway).location)
        #expect(chooser.hasPrefix("\(gate)/oauth2/sign_in?rd=%2Foauth2%2Fhandover"))
        let page = try await browser.open(chooser)
        #expect(page.text.contains("shop") && page.text.contains("start/guests"))
        let start = chooser.replacing("/sign_in?", with: "/start/staff?")
        let callback = try browser.callback(to: try #require(try await browser.open(start).location), provider: "staff")
        let back = try #require(try await browser.open(callback).location)
        #expect(back == toGateway)
        let withCode = try #require(try await browser.open(back).location)
        #expect(withCode.hasPrefix("https://shop.example.com/oauth2/handover?code="))
        let final = try await browser.open(withCode)
        #expect(final.location == "https://shop.example.com/cart?x=1")
        let cookies = try #require(browser.jar["shop.example.com"])
        #expect(
            Array(cookies.keys) == [sessionCookie]
                && cookies[sessionCookie] != browser.jar[GatewayFixture.gate]?[sessionCookie]
        )
        let info = try await browser.open("https://shop.example.com/oauth2/userinfo")
        #expect(try JSON(parsing: info.body)["user"]?.string == "staff:ada")
    }

    @Test func `an expired attempt for an app on another host leads to the app, not to its expired transfer`()
        async throws
    {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let toGateway = try self.knock(gateway, browser)
        let chooser = try #require(try await browser.open(toGateway).location)
        let start = chooser.replacing("/sign_in?", with: "/start/guests?")
        let callback = try browser.callback(
            to: try #require(try await browser.open(start).location),
            provider: "guests"
        )
        gateway.clock.advance(by: 600)
        let page = try await browser.open(callback)
        #expect(page.status == 400 && page.text.contains("This sign-in took too long"))
        #expect(links(page)["Sign in again"] == "https://shop.example.com/oauth2/sign_in?rd=%2Fcart%3Fx%3D1")
        browser.jar[GatewayFixture.gate]?[sessionCookie] = try await gateway.session(of: .staff()).ticket.text
        let onward = try await browser.open(callback)
        #expect(onward.status == 303 && onward.location == "https://shop.example.com/cart?x=1")
        #expect(browser.jar[GatewayFixture.gate]?.keys.contains { $0.contains("attempt") } == false)
    }

    @Test func `a transfer that expires during its sign-in begins again at the app`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let chooser = try #require(try await browser.open(try self.knock(gateway, browser)).location)
        gateway.clock.advance(by: 500)
        let start = chooser.replacing("/sign_in?", with: "/start/staff?")
        let callback = try browser.callback(to: try #require(try await browser.open(start).location), provider: "staff")
        gateway.clock.advance(by: 200)
        let done = try await browser.open(callback)
        #expect(done.status == 303 && done.location == "https://shop.example.com/cart?x=1")
        #expect(browser.jar[GatewayFixture.gate]?[sessionCookie] != nil)
    }

    /// A user who is signed in on the gateway's host, and the URL with the code for the shop.
    private func withCode(_ gateway: GatewayFixture, _ browser: Browser) async throws -> String {
        try await browser.open(try await browser.begin("staff"))
        let toGateway = try self.knock(gateway, browser)
        return try #require(try await browser.open(toGateway).location)
    }

    @Test func `a code works once`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let code = try await self.withCode(gateway, browser)
        let binding = browser.jar["shop.example.com"]
        #expect(try await browser.open(code).status == 303)
        browser.jar["shop.example.com"] = binding
        let again = try await browser.open(code, "Accept: */*\r\n")
        #expect(again.status == 400 && again.code == "handover.spent" && again.cookies.isEmpty)
    }

    @Test func `a code is worth nothing in another browser, on another host, or after a minute`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let code = try await self.withCode(gateway, browser)
        let stolen = try await Browser(gateway).open(code, "Accept: */*\r\n")
        #expect(stolen.status == 400 && stolen.code == "handover.other_browser")
        // a code that went astray is spent.
        let spent = try await browser.open(code, "Accept: */*\r\n")
        #expect(spent.status == 400 && spent.code == "handover.spent")
        let second = try await self.withCode(gateway, browser)
        browser.jar["desk.example.com"] = browser.jar["shop.example.com"]
        let elsewhere = try await browser.open(second.replacing("shop.", with: "desk."), "Accept: */*\r\n")
        #expect(elsewhere.status == 400 && elsewhere.code == "handover.wrong_origin")
        let third = try await self.withCode(gateway, browser)
        gateway.clock.advance(by: 60)
        let late = try await browser.open(third, "Accept: */*\r\n")
        #expect(late.status == 400 && late.code == "handover.code")
    }

    @Test func `a session whose provider the app does not accept gets no code`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("guests"))
        let toGateway = try self.knock(gateway, browser, path: "/", app: "desk")
        let location = try await browser.open(toGateway).location
        #expect(location?.hasPrefix("\(gate)/oauth2/start/staff?rd=%2Foauth2%2Fhandover") == true)
    }

    @Test(arguments: ["", "?request=x", "?code=x", "?request=", "?request=x&request=y"])
    func `a hand-over that is not ours is refused`(query: String) async throws {
        for host in ["gate", "shop"] {
            let address = "https://\(host).example.com/oauth2/handover\(query)"
            #expect(try await Browser(try GatewayFixture()).open(address, "Accept: */*\r\n").status == 400)
        }
    }

    @Test func `signing out at the gate ends the sessions of all hosts`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        try await browser.open(try await self.withCode(gateway, browser))
        #expect(try await browser.open("https://shop.example.com/oauth2/userinfo").status == 200)
        try await browser.open("\(gate)/oauth2/sign_out", method: "POST")
        #expect(try await browser.open("https://shop.example.com/oauth2/userinfo").status == 401)
    }
}
