// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateNet
import GateWire
import NIOCore
import NIOPosix

@testable import GateProxy

/// A server on loopback that responds with the number of the connection, and a pool that connects to it, each on its own
/// loop.
final class LocalUpstream: Sendable {
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let loops: SocketLoopGroup
    private let loop: SocketLoop
    private let server: any Channel
    private let pool: NIOLoopBound<HTTP1Pool>

    /// Numbers the connections; confined to the loop.
    private final class Count {
        var value = 0
    }

    /// A server on 127.0.0.1 and a pool.
    ///
    /// - Parameters:
    ///   - host: Where the pool connects to; nothing listens on another address of the loopback interface, whatever other
    ///     tests bind, and whatever sockets a process that is being started still holds.
    ///   - change: Changes the limits of the pool.
    /// - Throws: If no socket can be opened.
    init(
        at host: String = "127.0.0.1",
        _ change: @escaping @Sendable (inout UpstreamLimits) -> Void = { _ in }
    ) async throws {
        let serving = self.group.next()
        self.loops = try SocketLoopGroup(count: 1)
        let loop = self.loops.loops[0]
        self.loop = loop
        let count = try await serving.submit { NIOLoopBound(Count(), eventLoop: serving) }.get()
        let server = try await ServerBootstrap(group: serving)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    count.value.value += 1
                    try channel.pipeline.syncOperations.addHandler(ResponseHandler(number: count.value.value))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        self.server = server
        let port = server.localAddress?.port
        self.pool = try await loop.submit {
            var limits = UpstreamLimits()
            change(&limits)
            let address = UpstreamTarget(.tcp(host: host, port: port ?? 0))
            var settings = UpstreamSettings(targets: [address])
            settings.limits = limits
            let environment = UpstreamEnvironment(loop: loop, sweep: DeadlineSweep())
            let pool = HTTP1Pool(
                UpstreamConnector(to: address, of: LoadedUpstream(withoutTLS: settings), environment: environment),
                limits: limits
            )
            return NIOLoopBound(pool, eventLoop: loop)
        }.get()
    }

    /// Starts a request; with `waits` it is sent by ``Request/send()``.
    func request(_ target: String = "/", waits: Bool = false) -> Request {
        let request = Request(target, waits: waits, on: self.loop)
        let pool = self.pool
        self.loop.execute { pool.value.lease(to: request) }
        return request
    }

    /// How many connections the pool counts.
    var count: Int {
        get async throws {
            let pool = self.pool
            return try await self.loop.submit { pool.value.count }.get()
        }
    }

    /// Shuts the pool down and closes the server.
    func close() async throws {
        let pool = self.pool
        try await self.loop.submit { pool.value.shutDown() }.get()
        try? await self.server.close().get()
        try await self.loops.shutdownGracefully()
        try await self.group.shutdownGracefully()
    }

    /// Responds to each head with the connection's number, closes on `/close`.
    private final class ResponseHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let number: Int

        init(number: Int) { self.number = number }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let text = String(buffer: self.unwrapInboundIn(data))
            guard !text.contains("/close") else {
                context.close(promise: nil)
                return
            }
            let response = "HTTP/1.1 200 OK\r\nContent-Length: \("\(self.number)".utf8.count)\r\n\r\n\(self.number)"
            context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: response)), promise: nil)
        }
    }
}

/// A request to a local upstream.
final class Request: UpstreamSink, Sendable {
    private let target: String
    private let waits: Bool
    private let loop: any EventLoop
    private let isReady: EventLoopPromise<Void>
    private let isOver: EventLoopPromise<String>
    private let state: NIOLoopBoundBox<(connection: (any UpstreamStream)?, body: String)>

    init(_ target: String, waits: Bool, on loop: any EventLoop) {
        self.target = target
        self.waits = waits
        self.loop = loop
        self.isReady = loop.makePromise()
        self.isOver = loop.makePromise()
        self.state = .makeBoxSendingValue((nil, ""), eventLoop: loop)
    }

    /// Returns when the request has its connection.
    func ready() async throws { try await self.isReady.futureResult.get() }

    /// Sends a request that waits.
    func send() { self.loop.execute { self.sendNow() } }

    /// The body of the response, or the failure as text.
    var response: String { get async throws { try await self.isOver.futureResult.get() } }

    private func sendNow() {
        guard let connection = self.state.value.connection else { return }
        connection.send(
            ByteBuffer(string: "GET \(self.target) HTTP/1.1\r\nHost: a\r\n\r\n"),
            for: UpstreamRequest(.get)
        )
        connection.finishRequest()
        connection.flush()
    }

    func upstreamReady(_ connection: any UpstreamStream) {
        self.state.value.connection = connection
        if !self.waits { self.sendNow() }
        self.isReady.succeed()
    }

    func upstreamReceivedHead(_ head: ResponseHead) {}
    func upstreamReceivedBody(_ body: ByteBuffer) { self.state.value.body += String(buffer: body) }
    func upstreamFinished() { self.isOver.succeed(self.state.value.body) }

    func upstreamFailed(_ failure: UpstreamFailure) {
        self.isReady.succeed()
        if case .unreachable = failure {
            self.isOver.succeed("unreachable")
        } else {
            self.isOver.succeed("\(failure)")
        }
    }

    func upstreamReadComplete() {}
    func upstreamWritabilityChanged(isWritable: Bool) {}
}
