// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import Synchronization
import Testing

@testable import GateNet

@Suite(.timeLimit(.minutes(1))) struct ListeningSocketTests {
    @Test func `a draining listener accepts every connected client, and no client connects without being accepted`()
        async throws
    {
        for _ in 0..<5 {
            let socket = try ListeningSocket(on: SocketAddress(ipAddress: "127.0.0.1", port: 0))
            let address = try #require(socket.address)
            let group = try SocketLoopGroup(count: 2)
            let taken = Atomic(0)
            try await socket.accept(on: group) { _ in taken.add(1, ordering: .relaxed) }
            // Threads of their own: they wait in the kernel.
            let threads = try SocketLoopGroup(count: 4)
            let clients = threads.loops.map { thread in
                thread.submit { try ListeningSocketTests.connectUntilRefused(address) }
            }
            while taken.load(ordering: .relaxed) < 20 { await Task.yield() }
            await socket.drain()
            var connected = 0
            for client in clients { connected += try await client.get() }
            #expect(taken.load(ordering: .relaxed) == connected)
        }
    }

    @Test func `once handshakes are dropped no client connects, and queued clients stay queued`() async throws {
        let socket = try ListeningSocket(on: SocketAddress(ipAddress: "::1", port: 0))
        let address = try #require(socket.address)
        let early = try #require(try SocketCalls.connection(to: address))
        defer { close(early) }
        #expect(socket.dropHandshakes())
        #expect(try SocketCalls.connection(to: address) == nil)
        let taken = Atomic(0)
        try await socket.accept(on: try SocketLoopGroup(count: 1)) { _ in taken.add(1, ordering: .relaxed) }
        await socket.drain()
        #expect(taken.load(ordering: .relaxed) == 1)
    }

    /// How many connections came about, one after the other, before one did not.
    private static func connectUntilRefused(_ address: SocketAddress) throws -> Int {
        var count = 0
        while count < 5000, let socket = try SocketCalls.connection(to: address) {
            close(socket)
            count += 1
        }
        return count
    }
}
