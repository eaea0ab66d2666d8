// SPDX-License-Identifier: Apache-2.0

internal import Foundation
package import GateCore
package import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import NIOTLS
internal import Synchronization

/// Where and how to listen.
package struct ListenerPlan: Sendable {
    /// The address to bind.
    package let host: String
    /// The port to bind.
    package let port: Int
    /// The certificates, the default first; empty for a plain listener.
    package let identities: [TLSIdentity]

    /// A plan; a listener without identities is plain.
    package init(host: String, port: Int, identities: [TLSIdentity]) {
        self.host = host
        self.port = port
        self.identities = identities
    }
}

/// An open listening socket whose connections are spread over the event loops.
package final class Listener: Sendable {
    /// Makes the handler of a new connection; called on the connection's loop.
    package typealias ConnectionFactory = @Sendable (any Channel, TLSFacts?) throws -> DownstreamConnection

    private let channel: any Channel
    private let identities: Mutex<[TLSIdentity]>

    private init(channel: any Channel, plan: ListenerPlan) {
        self.channel = channel
        self.plan = plan
        self.identities = Mutex(plan.identities)
    }

    /// The address and port of the plan it was opened with.
    package let plan: ListenerPlan

    /// Opens the socket and serves.
    ///
    /// - Throws: A `Failure` naming the address, when it cannot be bound.
    package static func open(
        _ plan: ListenerPlan,
        on group: any EventLoopGroup,
        gate: Turnstile,
        makeConnection: @escaping ConnectionFactory
    ) async throws(Failure) -> Listener {
        let holder = Holder()
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 4096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Connections have it from their listener, as they have TCP_NODELAY.
            .serverChannelOption(.tcpOption(Listener.unsentBytes), value: 128 * 1024)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let options = channel.syncOptions
                    try options?.setOption(.maxMessagesPerRead, value: 1)
                    try options?.setOption(.writeBufferWaterMark, value: .init(low: 32 * 1024, high: 128 * 1024))
                    guard gate.enter() else { throw ListenerFull() }
                    channel.closeFuture.whenComplete { _ in gate.leave() }
                    guard let listener = holder.listener else { throw ListenerFull() }
                    try listener.prepare(channel, makeConnection)
                }
            }
        do {
            let channel = try await bootstrap.bind(host: plan.host, port: plan.port).get()
            let listener = Listener(channel: channel, plan: plan)
            holder.set(listener)
            return listener
        } catch {
            let reason = Self.reason(of: error)
            throw Failure(.internalFault, "listener.bind", "cannot listen on \(plan.host):\(plan.port): \(reason)")
        }
    }

    /// Why a port cannot be bound, in the operator's words where the reason is a usual one.
    private static func reason(of error: any Error) -> String {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE: "the port is in use"
        case EACCES: "a port below 1024 needs the right to bind it"
        case EADDRNOTAVAIL: "this machine has no such address"
        default: "\(error)"
        }
    }

    /// How many bytes that the client has not asked for yet the kernel takes from us: `TCP_NOTSENT_LOWAT`, tcp(7).
    ///
    /// So what waits for a slow client shrinks as it takes it, instead of standing still for a minute.
    private static let unsentBytes = NIOBSDSocket.Option(rawValue: 25)

    /// Shows other certificates from the next handshake on.
    package func replaceIdentities(_ identities: [TLSIdentity]) {
        self.identities.withLock { $0 = identities }
    }

    /// Accepts no more connections.
    package func close() async {
        try? await self.channel.close().get()
    }

    private func prepare(_ channel: any Channel, _ makeConnection: @escaping ConnectionFactory) throws {
        let identities = self.identities.withLock { $0 }
        guard let fallback = identities.first else {
            try channel.pipeline.syncOperations.addHandler(makeConnection(channel, nil))
            return
        }
        let accepted = NIODeadline.now()
        let deadline = HelloDeadline()
        let sniffer = SNIHandler { result in
            channel.eventLoop.makeCompletedFuture {
                let facts = Listener.facts(result, identities, fallback, accepted)
                let tls = NIOSSLServerHandler(context: facts.identity.context)
                try channel.pipeline.syncOperations.addHandlers([tls, makeConnection(channel, facts)])
                channel.pipeline.syncOperations.removeHandler(deadline, promise: nil)
            }
        }
        try channel.pipeline.syncOperations.addHandlers([deadline, ByteToMessageHandler(sniffer)])
    }

    private static func facts(
        _ result: SNIResult,
        _ identities: [TLSIdentity],
        _ fallback: TLSIdentity,
        _ accepted: NIODeadline
    ) -> TLSFacts {
        guard case .hostname(let name) = result, let host = Origin.normalHost(name) else {
            return TLSFacts(serverName: nil, identity: fallback, accepted: accepted)
        }
        let identity = identities.first { $0.covers(host) } ?? fallback
        return TLSFacts(serverName: host, identity: identity, accepted: accepted)
    }

    /// Hands the listener to the initializer of connections, which is made before it.
    private final class Holder: Sendable {
        private let held = Mutex<Listener?>(nil)
        var listener: Listener? { self.held.withLock { $0 } }
        func set(_ listener: Listener) { self.held.withLock { $0 = listener } }
    }
}

private struct ListenerFull: Error {}

/// Closes a connection whose first TLS message is not complete in time; removed once it is.
private final class HelloDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private var timer: Scheduled<Void>?

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        self.timer = context.eventLoop.scheduleTask(in: DownstreamLimits().handshake) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.timer?.cancel()
    }
}
