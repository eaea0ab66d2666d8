// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateWire
import NIOCore
import Testing

@testable import GateHeaders

@Suite struct ForwardedHeadTests {
    /// The lines an app gets for a request.
    private func forwarded(
        _ lines: String,
        start: String = "GET /wiki",
        host: String = HeadFixture.gate,
        isTrusted: Bool = false,
        trusting proxies: [CIDRRange] = [],
        sendsForwarded: Bool = false,
        hidesAuthorization: Bool = false,
        identity: String? = nil
    ) throws -> [String] {
        let downstream = ForwardedHead.Downstream(
            peer: IPAddress("192.0.2.1"),
            peerText: "192.0.2.1",
            isSecure: true,
            isTrusted: isTrusted,
            trusting: proxies
        )
        let head = try HeadFixture.head(start, host, lines)
        let own = RequestID.own(0x0123_4567_89AB_CDEF, 16)
        let bytes = ForwardedHead.request(
            head,
            authority: HeadFixture.gate,
            downstream: downstream,
            sendsForwarded: sendsForwarded,
            identity: identity.map { ByteBuffer(string: $0) },
            requestID: ForwardedHead.requestID(of: head, downstream: downstream, fresh: own),
            hidesAuthorization: hidesAuthorization,
            into: ByteBuffer()
        )
        let text = String(buffer: bytes)
        #expect(text.hasSuffix("\r\n\r\n") && text.split(separator: "\r\n\r\n").count == 1)
        return text.split(separator: "\r\n").map(String.init)
    }

    @Test func `an app gets Authorization unless it is meant for the gateway`() throws {
        let lines = "Accept: */*\r\nauthorization: Bearer a\r\nX-Mine: 1\r\n"
        let found = { (hides: Bool) in
            try self.forwarded(lines, hidesAuthorization: hides).filter { $0.lowercased().hasPrefix("authorization") }
        }
        #expect(try found(false) == ["authorization: Bearer a"])
        #expect(try found(true) == [])
        #expect(try self.forwarded(lines, hidesAuthorization: true).contains("X-Mine: 1"))
    }

