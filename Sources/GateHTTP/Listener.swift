// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateNet
internal import Glibc
package import NIOCore
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
    /// Whether HTTP/2 is offered by ALPN; never without TLS.
    package let http2: Bool
    /// How long a handshake may take, a PROXY header included.
    package var handshake = DownstreamLimits().handshake
    /// The networks of the balancers whose connections begin with a PROXY header.
    package var balancers: [CIDRRange] = []
    /// Whether it serves nothing and redirects to https; never with identities.
    package var redirectsToHTTPS = false
    /// A socket that listens already, handed over by whoever started the process.
    package var inherited: InheritedSocket?

    /// A plan; a listener without identities is plain.
    package init(host: String, port: Int, identities: [TLSIdentity], http2: Bool = true) {
        self.host = host
        self.port = port
        self.identities = identities
        self.http2 = http2 && !identities.isEmpty
    }
}

/// Who is at the other end of a connection.
package struct ClientIP: Sendable {
    /// The address; nil if it has none.
    package let ip: IPAddress?
    /// The address as it is passed on.
    package let text: String
}

/// What a connection has come to before its first request.
package struct DownstreamNegotiation: Sendable {
    /// What TLS settled; nil on a plain listener.
    package let tls: NegotiatedTLS?
    /// What is spoken.
    package let speaks: DownstreamProtocol
}

/// An open listening socket whose connections are spread over the event loops.
package final class Listener: Sendable {
    /// Makes the handler of a new connection; called on the connection's loop.
    package typealias ConnectionFactory =
        @Sendable (any Channel, ClientIP, DownstreamNegotiation) throws -> any ChannelHandler & IdleClosable

    /// The plan it was opened with.
    package let plan: ListenerPlan

    private let socket: ListeningSocket
    private let gate: ConnectionLimiter
    private let makeConnection: ConnectionFactory
    private let inForce: Mutex<ListenerPlan>

    private init(
        socket: ListeningSocket,
        plan: ListenerPlan,
        gate: ConnectionLimiter,
        makeConnection: @escaping ConnectionFactory
    ) {
        self.socket = socket
        self.plan = plan
        self.gate = gate
        self.makeConnection = makeConnection
        self.inForce = Mutex(plan)
    }

    /// Opens the socket and serves.
    ///
    /// - Throws: A `Failure` naming the address, when it cannot be bound.
    package static func open(
        _ plan: ListenerPlan,
        on group: SocketLoopGroup,
        gate: ConnectionLimiter,
        makeConnection: @escaping ConnectionFactory
    ) async throws(Failure) -> Listener {
        do {
            let socket = try Listener.socket(for: plan)
            let listener = Listener(socket: socket, plan: plan, gate: gate, makeConnection: makeConnection)
            try await socket.accept(
                on: group,
                failed: { error, loop in
                    let failure = AcceptFailure(of: error)
                    gate.note(failure)
                    return failure != .other && gate.closeSomeIdle(on: loop)
                },
                prepare: { listener.admit($0) }
            )
            return listener
        } catch {
            let reason = Self.reason(of: error)
            throw Failure(.listenerBind, "cannot listen on \(plan.host):\(plan.port): \(reason)")
        }
    }

    private static func socket(for plan: ListenerPlan) throws -> ListeningSocket {
        if let inherited = plan.inherited { return try ListeningSocket(inheriting: inherited.descriptor) }
        return try ListeningSocket(on: SocketAddress.makeAddressResolvingHost(plan.host, port: plan.port))
    }

    /// Why a port cannot be bound, in the operator's words where the reason is a usual one.
    private static func reason(of error: any Error) -> String {
        switch (error as? SocketError)?.code {
        case EADDRINUSE: "the port is in use"
        case EACCES: "a port below 1024 needs the right to bind it"
        case EADDRNOTAVAIL: "this machine has no such address"
        default: "\(error)"
        }
    }

    /// Takes certificates, times and balancers of another plan for the connections that come from now on.
    package func adopt(_ plan: ListenerPlan) {
        self.inForce.withLock { $0 = plan }
    }

    /// Accepts nothing until told otherwise, while clients wait in the kernel's queue; or goes on.
    package func hold(_ isHeld: Bool) { self.socket.hold(isHeld) }

    /// Accepts no more connections; whoever is in the kernel's queue is still taken.
    package func finish() async { await self.socket.finish() }

    /// Closes the socket at once.
    package func close() async { await self.socket.close() }
}

// MARK: New connections

extension Listener {
    /// A connection on its way to what serves it.
    private struct Arrival {
        let channel: SocketChannel
        let loop: SocketLoop
        let member: ClientConnections.Member
        let plan: ListenerPlan
    }

    /// Counts a connection and lets it in; at the limit, the longest idle one is closed for it.
    ///
    /// The channel is read once there is room for it, which another loop may have to make.
    private func admit(_ channel: SocketChannel) {
        let gate = self.gate
        channel.activatesLater = true
        let arrival = Arrival(
            channel: channel,
            loop: channel.loop,
            member: gate.connections(of: channel.loop).add(channel, accepted: .now()),
            plan: self.inForce.withLock { $0 }
        )
        guard !gate.enter() else { return self.entered(arrival) }
        gate.makeRoom(for: arrival.member, of: nil, on: arrival.loop) { hasRoom in
            guard hasRoom else { return self.refuse(arrival, .connections) }
            gate.enterInPlaceOfAnother()
            self.entered(arrival)
        }
    }

