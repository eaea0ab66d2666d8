// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GateOperations
import GatePolicy
import GateProxy
import GateSessions
import GateTestSupport
import Testing

@testable import GateIngress
@testable import GateRuntime

/// What a proxy that asks gets.
///
/// On the main actor, because an embedded event loop belongs to one thread.
@Suite @MainActor struct ForwardAuthTests {
    @Test(arguments: ForwardAuthDialect.allCases)
    func `a user who may enter passes with every field of the identity, and those that are lacking are empty`(
        dialect: ForwardAuthDialect
    ) async throws {
        let gateway = try GatewayFixture(asked: dialect)
        let ticket = try await gateway.cachedSession(of: .staff(), on: "shop.example.com")
        let both = "Cookie: a=b; __Host-gatehouse=\(ticket.text); c=d\r\n"
        let response = try gateway.asked(dialect, "GET /x", "shop.example.com", both)
        #expect(response.status == 200)
        #expect(response["x-forwarded-user"] == "staff:ada" && response["x-auth-request-user"] == "staff:ada")
        #expect(response["x-webauth-user"] == "ada@example.org" && response["who"] == "staff:ada")
        #expect(response["x-forwarded-groups"] == "ops,wiki" && response["cookie"] == "a=b; c=d")
        #expect(response["x-gatehouse-assertion"]?.split(separator: ".").count == 3)
        // Calls of gRPC are not cached, and a field about it would be one for the app.
        let caching = dialect == .envoyGRPC ? nil : ("no-store", "*")
        #expect(response["cache-control"] == caching?.0 && response["vary"] == caching?.1)

        let open = try gateway.asked(dialect, "GET /wiki/healthz", GatewayFixture.gate, cookie(ticket))
        let guest = try await gateway.cachedSession(of: .guest, on: "shop.example.com")
        let bare = try gateway.asked(dialect, "GET /x", "shop.example.com", cookie(guest))
        for name in ["email", "name", "preferred-username", "groups"] {
            #expect(open["x-forwarded-\(name)"] == "" && bare["x-forwarded-\(name)"] == "", "\(name)")
        }
        #expect(open.status == 200 && open["x-forwarded-user"] == "" && open["x-gatehouse-assertion"] == "")
        #expect(bare["x-forwarded-user"] == "guests:g1" && open["cookie"] == "" && bare["cookie"] == "")
    }

    @Test(arguments: [ForwardAuthDialect.traefik, .caddy])
    func `a request below the path of decisions asks nothing`(dialect: ForwardAuthDialect) async throws {
        let gateway = try GatewayFixture(asked: dialect)
        let ticket = try await gateway.cachedSession(of: .staff(), on: "shop.example.com")
        let asking = GatewayFixture.asking(dialect, "GET /x", "shop.example.com", cookie(ticket))
        for path in ["/oauth2/auth/", "/oauth2/auth/../x", "/oauth2/auth/x?y"] {
            let text = asking.replacing("GET /oauth2/auth HTTP", with: "GET \(path) HTTP")
            let response = ReceivedResponse(try gateway.received(text))
            #expect(response.status >= 400 && response["x-gatehouse-assertion"] == nil, "\(path)")
        }
    }

    @Test(arguments: ForwardAuthDialect.allCases)
    func `K7 no rejection of a question has status 200, also if it looks like a gRPC call`(
        dialect: ForwardAuthDialect
    ) throws {
        // The proxy's own request leads to the app at '/', which speaks HTTP/2.
        let gateway = try GatewayFixture(asked: dialect, from: "203.0.113.1/32") { app in
            var settings = UpstreamSettings(targets: [UpstreamTarget(.tcp(host: "127.0.0.1", port: 9), isHTTP2: true)])
            settings.reuse = .always
            app.action = .forward(settings)
        }
        let call = "Content-Type: application/grpc\r\nTE: trailers\r\n"
        // Envoy takes an error of gRPC for a gateway that has failed.
        let status = dialect == .envoyGRPC ? 503 : 403
        #expect(try gateway.asked(dialect, "POST /x", "shop.example.com", call).status == status)
    }

