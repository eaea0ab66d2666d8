// SPDX-License-Identifier: Apache-2.0

import GateNet
import GateWire
import NIOCore
import NIOEmbedded
import Testing

@testable import GateHTTP

@Suite struct HTTP2StreamTests {
    private static let head = ByteBuffer(string: "HTTP/1.1 200 OK\r\nConnection: close\r\nX-A: b\r\n\r\n")

    /// A stage whose streams start an answer and write so many bytes of it.
    private func stage(
        writing count: Int,
        _ limits: DownstreamLimits = DownstreamLimits()
    ) throws -> HTTP2ConnectionFixture {
        try HTTP2ConnectionFixture(limits) { recorder in
            recorder.whenBegun = { _, exchange in
                exchange.start(Self.head, framing: .chunked, closes: false)
                if count > 0 { exchange.write(ByteBuffer(repeating: 0x61, count: count)) }
            }
        }
    }

    @Test func `the server says what it accepts before anything else`() throws {
        let stage = try HTTP2ConnectionFixture()
        let first = try stage.frames()
        #expect(first.map(\.kind) == [.settings, .windowUpdate])
        #expect(first.first?.payload == [0, 3, 0, 0, 0, 100, 0, 4, 0, 1, 0, 0, 0, 6, 0, 0, 128, 0, 0, 9, 0, 0, 0, 1])
        #expect(first.last?.code == 1024 * 1024 - 65_535)
    }

    @Test func `answers of many streams leave in one write`() throws {
        let stage = try HTTP2ConnectionFixture { $0.answersAll() }
        try stage.start()
        _ = try stage.frames()
        try stage.send(request(1, "/a") + request(3, "/b") + request(5, "/c"))
        var writes: [ByteBuffer] = []
        while let part = try stage.channel.readOutbound(as: ByteBuffer.self) {
            writes.append(part)
        }
        #expect(writes.count == 1)
        #expect(String(buffer: writes[0]).contains("</a>") && String(buffer: writes[0]).contains("</c>"))
    }

    @Test func `an answer without a body ends with its head`() throws {
        let stage = try HTTP2ConnectionFixture { recorder in
            recorder.whenBegun = { _, exchange in
                exchange.start(Self.head, framing: .none, closes: false)
                exchange.end()
            }
        }
        try stage.start(request(1))
        #expect(try stage.frames().filter { $0.stream == 1 }.map(\.description) == ["headers! 1"])
    }

    @Test func `trailers end the stream`() throws {
        let stage = try HTTP2ConnectionFixture { recorder in
            recorder.whenBegun = { _, exchange in
                exchange.start(Self.head, framing: .chunked, closes: false)
                exchange.write(ByteBuffer(string: "abc"))
                exchange.end(trailers: ByteBuffer(string: "grpc-status: 0\r\n\r\n"))
            }
        }
        try stage.start(request(1))
        let frames = try stage.frames().filter { $0.stream == 1 }
        #expect(frames.map(\.description) == ["headers 1", "data 1", "headers! 1"])
    }

    @Test func `a responder is used again, an exchange never`() throws {
        let stage = try HTTP2ConnectionFixture { $0.answersAll() }
        try stage.start(request(1, "/one"))
        let first = try #require(stage.recorders.first?.connection)
        stage.recorders[0].whenFinished = nil
        try stage.send(request(3, "/two"))
        _ = try stage.frames()
        #expect(stage.recorders.count == 1)
        first.start(Self.head, framing: .chunked, closes: false)
        first.write(ByteBuffer(string: "for another"))
        first.end()
        first.cut()
        first.resumeReading()
        #expect(try stage.frames().isEmpty)
        stage.recorders[0].connection?.respond(.text(200, "two"))
        #expect(try stage.frames(.data).map { String(decoding: $0.payload, as: UTF8.self) } == ["two"])
    }

    @Test func `an answer that the client does not take makes its app wait until it is taken`() throws {
        let stage = try self.stage(writing: 60_000)
        try stage.start(request(1))
        _ = try stage.frames()
        let exchange = try #require(stage.recorders.first?.connection)
        #expect(exchange.write(ByteBuffer(repeating: 0x62, count: 60_000)))
        #expect(!exchange.write(ByteBuffer(repeating: 0x62, count: 60_000)))
        #expect(stage.recorders.first?.events.contains("writable true") == false)
        try stage.send(frame(.windowUpdate, on: 0, number(100_000)) + frame(.windowUpdate, on: 1, number(100_000)))
        #expect(stage.recorders.first?.events.last == "writable true" && exchange.write(ByteBuffer(string: "x")))
    }

    @Test func `all streams of a connection wait when too much waits on them together`() throws {
        var limits = DownstreamLimits()
        limits.connectionBacklog = 100_000
        let stage = try self.stage(writing: 0, limits)
        try stage.start(request(1) + request(3) + request(5))
        stage.setWritable(false)
        let exchanges = stage.recorders.compactMap(\.connection)
        #expect(exchanges[0].write(ByteBuffer(repeating: 0x61, count: 60_000)))
        #expect(!exchanges[1].write(ByteBuffer(repeating: 0x61, count: 60_000)))
        #expect(!exchanges[2].write(ByteBuffer(string: "x")))
    }

