// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GateHeaders
import GatePolicy
import GateWire
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

@Suite struct RouteTrafficTests {
    /// A gateway whose app `wiki` has these traffic settings.
    private func gateway(_ change: @escaping (inout AppSettings) -> Void) throws -> GatewayFixture {
        try GatewayFixture(app: { app in if app.route.app == "wiki" { change(&app) } })
    }

    /// The lines that the wiki gets for a request.
    private func forwarded(_ start: String, _ lines: String = "", on gateway: GatewayFixture) throws -> [String] {
        let peer = IPAddress("192.0.2.1")
        let downstream = ForwardedHead.Downstream(peer: peer, peerText: "192.0.2.1", isSecure: true, isTrusted: false)
        let bytes = ForwardedHead.request(
            try gateway.head(start, GatewayFixture.gate, lines),
            authority: GatewayFixture.gate,
            downstream: downstream,
            identity: ByteBuffer(string: "X-Forwarded-User: staff:ada\r\n"),
            changes: try gateway.route("wiki").requestChanges,
            requestID: .own(1, 2),
            hidesAuthorization: false,
            into: ByteBuffer()
        )
        return String(buffer: bytes).split(separator: "\r\n").map(String.init)
    }

    /// The lines that a browser gets for a response of the wiki, without those that the gateway adds to each.
    private func respond(_ lines: String, on gateway: GatewayFixture, isDated: Bool = true) throws -> [String] {
        let ours = ["Date: Thu, 01 Jan 1970 00:00:00 GMT", "X-Request-Id: 00000000000000010000000000000002"]
        let bytes = try self.responseBytes(Array(lines.utf8), on: gateway)
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n").map(String.init)
        return lines.filter { !ours.contains($0) || (!isDated && $0 == ours[0]) }
    }

    private func responseBytes(_ lines: [UInt8], on gateway: GatewayFixture) throws -> [UInt8] {
        let request = try gateway.head("GET /wiki")
        var buffer = ByteBuffer(bytes: Array("HTTP/1.1 200 OK\r\n".utf8) + lines + Array("\r\n".utf8))
        let head = try #require(try ResponseParser(names: .response).head(from: &buffer, for: .get))
        let bytes = ForwardedHead.response(
            head,
            to: request,
            requestID: .own(1, 2),
            framing: head.framing,
            closes: false,
            changes: try gateway.route("wiki").responseChanges(isProtected: false),
            date: DateLine(clock: .fixed(Instant(seconds: 0))),
            into: ByteBuffer()
        )
        return Array(bytes.readableBytesView)
    }

    private func redirect(_ to: String, status: Int = 308, keepsPath: Bool = true) throws -> AppAction {
        let address = try #require(WebURL(to))
        return .redirect(RedirectSettings(to: address, status: status, keepsPath: keepsPath))
    }
}

// MARK: On the way to the app