    @Test func `an app gets the client's lines, the way and the identity`() throws {
        let lines = try self.forwarded("Accept: */*\r\nX-Mine: 1\r\n", identity: "X-Forwarded-User: staff:ada\r\n")
        #expect(
            lines == [
                "GET /wiki HTTP/1.1", "Host: gate.example.com", "Accept: */*", "X-Mine: 1",
                "X-Forwarded-For: 192.0.2.1",
                "X-Forwarded-Proto: https", "X-Forwarded-Host: gate.example.com",
                "X-Request-Id: 0123456789abcdef0000000000000010",
                "X-Forwarded-User: staff:ada",
            ]
        )
    }

    @Test(arguments: [
        "X-Forwarded-User", "x-forwarded-user", "X-FORWARDED-EMAIL", "X-Forwarded-Anything", "X-Gatehouse-Assertion",
        "x-gatehouse-new", "X-WebAuth-User", "x-webauth-USER", "Who", "wHO", "Remote-User", "X-Real-IP",
        "X-Original-URL",
        "X-Rewrite-URL", "X-Auth-Request-Email", "X-Envoy-Original-Path", "Front-End-Https",
    ])
    func `a name that only the gateway may set is never copied, in any case of letters, on any route`(
        name: String
    ) throws {
        for start in ["GET /wiki", "GET /wiki/healthz", "GET /"] {
            let lines = try self.forwarded("\(name): evil\r\nX-Keep: 1\r\n", start: start)
            #expect(!lines.contains { $0.contains("evil") } && lines.contains("X-Keep: 1"))
        }
    }

    @Test(arguments: ["X_Forwarded_User", "X-Forwarded_Email", "X.Forwarded.User", "X_Gatehouse-Assertion"])
    func `A-08 spellings that an app might fold are refused with the whole request`(name: String) throws {
        #expect(throws: WireRejection.self) { try HeadFixture.head("GET /wiki", HeadFixture.gate, "\(name): evil\r\n") }
    }

    @Test(arguments: [
        "Authorization: a", "Cookie: a=b", "Content-Type: a", "Origin: https://a", "Sec-Fetch-Site: cross-site",
    ])
    func `a client cannot have a protected line removed by naming it in Connection`(line: String) throws {
        let name = line.prefix { $0 != ":" }
        let lines = try self.forwarded("\(line)\r\nX-Drop: 1\r\nConnection: \(name), x-drop, x-forwarded-for\r\n")
        #expect(lines.contains(line) && !lines.contains("X-Drop: 1"))
        #expect(lines.contains("X-Forwarded-For: 192.0.2.1"))
    }

    @Test(arguments: [
        "keep-alive: 5", "proxy-connection: a", "te: trailers", "proxy-authorization: a", "connection: close",
    ])
    func `lines that concern one connection end here`(line: String) throws {
        let lines = try self.forwarded("\(line)\r\nX-Keep: 1\r\n")
        #expect(!lines.contains { $0.lowercased() == line } && lines.contains("X-Keep: 1"))
    }

    @Test(arguments: [
        ("a=1; __Host-gatehouse=t; b=2", "Cookie: a=1; b=2"), ("__Host-gatehouse=t", nil),
        ("gatehouse-attempt-01234567=x; c=3", "Cookie: c=3"), ("=__Host-gatehouse=t; d=4", "Cookie: d=4"),
        ("gatehouses=1", "Cookie: gatehouses=1"), ("a=1;b=2", "Cookie: a=1; b=2"),
    ])
    func `our cookies never reach an app`(sent: String, kept: String?) throws {
        let lines = try self.forwarded("Cookie: \(sent)\r\n")
        #expect(lines.first { $0.hasPrefix("Cookie") } == kept)
    }

    @Test func `forwarded headers of a client are not trusted`() throws {
        let lines = try self.forwarded(
            "X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: evil\r\nForwarded: for=10.0.0.1\r\n"
                + "X-Request-Id: mine\r\n"
        )
        #expect(lines.contains("X-Forwarded-For: 192.0.2.1") && lines.contains("X-Forwarded-Proto: https"))
        #expect(
            lines.contains("X-Forwarded-Host: gate.example.com")
                && lines.contains("X-Request-Id: 0123456789abcdef0000000000000010")
        )
        #expect(!lines.contains { $0.contains("10.0.0.1") || $0.contains("evil") || $0.contains("mine") })
    }

    @Test func `an app that wants Forwarded gets it beside the others, and only then`() throws {
        let line = "Forwarded: for=192.0.2.1;host=\"gate.example.com\";proto=https"
        #expect(try self.forwarded("", sendsForwarded: true).contains(line))
        #expect(try !self.forwarded("").contains { $0.hasPrefix("Forwarded") })
        let sent = "Forwarded: for=198.51.100.7\r\n"
        #expect(try self.forwarded(sent, sendsForwarded: true).contains(line))
    }

    @Test(arguments: [
        ("for=198.51.100.7;proto=http", "198.51.100.7, 192.0.2.1", "http"),
        ("for=\"[2001:db8::1]:4711\";proto=http, for=198.51.100.7", "2001:db8::1, 198.51.100.7, 192.0.2.1", "https"),
        ("for=198.51.100.7:80", "198.51.100.7, 192.0.2.1", "https"), ("for=unknown", "192.0.2.1", "https"),
        ("for=_hidden;proto=gopher", "192.0.2.1", "https"), ("for=\"a\\\"b\"", "192.0.2.1", "https"),
        ("nonsense", "192.0.2.1", "https"),
    ])
    func `a trusted proxy may use Forwarded`(value: String, addresses: String, proto: String) throws {
        let lines = try self.forwarded("Forwarded: \(value)\r\n", isTrusted: true)
        #expect(lines.contains("X-Forwarded-For: \(addresses)"))
        #expect(lines.contains("X-Forwarded-Proto: \(proto)"))
    }

    @Test func `forwarded headers of a trusted proxy are passed on`() throws {
        let lines = try self.forwarded(
            "X-Forwarded-For: 198.51.100.7,  10.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Request-Id: a-b_c.d~e:1\r\n",
            isTrusted: true
        )
        #expect(lines.contains("X-Forwarded-For: 198.51.100.7, 10.0.0.1, 192.0.2.1"))
        #expect(lines.contains("X-Forwarded-Proto: http") && lines.contains("X-Request-Id: a-b_c.d~e:1"))
    }

    @Test(arguments: [
        "X-Forwarded-For: unknown", "X-Forwarded-For: 10.0.0.1, evil", "X-Forwarded-Proto: gopher",
        "X-Request-Id: a b", "X-Request-Id: a\"b", "X-Request-Id: \(String(repeating: "a", count: 129))",
        "X-Request-Id:", "X-Forwarded-For: 10.0.0.1, 10.0.0.2:x", "X-Forwarded-For: [10.0.0.1]:80",
    ])
    func `a trusted proxy's word that makes no sense is replaced`(line: String) throws {
        let lines = try self.forwarded("\(line)\r\n", isTrusted: true)
        #expect(lines.contains("X-Forwarded-For: 192.0.2.1") && lines.contains("X-Forwarded-Proto: https"))
        #expect(lines.contains("X-Request-Id: 0123456789abcdef0000000000000010"))
    }

    @Test(arguments: [
        ("x, 203.0.113.9", "203.0.113.9"), ("unknown, 203.0.113.9", "203.0.113.9"), ("203.0.113.9:80", "203.0.113.9"),
        ("[2001:db8::1]:80, 203.0.113.9", "2001:db8::1, 203.0.113.9"), ("[2001:db8::1]", "2001:db8::1"),
        ("a, b, 203.0.113.9, 10.0.0.1", "203.0.113.9, 10.0.0.1"), (",203.0.113.9", "203.0.113.9"),
        (
            Array(repeating: "10.0.0.1", count: 40).joined(separator: ","),
            Array(repeating: "10.0.0.1", count: 32).joined(separator: ", ")
        ),
    ])
    func `X-06 a client cannot hide its IP from a proxy that appends`(sent: String, seen: String) throws {
        let lines = try self.forwarded("X-Forwarded-For: \(sent)\r\n", isTrusted: true)
        #expect(lines.contains("X-Forwarded-For: \(seen), 192.0.2.1"))
    }

    @Test(arguments: [
        ("for=\"a;b\", for=203.0.113.9", "203.0.113.9"), ("garbage, for=203.0.113.9", "203.0.113.9"),
        ("for=\"x, for=203.0.113.9", "203.0.113.9"), ("for=192.0.2.7, for=203.0.113.9", "192.0.2.7, 203.0.113.9"),
        ("for=6.6.6.6, proto=https, for=203.0.113.9", "203.0.113.9"),
        ("for=6.6.6.6;for=7.7.7.7, for=203.0.113.9", "203.0.113.9"),
    ])
    func `X-06 nor with Forwarded`(sent: String, seen: String) throws {
        let lines = try self.forwarded("Forwarded: \(sent)\r\n", isTrusted: true)
        #expect(lines.contains("X-Forwarded-For: \(seen), 192.0.2.1"))
    }

    @Test(arguments: [
        ("proto=http, for=203.0.113.9", "https"), ("proto=http, for=203.0.113.9;proto=http", "http"),
        ("for=6.6.6.6, proto=http", "http"),
    ])
    func `X-06 what the proxy itself leaves out of Forwarded is not taken from the client`(
        sent: String,
        scheme: String
    ) throws {
        let lines = try self.forwarded("Forwarded: \(sent)\r\n", isTrusted: true)
        #expect(lines.contains("X-Forwarded-Proto: \(scheme)"))
        if !sent.contains("203") { #expect(lines.contains("X-Forwarded-For: 192.0.2.1")) }
    }

    @Test(arguments: [
        ("10.1.2.3", "for=203.0.113.9"), ("203.0.113.9, 10.1.2.3", "for=203.0.113.9"), ("10.1.2.3", "for=unknown"),
        ("10.1.2.3", "nonsense"), ("10.1.2.3", "for=10.1.2.3, for=203.0.113.9"), ("unknown", "for=203.0.113.9"),
        ("10.1.2.3, 198.51.100.1", "for=203.0.113.9, for=198.51.100.1"),
    ])
    func `D-03 of two fields that lead to different clients neither is trusted`(list: String, elements: String) throws {
        let proxies = ["192.0.2.0/24", "198.51.100.0/24"].compactMap { CIDRRange($0) }
        let sent = "X-Forwarded-For: \(list)\r\nForwarded: \(elements)\r\n"
        let lines = try self.forwarded(sent, isTrusted: true, trusting: proxies)
        #expect(lines.contains("X-Forwarded-For: unknown, 192.0.2.1"))
        let head = try HeadFixture.head("GET /wiki", HeadFixture.gate, sent)
        #expect(ForwardedHead.namedClient(of: head, trusting: proxies) == nil)
        let peer = IPAddress("192.0.2.1")
        let proxy = ForwardedHead.Downstream(peer: peer, peerText: "192.0.2.1", isSecure: true, isTrusted: true)
        #expect(ForwardedHead.ruledClient(of: head, downstream: proxy, trusting: proxies) == nil)
    }

    @Test(arguments: [
        ("203.0.113.9", "for=203.0.113.9"), ("10.1.2.3, 203.0.113.9", "for=203.0.113.9"),
        ("203.0.113.9, 198.51.100.1", "for=203.0.113.9"), ("203.0.113.9", "for=203.0.113.9, for=198.51.100.1"),
    ])
    func `D-03 two fields that lead to one client are trusted`(list: String, elements: String) throws {
        let proxies = ["192.0.2.0/24", "198.51.100.0/24"].compactMap { CIDRRange($0) }
        let sent = "X-Forwarded-For: \(list)\r\nForwarded: \(elements)\r\n"
        let lines = try self.forwarded(sent, isTrusted: true, trusting: proxies)
        #expect(lines.contains("X-Forwarded-For: \(list), 192.0.2.1"))
        let head = try HeadFixture.head("GET /wiki", HeadFixture.gate, sent)
        #expect(ForwardedHead.namedClient(of: head, trusting: proxies) == IPAddress("203.0.113.9"))
    }

    @Test(arguments: ["proto=https;host=app.example", "by=10.0.0.1", "proto=http, host=a;proto=https"])
    func `D-03 a field that names no client contradicts nothing`(elements: String) throws {
        let sent = "X-Forwarded-For: 203.0.113.9\r\nForwarded: \(elements)\r\n"
        let head = try HeadFixture.head("GET /wiki", HeadFixture.gate, sent)
        #expect(ForwardedHead.namedClient(of: head, trusting: []) == IPAddress("203.0.113.9"))
    }

    @Test func `D-03 a scheme that only one of two fields has is not trusted`() throws {
        for (name, element) in [("http", "proto=https"), ("https", "proto=http")] {
            let sent = "X-Forwarded-Proto: \(name)\r\nForwarded: for=203.0.113.9;\(element)\r\n"
            #expect(try self.forwarded(sent, isTrusted: true).contains("X-Forwarded-Proto: https"))
        }
        let same = "X-Forwarded-Proto: http\r\nForwarded: for=203.0.113.9;proto=http\r\n"
        #expect(try self.forwarded(same, isTrusted: true).contains("X-Forwarded-Proto: http"))
    }

    @Test(arguments: [
        ("Content-Length: 5", "Content-Length: 5"), ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
    ])
    func `one framing line goes up and it is ours`(sent: String, line: String) throws {
        let lines = try self.forwarded("\(sent)\r\nTrailer: x\r\nExpect: 100-continue\r\n", start: "POST /wiki")
        #expect(lines.filter { $0.hasPrefix("Content-Length") || $0.hasPrefix("Transfer-Encoding") } == [line])
        #expect(!lines.contains { $0.hasPrefix("Expect") || $0.hasPrefix("Trailer") })
    }

    @Test func `the path that was matched is the path that is forwarded`() throws {
        let lines = try self.forwarded("", start: "GET /%77iki/./a?q=%2F..&r")
        #expect(lines.first == "GET /wiki/a?q=%2F..&r HTTP/1.1")
    }
}

