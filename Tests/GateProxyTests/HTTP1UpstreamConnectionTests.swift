// SPDX-License-Identifier: Apache-2.0

import GateProxy
import GateWire
import NIOCore
import NIOEmbedded
import Testing

@Suite struct HTTP1UpstreamConnectionTests {
    @Test func `a request goes out and its answer comes back`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        #expect(try stage.sent() == "HEAD|")
        try stage.answer(answer("200 OK", "Content-Length: 5", "hello"))
        #expect(sink.events == ["ready", "head 200", "body hello", "finished"])
        #expect(stage.isOpen && stage.connection.isReused && stage.isKept)
    }

    @Test(arguments: [
        answer("200 OK", "Content-Length: 5", "hello"),
        answer("200 OK", "Transfer-Encoding: chunked", "3\r\nhel\r\n2\r\nlo\r\n0\r\nX: y\r\n\r\n"),
        answer("103 Early Hints", "Link: </a>") + answer("200 OK", "Content-Length: 5", "hello"),
        answer("204 No Content", ""), answer("404 Not Found", "Content-Length: 0"),
    ])
    func `where an answer is split makes no difference`(text: String) throws {
        let whole = try UpstreamFixture()
        let expected = whole.request()
        try whole.answer(text)
        #expect(expected.events.last == "finished" && whole.isKept)
        let bytes = Array(text.utf8)
        for split in 1..<bytes.count {
            let stage = try UpstreamFixture()
            let sink = stage.request()
            try stage.answer(String(decoding: bytes[..<split], as: UTF8.self))
            try stage.answer(String(decoding: bytes[split...], as: UTF8.self))
            #expect(sink.events == expected.events, "split at \(split)")
            #expect(stage.isKept, "split at \(split)")
        }
        let stage = try UpstreamFixture()
        let sink = stage.request()
        for byte in bytes {
            try stage.answer(String(decoding: [byte], as: UTF8.self))
        }
        #expect(sink.events == expected.events && sink.pauses == bytes.count)
    }

    @Test(arguments: [(RequestMethod.head, "200 OK"), (.get, "204 No Content"), (.get, "304 Not Modified")])
    func `an answer that can have no body is complete with its head`(method: RequestMethod, status: String) throws {
        let stage = try UpstreamFixture()
        let sink = stage.request(method)
        try stage.answer(answer(status, "Content-Length: 5"))
        #expect(sink.events == ["ready", "head \(status.prefix(3))", "finished"])
        #expect(stage.isKept)
    }

    @Test func `of interim answers the early hints are told of`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer(answer("100 Continue", "") + answer("103 Early Hints", "Link: </a>") + answer("102 x", ""))
        try stage.answer(answer("103 Early Hints", "") + answer("204 No Content", ""))
        #expect(sink.hints == [103, 103] && sink.events == ["ready", "head 204", "finished"])
    }

    @Test func `a body without framing lasts until the close`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer(answer("200 OK", "Connection: keep-alive", "ab"))
        try stage.answer("cd")
        #expect(sink.events == ["ready", "head 200", "body abcd"])
        stage.hangUp()
        #expect(sink.events.last == "finished" && !stage.isKept)
    }

    @Test func `a body until the close that ends with an error is cut off`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer(answer("200 OK", "Connection: close", "ab"))
        stage.channel.pipeline.fireErrorCaught(IOError(errnoCode: 104, reason: "reset"))
        stage.channel.embeddedEventLoop.run()
        #expect(sink.problem == .closedInResponse && !sink.events.contains("finished"))
    }

    @Test(arguments: [
        "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", answer("200 OK", "Content-Length: 0\r\nConnection: close"),
    ])
    func `a connection that the upstream does not keep is not kept`(text: String) throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer(text)
        #expect(sink.events.last == "finished" && !stage.isOpen && !stage.isKept)
    }

    @Test func `a close before a byte of the answer is told from a close in the answer`() throws {
        for (text, problem) in [
            ("", UpstreamFailure.closedBeforeResponse), ("HT", .closedInResponse),
            (answer("200 OK", "Content-Length: 5", "hel"), .closedInResponse),
            (answer("200 OK", "Transfer-Encoding: chunked", "3\r\nhel\r\n"), .closedInResponse),
            (answer("200 OK", "Transfer-Encoding: chunked", "0\r\n"), .closedInResponse),
        ] {
            let stage = try UpstreamFixture()
            let sink = stage.request()
            if !text.isEmpty { try stage.answer(text) }
            stage.hangUp()
            #expect(sink.problem == problem, "\(text)")
            #expect(sink.events.count { $0 == "failed" || $0 == "finished" } == 1)
        }
    }

    @Test func `a request that is given up hears nothing more and its connection is not used again`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer(answer("200 OK", "Content-Length: 5", "he"))
        stage.connection.cancel()
        try stage.answer("llo")
        #expect(sink.events == ["ready", "head 200", "body he"] && !stage.isOpen && !stage.isKept)
    }

    @Test func `the request's body is sent as given and the writability told`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request(.post, isComplete: false)
        stage.connection.send(ByteBuffer(string: "ab"))
        #expect(try stage.sent() == "HEAD|")
        stage.connection.flush()
        #expect(try stage.sent() == "ab")
        stage.channel.isWritable = false
        stage.channel.pipeline.fireChannelWritabilityChanged()
        #expect(sink.events.last == "writable false")
    }

    @Test func `a reader that cannot take more stops the reading, which goes on with one read`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        sink.whenSent = { $0.pauseReading() }
        try stage.answer(answer("200 OK", "Content-Length: 4", "ab"))
        stage.channel.pipeline.read()
        stage.channel.pipeline.read()
        #expect(stage.tap.reads == 0)
        stage.connection.resumeReading()
        stage.connection.resumeReading()
        #expect(stage.tap.reads == 1)
        try stage.answer("cd")
        #expect(sink.events.last == "finished" && stage.isKept)
    }
}

