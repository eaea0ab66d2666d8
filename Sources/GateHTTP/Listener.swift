// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateSockets
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

    /// A plan; a listener without identities is plain.
    package init(host: String, port: Int, identities: [TLSIdentity], http2: Bool = true) {
        self.host = host
        self.port = port
        self.identities = identities
        self.http2 = http2 && !identities.isEmpty
    }
}

/// An open listening socket whose connections are spread over the event loops.
package final class Listener: Sendable {
    /// Makes the handler of a new connection; called on the connection's loop.
    package typealias ConnectionFactory =
        @Sendable (
            any Channel, TLSFacts?, DownstreamProtocol
        ) throws -> any ChannelHandler

    private let socket: ListeningSocket
    private let identities: Mutex<[TLSIdentity]>
    private let gate: Turnstile
    private let makeConnection: ConnectionFactory

    private init(
        socket: ListeningSocket,
        plan: ListenerPlan,
        gate: Turnstile,
        makeConnection: @escaping ConnectionFactory
    ) {
        self.socket = socket
        self.plan = plan
        self.identities = Mutex(plan.identities)
        self.gate = gate
        self.makeConnection = makeConnection
    }

    /// The address and port of the plan it was opened with.
    package let plan: ListenerPlan

    /// Opens the socket and serves.
    ///
    /// - Throws: A `Failure` naming the address, when it cannot be bound.
    package static func open(
        _ plan: ListenerPlan,
        on group: SocketLoopGroup,
        gate: Turnstile,
        makeConnection: @escaping ConnectionFactory
    ) async throws(Failure) -> Listener {
        do {
            let address = try SocketAddress.makeAddressResolvingHost(plan.host, port: plan.port)
            let socket = try ListeningSocket(on: address)
            let listener = Listener(socket: socket, plan: plan, gate: gate, makeConnection: makeConnection)
            try await socket.accept(on: group) { channel in try listener.admit(channel) }
            return listener
        } catch {
            let reason = Self.reason(of: error)
            throw Failure(.internalFault, "listener.bind", "cannot listen on \(plan.host):\(plan.port): \(reason)")
        }
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

    /// Shows other certificates from the next handshake on.
    package func replaceIdentities(_ identities: [TLSIdentity]) {
        self.identities.withLock { $0 = identities }
    }

    /// Accepts no more connections.
    package func close() async {
        await self.socket.close()
    }

    private func admit(_ channel: SocketChannel) throws {
        guard self.gate.enter() else { throw ListenerFull() }
        channel.closeFuture.whenComplete { _ in self.gate.leave() }
        try self.prepare(channel, self.makeConnection)
    }

    private func prepare(_ channel: any Channel, _ makeConnection: @escaping ConnectionFactory) throws {
        let identities = self.identities.withLock { $0 }
        guard let fallback = identities.first else {
            try channel.pipeline.syncOperations.addHandler(makeConnection(channel, nil, .http1))
            return
        }
        let accepted = NIODeadline.now()
        let deadline = HandshakeDeadline()
        let sniffer = SNIHandler { result in
            channel.eventLoop.makeCompletedFuture {
                let facts = Listener.facts(result, identities, fallback, accepted)
                let offer = self.plan.http2 ? facts.identity.context : facts.identity.contextWithoutHTTP2
                let choice = ProtocolChoice(deadline: deadline) { try makeConnection(channel, facts, $0) }
                try channel.pipeline.syncOperations.addHandlers([NIOSSLServerHandler(context: offer), choice])
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
}

private struct ListenerFull: Error {}