@Suite struct ResponseHeadTests {
    /// The lines a browser gets for an app's response.
    private func received(
        _ status: String,
        _ lines: String,
        to method: String = "GET",
        framing: BodyFraming? = nil,
        closes: Bool = false,
        capacity: Int = 0
    ) throws -> [String] {
        let request = try HeadFixture.head("\(method) /wiki")
        var buffer = ByteBuffer(string: "HTTP/1.1 \(status)\r\n\(lines)\r\n")
        let parser = ResponseParser(names: .response)
        let head = try #require(try parser.head(from: &buffer, for: request.method))
        let bytes = ForwardedHead.response(
            head,
            to: request,
            requestID: .own(1, 2),
            framing: framing ?? head.framing,
            closes: closes,
            date: DateLine(clock: .fixed(Instant(seconds: 784_111_777))),
            into: ByteBufferAllocator().buffer(capacity: capacity)
        )
        let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT"
        let sent = String(buffer: bytes).split(separator: "\r\n").map(String.init)
        #expect(sent.count { $0 == date } == 1)
        #expect(sent.count { $0.lowercased().hasPrefix("x-request-id: ") } == 1)
        return sent.filter { $0 != date && $0 != self.ownID }
    }

    private let ownID = "X-Request-Id: 00000000000000010000000000000002"