@Suite struct UpstreamDeadlineTests {
    @Test func `an answer must begin within thirty seconds`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer("HTTP/1.1 200 OK\r\n")
        stage.pass(29)
        #expect(sink.problem == nil)
        stage.pass(31)
        #expect(sink.problem == .timedOut && !stage.isOpen && !stage.isKept)
    }

    @Test func `interim answers win no time`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        let deadline = stage.connection.deadline
        try stage.answer(answer("103 Early Hints", ""))
        #expect(stage.connection.deadline == deadline && sink.events == ["ready"])
    }

    @Test func `after a body the wait for the answer begins anew`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request(.post, isComplete: false)
        stage.connection.send(ByteBuffer(string: "ab"))
        stage.pass(59)
        #expect(sink.problem == nil)
        stage.connection.finishRequest()
        stage.pass(29)
        #expect(sink.problem == nil)
        stage.pass(31)
        #expect(sink.problem == .timedOut)
    }

    @Test func `an answer may be silent for a minute`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer(answer("200 OK", "Content-Length: 4", "ab"))
        stage.pass(59)
        #expect(sink.problem == nil)
        stage.pass(61)
        #expect(sink.problem == .timedOut && !stage.isOpen)
    }

    @Test func `an answer that waits for its reader has no deadline here`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer(answer("200 OK", "Content-Length: 4", "ab"))
        stage.connection.pauseReading()
        stage.pass(10_000)
        #expect(sink.problem == nil && stage.isOpen)
    }

    @Test func `an idle connection is closed after four seconds`() throws {
        let stage = try UpstreamFixture()
        stage.request()
        try stage.answer(answer("200 OK", "Content-Length: 0"))
        stage.pass(3)
        #expect(stage.isOpen)
        stage.pass(5)
        #expect(!stage.isOpen && !stage.isKept)
    }

    @Test func `an idle connection is closed after four seconds although its last reader was slow`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        sink.whenSent = { $0.pauseReading() }
        try stage.answer(answer("200 OK", "Content-Length: 4", "abcd"))
        stage.channel.pipeline.read()
        #expect(sink.events.last == "finished" && stage.tap.reads == 1)
        stage.pass(5)
        #expect(!stage.isOpen)
    }
}