extension RouteTrafficTests {
    @Test func `Y-12 a date that the app's settings remove or set appears at most once`() throws {
        let removed = try self.gateway { $0.traffic.responseHeaders = HeaderEdits(remove: ["Date"]) }
        #expect(
            try !self.respond("Content-Length: 0\r\n", on: removed, isDated: false).contains { $0.hasPrefix("Date") }
        )
        let set = try self.gateway {
            $0.traffic.responseHeaders = HeaderEdits(set: [HeaderValue(name: "Date", value: "x")])
        }
        #expect(
            try self.respond("Date: y\r\nContent-Length: 0\r\n", on: set, isDated: false).count {
                $0.hasPrefix("Date")
            } == 1
        )
    }

    @Test(arguments: [
        ("/oauth2/authorize?client_id=wiki", nil), ("https://gate.example.com/oauth2/passkeys", nil), ("/oauth2", nil),
        ("/oauth2/sign_out", nil), ("/oauth3/authorize", "/wiki/oauth3/authorize"), ("/page", "/wiki/page"),
    ])
    func `a redirect of an app on the gateway's host to any of the gateway's paths stays as it is`(
        location: String,
        mapped: String?
    ) throws {
        let gateway = try self.gateway {
            $0.traffic.stripsPrefix = true
            $0.route.path = "/wiki"
        }
        let lines = try self.respond("Location: \(location)\r\nContent-Length: 0\r\n", on: gateway)
        #expect(lines.filter { $0.hasPrefix("Location") } == ["Location: \(mapped ?? location)"])
    }

    @Test(arguments: [
        ("Location: http://wiki.internal/oauth2/authorize", "Location: https://gate.example.com/wiki/oauth2/authorize"),
        ("Location: //wiki.internal/oauth2", "Location: https://gate.example.com/wiki/oauth2"),
        ("Set-Cookie: s=1; Path=/oauth2", "Set-Cookie: s=1; Path=/wiki/oauth2"),
        ("Set-Cookie: s=1; Path=/oauth2/sign_in", "Set-Cookie: s=1; Path=/wiki/oauth2/sign_in"),
    ])
    func `a URL of the app's own server and the path of its cookie are never an endpoint of the gateway`(
        sent: String,
        mapped: String
    ) throws {
        let gateway = try self.gateway {
            $0.traffic.stripsPrefix = true
            $0.traffic.upstreamHost = "wiki.internal"
            $0.route.path = "/wiki"
        }
        let lines = try self.respond("\(sent)\r\nContent-Length: 0\r\n", on: gateway)
        #expect(lines.contains(mapped), "\(lines)")
    }

    @Test func `V-06 a cookie that is not mapped is copied byte by byte`() throws {
        let gateway = try self.gateway {
            $0.traffic.stripsPrefix = true
            $0.route.path = "/wiki"
        }
        let cookie: [UInt8] = Array("Set-Cookie: lang=caf".utf8) + [0xE9]
        let bytes = try self.responseBytes(cookie + Array("\r\nContent-Length: 0\r\n".utf8), on: gateway)
        #expect(bytes.contains(cookie))
    }

    @Test func `Y-06 an irregular name brings back no header that the app's entry sets or removes`() throws {
        let gateway = try self.gateway {
            $0.traffic.strictness.irregularNames = .forward
            $0.traffic.requestHeaders = HeaderEdits(
                set: [HeaderValue(name: "X-Api-Key", value: "secret")],
                remove: ["X-Debug"]
            )
        }
        let lines = try self.forwarded(
            "GET /wiki",
            "X_Api_Key: forged\r\nX_Debug: 1\r\nX.Debug: 1\r\nX_Kept: 1\r\n",
            on: gateway
        )
        #expect(lines.contains("X-Api-Key: secret") && lines.contains("X_Kept: 1"))
        #expect(!lines.contains { $0.contains("forged") || $0.lowercased().contains("debug") })
    }
}

extension RouteTrafficTests {
    @Test func `a route that changes nothing has nothing to look at`() throws {
        let route = try GatewayFixture().route("wiki")
        #expect(route.requestChanges == nil && route.directResponse == nil)
        #expect(route.maxBody == .max && !route.isInMaintenance && !route.passesEarlyHints)
    }

    @Test(arguments: [
        ("GET /wiki", "GET / HTTP/1.1"), ("GET /wiki/", "GET / HTTP/1.1"), ("GET /wiki/a", "GET /a HTTP/1.1"),
        ("GET /wiki?a=/wiki", "GET /?a=/wiki HTTP/1.1"), ("GET /wiki/wiki/a/", "GET /wiki/a/ HTTP/1.1"),
        ("GET /%77iki/%61", "GET /a HTTP/1.1"), ("GET /wiki//evil.example/x", "GET /evil.example/x HTTP/1.1"),
        ("GET /wiki/a/../%2e%2e/wiki/b", "GET /b HTTP/1.1"), ("GET /wiki/%20", "GET /%20 HTTP/1.1"),
    ])
    func `K-03 the prefix is taken off the canonical path, once`(start: String, line: String) throws {
        for path in ["/wiki", "/wiki/"] {
            let gateway = try self.gateway { app in
                app.route.path = path
                app.traffic.stripsPrefix = true
            }
            let lines = try self.forwarded(start, "X-Forwarded-Prefix: /evil\r\n", on: gateway)
            #expect(lines[0] == line)
            #expect(lines.filter { $0.hasPrefix("X-Forwarded-Prefix") } == ["X-Forwarded-Prefix: /wiki"])
        }
    }

    @Test func `without strip_prefix path and fields stay as they are`() throws {
        let lines = try self.forwarded("GET /wiki/a", "X-Forwarded-Prefix: /evil\r\n", on: try GatewayFixture())
        #expect(lines[0] == "GET /wiki/a HTTP/1.1" && !lines.contains { $0.hasPrefix("X-Forwarded-Prefix") })
    }

    @Test func `upstream_host is what the app sees, and X-Forwarded-Host what the client asked`() throws {
        let gateway = try self.gateway { $0.traffic.upstreamHost = "app.internal:8080" }
        let lines = try self.forwarded("GET /wiki", on: gateway)
        #expect(lines.filter { $0.hasPrefix("Host:") } == ["Host: app.internal:8080"])
        #expect(lines.contains("X-Forwarded-Host: gate.example.com"))
    }

