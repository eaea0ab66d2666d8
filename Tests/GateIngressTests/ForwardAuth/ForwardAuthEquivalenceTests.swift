// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateConfiguration
import GateCore
import GateFixtures
import GatePolicy
import GateSessions
import GateTestSupport
import GateWire
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

/// The decision for a proxy that asks is the one about the same request at the gateway itself.
///
/// On the main actor, because an embedded event loop belongs to one thread.
@Suite @MainActor struct ForwardAuthEquivalenceTests {
    /// Requests by parts, each chosen at random; what they hold is what decisions depend on.
    private struct Requests {
        private let random = RandomBytes.seeded()
        let cookies: [String]
        /// Those of sessions on the host of ``RuledApps``.
        let ruledCookies: [String]

        /// The requests of a turn, which differ from those of the others.
        init(cookies: [String], ruledCookies: [String], turn: Int) {
            self.cookies = cookies
            self.ruledCookies = ruledCookies
            _ = self.random.bytes(turn * 100_001)
        }

        private func one<Value>(_ values: [Value]) -> Value {
            let bytes = self.random.bytes(2)
            return values[(Int(bytes[0]) << 8 | Int(bytes[1])) % values.count]
        }

        private static let methods = [
            "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "HEAD", "POST", "POST", "PUT", "DELETE", "OPTIONS",
            "PATCH", "PROPFIND", "MOVE",
            "get", "TRACE", "Post",
        ]
        private static let hosts = [
            GatewayFixture.gate, GatewayFixture.gate, GatewayFixture.gate, GatewayFixture.gate, "shop.example.com",
            "shop.example.com", "shop.example.com", "desk.example.com", "desk.example.com",
            RuledApps.host, RuledApps.host, RuledApps.host, RuledApps.host, RuledApps.host, RuledApps.host,
            "evil.example", "SHOP.example.com", "gate.example.com:8443", "gate.example.com.", "desk.example.com:0x1",
        ]
        private static let starts = [
            "/wiki", "/wiki/assets", "/wiki/healthz", "/WIKI", "/lounge", "/oauth2", "/", "/a",
        ]
        /// The same for the host of ``RuledApps``.
        private static let ruledMethods = [
            "GET", "GET", "GET", "GET", "HEAD", "POST", "POST", "PUT", "DELETE", "OPTIONS", "OPTIONS", "MOVE",
        ]
        /// The same for the host of ``RuledApps``.
        private static let ruledStarts = [
            "/", "/open", "/far/a", "/day", "/night/a", "/admin", "/ADMIN/a", "/assets", "/recent", "/recent/a", "/api",
            "/api", "/api/hooks", "/api/hooks/a", "/api/admin",
        ]
        private static let segments = [
            "", "/", "//", "/.", "/..", "/%2e%2e", "/..%2f", "/healthz", "/assets", "/a;b=c", "/%41", "/%c3%a9",
            "/%C3%A9",
            "/%2F", "/%5c", "/a|b", "/%zz", "/%00", "/x%252e", "/\\", "/wiki", "/b%28", "/~a", "/%7Ea", "/a'b",
            "/sign_in",
        ]
        private static let queries = ["", "", "?", "?a=b", "?/wiki/assets/", "?a=%2F..", "?a|b"]
        private static let fields = [
            "Accept: text/html", "Accept: */*", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Mode: cors",
            "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: none",
            "Origin: https://gate.example.com", "Origin: https://shop.example.com", "Origin: https://evil.example",
            "Origin: null", "X-Requested-With: XMLHttpRequest", "My_Name: 1", "My.Name: 1", "X_Forwarded_User: eve",
            "X-Forwarded-User: eve", "X-Auth-Request-User: eve", "X-Original-Uri: /wiki/assets/",
            "X-Forwarded-For: 10.1.1.1",
            "CDN-Loop: gate.example.com", "CDN-Loop: gate.example.com, gate.example.com, gate.example.com",
            "Destination: /wiki/b", "Destination: /lounge/b", "Destination: /a/../b", "Authorization: Bearer x",
            "User-Agent: GoogleHC/1.0", "Referer: https://a/", "Content-Type: application/grpc", "X-Who: a",
        ]
        /// The same for the host of ``RuledApps``: tokens, preflights, and what does not count there.
        private static let ruledFields = [
            "Authorization: Bearer \(RuledApps.token)", "Authorization: Bearer \(RuledApps.token)",
            "Authorization: Basic \(Data("deploy:\(RuledApps.token)".utf8).base64EncodedString())",
            "Authorization: Bearer gth_unknown", "Authorization: Bearer a b", "Origin: \(RuledApps.portal)",
            "Origin: \(RuledApps.portal)\r\nAccess-Control-Request-Method: POST",
            "Origin: https://evil.example\r\nAccess-Control-Request-Method: POST",
            "Origin: https://rules.example.com", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-origin",
            "X-Forwarded-For: 10.1.1.1", "Destination: /admin/a", "Destination: /open/a", "Accept: text/html",
        ]

