// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateEndpoints
import GateFixtures
import GateHTTP
import GatePolicy
import GateSessions
import GateTestSupport
import Testing

@testable import GateRuntime

private let gate = "https://gate.example.com"
private let eve: [String: JSON] = ["sub": "eve", "email": "eve@example.com", "email_verified": true, "name": "Eve"]

/// What browsers ask for as it is, and what no site may ask for in an `rd`.
private let odd = [
    "%2Fx", "%5Cx", "%2F%2Fevil.example", "graph?g0.expr=sum(%0A%20%20rate(x[5m])%0A)", "?description=line1%0D%0Aline2",
    "settings/clusters/https%3A%2F%2Fkubernetes.default.svc", "a%2F%2Fb", "%20/x", "?x=%zz&y=%", "?x=%00",
    "a%2F..%2Fb?q=%09",
]

/// Where a browser is sent that opens a path of an app.
private func invited(
    _ gateway: GatewayFixture,
    _ browser: Browser,
    _ path: String,
    app: String,
    host: String,
    step: SignInStep = .signIn
) throws -> String {
    let head = try gateway.head("GET \(path)", host, "Sec-Fetch-Mode: navigate\r\n")
    let response = SignInRedirect(runtime: gateway.runtime).response(
        for: head,
        route: try gateway.route(app),
        step: step
    )
    browser.keep(response, host: host)
    return try #require(response.location)
}

@Suite struct RequestedPathTests {
    @Test(arguments: odd)
    func `G-01: the path that routing accepted comes back byte for byte after a sign-in`(rest: String) async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let path = "/wiki/" + rest
        let start = try invited(gateway, browser, path, app: "wiki", host: GatewayFixture.gate)
        let provider = try #require(try await browser.open(start).location)
        let back = try await browser.open(try browser.callback(to: provider, provider: "staff"))
        #expect(back.location == gate + path)
    }

    @Test(arguments: odd)
    func `G-01: it comes back from a re-check that the provider turns into a sign-in`(rest: String) async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let path = "/wiki/" + rest
        let step = SignInStep.recheck(with: "staff")
        let start = try invited(gateway, browser, path, app: "wiki", host: GatewayFixture.gate, step: step)
        let again = start.replacing("prompt=none", with: "prompt=select_account")
        let provider = try #require(try await browser.open(again).location)
        let back = try await browser.open(try browser.callback(to: provider, provider: "staff"))
        #expect(back.location == gate + path)
    }

    @Test(arguments: odd)
    func `G-01: it comes back after a session transfer`(rest: String) async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("staff"))
        let toGateway = try invited(gateway, browser, "/" + rest, app: "shop", host: "shop.example.com")
        let back = try #require(try await browser.open(toGateway).location)
        #expect(try await browser.open(back).location == "https://shop.example.com/\(rest)")
    }

    @Test(arguments: odd)
    func `G-01: a script is shown a sign-in that leads there`(rest: String) async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let head = try gateway.head("GET /wiki/\(rest)", GatewayFixture.gate, "Accept: application/json\r\n")
        let response = SignInRedirect(runtime: gateway.runtime).response(for: head, route: try gateway.route("wiki"))
        let start = try #require((try? JSON(parsing: response.body))?["sign_in"]?.string)
        #expect(response.status == 401 && response.cookies.isEmpty)
        let provider = try #require(try await browser.open(start).location)
        let back = try await browser.open(try browser.callback(to: provider, provider: "staff"))
        #expect(back.location == "\(gate)/wiki/\(rest)")
    }

    @Test(arguments: odd)
    func `G-01: what others write as rd is read strictly all the same`(rest: String) async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let back = try await browser.open(try await browser.begin("staff", returnPath: "/wiki/" + rest))
        #expect(back.location == gate + "/")
    }

    @Test func `G-01: a reference of another host, and a changed one, lead nowhere`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let start = try invited(gateway, browser, "/wiki/%2Fx", app: "wiki", host: GatewayFixture.gate)
        let reference = try #require(Form(encoded: start.split(separator: "?", maxSplits: 1)[1])?["rd"])
        #expect(try await browser.open("\(gate)\(reference)").location == "\(gate)/wiki/%2Fx")
        let other = "https://shop.example.com\(reference)"
        for address in [other, "\(gate)\(reference.dropLast(3))", "\(gate)/oauth2/return"] {
            let response = try await browser.open(address, "Accept: */*\r\n")
            #expect(response.status == 400 && response.code == "signin.return_lost")
        }
    }
}

