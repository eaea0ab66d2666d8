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
    /// How long a handshake may take, a PROXY header included.
    package var handshake = DownstreamLimits().handshake
    /// The networks of the balancers whose connections begin with a PROXY header.
    package var balancers: [AddressRange] = []
    /// A socket that listens already, handed over by whoever started the process.
    package var inherited: InheritedSocket?

    /// A plan; a listener without identities is plain.
    package init(host: String, port: Int, identities: [TLSIdentity]) {
        self.host = host
        self.port = port
        self.identities = identities
    }
}

/// Who is at the other end of a connection.
package struct ClientAddress: Sendable {
    /// The address; nil if it has none.
    package let ip: IPAddress?
    /// The address as it is passed on.
    package let text: String
}

/// An open listening socket whose connections are spread over the event loops.
package final class Listener: Sendable {
    /// Makes the handler of a new connection; called on the connection's loop.
    package typealias ConnectionFactory =
        @Sendable (any Channel, ClientAddress, TLSFacts?) throws -> DownstreamConnection

    private let channel: any Channel
    private let gate: ConnectionGate
    private let group: any EventLoopGroup
    private let makeConnection: ConnectionFactory
    private let inForce: Mutex<ListenerPlan>

    private init(
        channel: any Channel,
        plan: ListenerPlan,
        gate: ConnectionGate,
        group: any EventLoopGroup,
        makeConnection: @escaping ConnectionFactory
    ) {
        self.channel = channel
        self.plan = plan
        self.gate = gate
        self.group = group
        self.makeConnection = makeConnection
        self.inForce = Mutex(plan)
    }

    /// The plan it was opened with.
    package let plan: ListenerPlan

    /// Opens the socket and serves.
    ///
    /// - Throws: A `Failure` naming the address, when it cannot be bound.
    package static func open(
        _ plan: ListenerPlan,
        on group: any EventLoopGroup,
        gate: ConnectionGate,
        makeConnection: @escaping ConnectionFactory
    ) async throws(Failure) -> Listener {
        let holder = Holder()
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 4096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Nobody is accepted before there is somebody to serve them: a socket that was handed over has a queue already.
            .serverChannelOption(.autoRead, value: false)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptGuard(gate: gate))
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let listener = holder.listener else { throw ListenerFull() }
                    try listener.admit(channel)
                }
            }
        do {
            let channel = try await Listener.bind(plan, by: bootstrap)
            let listener = Listener(
                channel: channel,
                plan: plan,
                gate: gate,
                group: group,
                makeConnection: makeConnection
            )
            holder.set(listener)
            listener.hold(false)
            return listener
        } catch {
            let reason = Self.reason(of: error)
            throw Failure(.internalFault, "listener.bind", "cannot listen on \(plan.host):\(plan.port): \(reason)")
        }
    }

    private static func bind(_ plan: ListenerPlan, by bootstrap: ServerBootstrap) async throws -> any Channel {
        guard let inherited = plan.inherited else {
            return try await bootstrap.bind(host: plan.host, port: plan.port).get()
        }
        let channel = try await bootstrap.withBoundSocket(inherited.descriptor).get()
        inherited.deepenQueue()
        return channel
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

    /// Takes certificates, times and balancers of another plan for the connections that come from now on.
    package func adopt(_ plan: ListenerPlan) {
        self.inForce.withLock { $0 = plan }
    }

    /// Accepts nothing until told otherwise, while clients wait in the kernel's queue; or goes on.
    package func hold(_ isHeld: Bool) {
        let channel = self.channel
        channel.eventLoop.execute {
            try? channel.pipeline.syncOperations.handler(type: AcceptGuard.self).hold(isHeld)
        }
    }

    /// Accepts no more connections; whoever is in the kernel's queue is still taken.
    ///
    /// Closing a socket resets those who wait in its queue, and SwiftNIO drops those whom it has accepted and not yet set up.
    /// So those are waited for, and the queue is emptied in the moment before the socket is closed. A socket that was handed
    /// over stays open elsewhere, with its queue.
    package func finish() async {
        self.hold(true)
        for _ in 0..<2 {
            for loop in self.group.makeIterator() {
                try? await loop.submit {}.get()
            }
            try? await self.channel.eventLoop.submit {}.get()
        }
        let channel = self.channel
        let isOurs = self.plan.inherited == nil
        let left = try? await channel.eventLoop.submit { () -> [NIOBSDSocket.Handle] in
            let taken = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                of: NIOBSDSocket.Handle.self
            ) { isOurs ? InheritedSocket.acceptAll(from: $0) : [] }
            channel.close(promise: nil)
            return taken ?? []
        }.get()
        for descriptor in left ?? [] {
            let bootstrap = ClientBootstrap(group: self.group).channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.admit(channel) }
            }
            _ = try? await bootstrap.withConnectedSocket(descriptor).get()
        }
    }

    /// Closes the socket at once.
    package func close() async {
        try? await self.channel.close().get()
    }

    /// Counts a connection, asks a balancer for its client, then counts the client and lets it in.
    private func admit(_ channel: any Channel) throws {
        let gate = self.gate
        guard gate.enter() else { throw ListenerFull() }
        channel.closeFuture.whenComplete { _ in gate.leave() }
        try Listener.configure(channel)
        let plan = self.inForce.withLock { $0 }
        let accepted = NIODeadline.now()
        let text = channel.remoteAddress?.ipAddress
        let peer = ClientAddress(ip: text.flatMap { IPAddress($0) }, text: text ?? "unknown")
        guard let ip = peer.ip, plan.balancers.contains(where: { $0.contains(ip) }) else {
            try self.count(peer, on: channel)
            return try self.prepare(channel, peer, plan, accepted)
        }
        let reader = ProxyHeaderReader(until: accepted + plan.handshake, gate: gate) { source in
            let client = source.map { ClientAddress($0) } ?? peer
            if source != nil { try self.count(client, on: channel) }
            try self.prepare(channel, client, plan, accepted)
        }
        try channel.pipeline.syncOperations.addHandler(reader)
    }

    private static func configure(_ channel: any Channel) throws {
        guard let options = channel.syncOptions else { return }
        try options.setOption(.socketOption(.tcp_nodelay), value: 1)
        try options.setOption(.maxMessagesPerRead, value: 1)
        try options.setOption(.tcpOption(Listener.unsentBytes), value: 128 * 1024)
        try options.setOption(.writeBufferWaterMark, value: .init(low: 32 * 1024, high: 128 * 1024))
    }

    private func count(_ client: ClientAddress, on channel: any Channel) throws {
        let gate = self.gate
        guard let claim = gate.claim(client.ip) else { throw ListenerFull() }
        channel.closeFuture.whenComplete { _ in gate.release(claim) }
    }

    private func prepare(
        _ channel: any Channel,
        _ client: ClientAddress,
        _ plan: ListenerPlan,
        _ accepted: NIODeadline
    ) throws {
        let makeConnection = self.makeConnection
        let identities = plan.identities
        guard let fallback = identities.first else {
            try channel.pipeline.syncOperations.addHandler(makeConnection(channel, client, nil))
            return
        }
        let deadline = HelloDeadline(accepted + plan.handshake)
        let sniffer = SNIHandler { result in
            channel.eventLoop.makeCompletedFuture {
                let facts = Listener.facts(result, identities, fallback, accepted)
                let tls = NIOSSLServerHandler(context: facts.identity.context)
                try channel.pipeline.syncOperations.addHandlers([tls, makeConnection(channel, client, facts)])
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

extension ClientAddress {
    /// A client that a balancer tells of.
    init(_ address: IPAddress) {
        let packed = ByteBuffer(bytes: address.isIPv4 ? address.bytes.suffix(4) : address.bytes[...])
        let text = (try? SocketAddress(packedIPAddress: packed, port: 0))?.ipAddress
        self.init(ip: address, text: text ?? "unknown")
    }
}

/// Closes a connection whose first TLS message is not complete in time; removed once it is.
private final class HelloDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let deadline: NIODeadline
    private var timer: Scheduled<Void>?

    init(_ deadline: NIODeadline) {
        self.deadline = deadline
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        self.timer = context.eventLoop.scheduleTask(deadline: self.deadline) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.timer?.cancel()
    }
}
