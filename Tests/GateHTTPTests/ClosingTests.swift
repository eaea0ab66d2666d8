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
    func `the client decides whether the connection is kept`(request: String, closes: Bool) throws {
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        try fixture.send(request)
        #expect(try fixture.received().contains("\r\nConnection: close\r\n") == closes)
        #expect(fixture.tap.isHalfClosed == closes)
    }

    @Test func `a request after the last one is not begun`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        try fixture.send(get("/a", "Connection: close\r\n") + get("/b"))
        #expect(fixture.responder.events == ["begin GET /a", "finish"])
        #expect(statuses(try fixture.received()) == ["200"])
    }

    @Test func `the thousandth request is the last`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        try fixture.send((0..<999).map { get("/\($0)") }.joined())
        #expect(!(try fixture.received().contains("Connection: close")))
        try fixture.send(get("/last") + get("/beyond"))
        let text = try fixture.received()
        #expect(text.contains("\r\nConnection: close\r\n") && statuses(text) == ["200"])
        #expect(fixture.tap.isHalfClosed && fixture.responder.events.last == "finish")
    }

    @Test func `an old connection closes after its next response`() throws {
        var limits = DownstreamLimits()
        limits.age = .nanoseconds(-1)
        let fixture = try ConnectionFixture(limits)
        fixture.responder.respondsToAll()
        try fixture.send(get())
        #expect(try fixture.received().contains("\r\nConnection: close\r\n") && fixture.tap.isHalfClosed)
    }

    @Test func `while the gateway drains each response closes its connection`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        fixture.startDraining()
        try fixture.send(get())
        #expect(try fixture.received().contains("\r\nConnection: close\r\n") && fixture.tap.isHalfClosed)
    }

    @Test func `a request that crosses the drain gets its response, which closes the connection`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        fixture.connection.drain()
        #expect(!fixture.tap.isHalfClosed)
        try fixture.send(get())
        #expect(try fixture.received().contains("\r\nConnection: close\r\n") && fixture.tap.isHalfClosed)
    }

    @Test func `an idle connection can be closed, and later bytes are not parsed as a request`() throws {
        let fixture = try ConnectionFixture()
        #expect(fixture.connection.isIdle && !fixture.connection.closeIfIdle(for: .seconds(5)))
        #expect(!fixture.tap.isHalfClosed)
        #expect(fixture.connection.closeIfIdle(for: .zero))
        #expect(fixture.tap.isHalfClosed && !fixture.tap.isClosed && !fixture.connection.isIdle)
        try fixture.send(get())
        fixture.pass(3)
        #expect(fixture.tap.isClosed && fixture.responder.events.isEmpty)
    }

    @Test func `a connection with a request in progress or arriving cannot be closed as idle`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send("GET / HT")
        #expect(fixture.connection.isIdle && !fixture.connection.closeIfIdle(for: .zero))
        try fixture.send("TP/1.1\r\nHost: a\r\n\r\n")
        #expect(!fixture.connection.isIdle && !fixture.connection.closeIfIdle(for: .zero))
        #expect(!fixture.tap.isHalfClosed)
    }

    @Test func `draining lets a request finish that has begun`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        try fixture.send("GET /a HT")
        fixture.connection.drain()
        #expect(!fixture.tap.isClosed)
        try fixture.send("TP/1.1\r\nHost: a\r\n\r\n")
        #expect(try fixture.received().contains("\r\nConnection: close\r\n") && fixture.tap.isHalfClosed)
    }

    @Test func `draining lets a response finish`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(get("/a"))
        fixture.connection.drain()
        #expect(fixture.connection.mustClose && !fixture.tap.isClosed)
        fixture.connection.respond(.text(200, "a"))
        #expect(try fixture.received().hasSuffix("a") && fixture.tap.isHalfClosed)
    }

    @Test func `after an early response the rest of the body is dropped and not parsed as a request`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.whenBegun = { _, connection in connection.respond(.text(413, "no")) }
        try fixture.send(post("Content-Length: 1000", get("/smuggled")))
        try fixture.send(get("/more"))
        let text = try fixture.received()
        #expect(statuses(text) == ["413"] && text.contains("\r\nConnection: close\r\n"))
        #expect(fixture.responder.events == ["begin POST /p"])
        #expect(fixture.tap.isHalfClosed && !fixture.tap.isClosed)
        #expect(fixture.secondsLeft == 2)
        fixture.pass(3)
        #expect(fixture.tap.isClosed && fixture.responder.cancellations == 0)
    }

    @Test func `an early response in the middle of the body closes the connection as well`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.whenReceived = { $0.respond(.text(413, "no")) }
        try fixture.send(post("Transfer-Encoding: chunked", "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n") + get("/next"))
        #expect(fixture.responder.events == ["begin POST /p", "body ab"])
        #expect(statuses(try fixture.received()) == ["413"] && fixture.tap.isHalfClosed)
    }

    @Test func `closing in the middle of a response leaves the response incomplete`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(get())
        fixture.connection.start(ByteBuffer(string: "HEAD|"), framing: .chunked, closes: false)
        fixture.connection.write(ByteBuffer(string: "ab"))
        fixture.connection.flush()
        fixture.connection.close()
        #expect(try fixture.received() == "HEAD|2\r\nab\r\n" && fixture.tap.isClosed)
    }
}
