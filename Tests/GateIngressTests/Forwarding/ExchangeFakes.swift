// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GateHTTP
import GateHeaders
import GateOperations
import GateProxy
import GateWire
import HTTPTypes
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

/// The client's side of an exchange: notes what is sent to the client, and whether its request is read.
final class FakeClient: DownstreamExchange {
    /// What the client has received, in order.
    var received = ""
    /// What happened beside that, in order: `end`, `cut`, `tunnel` and so on.
    var events: [String] = []
    var isReading = true
    /// Whether the client takes more.
    var isWritable = true
    /// Whether a response that has begun can be taken back.
    var canRetract = false

    let arrived = NIODeadline.now()
    let mustClose = false

    func sendContinue() { self.events.append("continue") }
    func sendInterim(_ head: ByteBuffer) { self.received += String(buffer: head) }
    func respond(_ response: Response) { self.events.append("respond \(response.head.status.code)") }
    func start(_ head: consuming ByteBuffer, framing: BodyFraming, closes: Bool) {
        self.received += String(buffer: head)
    }
    func retract() -> Bool { self.canRetract }
    func write(_ body: ByteBuffer) -> Bool {
        self.received += String(buffer: body)
        return self.isWritable
    }
    func end() { self.events.append("end") }
    func end(trailers: ByteBuffer) { self.events.append("end with \(String(buffer: trailers))") }
    func startTunnel(_ head: consuming ByteBuffer) {
        self.received += String(buffer: head)
        self.events.append("tunnel")
    }
    func closeAfterResponse() {}
    func replaceConnection() {}
    func flush() {}
    func close() { self.events.append("close") }
    func pauseReading() { self.isReading = false }
    func resumeReading() { self.isReading = true }
    func freshBuffer(capacity: Int) -> ByteBuffer { ByteBuffer() }
}

/// The app's side of an exchange: notes what is sent to the app, and whether its response is read.
final class FakeStream: UpstreamStream {
    /// What the app has received, in order.
    var received = ""
    /// What happened beside that, in order: `finish`, `cancel`, `end` and so on.
    var events: [String] = []
    var isReading = true
    /// Whether the app takes more.
    var isWritable = true
    var isReused = false

    func send(_ head: ByteBuffer, for call: UpstreamRequest) { self.received += String(buffer: head) }
    func send(_ body: ByteBuffer) { self.received += String(buffer: body) }
    func finishRequest() { self.events.append("finish") }
    func flush() {}
    func endTunnelOutput() { self.events.append("end output") }
    func endTunnel() { self.events.append("end") }
    func cancel() { self.events.append("cancel") }
    func pauseReading() { self.isReading = false }
    func resumeReading() { self.isReading = true }
}

/// The responder's side of an exchange: notes its calls.
final class FakeDelegate: UpstreamExchangeDelegate {
    /// What happened, in order.
    var events: [String] = []

    func exchangeFinished(status: Int) { self.events.append("finished \(status)") }
    func exchangeFailed(_ failure: Failure) { self.events.append("failed \(failure.code)") }
}

/// An exchange with fakes on all its sides.
struct ExchangeFixture {
    let gateway: GatewayFixture
    let client = FakeClient()
    let stream = FakeStream()
    let delegate = FakeDelegate()
    let request: IngressRequest
    let exchange: UpstreamExchange

    /// An exchange of the route `wiki`, protected, that has not begun; `decides` if the request is decided about before.
    init(
        _ start: String = "GET /wiki",
        lines: String = "",
        gateway: GatewayFixture? = nil,
        decides: Bool = false
    ) throws {
        let gateway = try gateway ?? GatewayFixture()
        self.gateway = gateway
        let head = try gateway.head(start, GatewayFixture.gate, lines)
        self.request = decides ? gateway.decided(head) : gateway.request(head)
        self.exchange = UpstreamExchange(
            of: self.request,
            to: try gateway.route("wiki"),
            identity: ByteBuffer(string: "X-Forwarded-User: staff:ada\r\n"),
            opening: nil,
            over: self.client,
            loop: gateway.loop,
            delegate: self.delegate
        )
    }

    /// The line with the id of the request.
    var idLine: String { "X-Request-Id: \(self.request.id.text)\r\n" }

    /// The failures that the log has, by their codes.
    var logged: [String] {
        self.gateway.runtime.services.log.incidents.incidents(named: self.request.id.text).map(\.reason.entry.code)
    }

    /// The app's response head.
    func respond(_ head: String, method: RequestMethod = .get) throws {
        var buffer = ByteBuffer(string: head)
        let parser = ResponseParser(names: self.gateway.runtime.fieldNames)
        self.exchange.upstreamReceivedHead(try #require(try parser.head(from: &buffer, for: method)))
    }
}
