// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateHTTP
import GateNet
import GateWire
import NIOCore
import NIOEmbedded

/// Sends bytes to a client connection without a socket, and checks what remains afterwards.
private struct ConnectionFixture {
    let channel = EmbeddedChannel()
    let sweep = DeadlineSweep()
    let ledger = CallLedger()
    var sent: [UInt8] = []

    var setting: DownstreamEnvironment {
        // As in the program, so that a buffer that is released while in use is detected.
        let memory = BufferPool(maxSpare: BufferPool.maxPerLoop)
        return DownstreamEnvironment(
            limits: DownstreamLimits(),
            names: { LastingNames.plain },
            sweep: self.sweep,
            isDraining: { false },
            flushes: FlushBatch(loop: self.channel.embeddedEventLoop) { memory.reclaim() },
            memory: memory,
            date: DateLine(clock: .fixed(Instant(seconds: 784_111_777)))
        )
    }

    /// Adds the connection to an open channel.
    func add(_ connection: any ChannelHandler) throws {
        try self.channel.pipeline.syncOperations.addHandler(connection)
        self.channel.connect(to: try SocketAddress(unixDomainSocketPath: "/nowhere"), promise: nil)
    }

    /// Sends the bytes, then closes the connection; returns the violated rule, or nil.
    mutating func run(_ pieces: [ArraySlice<UInt8>], maxRequests: Int) -> String? {
        for piece in pieces where self.channel.isActive {
            _ = try? self.channel.writeInbound(ByteBuffer(bytes: piece))
            self.channel.embeddedEventLoop.run()
            self.collect()
            if self.ledger.live > maxRequests { return "there are \(self.ledger.live) concurrent requests" }
        }
        self.sweep.sweep(at: .now() + .seconds(1))
        self.channel.embeddedEventLoop.run()
        _ = try? self.channel.finish(acceptAlreadyClosed: true)
        self.channel.embeddedEventLoop.run()
        self.collect()
        guard self.sweep.count == 0 else { return "a deadline of a closed connection is still watched" }
        return self.ledger.violation
    }

    private mutating func collect() {
        while let part = try? self.channel.readOutbound(as: ByteBuffer.self) {
            self.sent += Array(part.readableBytesView)
        }
    }
}

/// An HTTP/1.1 client connection.
enum HTTP1ConnectionFuzzTarget {
    static func violation(in input: Input) -> String? {
        let ledger: CallLedger
        do {
            var fixture = ConnectionFixture()
            ledger = fixture.ledger
            let responder = Echo(fixture.ledger)
            let connection = HTTP1Connection(
                setting: fixture.setting,
                peer: IPAddress("192.0.2.1"),
                tls: nil,
                responder: responder
            )
            try? fixture.add(connection)
            if let violation = fixture.run(input.pieces, maxRequests: 1) { return violation }
            guard fixture.sent.count <= 65_536 + 64 * input.bytes.count else {
                return "far more bytes were sent than received"
            }
        }
        return ledger.live == 0 ? nil : "a closed connection is not released"
    }
}

/// An HTTP/2 client connection; without bit 4 of the seed the bytes become frames of the right length.
enum HTTP2ConnectionFuzzTarget {
    static func violation(in input: Input) -> String? {
        let bytes = Frames.preface + (input.has(4) ? input.bytes : Frames.fitted(input.bytes))
        let ledger: CallLedger
        do {
            var fixture = ConnectionFixture()
            ledger = fixture.ledger
            let connection = HTTP2Connection(setting: fixture.setting, peer: IPAddress("192.0.2.1")) { Echo(ledger) }
            try? fixture.add(connection)
            let pieces = Input(seed: input.seed, bytes: bytes).pieces
            if let violation = fixture.run(pieces, maxRequests: DownstreamLimits().streams + 16) { return violation }
            guard fixture.sent.count <= 65_536 + 256 * bytes.count else {
                return "far more bytes were sent than received"
            }
        }
        return ledger.live == 0 ? nil : "\(ledger.live) streams of a closed connection are not released"
    }
}

/// HTTP/2 frames from arbitrary bytes.
enum Frames {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]

    /// Each frame is its type, its flags, its stream, the length of its payload, one byte each, and the payload.
    static func fitted(_ bytes: [UInt8]) -> [UInt8] {
        var rest = bytes[...]
        var frames: [UInt8] = []
        while rest.count >= 4 {
            let head = Array(rest.prefix(4))
            let payload = rest.dropFirst(4).prefix(Int(head[3]))
            frames += [0, 0, UInt8(payload.count), head[0], head[1], 0, 0, 0, head[2]] + payload
            rest = rest.dropFirst(4 + payload.count)
        }
        return frames
    }
}

/// The names of a configuration that is not reloaded.
enum LastingNames {
    static let plain = FieldNames()
}