    private func refuse(_ arrival: Arrival, _ failure: AcceptFailure) {
        self.gate.note(failure)
        arrival.channel.close0(error: ListenerFull(), mode: .all, promise: nil)
    }

    /// Asks a balancer for its client, or takes the peer for it.
    private func entered(_ arrival: Arrival) {
        let (gate, channel) = (self.gate, arrival.channel)
        channel.closeFuture.whenComplete { _ in gate.leave() }
        let text = channel.remoteAddress?.ipAddress
        let peer = ClientIP(ip: text.flatMap { IPAddress($0) }, text: text ?? "unknown")
        guard let ip = peer.ip, arrival.plan.balancers.contains(where: { $0.contains(ip) }) else {
            return self.count(peer, of: arrival) { self.activate(arrival) { try self.prepare(peer, of: arrival) } }
        }
        let deadline = arrival.member.accepted + arrival.plan.handshake
        let reader = ProxyHeaderReader(until: deadline, gate: gate) { source in
            let client = source.map { ClientIP($0) } ?? peer
            guard source == nil || self.claim(client, of: arrival) else { throw ListenerFull() }
            try self.prepare(client, of: arrival)
        }
        self.activate(arrival) { try channel.pipeline.syncOperations.addHandler(reader) }
    }

    /// Counts the client of a connection; at its limit, the longest idle one of its connections is closed.
    private func count(_ client: ClientIP, of arrival: Arrival, then: @escaping () -> Void) {
        let gate = self.gate
        guard !self.claim(client, of: arrival) else { return then() }
        gate.makeRoom(for: arrival.member, of: client.ip.map { ClientNetwork(of: $0) }, on: arrival.loop) { hasRoom in
            guard hasRoom, self.claim(client, of: arrival, isForced: true) else {
                return self.refuse(arrival, .perAddress)
            }
            then()
        }
    }

    private func claim(_ client: ClientIP, of arrival: Arrival, isForced: Bool = false) -> Bool {
        let gate = self.gate
        guard let claim = gate.claim(client.ip, isForced: isForced) else { return false }
        arrival.member.client = client.ip.map { ClientNetwork(of: $0) }
        arrival.channel.closeFuture.whenComplete { _ in gate.release(claim) }
        return true
    }

    private func activate(_ arrival: Arrival, after body: () throws -> Void) {
        do {
            try body()
            try arrival.channel.activate()
        } catch {
            arrival.channel.close0(error: error, mode: .all, promise: nil)
        }
    }

    private func prepare(_ client: ClientIP, of arrival: Arrival) throws {
        let (channel, member, plan) = (arrival.channel, arrival.member, arrival.plan)
        let makeConnection = self.makeConnection
        let identities = plan.identities
        guard let fallback = identities.first else {
            let connection = try makeConnection(channel, client, DownstreamNegotiation(tls: nil, speaks: .http1))
            member.connection = connection
            return try channel.pipeline.syncOperations.addHandler(connection)
        }
        let deadline = HandshakeTimeoutHandler(member.accepted + plan.handshake)
        let sniffer = SNIHandler { result in
            channel.eventLoop.makeCompletedFuture {
                let facts = Listener.facts(result, identities, fallback, member.accepted)
                let offer = plan.http2 ? facts.identity.context : facts.identity.contextWithoutHTTP2
                let choice = ALPNHandler(deadline: deadline) { speaks in
                    let connection = try makeConnection(
                        channel,
                        client,
                        DownstreamNegotiation(tls: facts, speaks: speaks)
                    )
                    member.connection = connection
                    return connection
                }
                try channel.pipeline.syncOperations.addHandlers([NIOSSLServerHandler(context: offer), choice])
            }
        }
        let plain = PlainRequestHandler(gate: self.gate)
        try channel.pipeline.syncOperations.addHandlers([deadline, plain, ByteToMessageHandler(sniffer)])
    }

    private static func facts(
        _ result: SNIResult,
        _ identities: [TLSIdentity],
        _ fallback: TLSIdentity,
        _ accepted: NIODeadline
    ) -> NegotiatedTLS {
        guard case .hostname(let name) = result, let host = Origin.normalHost(name) else {
            return NegotiatedTLS(serverName: nil, identity: fallback, accepted: accepted)
        }
        let identity = identities.first { $0.covers(host) } ?? fallback
        return NegotiatedTLS(serverName: host, identity: identity, accepted: accepted)
    }
}

private struct ListenerFull: Error {}

extension AcceptFailure {
    /// What a call that failed is counted as.
    init(of error: SocketError) {
        switch error.code {
        case EMFILE, ENFILE: self = .descriptors
        case ENOBUFS, ENOMEM: self = .memory
        default: self = .other
        }
    }
}

extension ClientIP {
    /// A client that a balancer tells of.
    init(_ address: IPAddress) {
        let packed = ByteBuffer(bytes: address.isIPv4 ? address.bytes.suffix(4) : address.bytes[...])
        let text = (try? SocketAddress(packedIPAddress: packed, port: 0))?.ipAddress
        self.init(ip: address, text: text ?? "unknown")
    }
}