        /// Start, host and field lines of a request.
        func next() -> (start: String, host: String, lines: String) {
            let host = self.one(Self.hosts)
            let isRuled = host == RuledApps.host
            var target = self.one(isRuled ? Self.ruledStarts : Self.starts)
            for _ in 0..<self.one(isRuled ? [0, 0, 0, 0, 0, 1] : [0, 0, 0, 1, 1, 2]) {
                target += self.one(Self.segments)
            }
            var lines = self.one(isRuled && self.one([true, true, true, false]) ? self.ruledCookies : self.cookies)
            for _ in 0..<self.one([0, 0, 1, 1, 2, 3]) {
                lines += "\(self.one(isRuled ? Self.ruledFields : Self.fields))\r\n"
            }
            // The proxy before both names the client; what the client sent itself is before it in the list.
            lines += "X-Forwarded-For: \(self.one(RuledApps.clients))\r\n"
            let method = self.one(isRuled ? Self.ruledMethods : Self.methods)
            return ("\(method) \(target)\(self.one(Self.queries))", host, lines)
        }
    }

    /// The apps with the response `passed` in place of an upstream.
    ///
    /// Two providers each, since a sign-in with the only one begins at once, which takes longer than a test waits.
    private static func responding(_ app: inout AppSettings) {
        self.bothProviders(&app)
        var response = FixedResponse()
        response.body = "passed"
        app.action = .respond(response)
    }

    private static func bothProviders(_ app: inout AppSettings) {
        app.route.providers = ["staff", "guests"]
        if app.route.app == "desk" { app.traffic.strictness.irregularNames = .reject }
        if app.route.app == "lounge" { app.traffic.strictness.methods = ["GET", "POST"] }
        if app.route.app == "shop" { app.traffic.strictness.encodedSlash = .reject }
    }

    /// What nginx makes of a status; the others pass it on.
    private static func status(_ status: Int, in dialect: ForwardAuthDialect) -> Int {
        guard dialect == .nginx else { return status }
        return switch status {
        case 303: 401
        case 400, 404, 405, 414, 501: 403
        default: status
        }
    }

