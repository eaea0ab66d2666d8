// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateEndpoints
import GateFixtures
import GateHTTP
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateRuntime

private let gate = "https://gate.example.com"
private let sessionCookie = "__Host-gatehouse"
private let eve: [String: JSON] = ["sub": "eve", "email": "eve@example.com", "email_verified": true, "name": "Eve"]

@Suite struct RejectionPageTests {
    @Test func `Z-04: after a rejection at the callback the page does not claim that the user is signed in`()
        async throws
    {
        let browser = Browser(try GatewayFixture())
        let page = try await browser.open(try await browser.begin("staff", returnPath: "/wiki/a", as: eve))
        #expect(page.status == 403 && page.text.contains("You may not open wiki"))
        #expect(!page.text.contains("You are signed in") && page.text.contains("You used the account of"))
        #expect(page.text.contains("<strong>Eve</strong> (eve@example.com, staff)."))
        #expect(Array(links(page).keys) == ["Sign in with another account"])
        #expect(try await browser.open("\(gate)/oauth2/userinfo", "Accept: */*\r\n").status == 401)
    }

    @Test func `Z-03: another account is asked for at the provider, and leads to where the user was going`()
        async throws
    {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let page = try await browser.open(try await browser.begin("staff", returnPath: "/wiki/a", as: eve))
        let other = try #require(links(page)["Sign in with another account"])
        let start = try #require(try await browser.open(other).location)
        let provider = try #require(try await browser.open(start).location)
        let query = try #require(WebURL(provider)?.query)
        #expect(Form(encoded: query)?["prompt"] == "login")
        let done = try await browser.open(try browser.callback(to: provider, provider: "staff"))
        #expect(done.location == "\(gate)/wiki/a")
    }

    @Test func `Z-03: on an app's own host another account is asked for although there is a session`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("staff"))
        let other = "https://shop.example.com/oauth2/sign_in?rd=%2Fcart&prompt=select_account"
        let toGateway = try #require(try await browser.open(other).location)
        let chooser = try #require(try await browser.open(toGateway).location)
        #expect(chooser.hasPrefix("\(gate)/oauth2/sign_in?rd=%2Foauth2%2Fhandover"))
        #expect(chooser.hasSuffix("&prompt=select_account") && !chooser.contains("prompt%3D"))
        let page = try await browser.open(chooser)
        #expect(page.text.contains("start/guests?rd=%2Foauth2%2Fhandover"))
        #expect(page.text.contains("prompt=select_account"))
    }

    @Test func `Z-03: a sign-in that failed is repeated with the way back`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let callback = try await browser.begin("staff", returnPath: "/wiki/a?x=1")
        gateway.providers.setClaims(Browser.ada.merging(["nonce": "another"]) { $1 })
        let page = try await browser.open(callback)
        #expect(page.status == 502)
        // With two providers the other one is offered; with one, the same again.
        #expect(page.text.contains("rd=%2Fwiki%2Fa%3Fx%3D1"))
    }

    @Test func `Z-03: a sign-in whose attempt is lost leads to the list of apps`() async throws {
        let browser = Browser(try GatewayFixture(without: ["front"]))
        let page = try await browser.open("\(gate)/oauth2/callback/staff?code=x&state=y")
        let again = try #require(links(page)["Sign in again"])
        #expect(page.status == 400 && again == "\(gate)/oauth2/sign_in")
        let chooser = try await browser.open(again)
        let start = try #require(links(chooser).values.first { $0.contains("/start/staff") })
        let provider = try #require(try await browser.open(start).location)
        let done = try await browser.open(try browser.callback(to: provider, provider: "staff"))
        #expect(done.location == "\(gate)/")
        let apps = try await browser.open("\(gate)/")
        #expect(apps.status == 200 && apps.text.contains("Your apps"))
    }

    @Test func `Z-03: a transfer that went wrong leads back to the app`() async throws {
        let gateway = try GatewayFixture()
        let head = try gateway.head("GET /cart?x=1", "shop.example.com", "Sec-Fetch-Mode: navigate\r\n")
        let location = SignInRedirect(runtime: gateway.runtime).response(for: head, route: try gateway.route("shop"))
            .location
        gateway.clock.advance(by: 600)
        let page = try await Browser(gateway).open(try #require(location))
        #expect(page.status == 400 && links(page) == ["Try again": "https://shop.example.com/cart?x=1"])
    }

    @Test func `X-08: pages of ours open in a browsing context of their own`() async throws {
        let page = try await Browser(try GatewayFixture()).open("\(gate)/oauth2/sign_in?rd=%2F")
        #expect(page.head.headerFields[.crossOriginOpenerPolicy] == "same-origin")
    }
}