    @Test(arguments: ForwardAuthDialect.allCases)
    func `K4 rules about networks never take the proxy that asks for the client`(dialect: ForwardAuthDialect) throws {
        func status(_ lines: String, trusting proxies: [String]) throws -> Int {
            let gateway = try GatewayFixture(asked: dialect, trusting: proxies) { app in
                var rule = PublicRule(method: nil, path: "/x")
                rule.networks = ["192.0.2.0/24", "198.51.100.0/24"].compactMap { CIDRRange($0) }
                app.route.publicRules.append(rule)
            }
            return try gateway.asked(dialect, "GET /x", "shop.example.com", lines).status
        }
        let inside = "X-Forwarded-For: 198.51.100.7\r\n"
        let proxy = ["192.0.2.1/32"]
        #expect(try status(inside, trusting: proxy) == 200)
        #expect(try status("X-Forwarded-For: 203.0.113.7\r\n", trusting: proxy) == 401)
        for named in ["", "X-Forwarded-For: unknown\r\n", "X-Forwarded-For: unix:\r\n", "X-Forwarded-For: \r\n"] {
            #expect(try status(named, trusting: proxy) == 401, "nothing names the client: \(named)")
        }
        let own = "X-Forwarded-For: 198.51.100.7, 10.1.1.1\r\n"
        #expect(try status(own, trusting: proxy + ["10.0.0.0/8"]) == 200, "a trusted proxy names the one before it")
        let forged = "X-Forwarded-For: 198.51.100.7, 203.0.113.9\r\n"
        #expect(try status(forged, trusting: proxy + ["0.0.0.0/1", "128.0.0.0/1"]) == 401, "the nearest counts")
        #expect(try status(inside, trusting: []) == 401, "the proxy is not trusted to name the client")
        #expect(try status("", trusting: []) == 401)
    }

