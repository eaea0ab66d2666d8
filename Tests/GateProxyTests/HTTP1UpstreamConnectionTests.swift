// SPDX-License-Identifier: Apache-2.0

import GateProxy
import GateWire
import NIOCore
import NIOEmbedded
import Testing

@Suite struct HTTP1UpstreamConnectionTests {
    @Test func `a request is sent and its response received`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        #expect(try fixture.sent() == "HEAD|")
        try fixture.receive(response("200 OK", "Content-Length: 5", "hello"))
        #expect(sink.events == ["ready", "head 200", "body hello", "finished"])
        #expect(fixture.isOpen && fixture.connection.isReused && fixture.isKept)
    }

    @Test(arguments: [
        response("200 OK", "Content-Length: 5", "hello"),
        response("200 OK", "Transfer-Encoding: chunked", "3\r\nhel\r\n2\r\nlo\r\n0\r\nX: y\r\n\r\n"),
        response("103 Early Hints", "Link: </a>") + response("200 OK", "Content-Length: 5", "hello"),
        response("204 No Content", ""), response("404 Not Found", "Content-Length: 0"),
    ])
    func `where a response is split makes no difference`(text: String) throws {
        let whole = try UpstreamFixture()
        let expected = whole.request()
        try whole.receive(text)
        #expect(expected.events.last == "finished" && whole.isKept)
        let bytes = Array(text.utf8)
        for split in 1..<bytes.count {
            let fixture = try UpstreamFixture()
            let sink = fixture.request()
            try fixture.receive(String(decoding: bytes[..<split], as: UTF8.self))
            try fixture.receive(String(decoding: bytes[split...], as: UTF8.self))
            #expect(sink.events == expected.events, "split at \(split)")
            #expect(fixture.isKept, "split at \(split)")
        }
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        for byte in bytes {
            try fixture.receive(String(decoding: [byte], as: UTF8.self))
        }
        #expect(sink.events == expected.events && sink.pauses == bytes.count)
    }

    @Test(arguments: [(RequestMethod.head, "200 OK"), (.get, "204 No Content"), (.get, "304 Not Modified")])
    func `a response that cannot have a body is complete with its head`(method: RequestMethod, status: String) throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request(method)
        try fixture.receive(response(status, "Content-Length: 5"))
        #expect(sink.events == ["ready", "head \(status.prefix(3))", "finished"])
        #expect(fixture.isKept)
    }

    @Test func `of interim responses only early hints are reported`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive(
            response("100 Continue", "") + response("103 Early Hints", "Link: </a>") + response("102 x", "")
        )
        try fixture.receive(response("103 Early Hints", "") + response("204 No Content", ""))
        #expect(sink.hints == [103, 103] && sink.events == ["ready", "head 204", "finished"])
    }

    @Test func `a body without framing lasts until the close`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive(response("200 OK", "Connection: keep-alive", "ab"))
        try fixture.receive("cd")
        #expect(sink.events == ["ready", "head 200", "body abcd"])
        fixture.hangUp()
        #expect(sink.events.last == "finished" && !fixture.isKept)
    }

    @Test func `a body until the close that ends with an error is truncated`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive(response("200 OK", "Connection: close", "ab"))
        fixture.channel.pipeline.fireErrorCaught(IOError(errnoCode: 104, reason: "reset"))
        fixture.channel.embeddedEventLoop.run()
        #expect(sink.failure == .closedInResponse && !sink.events.contains("finished"))
    }

    @Test(arguments: [
        "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", response("200 OK", "Content-Length: 0\r\nConnection: close"),
    ])
    func `a connection that the upstream closes is not kept`(text: String) throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive(text)
        #expect(sink.events.last == "finished" && !fixture.isOpen && !fixture.isKept)
    }

    @Test func `a close before the first byte of the response is distinguished from a close in the response`() throws {
        for (text, failure) in [
            ("", UpstreamFailure.closedBeforeResponse), ("HT", .closedInResponse),
            (response("200 OK", "Content-Length: 5", "hel"), .closedInResponse),
            (response("200 OK", "Transfer-Encoding: chunked", "3\r\nhel\r\n"), .closedInResponse),
            (response("200 OK", "Transfer-Encoding: chunked", "0\r\n"), .closedInResponse),
        ] {
            let fixture = try UpstreamFixture()
            let sink = fixture.request()
            if !text.isEmpty { try fixture.receive(text) }
            fixture.hangUp()
            #expect(sink.failure == failure, "\(text)")
            #expect(sink.events.count { $0 == "failed" || $0 == "finished" } == 1)
        }
    }

    @Test func `a cancelled request gets no more events and its connection is not reused`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive(response("200 OK", "Content-Length: 5", "he"))
        fixture.connection.cancel()
        try fixture.receive("llo")
        #expect(sink.events == ["ready", "head 200", "body he"] && !fixture.isOpen && !fixture.isKept)
    }

    @Test func `the request's body is sent unchanged and the writability reported`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request(.post, isComplete: false)
        fixture.connection.send(ByteBuffer(string: "ab"))
        #expect(try fixture.sent() == "HEAD|")
        fixture.connection.flush()
        #expect(try fixture.sent() == "ab")
        fixture.channel.isWritable = false
        fixture.channel.pipeline.fireChannelWritabilityChanged()
        #expect(sink.events.last == "writable false")
    }

    @Test func `back-pressure stops reading, which resumes with one read`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        sink.whenSent = { $0.pauseReading() }
        try fixture.receive(response("200 OK", "Content-Length: 4", "ab"))
        fixture.channel.pipeline.read()
        fixture.channel.pipeline.read()
        #expect(fixture.tap.reads == 0)
        fixture.connection.resumeReading()
        fixture.connection.resumeReading()
        #expect(fixture.tap.reads == 1)
        try fixture.receive("cd")
        #expect(sink.events.last == "finished" && fixture.isKept)
    }
}