@Suite struct AppsPageTests {
    @Test func `Z-03: the list has the apps that the user may open, at the gateway's host`() async throws {
        let browser = Browser(try GatewayFixture())
        try await browser.open(try await browser.begin("staff", as: eve))
        let page = try await browser.open("\(gate)/oauth2/apps")
        #expect(page.status == 200 && page.text.contains("<strong>Eve</strong> (eve@example.com, staff)"))
        let apps = page.text.matches(of: /<a class="app" href="([^"]*)">[^!]*?<strong>([^<]*)<\/strong>/)
        #expect(
            apps.map { "\($0.2) \($0.1)" } == [
                "front \(gate)/", "shop https://shop.example.com/", "desk https://desk.example.com/",
            ]
        )
        let json = try JSON(parsing: try await browser.open("\(gate)/oauth2/apps", "Accept: */*\r\n").body)
        #expect(json["apps"]?.array?.compactMap { $0["name"]?.string } == ["front", "shop", "desk"])
    }

    @Test func `Z-03: a stranger signs in first`() async throws {
        let browser = Browser(try GatewayFixture(without: ["front"]))
        for path in ["/oauth2/apps", "/"] {
            let response = try await browser.open("\(gate)\(path)")
            #expect(response.location == "\(gate)/oauth2/sign_in?\(Form([Form.Field("rd", path)]).encoded)")
        }
        let script = try await browser.open("\(gate)/oauth2/apps", "Accept: */*\r\n")
        #expect(script.status == 401 && script.code == "session.none")
    }

    @Test func `on an app's host the list is the gateway's`() async throws {
        let response = try await Browser(try GatewayFixture()).open("https://shop.example.com/oauth2/apps")
        #expect(response.location == "\(gate)/oauth2/apps")
    }
}

