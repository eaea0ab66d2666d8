// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateNet
internal import Glibc
package import NIOCore
internal import NIOSSL
internal import NIOTLS
internal import Synchronization

/// An open listening socket whose connections are spread over the event loops.
package final class Listener: Sendable {
    /// Creates the handler of a new connection; called on the connection's loop.
    package typealias ConnectionFactory =
        @Sendable (any Channel, ClientIP, DownstreamNegotiation) throws -> any ChannelHandler & IdleClosable

    /// The plan it was opened with.
    package let plan: ListenerPlan

    private let socket: ListeningSocket
    /// The file of a Unix socket; nil for others.
    private let file: Mutex<UnixSocket?>
    private let isUnixSocket: Bool
    private let limiter: ConnectionLimiter
    private let makeConnection: ConnectionFactory
    private let inForce: Mutex<ListenerPlan>

    private init(
        socket: ListeningSocket,
        file: UnixSocket?,
        plan: ListenerPlan,
        limiter: ConnectionLimiter,
        makeConnection: @escaping ConnectionFactory
    ) {
        self.socket = socket
        self.file = Mutex(file)
        self.isUnixSocket = file != nil
        self.plan = plan
        self.limiter = limiter
        self.makeConnection = makeConnection
        self.inForce = Mutex(plan)
    }

    /// Opens the socket and starts accepting.
    ///
    /// - Throws: A `Failure` that names the address, when it cannot be bound.
    package static func open(
        _ plan: ListenerPlan,
        on group: SocketLoopGroup,
        limiter: ConnectionLimiter,
        makeConnection: @escaping ConnectionFactory
    ) async throws(Failure) -> Listener {
        do {
            let file = try Listener.file(for: plan)
            let socket = try file.map { ListeningSocket(taking: $0.descriptor) } ?? Listener.socket(for: plan)
            let listener = Listener(
                socket: socket,
                file: file,
                plan: plan,
                limiter: limiter,
                makeConnection: makeConnection
            )
            try await socket.accept(
                on: group,
                failed: { error, loop in
                    let failure = AcceptFailure(of: error)
                    limiter.report(failure)
                    return failure != .other && limiter.closeSomeIdle(on: loop)
                },
                prepare: { listener.admit($0) }
            )
            return listener
        } catch {
            let reason = plan.address.path == nil ? Self.reason(of: error) : Self.reasonOfFile(error)
            throw Failure(.listenerBind, "cannot listen on \(plan.address): \(reason)")
        }
    }

    /// Opens the Unix socket of a plan, in a folder that exists; nil for a plan with a port.
    private static func file(for plan: ListenerPlan) throws -> UnixSocket? {
        guard let path = plan.address.path else { return nil }
        return try PrivateFile.locking(PrivateFile.folder(of: path)) { () throws(Failure) in
            do throws(SocketError) {
                return try UnixSocket.listen(at: path, mode: plan.socketMode)
            } catch {
                throw Failure(.listenerBind, error.reasonOfUnixSocket)
            }
        }
    }

    private static func reasonOfFile(_ error: any Error) -> String { (error as? Failure)?.detail ?? "\(error)" }

    private static func socket(for plan: ListenerPlan) throws -> ListeningSocket {
        if let inherited = plan.inherited { return try ListeningSocket(inheriting: inherited.descriptor) }
        return try ListeningSocket(
            on: SocketAddress.makeAddressResolvingHost(plan.address.host, port: plan.address.port)
        )
    }

    /// Why a port cannot be bound, in plain words for the usual reasons.
    private static func reason(of error: any Error) -> String {
        switch (error as? SocketError)?.code {
        case EADDRINUSE: "the port is in use"
        case EACCES: "a port below 1024 needs the right to bind it"
        case EADDRNOTAVAIL: "this machine has no such address"
        default: "\(error)"
        }
    }

    /// Uses the certificates, time-outs and load balancers of another plan for new connections.
    package func adopt(_ plan: ListenerPlan) {
        self.inForce.withLock { $0 = plan }
    }

    /// Pauses or resumes accepting; while paused, clients wait in the kernel's queue.
    package func setPaused(_ isPaused: Bool) { self.socket.setPaused(isPaused) }

    /// Stops accepting; connections in the kernel's queue are still accepted.
    ///
    /// The file of a Unix socket is removed first, so that no client can join the queue any more.
    package func drain() async {
        self.removeFile()
        await self.socket.drain()
    }

    /// Closes the socket immediately.
    package func close() async {
        self.removeFile()
        await self.socket.close()
    }

    /// Removes the file of a Unix socket once: later, the path may be that of the next gateway.
    private func removeFile() { self.file.withLock { $0.take() }?.removeFile() }
}