@Suite struct SentFromPageTests {
    private func response(
        _ gateway: GatewayFixture,
        _ start: String,
        _ lines: String,
        step: SignInStep = .signIn
    ) throws -> Response {
        let head = try gateway.head(start, "shop.example.com", lines)
        let shop = try gateway.route("shop")
        return SignInRedirect(runtime: gateway.runtime).response(for: head, route: shop, step: step)
    }

    /// Where a sign-in at an address of a 401 ends.
    private func end(of address: String, in gateway: GatewayFixture) async throws -> String? {
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("staff"))
        var next: String? = address
        for _ in 0..<4 {
            guard let address = next, WebURL(address)?.path.hasPrefix("/oauth2/") ?? false else { return next }
            next = try await browser.open(address).location
        }
        return next
    }

    @Test(arguments: [SignInStep.signIn, .passkey])
    func `G-03: a form that the app does not get is named on a page, which leads back to the page with the form`(
        step: SignInStep
    ) async throws {
        let gateway = try GatewayFixture()
        let referer = "Referer: https://shop.example.com/edit%2Fx?id=7\r\n"
        let lines = "Sec-Fetch-Mode: navigate\r\nContent-Length: 0\r\n\(referer)"
        let page = try self.response(gateway, "POST /save", lines, step: step)
        #expect(page.status == 401 && page.location == nil && page.cookies.isEmpty)
        #expect(page.text.contains("Your form was not sent") && page.text.contains("signin.form_not_sent"))
        let address = try #require(links(page)["Sign in"])
        guard step == .signIn else { return #expect(address.hasPrefix("https://shop.example.com/oauth2/passkey?rd=")) }
        #expect(try await self.end(of: address, in: gateway) == "https://shop.example.com/edit%2Fx?id=7")
    }

    @Test(arguments: [
        "", "Referer: https://evil.example/edit\r\n", "Referer: https://shop.example.com\r\n",
        "Referer: https://shop.example.com.evil.example/x\r\n", "Referer: https://shop.example.com//evil.example/\r\n",
        "Referer: https://gate.example.com/wiki\r\n",
    ])
    func `G-03: without a page of the same origin it leads to the front page of the app`(lines: String) async throws {
        let gateway = try GatewayFixture()
        let all = "Sec-Fetch-Mode: navigate\r\nContent-Length: 0\r\n\(lines)"
        let page = try self.response(gateway, "POST /save", all)
        let address = try #require(links(page)["Sign in"])
        #expect(try await self.end(of: address, in: gateway) == "https://shop.example.com/")
    }

    @Test func `G-03: a request that repeats nothing is redirected as before`() throws {
        let gateway = try GatewayFixture()
        for start in ["GET /save", "HEAD /save"] {
            #expect(try self.response(gateway, start, "Sec-Fetch-Mode: navigate\r\n").status == 303)
        }
    }

    @Test(arguments: [
        ("GET /api/list", "https://shop.example.com/board?tab=2", "https://shop.example.com/board?tab=2"),
        ("POST /api/list", "https://shop.example.com/a%2F%2Fb", "https://shop.example.com/a%2F%2Fb"),
        ("GET /api/list", "https://evil.example/board", "https://shop.example.com/api/list"),
        ("POST /api/list", "https://evil.example/board", "https://shop.example.com/"),
        ("GET /api/list", "https://portal.example.net/", "https://portal.example.net/"),
        ("DELETE /api/list/1", "https://portal.example.net/tasks?x=1", "https://portal.example.net/tasks?x=1"),
    ])
    func `G-04: the sign-in of a script leads back to the page that sent the request`(
        start: String,
        page: String,
        end: String
    ) async throws {
        let portal = try #require(Origin(scheme: "https", host: "portal.example.net"))
        let gateway = try GatewayFixture(app: { app in
            if app.route.app == "shop" { app.traffic.strictness.origins = [WriteOrigin(origin: portal)] }
        })
        let lines = "Sec-Fetch-Mode: cors\r\nContent-Length: 0\r\nReferer: \(page)\r\n"
        let response = try self.response(gateway, start, lines)
        let address = try #require((try? JSON(parsing: response.body))?["sign_in"]?.string)
        #expect(response.status == 401 && address.hasPrefix("https://shop.example.com/oauth2/sign_in?rd="))
        #expect(try await self.end(of: address, in: gateway) == end)
    }

    /// The shop with a rule that asks for a recent authentication for its API, and its portal on another origin.
    private func recentShop() throws -> GatewayFixture {
        let portal = try #require(Origin(scheme: "https", host: "portal.example.net"))
        return try GatewayFixture(app: { app in
            guard app.route.app == "shop" else { return }
            app.traffic.strictness.origins = [WriteOrigin(origin: portal)]
            var entry = AccessEntry(at: RulePlace(line: 1))
            entry.request = [.path([PathPattern("/api/**")]), .authenticated(within: .seconds(300))]
            var other = AccessEntry(at: RulePlace(line: 2))
            other.request = [.path([PathPattern("/board")])]
            app.route.access = .entries([entry, other])
        })
    }

    @Test(arguments: [
        ("GET /api/list", "https://portal.example.net/tasks"), ("POST /api/list", "https://portal.example.net/tasks"),
        ("GET /api/list", "https://shop.example.com/board"), ("POST /api/list", "https://shop.example.com/board"),
        ("POST /api/list", "https://shop.example.com/board?q=\(String(repeating: "b", count: 1000))"),
        ("POST /api/list", ""),
    ])
    func `G-04: the sign-in of a script asks for the authentication that its request needs, not that of the page`(
        start: String,
        page: String
    ) async throws {
        let gateway = try self.recentShop()
        let referer = page.isEmpty ? "" : "Referer: \(page)\r\n"
        let response = try self.response(gateway, start, "Sec-Fetch-Mode: cors\r\nContent-Length: 0\r\n\(referer)")
        let browser = Browser(gateway)
        // A session whose user has authenticated too long ago.
        try await browser.open(
            try await browser.begin(
                "staff",
                as: Browser.ada.merging(["auth_time": .int(gateway.clock.now.seconds)]) { $1 }
            )
        )
        gateway.clock.advance(by: 600)
        var next = (try? JSON(parsing: response.body))?["sign_in"]?.string
        var asked: Form?
        for _ in 0..<12 {
            guard let address = next, WebURL(address)?.path.hasPrefix("/oauth2/") ?? false else { break }
            let step = try await browser.open(address)
            // Of several providers the page offers one after the other.
            next = step.location ?? links(step).values.first { $0.contains("/oauth2/start/staff?") }
            guard let location = next, let sent = WebURL(location), sent.origin.host == "id.staff.example" else {
                continue
            }
            asked = Form(encoded: sent.query ?? "")
            let claims = Browser.ada.merging(["auth_time": .int(gateway.clock.now.seconds)]) { $1 }
            next = try await browser.open(try browser.callback(to: location, provider: "staff", as: claims)).location
        }
        #expect(asked?["max_age"] == "300")
        #expect(next == (page.isEmpty ? "https://shop.example.com/" : page))
    }

    @Test(arguments: [false, true])
    func `a path that is not plain keeps the authentication that its rule asks for`(isLong: Bool) async throws {
        let gateway = try self.recentShop()
        let browser = Browser(gateway)
        let path = "/api/a%2Fb?q=%0A" + String(repeating: "q", count: isLong ? 3000 : 0)
        let toGateway = try invited(gateway, browser, path, app: "shop", host: "shop.example.com")
        let toSignIn = try #require(try await browser.open(toGateway).location)
        let page = try await browser.open(toSignIn)
        let start = try #require(links(page).values.first { $0.contains("/oauth2/start/staff?") })
        let location = try #require(try await browser.open(start).location)
        #expect(WebURL(location)?.query.flatMap { Form(encoded: $0)?["max_age"] } == "300")
    }

    @Test func `G-04: a page of another origin is not returned to once the app does not list it`() async throws {
        let portal = try #require(Origin(scheme: "https", host: "portal.example.net"))
        let listed = try GatewayFixture(app: { app in
            if app.route.app == "shop" { app.traffic.strictness.origins = [WriteOrigin(origin: portal)] }
        })
        let lines = "Sec-Fetch-Mode: cors\r\nOrigin: https://portal.example.net\r\n"
        let response = try self.response(listed, "GET /api", lines)
        let address = try #require((try? JSON(parsing: response.body))?["sign_in"]?.string)
        let reference = try #require(Form(encoded: address.split(separator: "?", maxSplits: 1)[1])?["rd"])
        let back = "https://shop.example.com\(reference)"
        #expect(try await Browser(listed).open(back).location == "https://portal.example.net/")
        let gateway = try GatewayFixture()
        #expect(try await Browser(gateway).open(back, "Accept: */*\r\n").code == "signin.return_lost")
    }
}

