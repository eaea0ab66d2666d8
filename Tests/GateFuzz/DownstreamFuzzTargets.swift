// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateHTTP
import GateNet
import GateWire
import NIOCore
import NIOEmbedded

/// Lets bytes arrive at a client connection without a socket, and looks at what it leaves behind.
private struct ConnectionFixture {
    let channel = EmbeddedChannel()
    let sweep = DeadlineSweep()
    let ledger = CallLedger()
    var sent: [UInt8] = []

    var environment: DownstreamEnvironment {
        // As in the program, so that memory which somebody still holds would be found out.
        let memory = BufferPool(maxSpare: BufferPool.maxPerLoop)
        return DownstreamEnvironment(
            limits: DownstreamLimits(),
            names: { LastingNames.plain },
            sweep: self.sweep,
            isDraining: { false },
            flushes: FlushBatch(loop: self.channel.embeddedEventLoop) { memory.reclaim() },
            buffers: memory,
            date: DateLine(clock: .fixed(Instant(seconds: 784_111_777)))
        )
    }

    /// Puts the connection in its place, on a channel that is open.
    func add(_ connection: any ChannelHandler) throws {
        try self.channel.pipeline.syncOperations.addHandler(connection)
        self.channel.connect(to: try SocketAddress(unixDomainSocketPath: "/nowhere"), promise: nil)
    }

    /// Lets the bytes arrive, then ends the connection; answers with the rule that is broken.
    mutating func run(_ pieces: [ArraySlice<UInt8>], most: Int) -> String? {
        for piece in pieces where self.channel.isActive {
            _ = try? self.channel.writeInbound(ByteBuffer(bytes: piece))
            self.channel.embeddedEventLoop.run()
            self.collect()
            if self.ledger.live > most { return "there are \(self.ledger.live) requests at a time" }
        }
        self.sweep.sweep(at: .now() + .seconds(1))
        self.channel.embeddedEventLoop.run()
        _ = try? self.channel.finish(acceptAlreadyClosed: true)
        self.channel.embeddedEventLoop.run()
        self.collect()
        guard self.sweep.count == 0 else { return "a deadline of a closed connection is still watched" }
        return self.ledger.fault
    }

    private mutating func collect() {
        while let part = try? self.channel.readOutbound(as: ByteBuffer.self) {
            self.sent += Array(part.readableBytesView)
        }
    }
}

/// A client connection that speaks HTTP/1.1.
enum HTTP1ConnectionFuzzTarget {
    static func fault(in input: Input) -> String? {
        let ledger: CallLedger
        do {
            var stage = ConnectionFixture()
            ledger = stage.ledger
            let responder = Echo(stage.ledger)
            let connection = HTTP1Connection(
                environment: stage.environment,
                peer: IPAddress("192.0.2.1"),
                tls: nil,
                responder: responder
            )
            try? stage.add(connection)
            if let fault = stage.run(input.pieces, most: 1) { return fault }
            guard stage.sent.count <= 65_536 + 64 * input.bytes.count else { return "much more went out than came in" }
        }
        return ledger.live == 0 ? nil : "a connection that is closed lives on"
    }
}

/// A client connection that speaks HTTP/2; bit 4 of the seed means that the lengths of frames are made to fit.
enum HTTP2ConnectionFuzzTarget {
    static func fault(in input: Input) -> String? {
        let bytes = Frames.preface + (input.has(4) ? input.bytes : Frames.fitted(input.bytes))
        let ledger: CallLedger
        do {
            var stage = ConnectionFixture()
            ledger = stage.ledger
            let connection = HTTP2Connection(environment: stage.environment, peer: IPAddress("192.0.2.1")) {
                Echo(ledger)
            }
            try? stage.add(connection)
            let pieces = Input(seed: input.seed, bytes: bytes).pieces
            if let fault = stage.run(pieces, most: DownstreamLimits().streams + 16) { return fault }
            guard stage.sent.count <= 65_536 + 256 * bytes.count else { return "much more went out than came in" }
        }
        return ledger.live == 0 ? nil : "\(ledger.live) streams of a closed connection live on"
    }
}

/// Frames of HTTP/2 from bytes that are not meant as such.
enum Frames {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]

    /// Each frame is its kind, its flags, its stream, the length of its payload, all of one byte, and the payload.
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

/// The names of a configuration that stays in force.
enum LastingNames {
    static let plain = FieldNames()
}