// MARK: New connections

extension Listener {
    /// A connection between accept and its handler.
    private struct Arrival {
        let channel: SocketChannel
        let loop: SocketLoop
        let member: ClientConnections.Member
        let plan: ListenerPlan
    }

    /// Counts a connection and admits it; at the limit, the longest idle connection is closed for it.
    ///
    /// The channel is not read before there is a slot, for which another loop may have to close a connection.
    private func admit(_ channel: SocketChannel) {
        let limiter = self.limiter
        channel.activatesLater = true
        let arrival = Arrival(
            channel: channel,
            loop: channel.loop,
            member: limiter.connections(of: channel.loop).add(channel, accepted: .now()),
            plan: self.inForce.withLock { $0 }
        )
        guard !limiter.admit() else { return self.entered(arrival) }
        limiter.freeSlot(for: arrival.member, of: nil, on: arrival.loop) { hasSlot in
            guard hasSlot else { return self.reject(arrival, .connections) }
            limiter.admitInPlaceOfAnother()
            self.entered(arrival)
        }
    }

    private func reject(_ arrival: Arrival, _ failure: AcceptFailure) {
        self.limiter.report(failure)
        arrival.channel.close0(error: failure, mode: .all, promise: nil)
    }

    /// Reads the client from the PROXY header of a load balancer, or takes the peer.
    private func entered(_ arrival: Arrival) {
        let (limiter, channel) = (self.limiter, arrival.channel)
        channel.closeFuture.whenComplete { _ in limiter.connectionClosed() }
        let text = channel.remoteAddress?.ipAddress
        var peer = ClientIP(ip: text.flatMap { IPAddress($0) }, text: text ?? "unknown")
        peer.isTrusted = self.isUnixSocket && arrival.plan.trustsPeers
        guard let ip = peer.ip, arrival.plan.balancers.contains(where: { $0.contains(ip) }) else {
            return self.count(peer, of: arrival) { self.activate(arrival) { try self.prepare(peer, of: arrival) } }
        }
        let deadline = arrival.member.accepted + arrival.plan.handshake
        let reader = ProxyHeaderReader(until: deadline, limiter: limiter) { source in
            let client = source.map { ClientIP($0) } ?? peer
            guard source == nil || self.claim(client, of: arrival) else {
                limiter.report(.perClientIP)
                throw AcceptFailure.perClientIP
            }
            try self.prepare(client, of: arrival)
        }
        self.activate(arrival) { try channel.pipeline.syncOperations.addHandler(reader) }
    }

    /// Counts the client of a connection; at its limit, its longest idle connection is closed.
    private func count(_ client: ClientIP, of arrival: Arrival, then: @escaping () -> Void) {
        let limiter = self.limiter
        guard !self.claim(client, of: arrival) else { return then() }
        limiter.freeSlot(for: arrival.member, of: client.ip.map { ClientNetwork(of: $0) }, on: arrival.loop) {
            hasSlot in
            guard hasSlot, self.claim(client, of: arrival, isForced: true) else {
                return self.reject(arrival, .perClientIP)
            }
            then()
        }
    }