@Suite struct LongReturnPathTests {
    private let long = "/cart?q=" + String(repeating: "abcdefgh", count: 1000)

    @Test func `W-06: a long address of an app on the gateway's host is reached after the sign-in`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let path = "/wiki" + self.long
        let start = try invited(gateway, browser, path, app: "wiki", host: GatewayFixture.gate)
        #expect(start.utf8.count < 200)
        let provider = try #require(try await browser.open(start).location)
        let back = try await browser.open(try browser.callback(to: provider, provider: "staff"))
        let final = try await browser.open(try #require(back.location))
        #expect(final.status == 303 && final.location == gate + path)
    }

    @Test func `W-06: the app's rule is asked at the callback although the address is long`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let start = try invited(gateway, browser, "/wiki" + self.long, app: "wiki", host: GatewayFixture.gate)
        let provider = try #require(try await browser.open(start).location)
        let page = try await browser.open(try browser.callback(to: provider, provider: "staff", as: eve))
        #expect(page.status == 403 && page.text.contains("You may not open wiki"))
    }

    @Test func `W-06: an expired attempt with a reference that has expired as well ends on a page that explains it`()
        async throws
    {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let start = try invited(gateway, browser, "/wiki" + self.long, app: "wiki", host: GatewayFixture.gate)
        let callback = try browser.callback(to: try #require(try await browser.open(start).location), provider: "staff")
        gateway.clock.advance(by: 3600)
        browser.jar[GatewayFixture.gate]?["__Host-gatehouse"] = try await gateway.session(of: .staff()).ticket.text
        let onward = try #require(try await browser.open(callback).location)
        let page = try await browser.open(onward, "Accept: */*\r\n")
        #expect(page.status == 400 && page.code == "signin.return_lost")
    }

    @Test func `W-06: a long address of an app on its own host is reached after the transfer`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("staff"))
        let toGateway = try invited(gateway, browser, self.long, app: "shop", host: "shop.example.com")
        #expect(toGateway.utf8.count < 1000)
        let code = try #require(try await browser.open(toGateway).location)
        let back = try #require(try await browser.open(code).location)
        #expect(try await browser.open(back).location == "https://shop.example.com\(self.long)")
    }

    @Test func `W-06: a URL over 8 KiB ends on a page that explains it`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        // Each of these is three bytes once it is escaped.
        let long = "/wiki?q=" + String(repeating: "|", count: 3000)
        let start = try invited(gateway, browser, long, app: "wiki", host: GatewayFixture.gate)
        let provider = try #require(try await browser.open(start).location)
        let back = try await browser.open(try browser.callback(to: provider, provider: "staff"))
        let page = try await browser.open(try #require(back.location))
        #expect(page.status == 400 && page.text.contains("The link was too long"))
        #expect(links(page) == ["Try again": "\(gate)/wiki"])
    }

    @Test func `W-06: a reference whose cookie is gone ends on a page that explains it and leads to the app`()
        async throws
    {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let start = try invited(gateway, browser, "/wiki" + self.long, app: "wiki", host: GatewayFixture.gate)
        let reference = try #require(Form(encoded: start.split(separator: "?", maxSplits: 1)[1])?["rd"])
        let other = try await browser.open("https://shop.example.com\(reference)", "Accept: */*\r\n")
        #expect(other.code == "signin.return_lost")
        #expect(try await browser.open("\(gate)\(reference)").location == "\(gate)/wiki\(self.long)")
        let page = try await browser.open("\(gate)\(reference)")
        #expect(page.status == 400 && page.text.contains("signin.return_lost"))
        #expect(links(page) == ["Try again": "\(gate)/wiki"])
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
