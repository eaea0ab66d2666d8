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
import GateTokenEndpoints
import HTTPTypes
import Testing

@testable import GateIngress
@testable import GateRuntime

private let gate = "https://gate.example.com"
private let sessionCookie = "__Host-gatehouse"

@Suite struct SignInEndpointTests {
    @Test func `a user signs in and returns to the requested page`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let callback = try await browser.begin("staff", returnPath: "/wiki/page?x=1")
        #expect(browser.jar[GatewayFixture.gate]?.keys.contains { $0.hasPrefix("__Host-gatehouse-attempt-") } == true)
        let response = try await browser.open(callback)
        #expect(response.status == 303 && response.location == "\(gate)/wiki/page?x=1")
        #expect(browser.jar[GatewayFixture.gate]?.keys.sorted() == [sessionCookie, "\(sessionCookie)-provider"])
        let line = response.cookies.first { $0.hasPrefix("\(sessionCookie)=") }
        #expect(line?.hasSuffix("; Path=/; Secure; HttpOnly; SameSite=Lax") == true)
        let info = try JSON(parsing: try await browser.open("\(gate)/oauth2/userinfo").body)
        #expect(info["user"]?.string == "staff:ada" && info["email"]?.string == "ada@example.org")
    }

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

    @Test func `a script without a session learns that userinfo needs one`() async throws {
        let response = try await Browser(try GatewayFixture()).open("\(gate)/oauth2/userinfo", "Accept: */*\r\n")
        #expect(response.status == 401 && response.code == "session.none")
    }

    @Test func `with several providers a user chooses, with one they are redirected there`() async throws {
        let browser = Browser(try GatewayFixture())
        let page = try await browser.open("\(gate)/oauth2/sign_in?rd=%2F")
        #expect(page.status == 200)
        #expect(page.text.contains("/oauth2/start/staff?rd") && page.text.contains("/oauth2/start/guests?rd"))
        let single = try await browser.open("\(gate)/oauth2/sign_in?rd=%2Fwiki%2Fa")
        #expect(single.status == 303 && single.location == "\(gate)/oauth2/start/staff?rd=%2Fwiki%2Fa")
    }

    @Test func `a sign-in that begins at the app's page leads back to that page`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let head = try gateway.head("GET /wiki/a?x=1", GatewayFixture.gate, "Accept: text/html\r\n")
        let downstream = ForwardedHead.Downstream(peer: nil, peerText: "192.0.2.1", isSecure: true, isTrusted: false)
        let own = EndpointRequest(
            head,
            body: [],
            downstream: downstream,
            runtime: gateway.runtime,
            now: gateway.clock.now
        )
        let path = try #require(ReturnPath("/wiki/a?x=1"))
        let response = await Endpoints(runtime: gateway.runtime).response(
            to: own.redirected(toStartOf: "staff", returningTo: path, at: gateway.runtime)
        )
        browser.keep(response, host: GatewayFixture.gate)
        let callback = try browser.callback(to: try #require(response.location), provider: "staff")
        #expect(try await browser.open(callback).location == "\(gate)/wiki/a?x=1")
    }

    @Test(arguments: ["missing", "staff/x", "STAFF"])
    func `a provider that there is not cannot be started`(id: String) async throws {
        let response = try await Browser(try GatewayFixture()).open("\(gate)/oauth2/start/\(id)", "Accept: */*\r\n")
        #expect(response.status == 404 && response.code == "provider.none")
    }

    @Test func `who may not enter the app that they came for gets no session`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let eve: [String: JSON] = ["sub": "eve", "email": "eve@example.com", "email_verified": true]
        let callback = try await browser.begin("staff", returnPath: "/wiki", as: eve)
        let response = try await browser.open(callback, "Accept: */*\r\n")
        #expect(response.status == 403 && response.code == "policy.refused")
        #expect(browser.jar[GatewayFixture.gate]?[sessionCookie] == nil && !gateway.store.calls.contains("insert"))
    }

    @Test func `W-02: the log line of a failed sign-in names the provider, what came and what was expected`()
        async throws
    {
        let lines = LogLines()
        let gateway = try GatewayFixture(log: RequestLog(logger: lines.logger))
        let browser = Browser(gateway)
        let claims: [String: JSON] = ["sub": "ada", "azp": "another-client"]
        let response = try await browser.open(try await browser.begin("staff", returnPath: "/", as: claims))
        #expect(response.status == 502)
        let line = try #require(lines.all.last { $0.message == "refused" })
        #expect(line.values["provider"] == "staff" && line.values["code"] == "id_token.authorized_party")
        #expect(line.values["detail"]?.contains(#"azp is "another-client", expected "gatehouse""#) == true)
        // A name that a client made up is not logged.
        try await browser.open("\(gate)/oauth2/start/made-up", "Accept: */*\r\n")
        #expect(lines.all.last { $0.message == "refused" }?.values["provider"] == nil)
    }

    @Test func `W-05: a session lives on after the ID token that began it has expired`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("staff", returnPath: "/"))
        // The ID token lives for 300 seconds.
        gateway.clock.advance(by: 3000)
        let info = try await browser.open("\(gate)/oauth2/userinfo")
        #expect(info.status == 200)
    }

    @Test func `T-02 a callback works once`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let callback = try await browser.begin("staff", returnPath: "/wiki")
        let attempt = browser.jar
        try await browser.open(callback)
        let other = Browser(gateway)
        other.jar = attempt
        let replay = try await other.open(callback, "Accept: */*\r\n")
        #expect(replay.status == 400 && replay.code == "openid.attempt_lost" && replay.cookies.isEmpty)
        #expect(gateway.providers.requests.count { $0.hasSuffix("/token") } == 1)
    }

    @Test func `a user with a session goes on after a callback that was used`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let callback = try await browser.begin("staff", returnPath: "/wiki/a")
        let attempt = try #require(browser.jar[GatewayFixture.gate])
        try await browser.open(callback)
        browser.jar[GatewayFixture.gate]?.merge(attempt) { $1 }
        let again = try await browser.open(callback)
        #expect(again.status == 303 && again.location == "\(gate)/wiki/a")
    }

    @Test func `a lost attempt redirects users with a session to the front page and others to an error`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let callback = try await browser.begin("staff", returnPath: "/wiki")
        let stranger = Browser(gateway)
        let refused = try await stranger.open(callback, "Accept: */*\r\n")
        #expect(refused.status == 400 && refused.code == "openid.attempt_lost")
        stranger.jar = [GatewayFixture.gate: [sessionCookie: try await gateway.session(of: .staff()).ticket.text]]
        let known = try await stranger.open(callback)
        #expect(known.status == 303 && known.location == "\(gate)/")
        #expect(!gateway.providers.requests.contains { $0.hasSuffix("/token") })
    }

    @Test func `T-08 the callback of another provider does not end an attempt`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let callback = try await browser.begin("staff")
        let mixed = callback.replacing("/callback/staff", with: "/callback/guests")
        let response = try await browser.open(mixed, "Accept: */*\r\n")
        #expect(response.status == 400 && response.code == "openid.provider_mismatch")
        #expect(!gateway.providers.requests.contains { $0.hasSuffix("/token") })
    }

    @Test func `an attempt expires after ten minutes and is reported as expired`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let callback = try await browser.begin("staff", returnPath: "/wiki/a")
        let attempt = browser.jar
        gateway.clock.advance(by: 600)
        let response = try await browser.open(callback, "Accept: */*\r\n")
        #expect(response.status == 400 && response.code == "openid.attempt_expired")
        #expect(!gateway.providers.requests.contains { $0.hasSuffix("/token") })
        browser.jar = attempt
        let page = try await browser.open(callback, "Accept: text/html\r\n")
        #expect(page.status == 400 && page.text.contains("This sign-in took too long"))
    }

    @Test func `a user with a session continues after a callback of an expired attempt`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let callback = try await browser.begin("staff", returnPath: "/wiki/a")
        gateway.clock.advance(by: 600)
        browser.jar[GatewayFixture.gate]?[sessionCookie] = try await gateway.session(of: .staff()).ticket.text
        let response = try await browser.open(callback)
        #expect(response.status == 303 && response.location == "\(gate)/wiki/a")
    }

    @Test func `A-33 a callback with anything missing is refused`() async throws {
        for query in [
            "", "code=x", "state=", "state=x&code=y", "state=\(String(repeating: "a", count: 5000))", "&&&",
        ] {
            let response = try await Browser(try GatewayFixture()).open(
                "\(gate)/oauth2/callback/staff?\(query)",
                "Accept: */*\r\n"
            )
            #expect(response.status == 400, "\(query)")
        }
    }

    @Test func `a callback may come as a form`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let sides = try await browser.begin("staff", returnPath: "/wiki").split(separator: "?", maxSplits: 1)
        let lines = "Accept: text/html\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        let response = try await browser.open(String(sides[0]), method: "POST", body: String(sides[1]), lines)
        #expect(response.status == 303 && response.location == "\(gate)/wiki")
    }

    @Test func `a sign-in ends the session that the browser had and begins another`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("staff"))
        let old = try #require(browser.jar[GatewayFixture.gate]?[sessionCookie])
        try await browser.open(try await browser.begin("staff"))
        #expect(browser.jar[GatewayFixture.gate]?[sessionCookie] != old)
        browser.jar[GatewayFixture.gate]?[sessionCookie] = old
        #expect(try await browser.open("\(gate)/oauth2/userinfo").status == 401)
    }

    @Test func `a browser keeps at most five attempts`() async throws {
        let browser = Browser(try GatewayFixture())
        for _ in 0..<8 {
            _ = try await browser.begin("staff")
        }
        #expect(browser.jar[GatewayFixture.gate]?.count == 5)
    }

    @Test func `an ID token that is not for this attempt signs no user in`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let callback = try await browser.begin("staff")
        gateway.providers.setClaims(Browser.ada.merging(["nonce": "another"]) { $1 })
        let response = try await browser.open(callback, "Accept: */*\r\n")
        #expect(response.code == "id_token.nonce" && browser.jar[GatewayFixture.gate]?[sessionCookie] == nil)
        #expect(!gateway.store.calls.contains("insert"))
    }

    @Test func `a store that is down signs no user in and removes no cookie`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("staff"))
        gateway.store.isDown = true
        let response = try await browser.open("\(gate)/oauth2/userinfo", "Accept: */*\r\n")
        #expect(response.status == 503 && response.head.headerFields[.retryAfter] == "2" && response.cookies.isEmpty)
        let callback = try await browser.begin("staff")
        let refused = try await browser.open(callback, "Accept: */*\r\n")
        #expect(refused.status == 503 && refused.cookies.isEmpty)
    }

    @Test(arguments: [
        "//e", "///e", "////e/%2e%2e", "/\\e", "\\/\\/e", "/%09/e", "/%5ce", "/%2f%2fe", "/ /e", "/\t\\e", "/\u{B}/e",
        "/\n/e", "/\r\\e", "/./\\e", "/./../../\\e", "http:e", "http:0xd8.0x3a.0xd6.0xce", "https:/\\e",
        "https:///e/%2e%2e", "https://good@e", "https://good.evil.tld", "http://e%2f%2f.good/", "http://e%23.good",
        "http://e\tgood/", "http://3627734734", "http://00330.3856078", "http://[::ffff:1.2.3.4]",
        "javascript:alert(1)", "java%0d%0ascript:alert(1)", "\\u006Aavascript:alert(1)", "&#106;avascript:alert(1)",
        "data:text/html,x", "\u{3031}e", "\u{3035}e", "\u{3002}e", "@e", ".e", "<>//e", "?url=//e", "",
    ])
    func `A-01 to A-04 no rd leads off the site`(target: String) async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let callback = try await browser.begin("staff", returnPath: target)
        #expect(try await browser.open(callback).location == "\(gate)/")
        let query = Form([Form.Field("rd", target)]).encoded
        let page = try await browser.open("\(gate)/oauth2/sign_in?\(query)")
        #expect(page.status == 200 && page.text.contains("/oauth2/start/staff?rd=%2F\""))
        #expect(page.text.contains("The link that led you here cannot be followed.") == !target.isEmpty, "G-01")
        let signOut = try await browser.open("\(gate)/oauth2/sign_out?\(query)", method: "POST")
        #expect(signOut.location?.hasPrefix("https://id.staff.example/logout?") == true)
        let out = try await Browser(gateway).open("\(gate)/oauth2/sign_out?\(query)", method: "POST")
        #expect(out.location == "\(gate)/oauth2/sign_out")
    }
}