    @Test(arguments: ForwardAuthDialect.allCases)
    func `what is rejected is rejected in a way that the proxy understands`(dialect: ForwardAuthDialect) async throws {
        let gateway = try GatewayFixture(asked: dialect)
        let eve = try await gateway.cachedSession(of: .staff(email: "eve@example.com"))
        let page = "Accept: text/html\r\n"
        let isNginx = dialect == .nginx
        let navigation = try gateway.asked(dialect, "GET /a?b", "shop.example.com", page)
        #expect(navigation.status == (isNginx ? 401 : 303))
        let place =
            isNginx
            ? "https://shop.example.com/oauth2/sign_in?rd=%2Fa%3Fb" : "https://gate.example.com/oauth2/handover?"
        #expect(navigation["location"]?.hasPrefix(place) == true)
        #expect((navigation["set-cookie"] == nil) == isNginx)
        let script = try gateway.asked(dialect, "GET /a", "shop.example.com")
        #expect(script.status == 401 && script["www-authenticate"] != nil)
        let denied = try gateway.asked(dialect, "GET /wiki", GatewayFixture.gate, cookie(eve))
        #expect(denied.status == 403 && denied.text.contains("policy.refused"))
        #expect(try gateway.asked(dialect, "GET /a", "evil.example").status == (isNginx ? 403 : 404))
        #expect(
            try gateway.asked(dialect, "GET /%zz", "shop.example.com").status
                == (isNginx && dialect != .envoy ? 403 : 400)
        )
        let signInPage = try gateway.asked(dialect, "GET /oauth2/sign_in", "shop.example.com")
        #expect(signInPage.text.contains("forward_auth.url"))
    }

    @Test(
        arguments: [
            "X-Original-Method: GET\r\n", "X-Original-URL: https://shop.example.com/\r\n",
            "X-Original-Method: GET\r\nX-Original-URL: https://shop.example.com/\r\nX-Original-URL: https://a/\r\n",
            "X-Original-Method: GET\r\nX-Original-Method: GET\r\nX-Original-URL: https://shop.example.com/\r\n",
            "X-Original-Method: GET\r\nX-Original-URL: shop.example.com/\r\n",
            "X-Original-Method: GET\r\nX-Original-URL: ftp://shop.example.com/\r\n",
            "X-Forwarded-Method: GET\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: shop.example.com\r\nX-Forwarded-Uri: /\r\n",
        ]
    )
    func `A-41 K4 a missing or repeated field of the dialect is not made up for by another`(lines: String) throws {
        let gateway = try GatewayFixture(asked: .nginx)
        let response = ReceivedResponse(try gateway.received("GET /oauth2/auth HTTP/1.1\r\nHost: a\r\n\(lines)\r\n"))
        #expect(response.status == 403 && response.text.contains("forward_auth.request"))
    }

    @Test func `K4 the fields of other dialects are not read`() throws {
        let gateway = try GatewayFixture(asked: .nginx)
        let lies = "X-Forwarded-Proto: http\r\nX-Forwarded-Host: gate.example.com\r\n"
        #expect(try gateway.asked(.nginx, "GET /wiki/healthz", "shop.example.com", lies).status == 401)
        #expect(try gateway.asked(.nginx, "GET /wiki/healthz", GatewayFixture.gate, lies).status == 200)
    }

    @Test(arguments: ["X-Forwarded-User: eve", "Remote-User: eve", "X-Webauth-Role: admin", "X-Forwarded-Prefix: /x"])
    func `A-08 A-95 a field of a client that only the gateway may set is rejected, since the proxy may keep it`(
        line: String
    ) throws {
        let gateway = try GatewayFixture(asked: .traefik)
        let response = try gateway.asked(.traefik, "GET /wiki/healthz", GatewayFixture.gate, "\(line)\r\n")
        #expect(response.status == 400 && response.text.contains("forward_auth.header"))
    }

    @Test(arguments: [
        "X-Consumer-Username: eve", "OIDC-CLAIM-email: eve@example.com", "X-Scope-OrgID: 7", "Impersonate-User: eve",
    ])
    func `D-01 fields of other products are rejected too, unless the app keeps them`(line: String) throws {
        let plain = try GatewayFixture(asked: .traefik)
        let kept = try GatewayFixture(asked: .traefik) { app in
            app.traffic.requestHeaders.keep = [String(line.prefix { $0 != ":" })]
        }
        func status(_ gateway: GatewayFixture) throws -> Int? {
            try gateway.asked(.traefik, "GET /wiki/healthz", GatewayFixture.gate, "\(line)\r\n").status
        }
        #expect(try status(plain) == 400)
        #expect(try status(kept) == 200)
    }

    @Test func `A-43 only a listed peer may ask`() throws {
        let gateway = try GatewayFixture(asked: .nginx, from: "198.51.100.0/24")
        let response = try gateway.asked(.nginx, "GET /wiki/healthz", GatewayFixture.gate)
        #expect(response.status == 403 && response.text.contains("forward_auth.peer"))
        let off = try GatewayFixture()
        #expect(off.verdict(try off.head("GET /oauth2/auth")) == "endpoint")
    }

    @Test func `a request that comes past the proxy is rejected before any sign-in`() throws {
        let gateway = try GatewayFixture(asked: .nginx)
        for path in ["/", "/a?b"] {
            let text = try gateway.received(
                "GET \(path) HTTP/1.1\r\nHost: shop.example.com\r\nAccept: text/html\r\n\r\n"
            )
            #expect(ReceivedResponse(text).status == 403 && text.contains("forward_auth.only"))
        }
    }

    @Test func `a denial is never a status that the proxy takes for consent, not even to gRPC`() throws {
        let gateway = try GatewayFixture(asked: .envoy) { app in
            guard app.route.app == "desk" else { return }
            let target = UpstreamTarget(.tcp(host: "127.0.0.1", port: 9), isHTTP2: true)
            app.action = .forward(UpstreamSettings(targets: [target]))
        }
        #expect(try gateway.route("desk").speaksHTTP2)
        let call = "Content-Type: application/grpc\r\nTE: trailers\r\n"
        let response = try gateway.asked(.envoy, "POST /desk.Api/Get", "desk.example.com", call)
        #expect(response.status == 403 && response.text.contains("forward_auth.app"))
    }

    @Test func `nginx gets the response that its client sees, unless the request may pass`() async throws {
        let gateway = try GatewayFixture(asked: .nginx)
        func response(_ start: String, _ lines: String) throws -> ReceivedResponse {
            let asked = GatewayFixture.asking(.nginx, start, "shop.example.com", lines)
            let again = asked.replacing("/oauth2/auth ", with: "/oauth2/auth/response ")
            return ReceivedResponse(try gateway.received(again))
        }
        let page = try response("GET /a", "Accept: text/html\r\n")
        #expect(page.status == 303 && page["set-cookie"] != nil)
        #expect(try response("GET /a//b", "").status == 400)
        let ticket = try await gateway.cachedSession(of: .staff(), on: "shop.example.com")
        let admitted = try response("GET /a", cookie(ticket))
        #expect(admitted.status == 502 && admitted.text.contains("forward_auth.admitted"))
        #expect(admitted["x-forwarded-user"] == nil)
    }

    @Test(arguments: [("https://shop.example.com", 200), ("https://evil.example", 403)])
    func `a WebSocket is asked about as it is opened, although proxies remove 'Upgrade'`(
        origin: String,
        status: Int
    ) async throws {
        let gateway = try GatewayFixture(asked: .caddy)
        let ticket = try await gateway.cachedSession(of: .staff(), on: "shop.example.com")
        let lines = "\(cookie(ticket))Origin: \(origin)\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n"
        #expect(try gateway.asked(.caddy, "GET /ws", "shop.example.com", lines).status == status)
    }

    @Test(
        arguments: [
            ("GET /wiki", "ada@example.org", "", nil), ("GET /wiki", "eve@example.com", "denied", "policy.refused"),
            ("GET /wiki", nil, "sign_in", "sign_in_required"), ("GET /wiki//x", nil, "rejected", "forward_auth.url"),
            ("GET /%zz", nil, "rejected", "path.bad_escape"),
        ] as [(String, String?, String, String?)]
    )
    func `in shadow mode each request passes without an identity, and what would not is logged`(
        start: String,
        user: String?,
        decision: String,
        code: String?
    ) async throws {
        let lines = LogLines()
        let log = RequestLog(logger: lines.logger)
        let gateway = try GatewayFixture(asked: .traefik, mode: .shadow, log: log)
        var fields = "Accept: text/html\r\n"
        if let user { fields += cookie(try await gateway.cachedSession(of: .staff(email: user))) }
        let response = try gateway.asked(.traefik, start, GatewayFixture.gate, fields)
        #expect(response.status == 200 && response["x-forwarded-user"] == nil && response["set-cookie"] == nil)
        #expect(lines.all.count == (code == nil ? 0 : 1))
        #expect(lines.all.first?.values["code"] == code && lines.all.first?.values["decision"] ?? "" == decision)
        if decision == "denied" {
            #expect(lines.all.first?.values["user"] == "staff:ada" && lines.all.first?.values["incident"] != nil)
        }
    }

    @Test(
        arguments: [
            ("GET /wiki", "ada@example.org", "200", nil),
            ("GET /wiki", "ada@example.org", "403", "would admit allowed 403"),
            ("GET /wiki/healthz", nil, "302", "would admit public 302"),
            ("GET /wiki", nil, "200", "would reject sign_in 200"),
            ("GET /wiki", nil, "401", nil), ("GET /wiki", nil, "302", nil),
            ("GET /wiki", nil, "403", "would reject sign_in 403"),
            ("GET /wiki", "eve@example.com", "403", nil),
            ("GET /wiki", "eve@example.com", "401", "would reject denied 401"),
            ("GET /wiki//x", nil, "200", "would reject rejected 200"), ("GET /wiki//x", nil, "404", nil),
            // What is not a status does not count: only what the gateway would reject is logged.
            ("GET /wiki", "ada@example.org", "40", nil), ("GET /wiki", "ada@example.org", "4033", nil),
            ("GET /wiki", "ada@example.org", "+40", nil), ("GET /wiki", "ada@example.org", "600", nil),
            ("GET /wiki", "ada@example.org", "403\r\nX-Gatehouse-Shadow-Status: 403", nil),
            ("GET /wiki", nil, "2xx", "would reject sign_in -"),
        ] as [(String, String?, String, String?)]
    )
    func `in shadow mode a difference from the verdict that the proxy reports is logged, in both directions`(
        start: String,
        user: String?,
        status: String,
        expected: String?
    ) async throws {
        let lines = LogLines()
        let log = RequestLog(logger: lines.logger)
        let gateway = try GatewayFixture(asked: .traefik, mode: .shadow, reportsStatus: true, log: log)
        var fields = "Accept: text/html\r\nX-Gatehouse-Shadow-Status: \(status)\r\n"
        if let user { fields += cookie(try await gateway.cachedSession(of: .staff(email: user))) }
        #expect(try gateway.asked(.traefik, start, GatewayFixture.gate, fields).status == 200)
        let found = lines.all.map { line in
            let words = line.message.split(separator: " ").suffix(2).joined(separator: " ")
            return "\(words) \(line.values["decision"] ?? "-") \(line.values["other"] ?? "-")"
        }
        #expect(found == (expected.map { [$0] } ?? []))
    }

    @Test(arguments: ["GET /wiki", "GET /wiki//x"])
    func `K-04 no client reports a verdict for a proxy that is not configured to report it`(start: String) async throws
    {
        let lines = LogLines()
        let log = RequestLog(logger: lines.logger)
        let gateway = try GatewayFixture(asked: .traefik, mode: .shadow, log: log)
        // The gateway denies this user as well: with a verdict that counts, the two would agree and nothing be logged.
        let fields = cookie(try await gateway.cachedSession(of: .staff(email: "eve@example.com")))
        let reported = "\(fields)X-Gatehouse-Shadow-Status: 403\r\n"
        #expect(try gateway.asked(.traefik, start, GatewayFixture.gate, reported).status == 200)
        #expect(lines.all.map(\.message) == ["forward-auth would reject"])
        #expect(lines.all.first?.values["other"] == nil)
    }

    @Test func `where decisions are enforced, a reported verdict is a field that only the gateway may set`()
        async throws
    {
        let gateway = try GatewayFixture(asked: .traefik, reportsStatus: true)
        let ticket = try await gateway.cachedSession(of: .staff())
        let fields = "\(cookie(ticket))X-Gatehouse-Shadow-Status: 200\r\n"
        #expect(try gateway.asked(.traefik, "GET /wiki", GatewayFixture.gate, fields).status == 400)
        #expect(try gateway.asked(.traefik, "GET /wiki", GatewayFixture.gate, cookie(ticket)).status == 200)
    }
}