    @Test(arguments: ForwardAuthDialect.allCases)
    func `10,000 requests get the decision that the gateway itself has for them`(
        dialect: ForwardAuthDialect
    ) async throws {
        let proxies = ["192.0.2.1/32"]
        let own = try GatewayFixture(
            trusting: proxies,
            serviceTokens: [RuledApps.serviceToken],
            more: RuledApps.all(),
            app: Self.responding
        )
        let asked = try GatewayFixture(
            asked: dialect,
            trusting: proxies,
            sharing: own,
            serviceTokens: [RuledApps.serviceToken],
            more: RuledApps.all(),
            change: Self.bothProviders
        )
        var cookies = ["", "Cookie: __Host-gatehouse=x\r\n", "Cookie: a=b\r\nCookie: c=d\r\n"]
        var ruledCookies: [String] = []
        var (recent, stale) = (Profile.staff(), Profile.staff())
        recent.authTime = own.clock.now.advanced(by: .seconds(-60))
        stale.authTime = own.clock.now.advanced(by: .seconds(-3600))
        for profile in [Profile.staff(), .staff("eve", email: "eve@example.com"), .guest, recent, stale] {
            for host in [GatewayFixture.gate, "shop.example.com", "desk.example.com", RuledApps.host, RuledApps.host] {
                let issued = try await own.session(of: profile, on: host)
                let key = try #require(CookieKey(issued.ticket))
                // Cached until long after the test: the dialects share the main actor, and the last one waits for the others.
                let later = NIODeadline.now() + .hours(1)
                for loop in [own.loop, asked.loop] {
                    loop.sessions.insert(issued.session, for: key, freshFor: .seconds(30), now: later)
                }
                cookies.append(cookie(issued.ticket))
                if host == RuledApps.host { ruledCookies.append(cookie(issued.ticket)) }
            }
        }
        let turn = ForwardAuthDialect.allCases.firstIndex(of: dialect) ?? 0
        let requests = Requests(cookies: cookies, ruledCookies: ruledCookies, turn: turn)
        var differences: [String: Int] = [:]
        var outcomes: [String: Int] = [:]
        var passed = 0
        for _ in 0..<2500 {
            let (start, host, lines) = requests.next()
            let bytes = "\(start) HTTP/1.1\r\nHost: \(host)\r\n\(lines)\r\n"
            let expected = ReceivedResponse(try own.received(bytes))
            let found = try asked.asked(dialect, start, host, lines)
            let shown: Comment =
                "\(bytes) \(expected.status) \(expected.code ?? "") \(found.status) \(found.code ?? "")"
            // The response to HEAD shows no code.
            let isSilent =
                [.envoy, .envoyGRPC].contains(dialect) && start.hasPrefix("HEAD") && found.status == 400
                && expected.status != 400
            if found.text.contains("forward_auth.") || isSilent {
                // Stricter, and for one of two reasons only.
                #expect(found.status == Self.status(400, in: dialect), shown)
                var parser = RequestParser(names: own.runtime.fieldNames, isSecure: true)
                var buffer = ByteBuffer(string: bytes)
                let head = try #require(try parser.head(from: &buffer), shown)
                let isForeign = head.message.fields.contains { $0.name == .managed }
                let isOurs = own.verdict(head) == "endpoint"
                #expect(isForeign || isOurs || !head.isPathAsReceived, shown)
                differences[isForeign ? "field" : isOurs ? "endpoint" : "spelling", default: 0] += 1
                continue
            }
            if ["wire.field_name", "request.repeated_field", "request.host"].contains(where: found.text.contains) {
                // Of several defects the proxy's own request shows that of a field or its host first.
                #expect([400, 405, 501].contains(expected.status), shown)
                continue
            }
            if host == RuledApps.host {
                let outcome = expected.code ?? "\(expected.status)"
                for key in [outcome] + (start.contains(" /recent") ? ["recent \(outcome)"] : []) {
                    outcomes[key, default: 0] += 1
                }
            }
            let status = Self.status(expected.status, in: dialect)
            #expect(status == Self.status(found.status, in: dialect), shown)
            #expect((found.status == 200) == (expected.text.hasSuffix("passed") || expected.status == 200), shown)
            if let code = expected.code, let other = found.code {
                // Which of a path's readings is found first is not determined.
                #expect(code == other || (code.hasPrefix("path.") && other.hasPrefix("path.")), shown)
            }
            guard found.status == 200 else { continue }
            passed += 1
            let verdict = own.verdict(try own.head(start, host, lines))
            #expect((found["x-forwarded-user"] == "") == verdict.hasSuffix(" unknown"), shown)
        }
        #expect(
            passed > 100 && (differences["spelling"] ?? 0) > 50 && (differences["field"] ?? 0) > 50,
            "\(passed) \(differences)"
        )
        #expect(Set(differences.keys).isSubset(of: ["spelling", "field", "endpoint"]))
        // Each kind of rule has decided, either way.
        let decided = [
            "200", "303", "policy.denied", "policy.refused", "token.rejected", "request.cross_site", "recent 200",
            "recent sign_in_required",
        ]
        for outcome in decided { #expect((outcomes[outcome] ?? 0) > 2, "\(outcome) \(outcomes)") }
    }
}
