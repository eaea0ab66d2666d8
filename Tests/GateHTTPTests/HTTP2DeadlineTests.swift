// SPDX-License-Identifier: Apache-2.0

import GateWire
import NIOCore
import Testing

@testable import GateHTTP

@Suite struct HTTP2DeadlineTests {
    /// Limits with one of them over at once.
    @Test func `the first request has ten seconds, an idle connection 75`() throws {
        let stage = try HTTP2ConnectionFixture { $0.answersAll() }
        try stage.start()
        #expect(stage.secondsLeft == 10)
        try stage.send(request(1))
        #expect(stage.secondsLeft == 75)
    }

    @Test func `a client without a request hears the end and is closed`() throws {
        let stage = try HTTP2ConnectionFixture(DownstreamLimits.quick { ($0.firstByte, $0.farewell) = (.zero, .zero) })
        try stage.start()
        stage.expire()
        stage.expire()
        #expect(try stage.frames(.goAway).map(\.code) == [0x7FFF_FFFF, 0])
        #expect(stage.tap.isHalfClosed)
    }

    @Test func `S-56 a header block has ten seconds from its first byte`() throws {
        let stage = try HTTP2ConnectionFixture(DownstreamLimits.quick { $0.requestHead = .zero })
        try stage.start(frame(.headers, 1, on: 1, block(fields())))
        _ = try stage.frames()
        stage.expire()
        #expect(try stage.frames(.goAway).map(\.lastCode) == [11])
        #expect(stage.tap.isHalfClosed && stage.recorders.first?.events == ["refused wire.too_slow"])
    }

    @Test func `S-56 the deadline of a header block does not move with its bytes`() throws {
        let stage = try HTTP2ConnectionFixture()
        try stage.start(frame(.headers, 1, on: 1, block(fields())))
        let deadline = stage.connection.deadline
        try stage.send(frame(.continuation, 0, on: 1, block([("a", "b")])))
        #expect(stage.connection.deadline == deadline && (stage.secondsLeft ?? 99) <= 10)
    }

    @Test func `H-18 after a trailer section nothing is awaited any more`() throws {
        let stage = try HTTP2ConnectionFixture { $0.answersAll() }
        try stage.start(request(1, method: "POST", hasBody: true) + frame(.data, 0, on: 1, [65]))
        try stage.send(frame(.headers, 5, on: 1, block([("x-auth-request-user", "evil")])))
        #expect(stage.recorders.first?.events == ["begin POST /", "body A", "finish"] && stage.secondsLeft == 75)
    }

    @Test func `S-56 a body that is silent is answered with 408 and its stream ended`() throws {
        let stage = try HTTP2ConnectionFixture(
            DownstreamLimits.quick { ($0.bodyInactivity, $0.linger) = (.zero, .zero) }
        )
        try stage.start(request(1, method: "POST", hasBody: true) + request(3))
        _ = try stage.frames()
        stage.expire()
        let frames = try stage.frames().filter { $0.stream == 1 }
        #expect(frames.map(\.description) == ["headers 1", "data! 1"])
        #expect(stage.recorders.first?.events == ["begin POST /", "cancel", "refused wire.too_slow"])
        stage.expire()
        #expect(try stage.frames(.reset).map { [$0.stream, $0.code] } == [[1, 0]])
        #expect(!stage.tap.isHalfClosed)
    }

    @Test func `S-56 a body may trickle for ten seconds only`() throws {
        let stage = try HTTP2ConnectionFixture(
            DownstreamLimits.quick { ($0.bodyGrace, $0.bodyRate) = (.zero, 1_000_000_000) }
        )
        try stage.start(request(1, method: "POST", hasBody: true) + frame(.data, 0, on: 1, [1, 2, 3]))
        stage.expire()
        #expect(stage.recorders.first?.events.last == "refused wire.too_slow")
    }

    @Test func `a body that nobody reads is not the client's fault`() throws {
        let stage = try HTTP2ConnectionFixture(DownstreamLimits.quick { $0.bodyInactivity = .zero }) { recorder in
            recorder.whenBegun = { _, exchange in exchange.pauseReading() }
        }
        try stage.start(request(1, method: "POST", hasBody: true))
        stage.expire()
        #expect(stage.recorders.first?.events == ["begin POST /"])
    }

    @Test func `H-16 a stream whose answer is not taken is reset, and only that`() throws {
        let stage = try HTTP2ConnectionFixture(DownstreamLimits.quick { $0.writeStall = .zero }) { recorder in
            recorder.whenBegun = { request, exchange in
                guard request.target == "/big" else { return }
                exchange.start(
                    ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n"),
                    framing: .chunked,
                    closes: false
                )
                exchange.write(ByteBuffer(repeating: 0x61, count: 100_000))
            }
        }
        try stage.start(request(1, "/big") + request(3, "/waits"))
        let sent = try stage.frames().filter { $0.kind == .data }.map(\.payload.count).reduce(0, +)
        #expect(sent == 65_535)
        stage.expire()
        #expect(try stage.frames(.reset).map { [$0.stream, $0.code] } == [[1, 8]])
        #expect(stage.recorders.map(\.abandonments) == [1, 0] && stage.connection.waitingBytes == 0)
    }

    @Test func `H-16 a connection that takes nothing is closed`() throws {
        let stage = try HTTP2ConnectionFixture(DownstreamLimits.quick { $0.writeStall = .zero })
        try stage.start(request(1))
        stage.setWritable(false)
        stage.expire()
        #expect(stage.tap.isClosed && stage.recorders.first?.abandonments == 1)
    }

    @Test func `a connection carries so many requests, then says goodbye in two steps`() throws {
        let stage = try HTTP2ConnectionFixture(
            DownstreamLimits.quick { ($0.maxRequestsPerConnection, $0.farewell) = (2, .zero) }
        ) {
            $0.answersAll()
        }
        try stage.start(request(1))
        #expect(try stage.frames(.goAway).isEmpty)
        try stage.send(request(3))
        #expect(try stage.frames(.goAway).map(\.code) == [0x7FFF_FFFF])
        try stage.send(request(5))
        #expect(try stage.frames().contains { $0.kind == .data && $0.stream == 5 })
        stage.expire()
        #expect(try stage.frames(.goAway).map(\.code) == [5])
        #expect(stage.tap.isHalfClosed)
    }

    @Test func `an old connection says goodbye with its next request`() throws {
        let stage = try HTTP2ConnectionFixture(DownstreamLimits.quick { $0.age = .zero }) { $0.answersAll() }
        try stage.start(request(1))
        #expect(try stage.frames(.goAway).map(\.code) == [0x7FFF_FFFF])
    }

    @Test func `the second step comes as soon as the client has heard the first`() throws {
        let stage = try HTTP2ConnectionFixture()
        try stage.start(request(1))
        _ = try stage.frames()
        stage.connection.drain()
        let frames = try stage.frames()
        #expect(frames.map(\.kind) == [.goAway, .ping])
        try stage.send(frame(.ping, 1, on: 0, frames.last?.payload ?? []))
        #expect(try stage.frames(.goAway).map(\.code) == [1])
        #expect(!stage.tap.isHalfClosed, "the request under way is still answered")
        stage.recorders.first?.connection?.respond(.text(200, "x"))
        #expect(try stage.frames().contains { $0.kind == .data && $0.endsStream })
        #expect(stage.tap.isHalfClosed)
    }
}