@Suite struct SignOutPageTests {
    private func signedIn(_ provider: String = "staff") async throws -> (GatewayFixture, Browser) {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin(provider))
        return (gateway, browser)
    }

    @Test func `W-03: the provider gets our client id and brings back a state that the page knows`() async throws {
        let (_, browser) = try await self.signedIn()
        let response = try await browser.open("\(gate)/oauth2/sign_out", method: "POST")
        let location = try #require(response.location.flatMap { WebURL($0) })
        let form = try #require(Form(encoded: location.query ?? ""))
        #expect(form["client_id"] == "gatehouse" && form["id_token_hint"] != nil)
        let state = try #require(form["state"])
        let page = try await browser.open("\(gate)/oauth2/sign_out?\(Form([Form.Field("state", state)]).encoded)")
        #expect(page.status == 200 && page.text.contains("You are signed out at staff as well."))
        let plain = try await browser.open("\(gate)/oauth2/sign_out?state=made-up")
        #expect(plain.text.contains("You may still be signed in"))
    }

    @Test func `W-03: after the provider the user goes where the sign-out was to lead`() async throws {
        let (_, browser) = try await self.signedIn()
        let response = try await browser.open("\(gate)/oauth2/sign_out?rd=%2Fwiki%2Fbye", method: "POST")
        let form = Form(encoded: response.location.flatMap { WebURL($0)?.query } ?? "")
        let state = try #require(form?["state"])
        let back = try await browser.open("\(gate)/oauth2/sign_out?\(Form([Form.Field("state", state)]).encoded)")
        #expect(back.status == 303 && back.location == "\(gate)/wiki/bye")
    }

    @Test func `W-03: the state of another browser leads nowhere and reveals nothing`() async throws {
        let (gateway, browser) = try await self.signedIn()
        let response = try await browser.open("\(gate)/oauth2/sign_out?rd=%2Fwiki%2Fbye", method: "POST")
        let form = Form(encoded: response.location.flatMap { WebURL($0)?.query } ?? "")
        let link = "\(gate)/oauth2/sign_out?\(Form([Form.Field("state", try #require(form?["state"]))]).encoded)"
        let victim = Browser(gateway)
        victim.jar = [GatewayFixture.gate: ["__Host-gatehouse-sign-out": BrowserBinding(from: .system).text]]
        for other in [victim, Browser(gateway)] {
            let page = try await other.open(link)
            #expect(page.status == 200 && page.location == nil && page.text.contains("You may still be signed in"))
        }
    }

    @Test func `W-03: the state of another browser does not lead to an app on another host`() async throws {
        let gateway = try GatewayFixture(app: GatewayFixture.severalHosts)
        let origin = "https://evil.apps.example.com"
        let tenant = Browser(gateway)
        let issued = try await gateway.session(of: .staff(), on: "evil.apps.example.com")
        tenant.jar = ["evil.apps.example.com": [sessionCookie: issued.ticket.text]]
        let link = try #require(try await tenant.open("\(origin)/oauth2/sign_out", method: "POST").location)
        let state = try #require(WebURL(link)?.query)
        #expect(try await tenant.open(link).status == 200)
        let victim = Browser(gateway)
        let first = try await victim.open("\(gate)/oauth2/sign_out?\(state)")
        #expect(first.location == link)
        #expect(try await victim.open(link).location == "\(gate)/oauth2/sign_out")
    }

    @Test func `V-01: a sign-out clears what the browser has stored of the apps`() async throws {
        let (_, browser) = try await self.signedIn()
        let response = try await browser.open("\(gate)/oauth2/sign_out", method: "POST")
        #expect(response.head.headerFields[.clearSiteData] == "\"cache\"")
    }

    @Test func `V-03: on an app's host without a session the gateway's host is asked`() async throws {
        let (gateway, browser) = try await self.signedIn()
        let response = try await browser.open("https://shop.example.com/oauth2/sign_out")
        #expect(response.status == 303 && response.location == "\(gate)/oauth2/sign_out")
        let page = try await browser.open(try #require(response.location))
        #expect(page.text.contains("<form method=\"post\"") && page.text.contains("Ada Lovelace"))
        let posted = try await browser.open("https://shop.example.com/oauth2/sign_out", method: "POST")
        #expect(posted.location == "https://shop.example.com/oauth2/sign_out")
        #expect(!gateway.store.calls.contains("removeFamily"))
    }

    @Test func `a page on an app's host may post to where its sign-out leads`() async throws {
        let gateway = try GatewayFixture()
        let issued = try await gateway.session(of: .staff(), on: "shop.example.com")
        let browser = Browser(gateway)
        browser.jar = ["shop.example.com": [sessionCookie: issued.ticket.text]]
        let page = try await browser.open("https://shop.example.com/oauth2/sign_out")
        let policy = page.head.headerFields[.contentSecurityPolicy]
        #expect(policy?.hasSuffix("form-action 'self' https://gate.example.com") == true)
        let response = try await browser.open("https://shop.example.com/oauth2/sign_out", method: "POST")
        #expect(response.location?.hasPrefix("https://shop.example.com/oauth2/sign_out?state=") == true)
        let after = try await browser.open(try #require(response.location))
        #expect(after.text.contains("You may still be signed in at staff."))
    }
}
