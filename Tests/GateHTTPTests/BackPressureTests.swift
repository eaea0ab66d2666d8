// SPDX-License-Identifier: Apache-2.0

import GateHTTP
import GateWire
import NIOCore
import NIOEmbedded
import Testing

@Suite struct BackPressureTests {
    @Test func `a paused body is not read, and read once when it is resumed`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(post("Content-Length: 10", "x"))
        fixture.connection.pauseReading()
        fixture.channel.pipeline.read()
        fixture.channel.pipeline.read()
        #expect(fixture.tap.reads == 0)
        fixture.connection.resumeReading()
        fixture.connection.resumeReading()
        #expect(fixture.tap.reads == 1)
        fixture.channel.pipeline.read()
        #expect(fixture.tap.reads == 2)
    }

    @Test func `a pause without a read costs no read`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(post("Content-Length: 10", "x"))
        fixture.connection.pauseReading()
        fixture.connection.resumeReading()
        #expect(fixture.tap.reads == 0)
    }

    @Test func `a response ends the pause`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(post("Content-Length: 1", "x"))
        fixture.connection.pauseReading()
        fixture.channel.pipeline.read()
        fixture.connection.respond(.text(200, "a"))
        #expect(fixture.tap.reads == 1 && !fixture.tap.isHalfClosed)
    }

    @Test func `a lingering connection reads although it was paused`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(post("Content-Length: 10", "x"))
        fixture.connection.pauseReading()
        fixture.channel.pipeline.read()
        fixture.connection.respond(.text(413, "a"))
        #expect(fixture.tap.reads == 1 && fixture.tap.isHalfClosed)
    }

    @Test func `pipelined requests are buffered up to a limit, then reading stops`() throws {
        var limits = DownstreamLimits()
        limits.pipelinedBytes = 1000
        let fixture = try ConnectionFixture(limits)
        try fixture.send(get("/a"))
        let later = Array((0..<40).map { get("/later/\($0)") }.joined().utf8)
        try fixture.send(String(decoding: later.prefix(1000), as: UTF8.self))
        fixture.channel.pipeline.read()
        #expect(fixture.tap.reads == 1)
        try fixture.send(String(decoding: later.dropFirst(1000).prefix(1), as: UTF8.self))
        fixture.channel.pipeline.read()
        fixture.channel.pipeline.read()
        #expect(fixture.tap.reads == 1)
        fixture.responder.respondsToAll()
        fixture.connection.respond(.text(200, "<a>"))
        #expect(fixture.tap.reads == 2)
        try fixture.send(String(decoding: later.dropFirst(1001), as: UTF8.self))
        #expect(statuses(try fixture.received()).count == 41)
    }

    @Test func `back-pressure of the client reaches the writer`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(get())
        fixture.connection.start(ByteBuffer(string: "HEAD|"), framing: .chunked, closes: false)
        #expect(fixture.connection.write(ByteBuffer(string: "ab")))
        fixture.channel.isWritable = false
        fixture.channel.pipeline.fireChannelWritabilityChanged()
        #expect(!fixture.connection.write(ByteBuffer(string: "cd")))
    }
}
