// SPDX-License-Identifier: Apache-2.0

import GateHTTP
import GateWire
import NIOCore
import Testing

@Suite struct ClosingTests {
    @Test(arguments: [
        (get("/", "Connection: close\r\n"), true), (get("/", "Connection: x, Close\r\n"), true),
        (get("/", "Connection: keep-alive\r\n"), false), (get(), false),
        ("GET / HTTP/1.0\r\nHost: a\r\n\r\n", true),
        ("GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", true),
    ])
    func `the client's wish decides whether the connection is kept`(request: String, closes: Bool) throws {
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        try stage.send(request)
        #expect(try stage.received().contains("\r\nConnection: close\r\n") == closes)
        #expect(stage.tap.isHalfClosed == closes)
    }

    @Test func `a request behind the last one is not begun`() throws {
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        try stage.send(get("/a", "Connection: close\r\n") + get("/b"))
        #expect(stage.responder.events == ["begin GET /a", "finish"])
        #expect(statuses(try stage.received()) == ["200"])
    }

    @Test func `the thousandth request is the last`() throws {
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        try stage.send((0..<999).map { get("/\($0)") }.joined())
        #expect(!(try stage.received().contains("Connection: close")))
        try stage.send(get("/last") + get("/beyond"))
        let text = try stage.received()
        #expect(text.contains("\r\nConnection: close\r\n") && statuses(text) == ["200"])
        #expect(stage.tap.isHalfClosed && stage.responder.events.last == "finish")
    }

    @Test func `an old connection ends with its next answer`() throws {
        var limits = DownstreamLimits()
        limits.age = .nanoseconds(-1)
        let stage = try ConnectionFixture(limits)
        stage.responder.answersAll()
        try stage.send(get())
        #expect(try stage.received().contains("\r\nConnection: close\r\n") && stage.tap.isHalfClosed)
    }

    @Test func `while the gateway drains each answer ends its connection`() throws {
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        stage.startDraining()
        try stage.send(get())
        #expect(try stage.received().contains("\r\nConnection: close\r\n") && stage.tap.isHalfClosed)
    }

    @Test func `draining answers a request that crosses it, and ends the connection with the answer`() throws {
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        stage.connection.drain()
        #expect(!stage.tap.isHalfClosed)
        try stage.send(get())
        #expect(try stage.received().contains("\r\nConnection: close\r\n") && stage.tap.isHalfClosed)
    }

    @Test func `an idle connection can be ended, and what comes then is taken for no request`() throws {
        let stage = try ConnectionFixture()
        #expect(stage.connection.isIdle && !stage.connection.closeIfIdle(for: .seconds(5)))
        #expect(!stage.tap.isHalfClosed)
        #expect(stage.connection.closeIfIdle(for: .zero))
        #expect(stage.tap.isHalfClosed && !stage.tap.isClosed && !stage.connection.isIdle)
        try stage.send(get())
        stage.pass(3)
        #expect(stage.tap.isClosed && stage.responder.events.isEmpty)
    }

    @Test func `a connection with a request under way, or with one arriving, cannot be ended as idle`() throws {
        let stage = try ConnectionFixture()
        try stage.send("GET / HT")
        #expect(stage.connection.isIdle && !stage.connection.closeIfIdle(for: .zero))
        try stage.send("TP/1.1\r\nHost: a\r\n\r\n")
        #expect(!stage.connection.isIdle && !stage.connection.closeIfIdle(for: .zero))
        #expect(!stage.tap.isHalfClosed)
    }

    @Test func `draining lets a request finish that has begun`() throws {
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        try stage.send("GET /a HT")
        stage.connection.drain()
        #expect(!stage.tap.isClosed)
        try stage.send("TP/1.1\r\nHost: a\r\n\r\n")
        #expect(try stage.received().contains("\r\nConnection: close\r\n") && stage.tap.isHalfClosed)
    }

    @Test func `draining lets an answer finish`() throws {
        let stage = try ConnectionFixture()
        try stage.send(get("/a"))
        stage.connection.drain()
        #expect(stage.connection.mustClose && !stage.tap.isClosed)
        stage.connection.respond(.text(200, "a"))
        #expect(try stage.received().hasSuffix("a") && stage.tap.isHalfClosed)
    }

    @Test func `after an early answer the rest of the body is thrown away and taken for no request`() throws {
        let stage = try ConnectionFixture()
        stage.responder.whenBegun = { _, connection in connection.respond(.text(413, "no")) }
        try stage.send(post("Content-Length: 1000", get("/smuggled")))
        try stage.send(get("/more"))
        let text = try stage.received()
        #expect(statuses(text) == ["413"] && text.contains("\r\nConnection: close\r\n"))
        #expect(stage.responder.events == ["begin POST /p"])
        #expect(stage.tap.isHalfClosed && !stage.tap.isClosed)
        #expect(stage.secondsLeft == 2)
        stage.pass(3)
        #expect(stage.tap.isClosed && stage.responder.abandonments == 0)
    }

    @Test func `an early answer that arrives in the middle of the body ends the connection as well`() throws {
        let stage = try ConnectionFixture()
        stage.responder.whenReceived = { $0.respond(.text(413, "no")) }
        try stage.send(post("Transfer-Encoding: chunked", "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n") + get("/next"))
        #expect(stage.responder.events == ["begin POST /p", "body ab"])
        #expect(statuses(try stage.received()) == ["413"] && stage.tap.isHalfClosed)
    }

    @Test func `a cut ends the connection without an end of the answer`() throws {
        let stage = try ConnectionFixture()
        try stage.send(get())
        stage.connection.start(ByteBuffer(string: "HEAD|"), framing: .chunked, closes: false)
        stage.connection.write(ByteBuffer(string: "ab"))
        stage.connection.flush()
        stage.connection.cut()
        #expect(try stage.received() == "HEAD|2\r\nab\r\n" && stage.tap.isClosed)
    }
}
