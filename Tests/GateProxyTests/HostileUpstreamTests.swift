// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProxy
import GateWire
import NIOCore
import Testing

@Suite struct HostileUpstreamTests {
    @Test func `S-59 a connection whose answer was complete before the request is not used again`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request(.post, isComplete: false)
        stage.connection.send(ByteBuffer(string: "half"))
        try stage.answer(answer("413 Content Too Large", "Content-Length: 0"))
        #expect(sink.events == ["ready", "head 413", "finished"])
        #expect(!stage.isOpen && !stage.isKept)
    }

    @Test(arguments: [("413 Content Too Large", false), ("400 Bad Request", false), ("201 Created", true)])
    func `S-59 after an error the app may not have read the body, so the connection is not used again`(
        status: String,
        isKept: Bool
    ) throws {
        let stage = try UpstreamFixture()
        let sink = stage.request(.post, isComplete: false)
        stage.connection.send(ByteBuffer(string: "body"))
        stage.connection.finishRequest()
        try stage.answer(answer(status, "Content-Length: 0"))
        #expect(sink.events.last == "finished" && stage.isKept == isKept)
    }

    @Test(arguments: [
        ("S-60 length and coding", "Content-Length: 1\r\nTransfer-Encoding: chunked"),
        ("S-60 two lengths", "Content-Length: 1\r\nContent-Length: 2"), ("S-60 fold without a line", " b\r\nX: a"),
        ("S-60 bare LF", "X: a\nY: b"), ("S-60 NUL", "X: a\u{0}b"), ("S-60 space before colon", "X : a"),
        ("S-61 unknown coding", "Transfer-Encoding: cow"), ("S-61 two codings", "Transfer-Encoding: chunked, gzip"),
        ("negative length", "Content-Length: -1"), ("long length", "Content-Length: 99999999999999999999"),
    ])
    func `S-60 S-61 an answer with two readings is refused and its connection closed`(id: String, lines: String) throws
    {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer(answer("200 OK", lines, "x"))
        #expect(sink.events == ["ready", "failed"], "\(id)")
        guard case .refused(let refusal) = sink.problem else {
            Issue.record("\(id) was not refused")
            return
        }
        #expect(refusal.status == 502)
        #expect(!stage.isOpen && !stage.isKept)
    }

    @Test(arguments: [
        "HTTP/2 200 OK\r\n\r\n", "ICY 200 OK\r\n\r\n", "HTTP/1.1 1000 X\r\n\r\n", "HTTP/1.1 200 a\u{1}b\r\n\r\n",
    ])
    func `S-63 a start line that is none is refused`(text: String) throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer(text)
        #expect(sink.events == ["ready", "failed"] && !stage.isOpen)
    }

    @Test func `S-62 interim answers are dropped`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        let interim = (0..<8).map { answer($0.isMultiple(of: 2) ? "100 Continue" : "103 Early Hints", "X: y") }.joined()
        try stage.answer(interim + answer("200 OK", "Content-Length: 0"))
        #expect(sink.events == ["ready", "head 200", "finished"] && stage.isKept)
    }

    @Test func `S-62 more than eight interim answers are refused`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer((0..<9).map { _ in answer("103 Early Hints", "") }.joined())
        #expect(sink.problem == .refused(WireRejection(.upstreamUnexpectedInterim)) && !stage.isOpen)
    }

    @Test func `S-62 an upgrade that nobody asked for is refused`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer(answer("101 Switching Protocols", "Upgrade: websocket\r\nConnection: upgrade"))
        #expect(sink.problem == .refused(WireRejection(.upstreamUnexpectedInterim)) && !stage.isOpen)
    }

    @Test func `S-64 a second answer closes the connection and reaches nobody`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer(answer("200 OK", "Content-Length: 1", "a") + answer("200 OK", "Content-Length: 4", "evil"))
        #expect(sink.events == ["ready", "head 200", "body a", "finished"])
        #expect(!stage.isOpen && !stage.isKept)
    }

    @Test func `S-64 one byte too many is enough, also behind a waiting request`() throws {
        let stage = try UpstreamFixture()
        let next = Recorder()
        stage.pool.lease(to: next)
        let sink = stage.request()
        try stage.answer(answer("200 OK", "Content-Length: 1", "ab"))
        #expect(sink.events.last == "finished" && next.events.isEmpty && !stage.isOpen)
    }

    @Test func `S-64 bytes on an idle connection close it`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer(answer("200 OK", "Content-Length: 0"))
        try stage.answer(answer("200 OK", "Content-Length: 4", "evil"))
        #expect(sink.events.last == "finished" && !stage.isOpen && !stage.isKept)
    }

    @Test func `S-64 a body after an answer to HEAD closes the connection`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request(.head)
        try stage.answer(answer("200 OK", "Content-Length: 4", "evil"))
        #expect(sink.events == ["ready", "head 200", "finished"] && !stage.isOpen)
    }

    @Test func `a broken chunk cuts the answer off`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer(answer("200 OK", "Transfer-Encoding: chunked", "2\r\nab\r\nzz\r\n"))
        #expect(sink.events == ["ready", "head 200", "body ab", "failed"] && !stage.isOpen)
    }

    @Test func `a head that has no end is refused`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer("HTTP/1.1 200 OK\r\n")
        for _ in 0..<300 where sink.problem == nil {
            try stage.answer("X: \(String(repeating: "y", count: 1000))\r\n")
        }
        #expect(sink.problem == .refused(WireRejection(.upstreamHeadTooLarge)) && !stage.isOpen)
    }
}
