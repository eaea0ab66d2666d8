// SPDX-License-Identifier: Apache-2.0

import GateNet
import GateWire
import NIOCore
import Testing

@testable import GateHTTP

@Suite struct HTTP2DeadlineTests {
    /// Limits with one of them over at once.
    @Test func `the first request has ten seconds, an idle connection 75`() throws {
        let fixture = try HTTP2ConnectionFixture { $0.respondsToAll() }
        try fixture.start()
        #expect(fixture.secondsLeft == 10)
        try fixture.send(request(1))
        #expect(fixture.secondsLeft == 75)
    }

    @Test func `a connection without a request is half-closed, then closed`() throws {
        let fixture = try HTTP2ConnectionFixture(
            DownstreamLimits.quick { ($0.firstByte, $0.goAwayDelay) = (.zero, .zero) }
        )
        try fixture.start()
        fixture.expire()
        fixture.expire()
        #expect(try fixture.frames(.goAway).map(\.code) == [0x7FFF_FFFF, 0])
        #expect(fixture.tap.isHalfClosed)
    }

    @Test func `S-56 a header section has ten seconds from its first byte`() throws {
        let fixture = try HTTP2ConnectionFixture(DownstreamLimits.quick { $0.requestHead = .zero })
        try fixture.start(frame(.headers, 1, on: 1, fieldBytes(fields())))
        _ = try fixture.frames()
        fixture.expire()
        #expect(try fixture.frames(.goAway).map(\.lastCode) == [11])
        #expect(fixture.tap.isHalfClosed && fixture.recorders.first?.events == ["rejected wire.too_slow"])
    }

    @Test func `S-56 the deadline of a header section does not move with its bytes`() throws {
        let fixture = try HTTP2ConnectionFixture()
        try fixture.start(frame(.headers, 1, on: 1, fieldBytes(fields())))
        let deadline = fixture.connection.deadline
        try fixture.send(frame(.continuation, 0, on: 1, fieldBytes([("a", "b")])))
        #expect(fixture.connection.deadline == deadline && (fixture.secondsLeft ?? 99) <= 10)
    }

    @Test func `H-18 a trailer section ends the header deadline`() throws {
        let fixture = try HTTP2ConnectionFixture { $0.respondsToAll() }
        try fixture.start(request(1, method: "POST", hasBody: true) + frame(.data, 0, on: 1, [65]))
        try fixture.send(frame(.headers, 5, on: 1, fieldBytes([("x-auth-request-user", "evil")])))
        #expect(fixture.recorders.first?.events == ["begin POST /", "body A", "finish"] && fixture.secondsLeft == 75)
    }

    @Test func `S-56 a silent body gets a 408 and its stream ends`() throws {
        let fixture = try HTTP2ConnectionFixture(
            DownstreamLimits.quick { ($0.bodyInactivity, $0.linger) = (.zero, .zero) }
        )
        try fixture.start(request(1, method: "POST", hasBody: true) + request(3))
        _ = try fixture.frames()
        fixture.expire()
        let frames = try fixture.frames().filter { $0.stream == 1 }
        #expect(frames.map(\.description) == ["headers 1", "data! 1"])
        #expect(fixture.recorders.first?.events == ["begin POST /", "cancel", "rejected wire.too_slow"])
        fixture.expire()
        #expect(try fixture.frames(.reset).map { [$0.stream, $0.code] } == [[1, 0]])
        #expect(!fixture.tap.isHalfClosed)
    }

    @Test func `S-56 a body may trickle for ten seconds only`() throws {
        let fixture = try HTTP2ConnectionFixture(
            DownstreamLimits.quick { ($0.bodyGrace, $0.bodyRate) = (.zero, 1_000_000_000) }
        )
        try fixture.start(request(1, method: "POST", hasBody: true) + frame(.data, 0, on: 1, [1, 2, 3]))
        fixture.expire()
        #expect(fixture.recorders.first?.events.last == "rejected wire.too_slow")
    }

    @Test func `a paused body does not count against the client`() throws {
        let fixture = try HTTP2ConnectionFixture(DownstreamLimits.quick { $0.bodyInactivity = .zero }) { recorder in
            recorder.whenBegun = { _, exchange in exchange.pauseReading() }
        }
        try fixture.start(request(1, method: "POST", hasBody: true))
        fixture.expire()
        #expect(fixture.recorders.first?.events == ["begin POST /"])
    }

    @Test func `H-16 a stream whose response is not read is reset, and no other`() throws {
        let fixture = try HTTP2ConnectionFixture(DownstreamLimits.quick { $0.writeStall = .zero }) { recorder in
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
        try fixture.start(request(1, "/big") + request(3, "/waits"))
        let sent = try fixture.frames().filter { $0.kind == .data }.map(\.payload.count).reduce(0, +)
        #expect(sent == 65_535)
        fixture.expire()
        #expect(try fixture.frames(.reset).map { [$0.stream, $0.code] } == [[1, 8]])
        #expect(fixture.recorders.map(\.cancellations) == [1, 0] && fixture.connection.waitingBytes == 0)
    }

    @Test func `H-16 a connection whose client stops reading is closed`() throws {
        let fixture = try HTTP2ConnectionFixture(DownstreamLimits.quick { $0.writeStall = .zero })
        try fixture.start(request(1))
        fixture.setWritable(false)
        fixture.expire()
        #expect(fixture.tap.isClosed && fixture.recorders.first?.cancellations == 1)
    }

    @Test func `a connection carries a limited number of requests, then shuts down in two steps`() throws {
        let fixture = try HTTP2ConnectionFixture(
            DownstreamLimits.quick { ($0.maxRequestsPerConnection, $0.goAwayDelay) = (2, .zero) }
        ) {
            $0.respondsToAll()
        }
        try fixture.start(request(1))
        #expect(try fixture.frames(.goAway).isEmpty)
        try fixture.send(request(3))
        #expect(try fixture.frames(.goAway).map(\.code) == [0x7FFF_FFFF])
        try fixture.send(request(5))
        #expect(try fixture.frames().contains { $0.kind == .data && $0.stream == 5 })
        fixture.expire()
        #expect(try fixture.frames(.goAway).map(\.code) == [5])
        #expect(fixture.tap.isHalfClosed)
    }

    @Test func `an old connection shuts down with its next request`() throws {
        let fixture = try HTTP2ConnectionFixture(DownstreamLimits.quick { $0.age = .zero }) { $0.respondsToAll() }
        try fixture.start(request(1))
        #expect(try fixture.frames(.goAway).map(\.code) == [0x7FFF_FFFF])
    }

    @Test func `the final GOAWAY follows the acknowledgement of the first`() throws {
        let fixture = try HTTP2ConnectionFixture()
        try fixture.start(request(1))
        _ = try fixture.frames()
        fixture.connection.drain()
        let frames = try fixture.frames()
        #expect(frames.map(\.kind) == [.goAway, .ping])
        try fixture.send(frame(.ping, 1, on: 0, frames.last?.payload ?? []))
        #expect(try fixture.frames(.goAway).map(\.code) == [1])
        #expect(!fixture.tap.isHalfClosed, "the request in progress still gets its response")
        fixture.recorders.first?.connection?.respond(.text(200, "x"))
        #expect(try fixture.frames().contains { $0.kind == .data && $0.endsStream })
        #expect(fixture.tap.isHalfClosed)
    }
}
