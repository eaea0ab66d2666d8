// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore

@testable import GateNet

/// Keeps what arrives at a channel; confined to its loop.
final class Recorder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let wanted: Int
    private(set) var text = ByteBuffer()
    private let arrived: EventLoopPromise<ByteBuffer>
    private let ended: EventLoopPromise<Void>
    var whenWritable: (() -> Void)?

    init(wanting wanted: Int, arrived: EventLoopPromise<ByteBuffer>, ended: EventLoopPromise<Void>) {
        self.wanted = wanted
        self.arrived = arrived
        self.ended = ended
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        self.text.writeBuffer(&bytes)
        if self.text.readableBytes >= self.wanted { self.arrived.succeed(self.text) }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { self.whenWritable?() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.ended.succeed()
        if self.text.readableBytes < self.wanted { self.arrived.fail(ChannelError.eof) }
    }
}

extension SocketCalls {
    /// Makes the close of a socket a reset: SO_LINGER with no time, socket(7).
    static func resetOnClose(_ socket: Int32) throws {
        var option = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout<linger>.size)
        try SocketError.check("setsockopt") { unsafe setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, size) }
    }

    /// A connection; nil without one after a tenth of a second.
    static func connection(to address: SocketAddress) throws -> Int32? {
        let socket = try self.stream(for: address)
        try? unsafe self.check("connect", with: address) { unsafe Glibc.connect(socket, $0, $1) }
        var waiting = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
        guard unsafe poll(&waiting, 1, 100) == 1, self.error(of: socket) == 0 else {
            close(socket)
            return nil
        }
        return socket
    }
}

/// A listening socket, and two ends of a connection to it, each on a loop of its own.
struct SocketPair: Sendable {
    /// One end.
    struct End: Sendable {
        let channel: SocketChannel
        let arrived: EventLoopFuture<ByteBuffer>
        let ended: EventLoopFuture<Void>
    }

    let loops: SocketLoopGroup
    let client: End
    let server: End

    /// Connects; each end waits for so many bytes.
    init(clientWants: Int = 0, serverWants: Int = 0, readsAutomatically: Bool = true) async throws {
        self.loops = try SocketLoopGroup(count: 2)
        let serving = try SocketLoopGroup(count: 1)
        let socket = try ListeningSocket(on: SocketAddress(ipAddress: "127.0.0.1", port: 0))
        let accepted = self.loops.loops[0].makePromise(of: End.self)
        try await socket.accept(on: serving) { channel in
            accepted.succeed(try SocketPair.end(channel, wanting: serverWants, readsAutomatically: readsAutomatically))
        }
        guard let address = socket.address else { throw ChannelError.unknownLocalAddress }
        let loop = self.loops.loops[1]
        self.client = try await loop.flatSubmit {
            HappyEyeballsConnector.connect(to: [address], by: .now() + .seconds(5), on: loop).flatMapThrowing {
                channel in
                let end = try SocketPair.end(channel, wanting: clientWants, readsAutomatically: true)
                try channel.activate()
                return end
            }
        }.get()
        self.server = try await accepted.futureResult.get()
        await socket.close()
    }

    private static func end(_ channel: SocketChannel, wanting wanted: Int, readsAutomatically: Bool) throws -> End {
        let loop = channel.eventLoop
        let (arrived, ended) = (loop.makePromise(of: ByteBuffer.self), loop.makePromise(of: Void.self))
        if wanted == 0 { arrived.succeed(ByteBuffer()) }
        channel.setReadsAutomatically(readsAutomatically)
        let recorder = Recorder(wanting: wanted, arrived: arrived, ended: ended)
        try channel.pipeline.syncOperations.addHandler(recorder)
        return End(channel: channel, arrived: arrived.futureResult, ended: ended.futureResult)
    }
}
