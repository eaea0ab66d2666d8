// SPDX-License-Identifier: Apache-2.0

import GateAppConfiguration
import GateConfiguration
import GateCore
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

        /// The requests of a turn, which differ from those of the others.
        init(cookies: [String], turn: Int) {
            self.cookies = cookies
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
            "evil.example", "SHOP.example.com", "gate.example.com:8443", "gate.example.com.", "desk.example.com:0x1",
        ]
        private static let starts = [
            "/wiki", "/wiki/assets", "/wiki/healthz", "/WIKI", "/lounge", "/oauth2", "/", "/a",
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

        /// Start, host and field lines of a request.
        func next() -> (start: String, host: String, lines: String) {
            var target = self.one(Self.starts)
            for _ in 0..<self.one([0, 0, 0, 1, 1, 2]) { target += self.one(Self.segments) }
            var lines = self.one(self.cookies)
            for _ in 0..<self.one([0, 0, 1, 1, 2, 3]) { lines += "\(self.one(Self.fields))\r\n" }
            return ("\(self.one(Self.methods)) \(target)\(self.one(Self.queries))", self.one(Self.hosts), lines)
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
        let own = try GatewayFixture(app: Self.responding)
        let asked = try GatewayFixture(asked: dialect, sharing: own, change: Self.bothProviders)
        var cookies = ["", "Cookie: __Host-gatehouse=x\r\n", "Cookie: a=b\r\nCookie: c=d\r\n"]
        for profile in [Profile.staff(), .staff("eve", email: "eve@example.com"), .guest] {
            for host in [GatewayFixture.gate, "shop.example.com", "desk.example.com"] {
                let issued = try await own.session(of: profile, on: host)
                let key = try #require(CookieKey(issued.ticket))
                for loop in [own.loop, asked.loop] {
                    loop.sessions.insert(issued.session, for: key, freshFor: .seconds(30), now: .now())
                }
                cookies.append(cookie(issued.ticket))
            }
        }
        let requests = Requests(cookies: cookies, turn: ForwardAuthDialect.allCases.firstIndex(of: dialect) ?? 0)
        var differences: [String: Int] = [:]
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
    }
}
