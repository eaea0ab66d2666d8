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
