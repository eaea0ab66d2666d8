// SPDX-License-Identifier: Apache-2.0

import GateNet
import GateWire
import NIOCore
import NIOEmbedded

@testable import GateProxy

/// An HTTP/2 upstream connection: each request ends once, in order, for any bytes.
enum UpstreamFuzzTarget {
    /// The sender of one request.
    private final class Sink: UpstreamSink {
        let ledger: CallLedger
        let call: UpstreamRequest
        var hasResponse = false
        var ends = 0

        init(_ ledger: CallLedger, _ call: UpstreamRequest) {
            self.ledger = ledger
            self.call = call
            ledger.live += 1
        }

        deinit { self.ledger.live -= 1 }

        func upstreamReady(_ link: any UpstreamStream) {
            let method = self.call.method.rawValue
            link.send(ByteBuffer(string: "\(method) /p HTTP/1.1\r\nHost: a\r\nX-A: b\r\n\r\n"), for: self.call)
            if self.call.framing != .none { link.send(ByteBuffer(string: "body")) }
            link.finishRequest()
            link.flush()
        }

        func upstreamReceivedHead(_ head: ResponseHead) {
            if self.hasResponse || self.ends > 0 { self.note("a second response arrives") }
            if head.isInterim { self.note("an interim response is taken for the final one") }
            self.hasResponse = true
        }

        func upstreamReceivedBody(_ body: ByteBuffer) {
            if !self.hasResponse || self.ends > 0 { self.note("a body arrives without its response") }
        }

        func upstreamReceivedTrailers(_ trailers: ByteBuffer) {
            if !self.hasResponse || self.ends > 0 { self.note("trailers arrive without their response") }
        }

        func upstreamFinished() {
            if !self.hasResponse { self.note("a response ends before it begins") }
            self.end()
        }

        func upstreamFailed(_ failure: UpstreamFailure) { self.end() }

        func upstreamReadComplete() {}

        func upstreamWritabilityChanged(isWritable: Bool) {}

        private func end() {
            self.ends += 1
            if self.ends > 1 { self.note("a request ends twice") }
        }

        private func note(_ violation: String) {
            self.ledger.violation = self.ledger.violation ?? violation
        }
    }

    static func violation(in input: Input) -> String? {
        let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
        let bytes = settings + (input.has(4) ? input.bytes : Frames.fitted(input.bytes))
        let ledger = CallLedger()
        do {
            if let violation = try self.run(Input(seed: input.seed, bytes: bytes), ledger) { return violation }
        } catch {
            return "the fuzz target cannot start: \(error)"
        }
        return ledger.live == 0 ? nil : "\(ledger.live) requests of a closed connection are not released"
    }

    private static func run(_ input: Input, _ ledger: CallLedger) throws -> String? {
        let channel = EmbeddedChannel()
        let sweep = DeadlineSweep()
        let address = UpstreamTarget(.unix(path: "/nowhere"), isHTTP2: true)
        var settings = UpstreamSettings(targets: [address])
        settings.limits.connections = 0
        let environment = UpstreamEnvironment(loop: channel.embeddedEventLoop, sweep: sweep)
        let connector = UpstreamConnector(
            to: address,
            of: LoadedUpstream(withoutTLS: settings),
            environment: environment
        )
        let pool = HTTP2Pool(connector, limits: settings.limits, outcomes: nil)
        let connection = HTTP2UpstreamConnection(pool: pool, limits: settings.limits, isSecure: false)
        channel.connect(to: try SocketAddress(unixDomainSocketPath: "/nowhere"), promise: nil)
        try channel.pipeline.syncOperations.addHandler(connection)
        var late = UpstreamRequest(.get)
        late.takesTrailers = true
        let calls = [late, UpstreamRequest(.head), UpstreamRequest(.post, framing: .length(4))]
        let sinks = calls.map { Sink(ledger, $0) }
        for sink in sinks {
            connection.lend(to: sink)
        }
        var sent = 0
        for piece in input.pieces where channel.isActive {
            _ = try? channel.writeInbound(ByteBuffer(bytes: piece))
            channel.embeddedEventLoop.run()
            while let part = try? channel.readOutbound(as: ByteBuffer.self) { sent += part.readableBytes }
        }
        _ = try? channel.finish(acceptAlreadyClosed: true)
        pool.shutDown()
        guard sent <= 65_536 + 64 * input.bytes.count else { return "far more bytes were sent than received" }
        guard sinks.allSatisfy({ $0.ends == 1 }) else { return "a request has no end" }
        return ledger.violation
    }
}