    @Test func `window is given back when the body has been taken, and not before`() throws {
        let stage = try HTTP2ConnectionFixture { recorder in
            recorder.whenBegun = { _, exchange in exchange.pauseReading() }
        }
        try stage.start(request(1, method: "POST", hasBody: true))
        for _ in 0..<3 {
            try stage.send(frame(.data, 0, on: 1, [UInt8](repeating: 1, count: 16_000)))
        }
        #expect(try stage.frames(.windowUpdate).filter { $0.stream == 1 }.isEmpty)
        stage.recorders.first?.connection?.resumeReading()
        #expect(try stage.frames(.windowUpdate).filter { $0.stream == 1 }.map(\.code) == [48_000])
    }

    @Test func `padding does not use the window up`() throws {
        let stage = try HTTP2ConnectionFixture()
        try stage.start(request(1, method: "POST", hasBody: true))
        for _ in 0..<1000 {
            try stage.send(frame(.data, 8, on: 1, [250] + [UInt8](repeating: 0, count: 251)))
        }
        #expect(try stage.frames(.reset).isEmpty && stage.recorders.first?.events.first == "begin POST /")
    }

    @Test func `after an answer before the end of the body, the client may end it in peace`() throws {
        let stage = try HTTP2ConnectionFixture { recorder in
            recorder.whenBegun = { _, exchange in exchange.respond(.text(401, "no")) }
        }
        try stage.start(request(1, method: "POST", hasBody: true) + frame(.data, 0, on: 1, [1, 2, 3]))
        let frames = try stage.frames().filter { $0.stream == 1 }
        #expect(frames.map(\.description) == ["headers 1", "data! 1"])
        #expect(stage.recorders.first?.events == ["begin POST /"])
        try stage.send(frame(.data, 1, on: 1, [1, 2, 3]) + request(3))
        #expect(stage.recorders.first?.events.contains("begin GET /") == true)
        #expect(try stage.frames(.reset).isEmpty)
    }

    @Test func `a body that goes on after the answer ends without an error when it is too much`() throws {
        let stage = try HTTP2ConnectionFixture(DownstreamLimits.quick { $0.lingerBytes = 20_000 }) { recorder in
            recorder.whenBegun = { _, exchange in
                exchange.pauseReading()
                exchange.respond(.text(413, "no"))
            }
        }
        try stage.start(request(1, method: "POST", hasBody: true))
        let part = frame(.data, 0, on: 1, [UInt8](repeating: 1, count: 16_000))
        try stage.send(part)
        #expect(try stage.frames(.reset).isEmpty)
        try stage.send(part)
        #expect(try stage.frames(.reset).map { [$0.stream, $0.code] } == [[1, 0]])
    }

    @Test func `clients that stop a body after its answer are no flood`() throws {
        let stage = try HTTP2ConnectionFixture { recorder in
            recorder.whenBegun = { _, exchange in exchange.respond(.text(413, "no")) }
        }
        try stage.start()
        for count in 0..<300 {
            let id = UInt32(2 * count + 1)
            try stage.send(request(id, method: "POST", hasBody: true))
            try stage.send(frame(.reset, on: id, number(8)))
        }
        #expect(try stage.frames(.goAway).isEmpty)
    }

    @Test func `a body that does not end after the answer is ended without an error`() throws {
        let stage = try HTTP2ConnectionFixture(DownstreamLimits.quick { $0.linger = .zero }) { recorder in
            recorder.whenBegun = { _, exchange in exchange.respond(.text(401, "no")) }
        }
        try stage.start(request(1, method: "POST", hasBody: true))
        #expect(try stage.frames(.reset).isEmpty)
        stage.expire()
        #expect(try stage.frames(.reset).map { [$0.stream, $0.code] } == [[1, 0]])
    }

    @Test func `a stream that is cut while its request is being read is reset`() throws {
        let stage = try HTTP2ConnectionFixture { recorder in
            recorder.whenBegun = { _, exchange in exchange.cut() }
        }
        try stage.start(request(1) + request(3))
        #expect(try stage.frames(.reset).map { [$0.stream, $0.code] } == [[1, 2], [3, 2]])
    }

    @Test func `a connection that is ended while it reads lets go of everything`() throws {
        let held = Held()
        let stage = try HTTP2ConnectionFixture { recorder in
            recorder.whenBegun = { request, _ in
                if request.target == "/end" { held.connection?.cut() }
            }
        }
        held.connection = stage.connection
        try stage.start(request(1) + request(3, "/end") + request(5) + frame(.data, 1, on: 1, [1]))
        stage.channel.embeddedEventLoop.run()
        #expect(stage.tap.isClosed && stage.connection.open.isEmpty && stage.connection.session == nil)
        #expect(stage.recorders.count { $0.abandonments == 1 } >= 2)
    }

    /// Holds a connection for what is told before it is made.
    private final class Held {
        weak var connection: HTTP2Connection?
    }

    @Test func `a client that goes away abandons all its requests`() throws {
        let stage = try HTTP2ConnectionFixture()
        try stage.start(request(1) + request(3))
        stage.channel.close(promise: nil)
        stage.channel.embeddedEventLoop.run()
        #expect(stage.recorders.map(\.abandonments) == [1, 1] && stage.sweep.count == 0)
    }

    @Test func `H-11 a reset abandons the request at once`() throws {
        let stage = try HTTP2ConnectionFixture()
        try stage.start(request(1) + frame(.reset, on: 1, number(8)) + request(3))
        #expect(stage.recorders.count == 1)
        #expect(stage.recorders.first?.events == ["begin GET /", "finish", "cancel", "begin GET /", "finish"])
    }

    @Test func `a connection of a gateway that drains says so from the start`() throws {
        let stage = try HTTP2ConnectionFixture()
        try stage.start()
        _ = try stage.frames()
        stage.connection.drain()
        #expect(try stage.frames(.goAway).count == 1)
    }
}
