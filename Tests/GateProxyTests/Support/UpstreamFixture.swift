// SPDX-License-Identifier: Apache-2.0

import GateNet
import GateWire
import NIOCore
import NIOEmbedded

@testable import GateProxy

/// Counts the reads that reach the channel.
final class Tap: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private(set) var reads = 0

    func read(context: ChannelHandlerContext) {
        self.reads += 1
        context.read()
    }
}

/// A connection to an upstream without a socket, in a pool that makes no others.
final class UpstreamFixture {
    let channel: EmbeddedChannel
    let tap = Tap()
    let sweep = DeadlineSweep()
    let outcomes = TargetOutcomes()
    let pool: HTTP1Pool
    let connection: HTTP1UpstreamConnection

    init(_ change: (inout UpstreamLimits) -> Void = { _ in }) throws {
        var limits = UpstreamLimits()
        limits.connections = 0
        change(&limits)
        self.channel = EmbeddedChannel()
        var settings = UpstreamSettings(targets: [.unix(path: "/nowhere")])
        settings.limits = limits
        let setting = UpstreamEnvironment(loop: self.channel.embeddedEventLoop, sweep: self.sweep)
        let connector = UpstreamConnector(
            to: .unix(path: "/nowhere"),
            of: LoadedUpstream(withoutTLS: settings),
            setting: setting
        )
        self.pool = HTTP1Pool(connector, limits: limits, outcomes: self.outcomes)
        self.connection = HTTP1UpstreamConnection(pool: self.pool, limits: limits)
        self.channel.connect(to: try SocketAddress(unixDomainSocketPath: "/nowhere"), promise: nil)
        try self.channel.pipeline.syncOperations.addHandlers([self.tap, self.connection])
    }

    /// Sends a request that has no body.
    @discardableResult
    func request(
        _ method: RequestMethod = .get,
        isComplete: Bool = true,
        _ change: (inout UpstreamRequest) -> Void = { _ in }
    ) -> Recorder {
        var call = UpstreamRequest(method, framing: isComplete ? .none : .length(4))
        change(&call)
        let sink = Recorder()
        self.connection.lend(to: sink)
        sink.upstreamReady(self.connection)
        self.connection.send(ByteBuffer(string: "HEAD|"), for: call)
        if isComplete { self.connection.finishRequest() }
        self.connection.flush()
        return sink
    }

    /// Lets bytes of the upstream arrive in one read.
    func answer(_ text: String) throws {
        try self.channel.writeInbound(ByteBuffer(string: text))
        self.channel.embeddedEventLoop.run()
    }

    /// All that was flushed since the last call.
    func sent() throws -> String {
        var text = ""
        while let part = try self.channel.readOutbound(as: ByteBuffer.self) {
            text += String(buffer: part)
        }
        return text
    }

    /// Whether the channel is open.
    var isOpen: Bool { self.channel.isActive }

    /// Whether the pool lends the connection out.
    var isKept: Bool {
        let sink = Recorder()
        self.pool.lease(to: sink)
        guard sink.connection === self.connection else {
            self.pool.cancel(sink)
            return false
        }
        return true
    }

    /// Lets so many seconds pass for the deadlines.
    func pass(_ seconds: Int64) {
        self.sweep.sweep(at: .now() + .seconds(seconds))
        self.channel.embeddedEventLoop.run()
    }

    /// The upstream goes away.
    func hangUp() {
        self.channel.close(promise: nil)
        self.channel.embeddedEventLoop.run()
    }
}

/// An answer with these lines and what follows its head.
func answer(_ status: String, _ lines: String, _ body: String = "") -> String {
    "HTTP/1.1 \(status)\r\n\(lines)\(lines.isEmpty ? "" : "\r\n")\r\n\(body)"
}
