// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateHTTP
import GateWire
import NIOCore

/// Counts the responders of one run and records the first violation; confined to the run.
final class CallLedger {
    var live = 0
    var violation: String?
}

/// Responds to each request as its path selects, and checks that it is called in order.
final class Echo: Responder {
    private enum Phase {
        case idle
        case begun
        case complete
        case gone
    }

    private let ledger: CallLedger
    private var phase = Phase.idle
    private var request: RequestHead?
    private var exchange: (any DownstreamExchange)?
    private var received: Int64 = 0
    private var hasResponse = false

    init(_ ledger: CallLedger) {
        self.ledger = ledger
        ledger.live += 1
    }

    deinit { self.ledger.live -= 1 }

    func begin(_ request: RequestHead, on connection: any DownstreamExchange) {
        self.phase = .begun
        (self.request, self.exchange, self.received, self.hasResponse) = (request, connection, 0, false)
        switch request.target.utf8.last {
        case UInt8(ascii: "c"): self.exchange.take()?.close()
        case UInt8(ascii: "e"): self.start(.chunked)
        case UInt8(ascii: "p"): connection.pauseReading()
        case UInt8(ascii: "r"): self.respond()
        case UInt8(ascii: "i"): connection.sendContinue()
        default: break
        }
    }

    func receive(_ body: ByteBuffer) {
        if self.phase != .begun { self.note("a body arrives without a request") }
        self.received += Int64(body.readableBytes)
        if case .length(let length) = self.request?.framing, self.received > length {
            self.note("a body is longer than its length")
        }
        guard self.hasResponse else { return }
        self.exchange?.write(body)
        self.exchange?.flush()
    }

    func finishRequest() {
        if self.phase != .begun { self.note("a request ends before it begins") }
        self.phase = .complete
        if case .length(let length) = self.request?.framing, self.received != length {
            self.note("a body is shorter than its length")
        }
        switch self.request?.target.utf8.last {
        case UInt8(ascii: "n"): break
        case UInt8(ascii: "t"):
            self.start(.chunked)
            self.exchange?.write(ByteBuffer(string: "text"))
            self.complete { $0.end(trailers: ByteBuffer(string: "grpc-status: 0\r\n\r\n")) }
        case UInt8(ascii: "e"): self.complete { $0.end() }
        default: self.respond()
        }
    }

    func cancel() {
        if self.phase == .idle || self.phase == .gone { self.note("a request is cancelled that does not exist") }
        self.phase = .gone
        self.exchange = nil
    }

    func downstreamWritabilityChanged(isWritable: Bool) {}

    func response(to rejection: WireRejection) -> Response { .text(rejection.status, rejection.reason.code) }

    private func start(_ framing: BodyFraming) {
        guard let exchange else { return }
        self.hasResponse = true
        let closes = exchange.mustClose
        var head = ByteBuffer(string: "HTTP/1.1 200 OK\r\n")
        if closes { head.writeString("Connection: close\r\n") }
        head.writeString("Transfer-Encoding: chunked\r\n\r\n")
        exchange.start(head, framing: framing, closes: closes)
    }

    private func respond() {
        guard !self.hasResponse else { return }
        self.hasResponse = true
        self.complete { $0.respond(.text(200, "ok")) }
    }

    /// Ends the response and releases the exchange, which holds this object.
    private func complete(_ end: (any DownstreamExchange) -> Void) {
        guard let exchange = self.exchange.take() else { return }
        end(exchange)
        exchange.flush()
    }

    private func note(_ violation: String) {
        self.ledger.violation = self.ledger.violation ?? violation
    }
}
