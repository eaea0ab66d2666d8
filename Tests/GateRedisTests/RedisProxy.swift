// SPDX-License-Identifier: Apache-2.0

import GateTestSupport
import NIOCore
import NIOPosix
import Synchronization

@testable import GateRedis

/// Passes connections to a Redis on, one command after the other, and interferes with chosen ones.
final class RedisProxy: Sendable {
    /// What becomes of a command.
    enum Action: Sendable {
        case pass
        /// The connection breaks before the command reaches the server.
        case lose
        /// The server runs the command, and the connection breaks before its reply arrives.
        case loseReply
        /// The reply, in RESP; the server does not get the command.
        case reply(String)
    }

    /// The path of the socket to connect to.
    let socket: String
    /// The port on 127.0.0.1; nil if it has none.
    let port: Int?
    private let folder: TemporaryFolder
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let servers: [any Channel]

    /// A proxy in front of a server.
    ///
    /// - Parameters:
    ///   - server: The server.
    ///   - hasPort: Whether it listens on a free port of 127.0.0.1 as well.
    ///   - decide: Chooses what becomes of a command by its name, that of a script for `EVAL`, and its first key; by its second
    ///     word if it has no key.
    /// - Throws: If the socket cannot be opened.
    init(
        _ server: RedisServer,
        hasPort: Bool = false,
        decide: @escaping @Sendable (_ name: String, _ key: String) -> Action
    ) async throws {
        self.folder = try TemporaryFolder()
        self.socket = "\(self.folder.path)/proxy.sock"
        let (group, target) = (self.group, server.socket)
        let bootstrap = ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ClientSide(target, decide))
                }
            }
        var servers = [try await bootstrap.bind(unixDomainSocketPath: self.socket).get()]
        if hasPort { servers.append(try await bootstrap.bind(host: "127.0.0.1", port: 0).get()) }
        self.port = hasPort ? servers.last?.localAddress?.port : nil
        self.servers = servers
    }

    deinit {
        for server in self.servers { server.close(promise: nil) }
        self.group.shutdownGracefully { _ in }
    }
}

/// The connection of the client.
private final class ClientSide: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let target: String
    private let decide: (String, String) -> RedisProxy.Action
    private var reader = RESPReader()
    private var replies = RESPReader()
    private var commands = CircularBuffer<RedisCommand>()
    private var server: (any Channel)?
    /// The command whose reply is due, and whether it is lost.
    private var due: (command: RedisCommand, isLost: Bool)?

    init(_ target: String, _ decide: @escaping (String, String) -> RedisProxy.Action) {
        (self.target, self.decide) = (target, decide)
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        ClientBootstrap(group: context.eventLoop)
            .channelInitializer { server in
                server.eventLoop.makeCompletedFuture {
                    try server.pipeline.syncOperations.addHandler(ServerSide(bound.value, channel))
                }
            }
            .connect(unixDomainSocketPath: self.target)
            .whenComplete { result in
                guard case .success(let server) = result else { return channel.close(promise: nil) }
                bound.value.server = server
                bound.value.pump(channel)
            }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.reader.append(self.unwrapInboundIn(data))
        while let value = try? self.reader.next(RESPLimits(bytes: 1 << 30, values: 1 << 20)) {
            let words = (value.values ?? []).compactMap(\.bytes)
            guard let first = words.first else { return context.close(promise: nil) }
            let name = RedisCommand(String(decoding: first, as: UTF8.self))
            self.commands.append(words.dropFirst().reduce(name) { $0.with($1) })
        }
        self.pump(context.channel)
    }

    func channelInactive(context: ChannelHandlerContext) { self.server?.close(promise: nil) }

    private func pump(_ client: any Channel) {
        while let server, self.due == nil, let command = self.commands.popFirst() {
            let script =
                command.words.count > 1 ? RedisScript(rawValue: String(decoding: command.words[1], as: UTF8.self)) : nil
            switch self.decide(
                script.map { "\($0)" } ?? command.name,
                String(decoding: command.key ?? command.words.dropFirst().first ?? [], as: UTF8.self)
            ) {
            case .lose: return client.close(promise: nil)
            case .reply(let text): client.writeAndFlush(ByteBuffer(string: text), promise: nil)
            case .pass: self.send(command, server, isLost: false)
            case .loseReply: self.send(command, server, isLost: true)
            }
        }
    }

    private func send(_ command: RedisCommand, _ server: any Channel, isLost: Bool) {
        self.due = (command, isLost)
        var buffer = ByteBuffer()
        command.write(to: &buffer)
        server.writeAndFlush(buffer, promise: nil)
    }

    fileprivate func received(_ bytes: ByteBuffer, _ client: any Channel) {
        self.replies.append(bytes)
        var isComplete = false
        while let value = try? self.replies.next(RESPLimits(bytes: 1 << 30, values: 1 << 20)) {
            if case .push = value, self.due?.command.isSubscription != true { continue }
            isComplete = true
        }
        if isComplete, self.due?.isLost == true { return client.close(promise: nil) }
        client.writeAndFlush(bytes, promise: nil)
        guard isComplete else { return }
        self.due = nil
        self.pump(client)
    }
}

/// The connection to the server.
private final class ServerSide: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let side: ClientSide
    private let client: any Channel

    init(_ side: ClientSide, _ client: any Channel) { (self.side, self.client) = (side, client) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.side.received(self.unwrapInboundIn(data), self.client)
    }

    func channelInactive(context: ChannelHandlerContext) { self.client.close(promise: nil) }
}
