// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import Synchronization

/// A small HTTP/1.1 server on 127.0.0.1, with or without TLS, for the demo only.
///
/// Bound first and given its responder later, because a provider has to know its own port.
final class DemoServer: Sendable {
    private static let connectionLimit = 512

    /// The port it listens on.
    let port: Int
    private let listener: any Channel
    private let connections: DemoConnections

    private init(listener: any Channel, port: Int, connections: DemoConnections) {
        self.listener = listener
        self.port = port
        self.connections = connections
    }

    /// Binds a port of 127.0.0.1; 0 takes any free one.
    static func bind(port: Int, tls: NIOSSLContext?) async throws -> DemoServer {
        let connections = DemoConnections()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard connections.insert(channel, limit: Self.connectionLimit) else { throw ChannelError.eof }
                    let pipeline = channel.pipeline.syncOperations
                    if let tls {
                        try pipeline.addHandler(NIOSSLServerHandler(context: tls))
                    }
                    try pipeline.addHandler(IdleStateHandler(allTimeout: .seconds(60)))
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(DemoConnection(connections: connections))
                }
            }
            .bind(host: "127.0.0.1", port: port)
            .get()
        return DemoServer(listener: listener, port: listener.localAddress?.port ?? port, connections: connections)
    }

    /// Starts to answer; before, every request gets 503.
    func serve(_ responder: @escaping DemoResponder) {
        self.connections.responder.withLock { $0 = responder }
    }

    /// Closes the port and every connection.
    func stop() {
        self.listener.close(promise: nil)
        for channel in self.connections.all {
            channel.close(promise: nil)
        }
    }
}

/// What the connections of a server share: who answers, and the list by which they are closed.
final class DemoConnections: Sendable {
    let responder = Mutex<DemoResponder?>(nil)
    private let open = Mutex<[ObjectIdentifier: any Channel]>([:])

    var all: [any Channel] { self.open.withLock { Array($0.values) } }

    func insert(_ channel: any Channel, limit: Int) -> Bool {
        let id = ObjectIdentifier(channel)
        let inserted = self.open.withLock { open in
            guard open.count < limit else { return false }
            open[id] = channel
            return true
        }
        if inserted {
            channel.closeFuture.whenComplete { _ in self.open.withLock { $0[id] = nil } }
        }
        return inserted
    }
}
