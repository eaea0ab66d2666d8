// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateEndpoints
import GateFixtures
import GateHeaders
import GateRuntime
import GateSessions
import GateTestSupport
import GateWire
import Testing

/// what an endpoint reads of a request.
@Suite struct EndpointRequestTests {
    private let gateway: GatewayFixture

    init() throws {
        self.gateway = try GatewayFixture(trusting: ["192.0.2.0/24"])
    }

    private func request(
        _ start: String = "POST /oauth2/token",
        _ lines: String = "",
        host: String = GatewayFixture.gate,
        body: String = ""
    ) throws -> EndpointRequest {
        EndpointRequest(
            try self.gateway.head(start, host, start.hasPrefix("POST") ? "\(lines)Content-Length: 0\r\n" : lines),
            body: Array(body.utf8),
            downstream: ForwardedHead.Downstream(
                peer: IPAddress("192.0.2.1"),
                peerText: "192.0.2.1",
                isSecure: true,
                isTrusted: true
            ),
            runtime: self.gateway.runtime,
            now: self.gateway.clock.now
        )
    }

    @Test(arguments: [
        ("", true), ("Sec-Fetch-Site: same-origin\r\n", true), ("Sec-Fetch-Site: none\r\n", true),
        ("Sec-Fetch-Site: same-site\r\n", false), ("Sec-Fetch-Site: cross-site\r\n", false),
        ("Sec-Fetch-Site: x\r\n", false), ("Origin: https://gate.example.com\r\n", true),
        ("Origin: https://gate.example.com:444\r\n", false), ("Origin: http://gate.example.com\r\n", false),
        ("Origin: null\r\n", false), ("Origin: https://shop.example.com\r\n", false),
        ("Sec-Fetch-Site: cross-site\r\nOrigin: https://gate.example.com\r\n", true),
        ("Sec-Fetch-Site: same-origin\r\nOrigin: https://evil.example\r\n", true),
    ])
    func `a form is ours where the browser reports our origin, or nothing`(lines: String, isOurs: Bool) throws {
        let request = try self.request("POST /oauth2/sign_out", lines)
        #expect(request.comesFromOurPages == isOurs)
        #expect(request.comesFromPage == !lines.isEmpty)
    }

    @Test(arguments: [
        ("", true), ("Sec-Fetch-Mode: navigate\r\n", true), ("Sec-Fetch-Mode: cors\r\n", false),
        ("Sec-Fetch-Mode: no-cors\r\n", false), ("Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n", true),
        ("Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n", false), ("Sec-Fetch-Dest: empty\r\n", false),
        ("Sec-Purpose: prefetch\r\n", false), ("Sec-Purpose: prefetch;prerender\r\n", false),
        ("Sec-Purpose: x\r\n", true),
    ])
    func `a navigation is what the browser reports as one, or nothing`(lines: String, isNavigation: Bool) throws {
        #expect(try self.request("GET /oauth2/start/staff", lines).isNavigation == isNavigation)
    }

    @Test(arguments: [
        ("gzip", true), ("", false), ("br, GZIP;q=0.5", true), ("gzip;q=0", false), ("gzip; q=0.0", false),
        ("gzip;q=x", false), ("xgzip", false), ("gzip;level=1", true), ("br", false),
    ])
    func `RFC 9110 §12.5.3: a client that gives gzip no weight does not read it`(value: String, accepts: Bool) {
        #expect(EndpointRequest.acceptsGzip(value) == accepts)
    }