@Suite struct RefusedReturnPathTests {
    private static let repeated = "rd=%2Fa&rd=%2Fb"

    // G-01
    @Test(
        arguments: [
            ("https://evil.example/x", "'rd' is not the absolute path of a place on the same host"),
            ("/a%zz", "'rd' has a '%' that does not begin an escape"),
            ("/wiki/%2Fx", "'rd' has an escape in its path that could lead elsewhere"),
            ("/wiki?a=%0A", "'rd' has an escaped control character in its query"), (nil, "'rd' is there twice"),
        ] as [(String?, String)]
    )
    func `a return path that is not taken is a line of the log without a word of it`(
        value: String?,
        reason: String
    ) async throws {
        let log = LogLines()
        let browser = Browser(try GatewayFixture(log: RequestLog(logger: log.logger)))
        let query = value.map { Form([Form.Field("rd", $0)]).encoded } ?? Self.repeated
        for endpoint in ["sign_in", "start/staff"] { _ = try await browser.open("\(gate)/oauth2/\(endpoint)?\(query)") }
        let lines = log.all.filter { $0.message == "return path refused" }
        #expect(lines.map { $0.values["detail"] } == [reason, reason])
        #expect(lines.map { $0.values["endpoint"] } == ["sign_in", "start"])
    }

