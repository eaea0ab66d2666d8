// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateNet
import GateWire
import NIOCore
import NIOEmbedded

@testable import GateHTTP

/// One HTTP/2 frame as a test sees it.
struct Frame: CustomStringConvertible {
    let kind: HTTP2FrameType
    let flags: UInt8
    let stream: Int
    let payload: [UInt8]

    var endsStream: Bool { self.flags & 1 == 1 }
    /// The code of a reset.
    var code: Int { self.payload.prefix(4).reduce(0) { $0 << 8 | Int($1) } }
    /// The code of a shutdown.
    var lastCode: Int { self.payload.dropFirst(4).prefix(4).reduce(0) { $0 << 8 | Int($1) } }
    var description: String { "\(self.kind)\(self.endsStream ? "!" : "") \(self.stream)" }
}

/// An HTTP/2 connection without a socket; each stream has a recorder of its own.
final class HTTP2ConnectionFixture {
    let channel = EmbeddedChannel()
    let tap = Tap()
    let sweep = DeadlineSweep()
    let heads = UnfinishedHeads()
    let connection: HTTP2Connection
    private let made = Made()
    private var received: [UInt8] = []

    private final class Made {
        var recorders: [Recorder] = []
        var prepare: (Recorder) -> Void = { _ in }
        var isDraining = false
    }

    /// The recorders in the order in which they were made.
    var recorders: [Recorder] { self.made.recorders }

    init(_ limits: DownstreamLimits = DownstreamLimits(), prepare: @escaping (Recorder) -> Void = { _ in }) throws {
        let made = self.made
        made.prepare = prepare
        let memory = BufferPool(maxSpare: BufferPool.maxPerLoop)
        let environment = DownstreamEnvironment(
            limits: limits,
            names: { LastingNames.plain },
            sweep: self.sweep,
            isDraining: { made.isDraining },
            flushes: FlushBatch(loop: self.channel.embeddedEventLoop) { memory.reclaim() },
            buffers: memory,
            heads: self.heads,
            date: DateLine(clock: .fixed(Instant(seconds: 784_111_777)))
        )
        self.connection = HTTP2Connection(environment: environment, peer: IPAddress("192.0.2.1")) {
            let recorder = Recorder()
            made.prepare(recorder)
            made.recorders.append(recorder)
            return recorder
        }
        try self.channel.pipeline.syncOperations.addHandlers([self.tap, self.connection])
    }

    /// Lets the preface arrive, and further bytes in the same read.
    func start(_ more: [UInt8] = []) throws {
        try self.send(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frame(.settings) + more)
    }

    /// Lets bytes arrive in one read.
    func send(_ bytes: [UInt8]) throws {
        try self.channel.writeInbound(ByteBuffer(bytes: bytes))
        self.channel.embeddedEventLoop.run()
    }

    /// All frames that were sent since the last call.
    func frames() throws -> [Frame] {
        self.channel.embeddedEventLoop.run()
        while let part = try self.channel.readOutbound(as: ByteBuffer.self) {
            self.received += Array(part.readableBytesView)
        }
        var frames: [Frame] = []
        while self.received.count >= 9 {
            let length = self.received[..<3].reduce(0) { $0 << 8 | Int($1) }
            guard self.received.count >= 9 + length else { break }
            frames.append(
                Frame(
                    kind: HTTP2FrameType(self.received[3]),
                    flags: self.received[4],
                    stream: self.received[5..<9].reduce(0) { $0 << 8 | Int($1) } & 0x7FFF_FFFF,
                    payload: Array(self.received[9..<(9 + length)])
                )
            )
            self.received.removeFirst(9 + length)
        }
        return frames
    }

    /// The frames of one kind since the last call.
    func frames(_ kind: HTTP2FrameType) throws -> [Frame] { try self.frames().filter { $0.kind == kind } }

    /// Ends whatever has a deadline that is over.
    func expire() {
        self.sweep.sweep(at: .now())
        self.channel.embeddedEventLoop.run()
    }

    /// How far the deadline is away, in seconds rounded up; nil for never.
    var secondsLeft: Int64? {
        guard self.connection.deadline != .distantFuture else { return nil }
        return ((self.connection.deadline - .now()).nanoseconds + 999_999_999) / 1_000_000_000
    }

    /// The client takes no more bytes, or takes them again.
    func setWritable(_ isWritable: Bool) {
        self.channel.isWritable = isWritable
        self.channel.pipeline.fireChannelWritabilityChanged()
    }
}

/// A frame.
func frame(_ kind: HTTP2FrameType, _ flags: UInt8 = 0, on stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
    var bytes = Array(number(UInt32(payload.count)).dropFirst())
    bytes += [kind.rawValue, flags]
    bytes += number(stream)
    return bytes + payload
}

/// Four bytes.
func number(_ value: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { (shift: UInt32) in UInt8(truncatingIfNeeded: value >> shift) }
}

/// A header section without a dynamic table.
func fieldBytes(_ fields: [(String, String)]) -> [UInt8] {
    var bytes: [UInt8] = []
    for (name, value) in fields {
        bytes += [0, UInt8(name.utf8.count)]
        bytes += Array(name.utf8)
        bytes.append(UInt8(value.utf8.count))
        bytes += Array(value.utf8)
    }
    return bytes
}

/// The fields of a request.
func fields(_ method: String = "GET", _ path: String = "/", _ more: [(String, String)] = []) -> [(String, String)] {
    [(":method", method), (":scheme", "https"), (":authority", "a"), (":path", path)] + more
}

/// The head of a request, with its end or before a body.
func request(_ stream: UInt32, _ path: String = "/", method: String = "GET", hasBody: Bool = false) -> [UInt8] {
    frame(.headers, hasBody ? 4 : 5, on: stream, fieldBytes(fields(method, path)))
}

extension DownstreamLimits {
    /// The defaults with some changes; streams are looked at whenever there is a chance.
    static func quick(_ change: (inout DownstreamLimits) -> Void) -> DownstreamLimits {
        var limits = DownstreamLimits()
        limits.streamCheckInterval = .zero
        change(&limits)
        return limits
    }
}