    @Test func `Z-08 a response names its request, by the app's name for it if it has one`() throws {
        let lines = try self.received("200 OK", "X-Request-ID: of-the-app\r\nContent-Length: 0\r\n")
        #expect(lines.contains("X-Request-ID: of-the-app"))
        let hopByHop = try self.received(
            "200 OK",
            "X-Request-ID: a\r\nConnection: X-Request-Id\r\nContent-Length: 0\r\n"
        )
        #expect(!hopByHop.contains("X-Request-ID: a"))
    }

    @Test func `N-07 status, reason and lines come back`() throws {
        let lines = try self.received("200 Fine by me", "Content-Type: text/plain\r\nContent-Length: 2\r\nX-A: 1\r\n")
        #expect(lines == ["HTTP/1.1 200 Fine by me", "Content-Type: text/plain", "X-A: 1", "Content-Length: 2"])
    }

    @Test(arguments: [("HEAD", "200 OK"), ("GET", "304 Not Modified")])
    func `the length of a body that is not sent is passed on`(method: String, status: String) throws {
        let lines = try self.received(status, "Content-Length: 1234\r\n", to: method)
        #expect(lines.filter { $0.hasPrefix("Content-Length") } == ["Content-Length: 1234"])
    }

    @Test(arguments: ["GET", "HEAD"], ["", "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "X-Request-ID: a\r\n"])
    func `a head that did not fit at first is the same`(method: String, line: String) throws {
        let long = "X-A: \(String(repeating: "a", count: 3000))\r\n"
        let lines = "\(line)Content-Length: 5\r\nContent-Type: text/html\r\n\(long)"
        let atOnce = try self.received("200 OK", lines, to: method, framing: .length(5), capacity: 8192)
        #expect(atOnce.count == (line.hasPrefix("X") ? 5 : 4) + (method == "HEAD" ? 1 : 0))
        #expect(try self.received("200 OK", lines, to: method, framing: .length(5)) == atOnce)
    }

    @Test(arguments: [("200 OK", ["Content-Length: 0"]), ("204 No Content", [])])
    func `a response without a body has the framing headers it needs`(status: String, expected: [String]) throws {
        let lines = try self.received(status, "Content-Length: 0\r\n")
        #expect(lines.filter { $0.hasPrefix("Content-Length") } == expected)
    }

    @Test func `the framing is ours`() throws {
        let lines = try self.received(
            "200 OK",
            "Transfer-Encoding: chunked\r\nTrailer: x\r\nKeep-Alive: 5\r\nConnection: close, x-drop\r\nX-Drop: 1\r\n",
            closes: true
        )
        #expect(lines == ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Connection: close"])
        let old = try self.received("200 OK", "Transfer-Encoding: chunked\r\n", framing: .untilClose, closes: true)
        #expect(old == ["HTTP/1.1 200 OK", "Connection: close"])
    }

    @Test(arguments: [
        ("__Host-gatehouse=evil; Path=/", false), ("gatehouse=evil", false), ("=gatehouse=evil", false),
        ("gatehouse-attempt-01234567=evil", false), ("__Host-gatehouse-handover-01234567=evil", false),
        (" gatehouse =evil", false), ("theirs=1; Path=/", true), ("gatehouses=1", true),
    ])
    func `S-65 an app cannot set our cookies`(value: String, isKept: Bool) throws {
        let lines = try self.received("200 OK", "Set-Cookie: a=b\r\nset-cookie: \(value)\r\nContent-Length: 0\r\n")
        #expect(lines.contains("Set-Cookie: a=b"))
        #expect(lines.contains { $0.hasPrefix("set-cookie") } == isKept)
    }

    @Test func `S-65 an app cannot speak in the gateway's name`() throws {
        let lines = try self.received(
            "200 OK",
            "X-Gatehouse-Assertion: evil\r\nx-gatehouse-a: evil\r\nContent-Length: 0\r\n"
        )
        #expect(lines == ["HTTP/1.1 200 OK", "Content-Length: 0"])
    }
}