@Suite struct SilentResponseTests {
    @Test(arguments: [
        ("text/event-stream", true), ("Text/Event-Stream; charset=utf-8", true), ("text/event-streams", false),
        ("text/html", false),
    ])
    func `a stream of events may be silent for as long as it likes`(type: String, isSilent: Bool) throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer(answer("200 OK", "Content-Type: \(type)\r\nTransfer-Encoding: chunked", "2\r\nab\r\n"))
        #expect(sink.events.last == "body ab", "what has come is passed on at once")
        stage.pass(10_000)
        #expect((sink.problem == nil) == isSilent)
    }

    @Test func `a body with a length is no stream, whatever it calls itself`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request()
        try stage.answer(answer("200 OK", "Content-Type: text/event-stream\r\nContent-Length: 4", "ab"))
        stage.pass(61)
        #expect(sink.problem == .timedOut)
    }

    @Test func `where the app is streaming nothing has to come in time`() throws {
        let stage = try UpstreamFixture()
        let sink = stage.request { $0.isPatient = true }
        stage.pass(10_000)
        try stage.answer(answer("200 OK", "Content-Length: 4", "ab"))
        stage.pass(10_000)
        #expect(sink.problem == nil && stage.isOpen)
    }

    @Test func `the patience of one answer is not that of the next`() throws {
        let stage = try UpstreamFixture()
        stage.request { $0.isPatient = true }
        try stage.answer(answer("200 OK", "Content-Length: 0"))
        let sink = stage.request()
        stage.pass(31)
        #expect(sink.problem == .timedOut)
    }

    @Test func `a body of unknown length goes out in chunks`() throws {
        let stage = try UpstreamFixture()
        stage.request(.post, isComplete: false) { $0.framing = .chunked }
        stage.connection.send(ByteBuffer(string: "hello"))
        stage.connection.send(ByteBuffer(string: String(repeating: "x", count: 20_000)))
        stage.connection.finishRequest()
        stage.connection.flush()
        let long = "4e20\r\n" + String(repeating: "x", count: 20_000) + "\r\n"
        #expect(try stage.sent() == "HEAD|5\r\nhello\r\n" + long + "0\r\n\r\n")
    }
}

@Suite struct TargetOutcomesTests {
    @Test(arguments: [502, 503, 504])
    func `a status that a gateway gives counts as a failure, any other ends the row`(status: Int) throws {
        let stage = try UpstreamFixture()
        stage.request()
        try stage.answer(answer("\(status) x", "Content-Length: 0"))
        #expect(stage.outcomes.failures == 1)
        stage.request()
        try stage.answer(answer("500 x", "Content-Length: 0"))
        #expect(stage.outcomes.failures == 0)
    }

    @Test func `a new connection that ends without an answer counts, a kept one does not`() throws {
        let fresh = try UpstreamFixture()
        fresh.request()
        fresh.hangUp()
        #expect(fresh.outcomes.failures == 1)
        let kept = try UpstreamFixture()
        kept.request()
        try kept.answer(answer("200 OK", "Content-Length: 0"))
        kept.request()
        kept.hangUp()
        #expect(kept.outcomes.failures == 0)
    }

    @Test func `no answer in time counts, and no proper answer`() throws {
        let late = try UpstreamFixture()
        late.request()
        late.pass(31)
        #expect(late.outcomes.failures == 1)
        let broken = try UpstreamFixture()
        broken.request()
        try broken.answer("nonsense\r\n\r\n")
        #expect(broken.outcomes.failures == 1)
    }
}