@Suite struct UpstreamDeadlineTests {
    @Test func `a response must begin within thirty seconds`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive("HTTP/1.1 200 OK\r\n")
        fixture.pass(29)
        #expect(sink.failure == nil)
        fixture.pass(31)
        #expect(sink.failure == .timedOut && !fixture.isOpen && !fixture.isKept)
    }

    @Test func `interim responses do not extend the deadline`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        let deadline = fixture.connection.deadline
        try fixture.receive(response("103 Early Hints", ""))
        #expect(fixture.connection.deadline == deadline && sink.events == ["ready"])
    }

    @Test func `after a body the response time-out restarts`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request(.post, isComplete: false)
        fixture.connection.send(ByteBuffer(string: "ab"))
        fixture.pass(59)
        #expect(sink.failure == nil)
        fixture.connection.finishRequest()
        fixture.pass(29)
        #expect(sink.failure == nil)
        fixture.pass(31)
        #expect(sink.failure == .timedOut)
    }

    @Test func `a response may be silent for a minute`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive(response("200 OK", "Content-Length: 4", "ab"))
        fixture.pass(59)
        #expect(sink.failure == nil)
        fixture.pass(61)
        #expect(sink.failure == .timedOut && !fixture.isOpen)
    }

    @Test func `a paused response has no deadline here`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive(response("200 OK", "Content-Length: 4", "ab"))
        fixture.connection.pauseReading()
        fixture.pass(10_000)
        #expect(sink.failure == nil && fixture.isOpen)
    }

    @Test func `an idle connection is closed after four seconds`() throws {
        let fixture = try UpstreamFixture()
        fixture.request()
        try fixture.receive(response("200 OK", "Content-Length: 0"))
        fixture.pass(3)
        #expect(fixture.isOpen)
        fixture.pass(5)
        #expect(!fixture.isOpen && !fixture.isKept)
    }

    @Test func `an idle connection is closed after four seconds although its last reader was slow`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        sink.whenSent = { $0.pauseReading() }
        try fixture.receive(response("200 OK", "Content-Length: 4", "abcd"))
        fixture.channel.pipeline.read()
        #expect(sink.events.last == "finished" && fixture.tap.reads == 1)
        fixture.pass(5)
        #expect(!fixture.isOpen)
    }
}

