// SPDX-License-Identifier: Apache-2.0

import GateHTTP
import GateNet
import GateWire
import NIOCore
import NIOEmbedded
import Testing

@Suite struct CancellationTests {
    @Test(arguments: [
        ("", 0), ("GET /", 0), (get(), 1), (post("Content-Length: 2"), 1), (post("Content-Length: 2", "a"), 1),
        (post("Content-Length: 2", "ab"), 1), (get() + get("/b"), 1),
    ])
    func `a request whose client disconnects is cancelled exactly once`(bytes: String, times: Int) throws {
        let fixture = try ConnectionFixture()
        if !bytes.isEmpty { try fixture.send(bytes) }
        fixture.hangUp()
        #expect(fixture.responder.cancellations == times)
        #expect(fixture.sweep.count == 0)
    }

    @Test func `nothing is cancelled after a response`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        try fixture.send(get())
        fixture.hangUp()
        #expect(fixture.responder.cancellations == 0)
    }

    @Test func `nothing is cancelled while the connection lingers`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        try fixture.send(get("/", "Connection: close\r\n"))
        fixture.hangUp()
        #expect(fixture.responder.cancellations == 0)
    }

    @Test func `a client that disconnects in the middle of a response cancels it once`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(get())
        fixture.connection.start(ByteBuffer(string: "HEAD|"), framing: .chunked, closes: false)
        fixture.hangUp()
        #expect(fixture.responder.cancellations == 1)
    }

    @Test func `an error on the channel cancels the request once and closes`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(get())
        fixture.channel.pipeline.fireErrorCaught(ChannelError.ioOnClosedChannel)
        fixture.channel.embeddedEventLoop.run()
        #expect(fixture.responder.cancellations == 1 && fixture.tap.isClosed)
    }

    @Test func `a response after that is dropped`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(get("/a") + get("/b"))
        fixture.hangUp()
        fixture.connection.respond(.text(200, "late"))
        fixture.connection.flush()
        #expect(try fixture.received().isEmpty)
        #expect(fixture.responder.events == ["begin GET /a", "finish", "cancel"])
    }

    @Test func `a response given during the disconnect begins no later request`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(get("/a") + get("/b"))
        fixture.channel.close(promise: nil)
        fixture.connection.respond(.text(200, "late"))
        #expect(fixture.responder.events == ["begin GET /a", "finish", "cancel"])
    }

    @Test func `further bytes of that stream are dropped`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(get("/a") + get("/b"))
        fixture.connection.start(ByteBuffer(string: "HEAD|"), framing: .chunked, closes: false)
        fixture.connection.flush()
        _ = try fixture.received()
        fixture.hangUp()
        fixture.connection.write(ByteBuffer(string: "late"))
        fixture.connection.end()
        fixture.connection.flush()
        #expect(try fixture.received().isEmpty)
        #expect(fixture.responder.events == ["begin GET /a", "finish", "cancel"])
    }
}
