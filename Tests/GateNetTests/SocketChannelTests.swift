// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateNet

@Suite(.timeLimit(.minutes(5))) struct SocketChannelTests {
    @Test(
        "bytes arrive whole and in order, however many pieces they are written in",
        arguments: [(1, 5), (3, 7), (40, 1000), (2, 3_000_000)]
    )
    func order(pieces: Int, size: Int) async throws {
        let pair = try await SocketPair(serverWants: pieces * size)
        let channel = pair.client.channel
        try await channel.eventLoop.submit {
            for piece in 0..<pieces {
                channel.write(ByteBuffer(repeating: UInt8(piece), count: size), promise: nil)
            }
            channel.flush()
        }.get()
        let arrived = try await pair.server.arrived.get()
        let expected = (0..<pieces).reduce(into: ByteBuffer()) { $0.writeRepeatingByte(UInt8($1), count: size) }
        #expect(arrived == expected)
    }

    @Test func `a write's promise succeeds when the kernel has taken all of it`() async throws {
        let pair = try await SocketPair(serverWants: 4_000_000)
        try await pair.client.channel.writeAndFlush(ByteBuffer(repeating: 7, count: 4_000_000)).get()
        #expect(try await pair.server.arrived.get().readableBytes == 4_000_000)
    }

    @Test func `above the high water mark a channel is not writable, below the low one it is again`() async throws {
        let pair = try await SocketPair(serverWants: 8_000_000, readsAutomatically: false)
        let channel = pair.client.channel
        let isWritable = try await channel.eventLoop.submit {
            channel.write(ByteBuffer(repeating: 1, count: 8_000_000), promise: nil)
            channel.flush()
            return channel.isWritable
        }.get()
        #expect(!isWritable)
        try await pair.server.channel.setOption(.autoRead, value: true).get()
        #expect(try await pair.server.arrived.get().readableBytes == 8_000_000)
        // The peer can have the last byte before this end's loop has seen that the kernel took it.
        while !(try await channel.eventLoop.submit { channel.isWritable }.get()) { await Task.yield() }
    }

    @Test func `nothing is read before a read is requested`() async throws {
        let pair = try await SocketPair(serverWants: 4, readsAutomatically: false)
        try await pair.client.channel.writeAndFlush(ByteBuffer(string: "ping")).get()
        let server = pair.server.channel
        // A write is complete when the kernel has the bytes; the peer's loop learns of them later.
        while !(try await server.eventLoop.submit { server.mayRead }.get()) { await Task.yield() }
        let read = try await server.eventLoop.submit {
            try server.pipeline.syncOperations.handler(type: Recorder.self).text
        }.get()
        #expect(read == ByteBuffer())
        server.read()
        #expect(String(buffer: try await pair.server.arrived.get()) == "ping")
    }

    @Test func `bytes written before the output was closed arrive before the end`() async throws {
        let pair = try await SocketPair(serverWants: 2_000_000)
        let channel = pair.client.channel
        channel.write(ByteBuffer(repeating: 3, count: 2_000_000), promise: nil)
        channel.flush()
        try await channel.close(mode: .output).get()
        #expect(try await pair.server.arrived.get().readableBytes == 2_000_000)
        try await pair.server.ended.get()
    }

    @Test func `when one side closes the other one closes too`() async throws {
        let pair = try await SocketPair()
        try await pair.server.channel.close().get()
        try await pair.client.ended.get()
        try await pair.client.channel.closeFuture.get()
    }

    @Test func `a reset is noticed also without reading`() async throws {
        let pair = try await SocketPair(readsAutomatically: false)
        // Closing with unread bytes, or without lingering, resets the connection.
        try await pair.client.channel.eventLoop.submit {
            try SocketCalls.resetOnClose(pair.client.channel.descriptor)
        }.get()
        try await pair.client.channel.close().get()
        try await pair.server.ended.get()
    }

    @Test func `bytes that a peer sent before its reset are read first`() async throws {
        let pair = try await SocketPair(serverWants: 5, readsAutomatically: false)
        let (client, server) = (pair.client.channel, pair.server.channel)
        try await client.writeAndFlush(ByteBuffer(string: "early")).get()
        try await client.eventLoop.submit { try SocketCalls.resetOnClose(client.descriptor) }.get()
        try await client.close().get()
        server.write(ByteBuffer(repeating: 1, count: 100), promise: nil)
        server.flush()
        try await server.setOption(.autoRead, value: true).get()
        #expect(String(buffer: try await pair.server.arrived.get()) == "early")
        try await pair.server.ended.get()
    }

    @Test func `a write to a closed channel fails`() async throws {
        let pair = try await SocketPair()
        try await pair.client.channel.close().get()
        await #expect(throws: ChannelError.self) {
            try await pair.client.channel.writeAndFlush(ByteBuffer(string: "late")).get()
        }
    }
}
