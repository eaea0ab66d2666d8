// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProxy
import GateWire
import NIOCore
import Testing

@Suite struct HostileUpstreamTests {
    @Test func `S-59 a connection whose response was complete before the request is not reused`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request(.post, isComplete: false)
        fixture.connection.send(ByteBuffer(string: "half"))
        try fixture.receive(response("413 Content Too Large", "Content-Length: 0"))
        #expect(sink.events == ["ready", "head 413", "finished"])
        #expect(!fixture.isOpen && !fixture.isKept)
    }

    @Test(arguments: [("413 Content Too Large", false), ("400 Bad Request", false), ("201 Created", true)])
    func `S-59 after an error the app may not have read the body, so the connection is not reused`(
        status: String,
        isKept: Bool
    ) throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request(.post, isComplete: false)
        fixture.connection.send(ByteBuffer(string: "body"))
        fixture.connection.finishRequest()
        try fixture.receive(response(status, "Content-Length: 0"))
        #expect(sink.events.last == "finished" && fixture.isKept == isKept)
    }

    @Test(arguments: [
        ("S-60 length and coding", "Content-Length: 1\r\nTransfer-Encoding: chunked"),
        ("S-60 two lengths", "Content-Length: 1\r\nContent-Length: 2"), ("S-60 fold without a line", " b\r\nX: a"),
        ("S-60 bare LF", "X: a\nY: b"), ("S-60 NUL", "X: a\u{0}b"), ("S-60 space before colon", "X : a"),
        ("S-61 unknown coding", "Transfer-Encoding: cow"), ("S-61 two codings", "Transfer-Encoding: chunked, gzip"),
        ("negative length", "Content-Length: -1"), ("long length", "Content-Length: 99999999999999999999"),
    ])
    func `S-60 S-61 an ambiguous response is rejected and its connection closed`(id: String, lines: String) throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive(response("200 OK", lines, "x"))
        #expect(sink.events == ["ready", "failed"], "\(id)")
        guard case .rejected(let rejection) = sink.failure else {
            Issue.record("\(id) was not refused")
            return
        }
        #expect(rejection.status == 502)
        #expect(!fixture.isOpen && !fixture.isKept)
    }

    @Test(arguments: [
        "HTTP/2 200 OK\r\n\r\n", "ICY 200 OK\r\n\r\n", "HTTP/1.1 1000 X\r\n\r\n", "HTTP/1.1 200 a\u{1}b\r\n\r\n",
    ])
    func `S-63 a malformed start line is rejected`(text: String) throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive(text)
        #expect(sink.events == ["ready", "failed"] && !fixture.isOpen)
    }

    @Test func `S-62 interim responses are dropped`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        let interim = (0..<8).map { response($0.isMultiple(of: 2) ? "100 Continue" : "103 Early Hints", "X: y") }
            .joined()
        try fixture.receive(interim + response("200 OK", "Content-Length: 0"))
        #expect(sink.events == ["ready", "head 200", "finished"] && fixture.isKept)
    }

    @Test func `S-62 more than eight interim responses are rejected`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive((0..<9).map { _ in response("103 Early Hints", "") }.joined())
        #expect(sink.failure == .rejected(WireRejection(.upstreamUnexpectedInterim)) && !fixture.isOpen)
    }

    @Test func `S-62 an unrequested upgrade is rejected`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive(response("101 Switching Protocols", "Upgrade: websocket\r\nConnection: upgrade"))
        #expect(sink.failure == .rejected(WireRejection(.upstreamUnexpectedInterim)) && !fixture.isOpen)
    }

    @Test func `S-64 a second response closes the connection and reaches no client`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive(
            response("200 OK", "Content-Length: 1", "a") + response("200 OK", "Content-Length: 4", "evil")
        )
        #expect(sink.events == ["ready", "head 200", "body a", "finished"])
        #expect(!fixture.isOpen && !fixture.isKept)
    }

    @Test func `S-64 one surplus byte is enough, also while a request waits`() throws {
        let fixture = try UpstreamFixture()
        let next = Recorder()
        fixture.pool.lease(to: next)
        let sink = fixture.request()
        try fixture.receive(response("200 OK", "Content-Length: 1", "ab"))
        #expect(sink.events.last == "finished" && next.events.isEmpty && !fixture.isOpen)
    }

    @Test func `S-64 bytes on an idle connection close it`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive(response("200 OK", "Content-Length: 0"))
        try fixture.receive(response("200 OK", "Content-Length: 4", "evil"))
        #expect(sink.events.last == "finished" && !fixture.isOpen && !fixture.isKept)
    }

    @Test func `S-64 a body after a response to HEAD closes the connection`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request(.head)
        try fixture.receive(response("200 OK", "Content-Length: 4", "evil"))
        #expect(sink.events == ["ready", "head 200", "finished"] && !fixture.isOpen)
    }

    @Test func `a malformed chunk truncates the response`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive(response("200 OK", "Transfer-Encoding: chunked", "2\r\nab\r\nzz\r\n"))
        #expect(sink.events == ["ready", "head 200", "body ab", "failed"] && !fixture.isOpen)
    }

    @Test func `an endless head is rejected`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive("HTTP/1.1 200 OK\r\n")
        for _ in 0..<300 where sink.failure == nil {
            try fixture.receive("X: \(String(repeating: "y", count: 1000))\r\n")
        }
        #expect(sink.failure == .rejected(WireRejection(.upstreamHeadTooLarge)) && !fixture.isOpen)
    }
}