    // G-01
    @Test(arguments: ["rd=", "rd=%2Fwiki", "x=1", ""])
    func `without such a path there is neither a line nor a sentence`(query: String) async throws {
        let log = LogLines()
        let browser = Browser(try GatewayFixture(log: RequestLog(logger: log.logger)))
        let page = try await browser.open("\(gate)/oauth2/sign_in?\(query)")
        #expect(!page.text.contains("cannot be followed") && !log.all.contains { $0.message == "return path refused" })
    }
}

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
        #expect(gateway.verdict(head) == "sign in for \(app)")
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
        // X-08: a code that went astray is spent.
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

@Suite struct OtherEndpointTests {
    @Test func `no client gets a decision where no proxy may ask`() async throws {
        let response = try await Browser(try GatewayFixture()).open("\(gate)/oauth2/auth", "Accept: */*\r\n")
        #expect(response.status == 403 && response.code == "forward_auth.peer")
    }

    @Test func `the keys are published with a tag`() async throws {
        let gateway = try GatewayFixture()
        let response = try await Browser(gateway).open("\(gate)/oauth2/jwks.json")
        let keys = try JSON(parsing: response.body)["keys"]?.array
        #expect(keys?.count == 1 && keys?.first?["kid"]?.string == gateway.runtime.keys.signing.id)
        #expect(keys?.first?["d"] == nil && response.head.headerFields[.eTag] == gateway.runtime.keys.entityTag)
    }

    @Test(arguments: ["", "/", "/nothing", "/auth/x", "/SIGN_IN", "/sign_in2"])
    func `other addresses below ours are nothing`(path: String) async throws {
        let response = try await Browser(try GatewayFixture()).open("\(gate)/oauth2\(path)", "Accept: */*\r\n")
        #expect(response.status == 404 && response.code == "endpoint.none")
    }

    @Test(arguments: ["sign_in", "start/staff", "token-keys.json", "handover", "jwks.json", "style.css"])
    func `an address takes its own methods only`(name: String) async throws {
        let response = try await Browser(try GatewayFixture()).open(
            "\(gate)/oauth2/\(name)",
            method: "POST",
            "Accept: */*\r\n"
        )
        #expect(response.status == 405 && response.code == "endpoint.method")
    }
}
