// SPDX-License-Identifier: Apache-2.0

import GateNet
import GateWire
import NIOCore
import NIOEmbedded
import Testing

@testable import GateHTTP

@Suite struct HTTP2StreamTests {
    private static let head = ByteBuffer(string: "HTTP/1.1 200 OK\r\nConnection: close\r\nX-A: b\r\n\r\n")

    /// A fixture whose streams start a response and write so many bytes of it.
    private func fixture(
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

    @Test func `the server sends its settings first`() throws {
        let fixture = try HTTP2ConnectionFixture()
        let first = try fixture.frames()
        #expect(first.map(\.kind) == [.settings, .windowUpdate])
        #expect(first.first?.payload == [0, 3, 0, 0, 0, 100, 0, 4, 0, 1, 0, 0, 0, 6, 0, 0, 128, 0, 0, 9, 0, 0, 0, 1])
        #expect(first.last?.code == 1024 * 1024 - 65_535)
    }

    @Test func `responses of many streams are sent in one write`() throws {
        let fixture = try HTTP2ConnectionFixture { $0.respondsToAll() }
        try fixture.start()
        _ = try fixture.frames()
        try fixture.send(request(1, "/a") + request(3, "/b") + request(5, "/c"))
        var writes: [ByteBuffer] = []
        while let part = try fixture.channel.readOutbound(as: ByteBuffer.self) {
            writes.append(part)
        }
        #expect(writes.count == 1)
        #expect(String(buffer: writes[0]).contains("</a>") && String(buffer: writes[0]).contains("</c>"))
    }

    @Test func `a response without a body ends with its head`() throws {
        let fixture = try HTTP2ConnectionFixture { recorder in
            recorder.whenBegun = { _, exchange in
                exchange.start(Self.head, framing: .none, closes: false)
                exchange.end()
            }
        }
        try fixture.start(request(1))
        #expect(try fixture.frames().filter { $0.stream == 1 }.map(\.description) == ["headers! 1"])
    }

    @Test func `trailers end the stream`() throws {
        let fixture = try HTTP2ConnectionFixture { recorder in
            recorder.whenBegun = { _, exchange in
                exchange.start(Self.head, framing: .chunked, closes: false)
                exchange.write(ByteBuffer(string: "abc"))
                exchange.end(trailers: ByteBuffer(string: "grpc-status: 0\r\n\r\n"))
            }
        }
        try fixture.start(request(1))
        let frames = try fixture.frames().filter { $0.stream == 1 }
        #expect(frames.map(\.description) == ["headers 1", "data 1", "headers! 1"])
    }

    @Test func `a responder is reused, an exchange never`() throws {
        let fixture = try HTTP2ConnectionFixture { $0.respondsToAll() }
        try fixture.start(request(1, "/one"))
        let first = try #require(fixture.recorders.first?.connection)
        fixture.recorders[0].whenFinished = nil
        try fixture.send(request(3, "/two"))
        _ = try fixture.frames()
        #expect(fixture.recorders.count == 1)
        first.start(Self.head, framing: .chunked, closes: false)
        first.write(ByteBuffer(string: "for another"))
        first.end()
        first.close()
        first.resumeReading()
        #expect(try fixture.frames().isEmpty)
        fixture.recorders[0].connection?.respond(.text(200, "two"))
        #expect(try fixture.frames(.data).map { String(decoding: $0.payload, as: UTF8.self) } == ["two"])
    }

    @Test func `back-pressure: a response that the client does not read pauses its app`() throws {
        let fixture = try self.fixture(writing: 60_000)
        try fixture.start(request(1))
        _ = try fixture.frames()
        let exchange = try #require(fixture.recorders.first?.connection)
        #expect(exchange.write(ByteBuffer(repeating: 0x62, count: 60_000)))
        #expect(!exchange.write(ByteBuffer(repeating: 0x62, count: 60_000)))
        #expect(fixture.recorders.first?.events.contains("writable true") == false)
        try fixture.send(frame(.windowUpdate, on: 0, number(100_000)) + frame(.windowUpdate, on: 1, number(100_000)))
        #expect(fixture.recorders.first?.events.last == "writable true" && exchange.write(ByteBuffer(string: "x")))
    }

    @Test func `all streams of a connection are paused when too many bytes are queued on them together`() throws {
        var limits = DownstreamLimits()
        limits.connectionBacklog = 100_000
        let fixture = try self.fixture(writing: 0, limits)
        try fixture.start(request(1) + request(3) + request(5))
        fixture.setWritable(false)
        let exchanges = fixture.recorders.compactMap(\.connection)
        #expect(exchanges[0].write(ByteBuffer(repeating: 0x61, count: 60_000)))
        #expect(!exchanges[1].write(ByteBuffer(repeating: 0x61, count: 60_000)))
        #expect(!exchanges[2].write(ByteBuffer(string: "x")))
    }

    @Test func `the window is updated when the body has been taken, and not before`() throws {
        let fixture = try HTTP2ConnectionFixture { recorder in
            recorder.whenBegun = { _, exchange in exchange.pauseReading() }
        }
        try fixture.start(request(1, method: "POST", hasBody: true))
        for _ in 0..<3 {
            try fixture.send(frame(.data, 0, on: 1, [UInt8](repeating: 1, count: 16_000)))
        }
        #expect(try fixture.frames(.windowUpdate).filter { $0.stream == 1 }.isEmpty)
        fixture.recorders.first?.connection?.resumeReading()
        #expect(try fixture.frames(.windowUpdate).filter { $0.stream == 1 }.map(\.code) == [48_000])
    }

    @Test func `padding does not use up the window`() throws {
        let fixture = try HTTP2ConnectionFixture()
        try fixture.start(request(1, method: "POST", hasBody: true))
        for _ in 0..<1000 {
            try fixture.send(frame(.data, 8, on: 1, [250] + [UInt8](repeating: 0, count: 251)))
        }
        #expect(try fixture.frames(.reset).isEmpty && fixture.recorders.first?.events.first == "begin POST /")
    }

    @Test func `after an early response, the client may complete the body`() throws {
        let fixture = try HTTP2ConnectionFixture { recorder in
            recorder.whenBegun = { _, exchange in exchange.respond(.text(401, "no")) }
        }
        try fixture.start(request(1, method: "POST", hasBody: true) + frame(.data, 0, on: 1, [1, 2, 3]))
        let frames = try fixture.frames().filter { $0.stream == 1 }
        #expect(frames.map(\.description) == ["headers 1", "data! 1"])
        #expect(fixture.recorders.first?.events == ["begin POST /"])
        try fixture.send(frame(.data, 1, on: 1, [1, 2, 3]) + request(3))
        #expect(fixture.recorders.first?.events.contains("begin GET /") == true)
        #expect(try fixture.frames(.reset).isEmpty)
    }

    @Test func `a body that continues after the response is reset without an error when it is too long`() throws {
        let fixture = try HTTP2ConnectionFixture(DownstreamLimits.quick { $0.lingerBytes = 20_000 }) { recorder in
            recorder.whenBegun = { _, exchange in
                exchange.pauseReading()
                exchange.respond(.text(413, "no"))
            }
        }
        try fixture.start(request(1, method: "POST", hasBody: true))
        let part = frame(.data, 0, on: 1, [UInt8](repeating: 1, count: 16_000))
        try fixture.send(part)
        #expect(try fixture.frames(.reset).isEmpty)
        try fixture.send(part)
        #expect(try fixture.frames(.reset).map { [$0.stream, $0.code] } == [[1, 0]])
    }

    @Test func `clients that stop a body after its response are not a flood`() throws {
        let fixture = try HTTP2ConnectionFixture { recorder in
            recorder.whenBegun = { _, exchange in exchange.respond(.text(413, "no")) }
        }
        try fixture.start()
        for count in 0..<300 {
            let id = UInt32(2 * count + 1)
            try fixture.send(request(id, method: "POST", hasBody: true))
            try fixture.send(frame(.reset, on: id, number(8)))
        }
        #expect(try fixture.frames(.goAway).isEmpty)
    }

    @Test func `a body that does not end after the response is reset without an error`() throws {
        let fixture = try HTTP2ConnectionFixture(DownstreamLimits.quick { $0.linger = .zero }) { recorder in
            recorder.whenBegun = { _, exchange in exchange.respond(.text(401, "no")) }
        }
        try fixture.start(request(1, method: "POST", hasBody: true))
        #expect(try fixture.frames(.reset).isEmpty)
        fixture.expire()
        #expect(try fixture.frames(.reset).map { [$0.stream, $0.code] } == [[1, 0]])
    }

    @Test func `a stream that is closed while its request is being read is reset`() throws {
        let fixture = try HTTP2ConnectionFixture { recorder in
            recorder.whenBegun = { _, exchange in exchange.close() }
        }
        try fixture.start(request(1) + request(3))
        #expect(try fixture.frames(.reset).map { [$0.stream, $0.code] } == [[1, 2], [3, 2]])
    }

    @Test func `a connection that is closed while it reads releases everything`() throws {
        let held = Held()
        let fixture = try HTTP2ConnectionFixture { recorder in
            recorder.whenBegun = { request, _ in
                if request.target == "/end" { held.connection?.close() }
            }
        }
        held.connection = fixture.connection
        try fixture.start(request(1) + request(3, "/end") + request(5) + frame(.data, 1, on: 1, [1]))
        fixture.channel.embeddedEventLoop.run()
        #expect(fixture.tap.isClosed && fixture.connection.open.isEmpty && fixture.connection.session == nil)
        #expect(fixture.recorders.count { $0.cancellations == 1 } >= 2)
    }

    /// Holds a connection for closures that are created before it.
    private final class Held {
        weak var connection: HTTP2Connection?
    }

    @Test func `a client that disconnects cancels all its requests`() throws {
        let fixture = try HTTP2ConnectionFixture()
        try fixture.start(request(1) + request(3))
        fixture.channel.close(promise: nil)
        fixture.channel.embeddedEventLoop.run()
        #expect(fixture.recorders.map(\.cancellations) == [1, 1] && fixture.sweep.count == 0)
    }

    @Test func `H-11 a reset cancels the request immediately`() throws {
        let fixture = try HTTP2ConnectionFixture()
        try fixture.start(request(1) + frame(.reset, on: 1, number(8)) + request(3))
        #expect(fixture.recorders.count == 1)
        #expect(fixture.recorders.first?.events == ["begin GET /", "finish", "cancel", "begin GET /", "finish"])
    }

    @Test func `a connection opened while the gateway drains gets GOAWAY immediately`() throws {
        let fixture = try HTTP2ConnectionFixture()
        try fixture.start()
        _ = try fixture.frames()
        fixture.connection.drain()
        #expect(try fixture.frames(.goAway).count == 1)
    }
}