    private func claim(_ client: ClientIP, of arrival: Arrival, isForced: Bool = false) -> Bool {
        let limiter = self.limiter
        guard let claim = limiter.claim(client.ip, isForced: isForced) else { return false }
        arrival.member.client = client.ip.map { ClientNetwork(of: $0) }
        arrival.channel.closeFuture.whenComplete { _ in limiter.release(claim) }
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
        let limiter = self.limiter
        guard let fallback = identities.first else {
            let connection = try makeConnection(
                channel,
                client,
                DownstreamNegotiation(tls: nil, isHTTP2: false, clientCertificates: plan.clientCertificates)
            )
            member.connection = connection
            return try channel.pipeline.syncOperations.addHandler(connection)
        }
        let deadline = HandshakeTimeoutHandler(member.accepted + plan.handshake) { limiter.report($0) }
        let sniffer = SNIHandler { result in
            channel.eventLoop.makeCompletedFuture {
                let (host, identity) = Listener.identity(for: result, identities, fallback)
                let isAsked = plan.clientCertificates?.isAsked(byClientOf: host) ?? false
                let tls = NegotiatedTLS(
                    serverName: host,
                    identity: identity,
                    accepted: member.accepted,
                    clientCertificate: isAsked ? PresentedCertificate() : nil
                )
                let handler = try Listener.handler(for: tls, plan)
                let choice = ALPNHandler(deadline: deadline) { isHTTP2 in
                    let connection = try makeConnection(
                        channel,
                        client,
                        DownstreamNegotiation(
                            tls: tls,
                            isHTTP2: isHTTP2,
                            clientCertificates: plan.clientCertificates
                        )
                    )
                    member.connection = connection
                    return connection
                }
                try channel.pipeline.syncOperations.addHandlers([handler, choice])
            }
        }
        let plain = PlainRequestHandler(limiter: limiter, handshake: deadline)
        try channel.pipeline.syncOperations.addHandlers([deadline, plain, ByteToMessageHandler(sniffer)])
    }

    /// The TLS handler of a connection.
    ///
    /// The handshake proves that the client has the key of the certificate that it presents. Whether that is accepted is decided on each
    /// request: a user then sees why it is not, and one that expires meanwhile is not accepted any more.
    private static func handler(for facts: NegotiatedTLS, _ plan: ListenerPlan) throws -> NIOSSLServerHandler {
        guard let presented = facts.clientCertificate, let policy = plan.clientCertificates else {
            let identity = facts.identity
            return NIOSSLServerHandler(context: plan.http2 ? identity.context : identity.contextWithoutHTTP2)
        }
        let context = try facts.identity.context(requesting: policy.trusted, http2: plan.http2)
        return NIOSSLServerHandler(context: context) { chain, result in
            result.completeWith(
                Result {
                    presented.note(try chain.map { try $0.toDERBytes() })
                    return .certificateVerified
                }
            )
        }
    }

    /// The host that a client names, and the certificate that it gets.
    private static func identity(
        for result: SNIResult,
        _ identities: [TLSIdentity],
        _ fallback: TLSIdentity
    ) -> (host: String?, identity: TLSIdentity) {
        guard case .hostname(let name) = result, let host = Origin.normalHost(name) else { return (nil, fallback) }
        return (host, identities.first { $0.covers(host) } ?? fallback)
    }
}

extension SocketError {
    /// Why a Unix socket cannot be listened on, in plain words for the usual reasons.
    package var reasonOfUnixSocket: String {
        switch self.code {
        case EADDRINUSE: "another process listens there"
        case ENOTSOCK: "there is something that is not a socket"
        default: "\(self)"
        }
    }
}

extension AcceptFailure {
    /// Maps the error of a system call.
    init(of error: SocketError) {
        switch error.code {
        case EMFILE, ENFILE: self = .descriptors
        case ENOBUFS, ENOMEM: self = .memory
        default: self = .other
        }
    }
}
