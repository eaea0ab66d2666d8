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
    func `a request whose client goes is given up exactly once`(bytes: String, times: Int) throws {
        let stage = try ConnectionFixture()
        if !bytes.isEmpty { try stage.send(bytes) }
        stage.hangUp()
        #expect(stage.responder.abandonments == times)
        #expect(stage.sweep.count == 0)
    }

    @Test func `nothing is given up after an answer`() throws {
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        try stage.send(get())
        stage.hangUp()
        #expect(stage.responder.abandonments == 0)
    }

    @Test func `nothing is given up while the connection lingers`() throws {
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        try stage.send(get("/", "Connection: close\r\n"))
        stage.hangUp()
        #expect(stage.responder.abandonments == 0)
    }

    @Test func `a client that goes in the middle of an answer gives it up once`() throws {
        let stage = try ConnectionFixture()
        try stage.send(get())
        stage.connection.start(ByteBuffer(string: "HEAD|"), framing: .chunked, closes: false)
        stage.hangUp()
        #expect(stage.responder.abandonments == 1)
    }

    @Test func `an error on the channel gives the request up once and closes`() throws {
        let stage = try ConnectionFixture()
        try stage.send(get())
        stage.channel.pipeline.fireErrorCaught(ChannelError.ioOnClosedChannel)
        stage.channel.embeddedEventLoop.run()
        #expect(stage.responder.abandonments == 1 && stage.tap.isClosed)
    }

    @Test func `what is answered after that goes nowhere`() throws {
        let stage = try ConnectionFixture()
        try stage.send(get("/a") + get("/b"))
        stage.hangUp()
        stage.connection.respond(.text(200, "late"))
        stage.connection.flush()
        #expect(try stage.received().isEmpty)
        #expect(stage.responder.events == ["begin GET /a", "finish", "cancel"])
    }

    @Test func `what is answered at once when the client goes begins no later request`() throws {
        let stage = try ConnectionFixture()
        try stage.send(get("/a") + get("/b"))
        stage.channel.close(promise: nil)
        stage.connection.respond(.text(200, "late"))
        #expect(stage.responder.events == ["begin GET /a", "finish", "cancel"])
    }

    @Test func `a stream that goes on after that goes nowhere`() throws {
        let stage = try ConnectionFixture()
        try stage.send(get("/a") + get("/b"))
        stage.connection.start(ByteBuffer(string: "HEAD|"), framing: .chunked, closes: false)
        stage.connection.flush()
        _ = try stage.received()
        stage.hangUp()
        stage.connection.write(ByteBuffer(string: "late"))
        stage.connection.end()
        stage.connection.flush()
        #expect(try stage.received().isEmpty)
        #expect(stage.responder.events == ["begin GET /a", "finish", "cancel"])
    }
}