    @Test func `what is set replaces all lines of the name, what is removed is gone, and the rest stays`() throws {
        let set = [HeaderValue(name: "X-Team", value: "blue"), HeaderValue(name: "Accept", value: "text/html")]
        let gateway = try self.gateway { app in
            app.traffic.requestHeaders = HeaderEdits(set: set, remove: ["X-Debug", "authorization", "Cookie"])
        }
        let sent = "x-team: red\r\nX-Teams: 1\r\nX-TEAM: green\r\nX-Debug: 1\r\nAuthorization: a\r\nCookie: a=b\r\n"
        let lines = try self.forwarded("GET /wiki", sent + "Accept: */*\r\nX-Debut: 2\r\n", on: gateway)
        #expect(
            lines[2...6] == [
                "X-Teams: 1", "X-Debut: 2", "X-Team: blue", "Accept: text/html", "X-Forwarded-For: 192.0.2.1",
            ]
        )
        #expect(lines.last == "X-Forwarded-User: staff:ada")
        #expect(!lines.contains { $0.hasPrefix("Cookie") || $0.hasPrefix("Authorization") })
    }

    @Test func `edits do not bring back what belongs to the connection or to the gateway`() throws {
        let gateway = try self.gateway {
            $0.traffic.requestHeaders = HeaderEdits(set: [HeaderValue(name: "X-A", value: "1")])
        }
        let sent = "Connection: X-Drop, x-a\r\nX-Drop: 1\r\nKeep-Alive: 1\r\nX-Real-IP: 1.2.3.4\r\nX-User: evil\r\n"
        let lines = try self.forwarded("GET /wiki", sent, on: gateway)
        #expect(Array(lines[1...3]) == ["Host: gate.example.com", "X-A: 1", "X-Forwarded-For: 192.0.2.1"])
    }
}

// MARK: On the way back

extension RouteTrafficTests {
    @Test func `the lines of responses are set and removed as well`() throws {
        let gateway = try self.gateway { app in
            let set = [HeaderValue(name: "X-Frame-Options", value: "DENY")]
            app.traffic.responseHeaders = HeaderEdits(set: set, remove: ["Server", "Set-Cookie"])
        }
        let sent =
            "server: x\r\nSet-Cookie: a=b\r\nx-frame-options: ALLOWALL\r\nX-A: 1\r\nX-Frame-Options: SAMEORIGIN\r\n"
        let lines = try self.respond(sent + "Content-Length: 3\r\n", on: gateway)
        #expect(lines == ["HTTP/1.1 200 OK", "X-A: 1", "X-Frame-Options: DENY", "Content-Length: 3"])
    }

    @Test(arguments: [
        (
            "Link: </a>; rel=preload\r\nX-A: 1\r\nSet-Cookie: a=b\r\nLink: </b>\r\n",
            ["Link: </a>; rel=preload", "Link: </b>"]
        ),
        ("X-A: 1\r\n", nil), ("Connection: link\r\nLink: </a>\r\n", nil),
    ])
    func `of early hints the links are passed on and nothing else`(sent: String, passed: [String]?) throws {
        var buffer = ByteBuffer(string: "HTTP/1.1 103 x\r\n\(sent)\r\n")
        let head = try #require(try ResponseParser(names: .response).head(from: &buffer, for: .get))
        let hints = ForwardedHead.earlyHints(head, edits: nil, into: ByteBuffer())
        let lines = hints.map { String(buffer: $0).split(separator: "\r\n").map(String.init) }
        #expect(lines == passed.map { ["HTTP/1.1 103 Early Hints"] + $0 })
        #expect(hints.map { String(buffer: $0).hasSuffix("\r\n\r\n") } ?? true)
        let edits = LineEdits(HeaderEdits(remove: ["Link"]))
        #expect(ForwardedHead.earlyHints(head, edits: edits, into: ByteBuffer()) == nil)
    }
}

// MARK: Instead of the app

extension RouteTrafficTests {
    private static let permanent = "https://new.example.com"

    @Test(arguments: [
        (Self.permanent, "/wiki/healthz?a=b", false, "https://new.example.com/wiki/healthz?a=b"),
        (Self.permanent, "/wiki/healthz?a=b", true, "https://new.example.com/healthz?a=b"),
        ("https://new.example.com/docs/", "/wiki/assets/", true, "https://new.example.com/docs/assets/"),
        (
            "https://new.example.com:8443/docs", "/wiki/assets/%2e%2e/assets//evil", false,
            "https://new.example.com:8443/docs/wiki/assets/evil"
        ),
    ])
    func `a redirect puts the canonical path and the query behind the address`(
        to: String,
        target: String,
        strips: Bool,
        location: String
    ) throws {
        let action = try self.redirect(to)
        let gateway = try self.gateway { app in
            app.action = action
            app.traffic.stripsPrefix = strips
        }
        let text = try gateway.received("GET \(target) HTTP/1.1\r\nHost: gate.example.com\r\n\r\n")
        #expect(text.hasPrefix("HTTP/1.1 308 Permanent Redirect\r\n") && text.contains("\r\nlocation: \(location)\r\n"))
        #expect(text.contains("\r\ncache-control: max-age=3600\r\n") && text.contains("\r\nContent-Length: 0\r\n"))
    }

