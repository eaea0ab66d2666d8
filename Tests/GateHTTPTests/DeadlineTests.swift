// SPDX-License-Identifier: Apache-2.0

import GateHTTP
import GateWire
import NIOCore
import NIOEmbedded
import Testing

@Suite struct DeadlineTests {
    @Test func `a client that sends nothing is closed after ten seconds`() throws {
        let fixture = try ConnectionFixture()
        fixture.pass(9)
        #expect(!fixture.tap.isClosed)
        fixture.pass(11)
        #expect(try fixture.tap.isClosed && fixture.received().isEmpty && fixture.responder.events.isEmpty)
    }

    @Test func `the deadline of a head does not move with its bytes`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send("G")
        let deadline = fixture.connection.deadline
        #expect(fixture.secondsLeft == 10)
        for byte in "ET / HTTP/1.1\r\nHost: a\r\nX: yyyyyyyyyy" {
            try fixture.send(String(byte))
        }
        #expect(fixture.connection.deadline == deadline)
        fixture.pass(11)
        #expect(statuses(try fixture.received()) == ["408"])
        #expect(fixture.responder.events == ["rejected wire.too_slow"] && fixture.tap.isHalfClosed)
        fixture.pass(14)
        #expect(fixture.tap.isClosed)
    }

    @Test func `a kept connection is closed after seventy-five idle seconds`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        try fixture.send(get())
        fixture.pass(74)
        #expect(!fixture.tap.isClosed)
        fixture.pass(76)
        #expect(fixture.tap.isClosed && fixture.responder.cancellations == 0)
    }

    @Test func `the client's deadlines do not run while the app works on a response`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(get())
        #expect(fixture.secondsLeft == nil)
        fixture.pass(100_000)
        #expect(!fixture.tap.isClosed && fixture.responder.cancellations == 0)
    }

    @Test func `a silent body is rejected after thirty seconds`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(post("Content-Length: 1000000", String(repeating: "x", count: 100_000)))
        fixture.pass(29)
        #expect(fixture.responder.cancellations == 0)
        fixture.pass(31)
        #expect(fixture.responder.cancellations == 1)
        #expect(statuses(try fixture.received()) == ["408"] && fixture.tap.isHalfClosed)
    }

    @Test(arguments: [(0, 10), (1, 10), (1023, 10), (4096, 14), (10_240, 20)])
    func `a body slower than a kibibyte a second is rejected`(bytes: Int, seconds: Int64) throws {
        let fixture = try ConnectionFixture()
        try fixture.send(post("Content-Length: 1000000"))
        for _ in 0..<bytes {
            try fixture.send("x")
        }
        fixture.pass(seconds - 1)
        #expect(fixture.responder.cancellations == 0)
        fixture.pass(seconds + 1)
        #expect(fixture.responder.cancellations == 1)
    }

    @Test func `a paused body has no deadline`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(post("Content-Length: 10", "x"))
        fixture.connection.pauseReading()
        try fixture.send("y")
        fixture.pass(1000)
        #expect(fixture.responder.cancellations == 0)
        fixture.connection.resumeReading()
        #expect(fixture.secondsLeft == 10)
    }

    @Test func `a late body in the middle of a response truncates the response`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(post("Content-Length: 10", "x"))
        fixture.connection.start(ByteBuffer(string: "HEAD|"), framing: .chunked, closes: false)
        fixture.connection.flush()
        fixture.pass(11)
        #expect(fixture.tap.isClosed && fixture.responder.cancellations == 1)
        #expect(try fixture.received() == "HEAD|")
    }

    @Test func `a client that stops reading a response is disconnected after a minute`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(get())
        fixture.connection.start(ByteBuffer(string: "HEAD|"), framing: .chunked, closes: false)
        fixture.setWritable(false)
        fixture.pass(59)
        #expect(!fixture.tap.isClosed)
        fixture.pass(61)
        #expect(fixture.tap.isClosed && fixture.responder.cancellations == 1)
    }

    @Test func `a client that takes bytes again has no deadline`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(get())
        fixture.setWritable(false)
        fixture.setWritable(true)
        fixture.pass(1000)
        #expect(!fixture.tap.isClosed)
        #expect(fixture.responder.events.suffix(2) == ["writable false", "writable true"])
    }

    @Test(arguments: [get("/b"), post("Content-Length: 1", "x")])
    func `a client that stops reading gets no further responses and is disconnected after a minute`(
        next: String
    ) throws {
        let fixture = try ConnectionFixture()
        try fixture.send(get("/a"))
        fixture.setWritable(false)
        fixture.connection.respond(.text(200, "a"))
        try fixture.send(next)
        #expect(fixture.responder.events.count { $0.hasPrefix("begin") } == 1)
        fixture.pass(59)
        #expect(!fixture.tap.isClosed)
        fixture.pass(61)
        #expect(fixture.tap.isClosed && fixture.responder.cancellations == 0)
    }

    @Test func `the next request begins when the client takes bytes again`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        fixture.setWritable(false)
        try fixture.send(get("/a"))
        #expect(!fixture.responder.events.contains("begin GET /a"))
        fixture.setWritable(true)
        #expect(try fixture.received().hasSuffix("</a>"))
    }

    @Test func `a closing connection lingers for two seconds`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        try fixture.send(get("/", "Connection: close\r\n"))
        #expect(fixture.tap.isHalfClosed)
        fixture.pass(1)
        #expect(!fixture.tap.isClosed)
        fixture.pass(3)
        #expect(fixture.tap.isClosed)
    }
}

@Suite struct IdleConnectionTests {
    @Test func `U-06: a connection is idle while no request is in progress on it`() throws {
        let fixture = try ConnectionFixture()
        #expect(fixture.connection.idleSince != nil, "before its first request")
        try fixture.send("GET / HTTP/1.1\r\nHo")
        #expect(fixture.connection.idleSince == nil, "while a head arrives")
        try fixture.send("st: a\r\n\r\n")
        #expect(fixture.connection.idleSince == nil, "while the app works on a response")
        fixture.responder.connection?.respond(.text(200, "done"))
        #expect(fixture.connection.idleSince != nil, "between two requests")
        try fixture.send(post("Content-Length: 5", "12"))
        #expect(fixture.connection.idleSince == nil, "while a body arrives")
    }
}
