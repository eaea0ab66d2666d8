// SPDX-License-Identifier: Apache-2.0

import GateHTTP
import GateWire
import NIOCore
import NIOEmbedded
import Testing

@Suite struct DeadlineTests {
    @Test func `a client that sends nothing is closed after ten seconds`() throws {
        let stage = try ConnectionFixture()
        stage.pass(9)
        #expect(!stage.tap.isClosed)
        stage.pass(11)
        #expect(try stage.tap.isClosed && stage.received().isEmpty && stage.responder.events.isEmpty)
    }

    @Test func `the deadline of a head stands although bytes keep coming`() throws {
        let stage = try ConnectionFixture()
        try stage.send("G")
        let deadline = stage.connection.deadline
        #expect(stage.secondsLeft == 10)
        for byte in "ET / HTTP/1.1\r\nHost: a\r\nX: yyyyyyyyyy" {
            try stage.send(String(byte))
        }
        #expect(stage.connection.deadline == deadline)
        stage.pass(11)
        #expect(statuses(try stage.received()) == ["408"])
        #expect(stage.responder.events == ["refused wire.too_slow"] && stage.tap.isHalfClosed)
        stage.pass(14)
        #expect(stage.tap.isClosed)
    }

    @Test func `a kept connection is closed after seventy-five idle seconds`() throws {
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        try stage.send(get())
        stage.pass(74)
        #expect(!stage.tap.isClosed)
        stage.pass(76)
        #expect(stage.tap.isClosed && stage.responder.abandonments == 0)
    }

    @Test func `an app that works on an answer is no matter of the client's deadlines`() throws {
        let stage = try ConnectionFixture()
        try stage.send(get())
        #expect(stage.secondsLeft == nil)
        stage.pass(100_000)
        #expect(!stage.tap.isClosed && stage.responder.abandonments == 0)
    }

    @Test func `a silent body is given up after thirty seconds`() throws {
        let stage = try ConnectionFixture()
        try stage.send(post("Content-Length: 1000000", String(repeating: "x", count: 100_000)))
        stage.pass(29)
        #expect(stage.responder.abandonments == 0)
        stage.pass(31)
        #expect(stage.responder.abandonments == 1)
        #expect(statuses(try stage.received()) == ["408"] && stage.tap.isHalfClosed)
    }

    @Test(arguments: [(0, 10), (1, 10), (1023, 10), (4096, 14), (10_240, 20)])
    func `a body slower than a kibibyte a second is given up`(bytes: Int, seconds: Int64) throws {
        let stage = try ConnectionFixture()
        try stage.send(post("Content-Length: 1000000"))
        for _ in 0..<bytes {
            try stage.send("x")
        }
        stage.pass(seconds - 1)
        #expect(stage.responder.abandonments == 0)
        stage.pass(seconds + 1)
        #expect(stage.responder.abandonments == 1)
    }

    @Test func `a body that nobody wants at the moment has no deadline`() throws {
        let stage = try ConnectionFixture()
        try stage.send(post("Content-Length: 10", "x"))
        stage.connection.pauseReading()
        try stage.send("y")
        stage.pass(1000)
        #expect(stage.responder.abandonments == 0)
        stage.connection.resumeReading()
        #expect(stage.secondsLeft == 10)
    }

    @Test func `a body that is late in the middle of an answer cuts it off`() throws {
        let stage = try ConnectionFixture()
        try stage.send(post("Content-Length: 10", "x"))
        stage.connection.start(ByteBuffer(string: "HEAD|"), framing: .chunked, closes: false)
        stage.connection.flush()
        stage.pass(11)
        #expect(stage.tap.isClosed && stage.responder.abandonments == 1)
        #expect(try stage.received() == "HEAD|")
    }

    @Test func `a client that takes nothing of an answer is given up after a minute`() throws {
        let stage = try ConnectionFixture()
        try stage.send(get())
        stage.connection.start(ByteBuffer(string: "HEAD|"), framing: .chunked, closes: false)
        stage.setWritable(false)
        stage.pass(59)
        #expect(!stage.tap.isClosed)
        stage.pass(61)
        #expect(stage.tap.isClosed && stage.responder.abandonments == 1)
    }

    @Test func `a client that takes bytes again has no deadline`() throws {
        let stage = try ConnectionFixture()
        try stage.send(get())
        stage.setWritable(false)
        stage.setWritable(true)
        stage.pass(1000)
        #expect(!stage.tap.isClosed)
        #expect(stage.responder.events.suffix(2) == ["writable false", "writable true"])
    }

    @Test(arguments: [get("/b"), post("Content-Length: 1", "x")])
    func `for a client that takes nothing no further request is begun, and it is closed after a minute`(
        next: String
    ) throws {
        let stage = try ConnectionFixture()
        try stage.send(get("/a"))
        stage.setWritable(false)
        stage.connection.respond(.text(200, "a"))
        try stage.send(next)
        #expect(stage.responder.events.count { $0.hasPrefix("begin") } == 1)
        stage.pass(59)
        #expect(!stage.tap.isClosed)
        stage.pass(61)
        #expect(stage.tap.isClosed && stage.responder.abandonments == 0)
    }

    @Test func `a client that takes bytes again gets its next request begun`() throws {
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        stage.setWritable(false)
        try stage.send(get("/a"))
        #expect(!stage.responder.events.contains("begin GET /a"))
        stage.setWritable(true)
        #expect(try stage.received().hasSuffix("</a>"))
    }

    @Test func `a closing connection lingers for two seconds`() throws {
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        try stage.send(get("/", "Connection: close\r\n"))
        #expect(stage.tap.isHalfClosed)
        stage.pass(1)
        #expect(!stage.tap.isClosed)
        stage.pass(3)
        #expect(stage.tap.isClosed)
    }
}

@Suite struct IdleConnectionTests {
    @Test func `U-06: a connection is idle while no request is in progress on it`() throws {
        let stage = try ConnectionFixture()
        #expect(stage.connection.idleSince != nil, "before its first request")
        try stage.send("GET / HTTP/1.1\r\nHo")
        #expect(stage.connection.idleSince == nil, "while a head arrives")
        try stage.send("st: a\r\n\r\n")
        #expect(stage.connection.idleSince == nil, "while the app works on a response")
        stage.responder.connection?.respond(.text(200, "done"))
        #expect(stage.connection.idleSince != nil, "between two requests")
        try stage.send(post("Content-Length: 5", "12"))
        #expect(stage.connection.idleSince == nil, "while a body arrives")
    }
}