    @Test func `a redirect that keeps no path has one address, and only those for good are kept`() throws {
        let action = try self.redirect("https://new.example.com/a?b=c", status: 302, keepsPath: false)
        let gateway = try self.gateway { $0.action = action }
        let text = try gateway.received("GET /wiki/healthz?x HTTP/1.1\r\nHost: gate.example.com\r\n\r\n")
        #expect(text.hasPrefix("HTTP/1.1 302 ") && text.contains("\r\nlocation: https://new.example.com/a?b=c\r\n"))
        #expect(text.contains("\r\ncache-control: no-store\r\n"))
    }

    @Test(arguments: ["GET", "HEAD"])
    func `a direct response has its type and the edits, and for HEAD its length only`(
        method: String
    ) throws {
        var settings = FixedResponse()
        settings.status = 404
        settings.body = "Gone fishing."
        let action = AppAction.respond(settings)
        let gateway = try self.gateway { app in
            app.action = action
            app.route.publicRules = [.init(method: nil, path: "/wiki/")]
            app.traffic.responseHeaders = HeaderEdits(set: [HeaderValue(name: "Cache-Control", value: "max-age=60")])
        }
        let text = try gateway.received("\(method) /wiki/x HTTP/1.1\r\nHost: gate.example.com\r\n\r\n")
        #expect(text.hasPrefix("HTTP/1.1 404 Not Found\r\n") && text.contains("\r\ncache-control: max-age=60\r\n"))
        #expect(text.contains("\r\ncontent-type: text/plain; charset=utf-8\r\n"))
        #expect(text.contains("\r\nContent-Length: 13\r\n"))
        #expect(text.hasSuffix(method == "GET" ? "\r\n\r\nGone fishing." : "\r\n\r\n") && gateway.loop.inFlight == 0)
    }

    @Test func `a 204 response has no body and no type`() throws {
        var settings = FixedResponse()
        settings.status = 204
        let action = AppAction.respond(settings)
        let gateway = try self.gateway { $0.action = action }
        let text = try gateway.received("GET /wiki/healthz HTTP/1.1\r\nHost: gate.example.com\r\n\r\n")
        #expect(text.hasPrefix("HTTP/1.1 204 No Content\r\n") && !text.lowercased().contains("content-"))
    }

    @Test func `redirects and direct responses are for admitted requests only`() throws {
        let action = try self.redirect(Self.permanent)
        let gateway = try self.gateway { $0.action = action }
        let text = try gateway.received("GET /wiki/x HTTP/1.1\r\nHost: gate.example.com\r\n\r\n")
        #expect(text.hasPrefix("HTTP/1.1 401 ") && !text.contains("location"))
    }

    @Test func `maintenance applies to all requests of the app, also on public paths, and not to endpoints`()
        async throws
    {
        let gateway = try self.gateway { $0.traffic.isInMaintenance = true }
        let ticket = try await gateway.cachedSession(of: .staff())
        for start in ["GET /wiki", "GET /wiki/healthz", "POST /wiki/assets/a"] {
            #expect(gateway.verdict(try gateway.head(start)) == "refused route.maintenance")
            #expect(
                gateway.verdict(try gateway.head(start, GatewayFixture.gate, cookie(ticket)))
                    == "refused route.maintenance"
            )
        }
        #expect(gateway.verdict(try gateway.head("GET /oauth2/sign_in")) == "endpoint")
        #expect(gateway.verdict(try gateway.head("GET /")) == "sign in for front")
        let text = try gateway.received("GET /wiki HTTP/1.1\r\nHost: gate.example.com\r\n\r\n")
        #expect(text.hasPrefix("HTTP/1.1 503 ") && text.contains("\r\nretry-after: 120\r\n"))
    }

    @Test(arguments: [("10", ""), ("9223372036854775807", "Expect: 100-continue\r\n")])
    func `a body that is declared too long is rejected before the app gets the request`(
        length: String,
        more: String
    ) throws {
        let gateway = try self.gateway { $0.traffic.maxBody = 9 }
        let head = "POST /wiki/assets/a HTTP/1.1\r\nHost: gate.example.com\r\nContent-Length: \(length)\r\n\(more)\r\n"
        let text = try gateway.received(head)
        #expect(text.hasPrefix("HTTP/1.1 413 Content Too Large\r\n") && text.contains("route.body_too_large"))
        #expect(text.contains("\r\nConnection: close\r\n") && gateway.loop.inFlight == 0)
    }
}