    @Test(arguments: [
        ("application/x-www-form-urlencoded", true, false),
        ("application/x-www-form-urlencoded; charset=utf-8", true, false),
        ("APPLICATION/X-WWW-FORM-URLENCODED", true, false), ("text/plain", false, false), ("", false, false),
        ("application/json", false, true), ("application/json; charset=utf-8", false, true),
        ("application/jsonp", false, false),
    ])
    func `a body is read by its type alone`(type: String, isForm: Bool, isJSON: Bool) throws {
        let line = type.isEmpty ? "" : "Content-Type: \(type)\r\n"
        #expect(try self.request("POST /oauth2/token", line, body: "a=b").form?["a"] == (isForm ? "b" : nil))
        #expect(
            try self.request("POST /oauth2/token", line, body: "{\"a\":\"b\"}").json?["a"]?.string
                == (isJSON ? "b" : nil)
        )
    }

    @Test func `a body that is not of its type is nothing`() throws {
        let form = "Content-Type: application/x-www-form-urlencoded\r\n"
        #expect(try self.request("POST /oauth2/token", form, body: "a=%zz").form == nil)
        let json = "Content-Type: application/json\r\n"
        let (eight, nine) = (String(repeating: "[", count: 8), String(repeating: "[", count: 9))
        let closed = (String(repeating: "]", count: 8), String(repeating: "]", count: 9))
        #expect(try self.request("POST /oauth2/token", json, body: eight + closed.0).json != nil)
        #expect(try self.request("POST /oauth2/token", json, body: nine + closed.1).json == nil)
    }

    @Test func `of several proofs none counts`() throws {
        #expect(try self.request().proof == nil)
        #expect(try self.request("POST /oauth2/token", "DPoP: a\r\n").proof == "a")
        #expect(try self.request("POST /oauth2/token", "DPoP: a\r\nDPoP: a\r\n").proof?.isEmpty == true)
        #expect(try self.request("POST /oauth2/token", "Authorization: Basic x\r\n").authorization == "Basic x")
        #expect(try self.request().authorization == nil)
    }

    @Test func `the ticket counts on the host that it is for, and on no host that we do not serve`() async throws {
        let issued = try await self.gateway.session(of: .staff())
        let line = cookie(issued.ticket)
        #expect(try self.request("GET /oauth2/account", line).ticket == issued.ticket)
        #expect(try self.request("GET /oauth2/account", line, host: "shop.example.com").ticket == nil)
        let other = try self.request("GET /oauth2/account", line, host: "evil.example")
        #expect(other.ticket == nil && other.origin == self.gateway.runtime.hosts.publicOrigin)
    }

    @Test(
        arguments: [
            ("?rd=%2Fa%3Fb", "", "/a?b"), ("?rd=https%3A%2F%2Fevil.example", "", nil),
            ("?rd=%2F%2Fevil.example", "", nil),
            ("", "rd=%2Fform", "/form"), ("?rd=%2Fquery", "rd=%2Fform", "/query"), ("?rd=x", "rd=%2Fform", nil),
            ("", "", nil),
        ] as [(String, String, String?)]
    )
    func `the way back is a path of this site, that of the query first`(
        query: String,
        body: String,
        path: String?
    ) throws {
        let form = "Content-Type: application/x-www-form-urlencoded\r\n"
        let request = try self.request("POST /oauth2/sign_out\(query)", form, body: body)
        #expect(request.statedPath?.value == path && request.returnPath.value == path ?? "/")
    }

    @Test func `a request is led on to the start of a sign-in with its path alone`() throws {
        let request = try self.request("GET /wiki?email=a&prompt=none&login_hint=x")
        let path = try #require(ReturnPath("/wiki/a"))
        let next = request.redirected(toStartOf: "staff", returningTo: path, at: self.gateway.runtime)
        #expect(next.path == "/oauth2/start/staff" && next.query == Form() && next.returnPath == path)
        #expect(!next.wantsSilence && !next.wantsOtherAccount && request.wantsSilence)
    }

    @Test(arguments: [
        ("?prompt=none", true, false), ("?prompt=select_account", false, true), ("?prompt=login", false, false),
    ])
    func `a prompt is one of two`(query: String, isSilent: Bool, isOther: Bool) throws {
        let request = try self.request("GET /oauth2/start/staff\(query)")
        #expect(request.wantsSilence == isSilent && request.wantsOtherAccount == isOther)
    }

    @Test func `behind a trusted proxy the client is the one that it names; for rules none, if it names none`() throws {
        let named = try self.request("GET /", "X-Forwarded-For: 198.51.100.7\r\n")
        #expect(named.client == IPAddress("198.51.100.7") && named.ruledClient == IPAddress("198.51.100.7"))
        let client = try #require(IPAddress("198.51.100.7"))
        #expect(named.network == ClientNetwork(of: client).text)
        let silent = try self.request("GET /")
        #expect(silent.client == IPAddress("192.0.2.1") && silent.ruledClient == nil)
    }

    @Test func `what a provider sent through the browser is in the form that was posted, else in the query`() throws {
        let form = "Content-Type: application/x-www-form-urlencoded\r\n"
        let posted = try self.request("POST /oauth2/callback/staff?state=q", form, body: "state=f")
        #expect(posted.callbackParameters?["state"] == "f")
        #expect(try self.request("GET /oauth2/callback/staff?state=q").callbackParameters?["state"] == "q")
    }

    @Test func `a cookie that comes twice does not count`() throws {
        let cookie = GatewayCookie.lastProvider(at: self.gateway.runtime.hosts.publicOrigin)
        let once = try self.request("GET /", "Cookie: \(cookie.name)=a\r\n").value(of: cookie)
        #expect(once.map { Array($0) } == Array("a".utf8))
        let twice = try self.request("GET /", "Cookie: \(cookie.name)=a; \(cookie.name)=a\r\n")
        #expect(twice.value(of: cookie) == nil)
    }
}

/// the paths of endpoints.
@Suite struct EndpointPatternTests {
    @Test(
        arguments: [
            ("/oauth2/start/staff", "/oauth2/start"), ("/oauth2/none", "/oauth2"), ("/oauth2", "/oauth2"),
            ("/oauth2/sign_in", "/oauth2/sign_in"), ("/wiki", nil), ("/oauth22/start", nil), ("/", nil),
            ("oauth2/start", nil),
        ] as [(String, String?)]
    )
    func `a path is counted as its endpoint, without a name that a client made up`(path: String, pattern: String?) {
        #expect(EndpointPath.pattern(of: path, below: .standard) == pattern)
    }
}
