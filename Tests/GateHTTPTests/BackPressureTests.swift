// SPDX-License-Identifier: Apache-2.0

import GateHTTP
import GateWire
import NIOCore
import NIOEmbedded
import Testing

@Suite struct BackPressureTests {
    @Test func `a paused body is not read, and read once when it goes on`() throws {
        let stage = try ConnectionFixture()
        try stage.send(post("Content-Length: 10", "x"))
        stage.connection.pauseReading()
        stage.channel.pipeline.read()
        stage.channel.pipeline.read()
        #expect(stage.tap.reads == 0)
        stage.connection.resumeReading()
        stage.connection.resumeReading()
        #expect(stage.tap.reads == 1)
        stage.channel.pipeline.read()
        #expect(stage.tap.reads == 2)
    }

    @Test func `a pause that nobody noticed costs no read`() throws {
        let stage = try ConnectionFixture()
        try stage.send(post("Content-Length: 10", "x"))
        stage.connection.pauseReading()
        stage.connection.resumeReading()
        #expect(stage.tap.reads == 0)
    }

    @Test func `an answer ends the pause`() throws {
        let stage = try ConnectionFixture()
        try stage.send(post("Content-Length: 1", "x"))
        stage.connection.pauseReading()
        stage.channel.pipeline.read()
        stage.connection.respond(.text(200, "a"))
        #expect(stage.tap.reads == 1 && !stage.tap.isHalfClosed)
    }

    @Test func `a lingering connection reads although it was paused`() throws {
        let stage = try ConnectionFixture()
        try stage.send(post("Content-Length: 10", "x"))
        stage.connection.pauseReading()
        stage.channel.pipeline.read()
        stage.connection.respond(.text(413, "a"))
        #expect(stage.tap.reads == 1 && stage.tap.isHalfClosed)
    }

    @Test func `later requests are kept up to a bound, then no more is read`() throws {
        var limits = DownstreamLimits()
        limits.pipelinedBytes = 1000
        let stage = try ConnectionFixture(limits)
        try stage.send(get("/a"))
        let later = Array((0..<40).map { get("/later/\($0)") }.joined().utf8)
        try stage.send(String(decoding: later.prefix(1000), as: UTF8.self))
        stage.channel.pipeline.read()
        #expect(stage.tap.reads == 1)
        try stage.send(String(decoding: later.dropFirst(1000).prefix(1), as: UTF8.self))
        stage.channel.pipeline.read()
        stage.channel.pipeline.read()
        #expect(stage.tap.reads == 1)
        stage.responder.answersAll()
        stage.connection.respond(.text(200, "<a>"))
        #expect(stage.tap.reads == 2)
        try stage.send(String(decoding: later.dropFirst(1001), as: UTF8.self))
        #expect(statuses(try stage.received()).count == 41)
    }

    @Test func `a writer hears when the client cannot take more`() throws {
        let stage = try ConnectionFixture()
        try stage.send(get())
        stage.connection.start(ByteBuffer(string: "HEAD|"), framing: .chunked, closes: false)
        #expect(stage.connection.write(ByteBuffer(string: "ab")))
        stage.channel.isWritable = false
        stage.channel.pipeline.fireChannelWritabilityChanged()
        #expect(!stage.connection.write(ByteBuffer(string: "cd")))
    }
}
