// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NIOCore
import Testing

@testable import GateNet

@Suite(.timeLimit(.minutes(5))) struct SocketLoopTests {
    @Test func `a submitted task runs on the loop's thread`() async throws {
        let loop = try SocketLoop.start(named: "test")
        #expect(!loop.inEventLoop)
        #expect(try await loop.submit { loop.inEventLoop }.get())
        try await loop.shutdownGracefully()
    }

    @Test func `tasks run in the order of their submission`() async throws {
        let loop = try SocketLoop.start(named: "test")
        let order = try await loop.submit { NIOLoopBoundBox([Int](), eventLoop: loop) }.get()
        for number in 0..<1000 {
            loop.execute { order.value.append(number) }
        }
        #expect(try await loop.submit { order.value }.get() == Array(0..<1000))
        try await loop.shutdownGracefully()
    }

    @Test func `a scheduled task runs at its deadline, and not at all once cancelled`() async throws {
        let loop = try SocketLoop.start(named: "test")
        let cancelled = loop.scheduleTask(in: .milliseconds(5)) { true }
        cancelled.cancel()
        let began = NIODeadline.now()
        let task = loop.scheduleTask(in: .milliseconds(20)) { NIODeadline.now() }
        #expect(try await task.futureResult.get() >= began + .milliseconds(20))
        await #expect(throws: EventLoopError.self) { try await cancelled.futureResult.get() }
        try await loop.shutdownGracefully()
    }

    @Test func `tasks that another thread submitted before a peer wrote run before the read`() async throws {
        let pair = try await SocketPair(serverWants: 1)
        let loop = pair.server.channel.eventLoop
        let hasRun = try await loop.submit { NIOLoopBoundBox(false, eventLoop: loop) }.get()
        let seen = pair.server.arrived.map { _ in hasRun.value }
        // The loop is held up, so that it finds both at once.
        let isPaused = pair.client.channel.eventLoop.makePromise(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        loop.execute {
            isPaused.succeed()
            gate.wait()
        }
        try await isPaused.futureResult.get()
        loop.execute { hasRun.value = true }
        try await pair.client.channel.writeAndFlush(ByteBuffer(string: "x")).get()
        gate.signal()
        #expect(try await seen.get())
        try await pair.client.channel.close().get()
        try await pair.loops.shutdownGracefully()
    }

    @Test func `a loop that shuts down fails the promises of scheduled tasks`() async throws {
        let loop = try SocketLoop.start(named: "test")
        let other = try SocketLoop.start(named: "other")
        let late = loop.scheduleTask(in: .hours(1)) { true }.futureResult.hop(to: other)
        try await loop.shutdownGracefully()
        await #expect(throws: EventLoopError.self) { try await late.get() }
        try await other.shutdownGracefully()
    }

    @Test func `a loop that shuts down closes what it watches`() async throws {
        let pair = try await SocketPair()
        try await pair.loops.shutdownGracefully()
        try await pair.server.ended.get()
    }

    @Test func `an address that does not respond fails at the deadline, and the next address is tried`() async throws {
        let loop = try SocketLoop.start(named: "test")
        let socket = try ListeningSocket(on: SocketAddress(ipAddress: "127.0.0.1", port: 0))
        let address = try #require(socket.address)
        // Nothing listens on port 1 of loopback.
        let dead = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
        let connected = try await loop.flatSubmit {
            HappyEyeballsConnector.connect(to: [dead, address], by: .now() + .seconds(5), on: loop).map {
                $0.remoteAddress?.port
            }
        }.get()
        #expect(connected == address.port)
        await #expect(throws: SocketError.self) {
            _ = try await loop.flatSubmit {
                HappyEyeballsConnector.connect(to: [dead], by: .now() + .seconds(5), on: loop).map { $0.isActive }
            }.get()
        }
        try await loop.shutdownGracefully()
    }

    @Test func `a paused listening socket accepts nothing until it is resumed`() async throws {
        let loops = try SocketLoopGroup(count: 1)
        let loop = loops.loops[0]
        let socket = try ListeningSocket(on: SocketAddress(ipAddress: "127.0.0.1", port: 0))
        let accepted = loop.makePromise(of: Void.self)
        let count = try await loop.submit { NIOLoopBoundBox(0, eventLoop: loop) }.get()
        try await socket.accept(on: loops) { _ in
            count.value += 1
            accepted.succeed()
        }
        socket.setPaused(true)
        let address = try #require(socket.address)
        let client = try await loop.flatSubmit {
            HappyEyeballsConnector.connect(to: [address], by: .now() + .seconds(5), on: loop)
        }.get()
        #expect(try await loop.submit { count.value }.get() == 0)
        socket.setPaused(false)
        try await accepted.futureResult.get()
        try await client.close().get()
        await socket.close()
        try await loops.shutdownGracefully()
    }

    @Test func `queued clients are still accepted when a socket drains`() async throws {
        let loops = try SocketLoopGroup(count: 1)
        let loop = loops.loops[0]
        let socket = try ListeningSocket(on: SocketAddress(ipAddress: "127.0.0.1", port: 0))
        let count = try await loop.submit { NIOLoopBoundBox(0, eventLoop: loop) }.get()
        try await socket.accept(on: loops) { _ in count.value += 1 }
        socket.setPaused(true)
        let address = try #require(socket.address)
        for _ in 0..<3 {
            _ = try await loop.flatSubmit {
                HappyEyeballsConnector.connect(to: [address], by: .now() + .seconds(5), on: loop)
            }
            .get()
        }
        await socket.drain()
        #expect(try await loop.submit { count.value }.get() == 3)
        await #expect(throws: SocketError.self) {
            _ = try await loop.flatSubmit {
                HappyEyeballsConnector.connect(to: [address], by: .now() + .seconds(5), on: loop)
            }
            .get()
        }
        try await loops.shutdownGracefully()
    }
}
