// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateNet
import GateWire
import NIOCore
import NIOEmbedded
import NIOTLS

@testable import GateHTTP

/// Sits between the connection and its channel: counts reads and keeps a half-closed channel open, as a socket would.
final class Tap: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private(set) var reads = 0
    private(set) var isHalfClosed = false
    private(set) var isClosed = false

    func read(context: ChannelHandlerContext) {
        self.reads += 1
        context.read()
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all else {
            self.isHalfClosed = true
            promise?.succeed()
            return
        }
        context.close(mode: mode, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.isClosed = true
        context.fireChannelInactive()
    }
}

/// A connection without a socket, with a responder that the test controls.
final class ConnectionFixture {
    let channel = EmbeddedChannel()
    let tap = Tap()
    let sweep = DeadlineSweep()
    let heads = UnfinishedHeads()
    let responder = Recorder()
    let connection: HTTP1Connection
    private let draining = Flag()

    private final class Flag {
        var isSet = false
    }

    init(_ limits: DownstreamLimits = DownstreamLimits(), tls: NegotiatedTLS? = nil) throws {
        let draining = self.draining
        let environment = DownstreamEnvironment(
            limits: limits,
            names: { LastingNames.plain },
            sweep: self.sweep,
            isDraining: { draining.isSet },
            heads: self.heads,
            date: DateLine(clock: .fixed(Instant(seconds: 784_111_777)))
        )
        self.connection = HTTP1Connection(
            environment: environment,
            peer: IPAddress("192.0.2.1"),
            tls: tls,
            responder: self.responder
        )
        try self.channel.pipeline.syncOperations.addHandlers([self.tap, self.connection])
    }

    /// Lets bytes arrive in one read.
    func send(_ text: String) throws {
        try self.channel.writeInbound(ByteBuffer(string: text))
    }

    /// All that was flushed since the last call.
    func received() throws -> String {
        var text = ""
        while let part = try self.channel.readOutbound(as: ByteBuffer.self) {
            text += String(buffer: part)
        }
        return text
    }

    /// Lets so many seconds pass for the deadlines.
    func pass(_ seconds: Int64) {
        self.sweep.sweep(at: .now() + .seconds(seconds))
        self.channel.embeddedEventLoop.run()
    }

    /// How far the deadline is away, in seconds rounded up; nil for never.
    var secondsLeft: Int64? {
        guard self.connection.deadline != .distantFuture else { return nil }
        return ((self.connection.deadline - .now()).nanoseconds + 999_999_999) / 1_000_000_000
    }

    /// The gateway drains from now on.
    func startDraining() { self.draining.isSet = true }

    /// The client disconnects.
    func hangUp() {
        self.channel.close(promise: nil)
        self.channel.embeddedEventLoop.run()
    }

    /// The client stops reading, or resumes.
    func setWritable(_ isWritable: Bool) {
        self.channel.isWritable = isWritable
        self.channel.pipeline.fireChannelWritabilityChanged()
    }
}

/// The statuses of the responses in a text.
func statuses(_ text: String) -> [String] {
    text.split(separator: "HTTP/1.1 ", omittingEmptySubsequences: false).dropFirst().map { String($0.prefix(3)) }
}

/// A `GET` without more than it needs, and further lines.
func get(_ target: String = "/", _ lines: String = "") -> String {
    "GET \(target) HTTP/1.1\r\nHost: a\r\n\(lines)\r\n"
}

/// A `POST` with framing as given, and what follows the head.
func post(_ framing: String, _ body: String = "") -> String {
    "POST /p HTTP/1.1\r\nHost: a\r\n\(framing)\r\n\r\n\(body)"
}

/// The names of a configuration that stays in force.
enum LastingNames {
    static let plain = FieldNames()
}