@Suite struct SilentResponseTests {
    @Test(arguments: [
        ("text/event-stream", true), ("Text/Event-Stream; charset=utf-8", true), ("text/event-streams", false),
        ("text/html", false),
    ])
    func `an event stream may be silent for any time`(type: String, isSilent: Bool) throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive(response("200 OK", "Content-Type: \(type)\r\nTransfer-Encoding: chunked", "2\r\nab\r\n"))
        #expect(sink.events.last == "body ab", "what has come is passed on at once")
        fixture.pass(10_000)
        #expect((sink.failure == nil) == isSilent)
    }

    @Test func `a body with a length is not an event stream, whatever its type`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request()
        try fixture.receive(response("200 OK", "Content-Type: text/event-stream\r\nContent-Length: 4", "ab"))
        fixture.pass(61)
        #expect(sink.failure == .timedOut)
    }

    @Test func `a streaming response has no deadline`() throws {
        let fixture = try UpstreamFixture()
        let sink = fixture.request { $0.isPatient = true }
        fixture.pass(10_000)
        try fixture.receive(response("200 OK", "Content-Length: 4", "ab"))
        fixture.pass(10_000)
        #expect(sink.failure == nil && fixture.isOpen)
    }

    @Test func `the permitted silence of one response does not apply to the next`() throws {
        let fixture = try UpstreamFixture()
        fixture.request { $0.isPatient = true }
        try fixture.receive(response("200 OK", "Content-Length: 0"))
        let sink = fixture.request()
        fixture.pass(31)
        #expect(sink.failure == .timedOut)
    }

    @Test func `a body of unknown length is sent in chunks`() throws {
        let fixture = try UpstreamFixture()
        fixture.request(.post, isComplete: false) { $0.framing = .chunked }
        fixture.connection.send(ByteBuffer(string: "hello"))
        fixture.connection.send(ByteBuffer(string: String(repeating: "x", count: 20_000)))
        fixture.connection.finishRequest()
        fixture.connection.flush()
        let long = "4e20\r\n" + String(repeating: "x", count: 20_000) + "\r\n"
        #expect(try fixture.sent() == "HEAD|5\r\nhello\r\n" + long + "0\r\n\r\n")
    }
}

@Suite struct TargetOutcomesTests {
    @Test(arguments: [502, 503, 504])
    func `a gateway error status counts as a failure, any other status resets the count`(status: Int) throws {
        let fixture = try UpstreamFixture()
        fixture.request()
        try fixture.receive(response("\(status) x", "Content-Length: 0"))
        #expect(fixture.outcomes.failures == 1)
        fixture.request()
        try fixture.receive(response("500 x", "Content-Length: 0"))
        #expect(fixture.outcomes.failures == 0)
    }

    @Test func `a new connection that closes without a response counts, a reused one does not`() throws {
        let fresh = try UpstreamFixture()
        fresh.request()
        fresh.hangUp()
        #expect(fresh.outcomes.failures == 1)
        let kept = try UpstreamFixture()
        kept.request()
        try kept.receive(response("200 OK", "Content-Length: 0"))
        kept.request()
        kept.hangUp()
        #expect(kept.outcomes.failures == 0)
    }

    @Test func `a late response counts, and a malformed one`() throws {
        let late = try UpstreamFixture()
        late.request()
        late.pass(31)
        #expect(late.outcomes.failures == 1)
        let broken = try UpstreamFixture()
        broken.request()
        try broken.receive("nonsense\r\n\r\n")
        #expect(broken.outcomes.failures == 1)
    }
}
