// SPDX-License-Identifier: Apache-2.0

import GateCore
import NIOCore
import Testing

@testable import GateHTTP
@testable import GateNet

@Suite struct ClientConnectionsTests {
    /// Serves a connection and has been idle since a time that the test sets.
    private final class FakeConnection: IdleClosable {
        var idleSince: NIODeadline?
        var isIdle: Bool { self.idleSince != nil }
        let deadline = NIODeadline.distantFuture

        init(idleSince: NIODeadline?) {
            self.idleSince = idleSince
        }

        func expire() {}
        func closeIfIdle(for time: TimeAmount) -> Bool { false }
    }

    private static func at(_ seconds: UInt64) -> NIODeadline { .uptimeNanoseconds(seconds * 1_000_000_000) }

    /// Runs the test on the thread of a loop, with members whose channels have sockets of their own.
    private static func run(
        _ body: @escaping @Sendable (ClientConnections, [ClientConnections.Member]) -> Void
    ) async throws {
        let group = try SocketLoopGroup(count: 1)
        let loop = group.loops[0]
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: 0)
        try await loop.submit {
            let connections = ClientConnections()
            let members = try (0..<4).map { _ in
                let channel = SocketChannel(try SocketCalls.stream(for: address), on: loop, local: nil, remote: nil)
                return connections.add(channel, accepted: Self.at(100))
            }
            body(connections, members)
            for member in members { member.channel.close0(error: ChannelError.eof, mode: .all, promise: nil) }
        }.get()
        try await group.shutdownGracefully()
    }

    @Test func `U-06: the longest idle connection is closed first, and never one with a request in progress`()
        async throws
    {
        try await Self.run { connections, members in
            let times: [UInt64?] = [200, nil, 150, 300]
            let served = times.map { time in FakeConnection(idleSince: time.map { Self.at($0) }) }
            for (member, connection) in zip(members, served) { member.connection = connection }
            func isOpen() -> [Bool] { members.map(\.channel.isOpen) }
            #expect(connections.closeLongestIdle(now: Self.at(400)))
            #expect(isOpen() == [true, true, false, true])
            #expect(connections.closeLongestIdle(now: Self.at(400)))
            #expect(isOpen() == [false, true, false, true])
            #expect(connections.closeLongestIdle(now: Self.at(400)))
            #expect(isOpen() == [false, true, false, false])
            #expect(!connections.closeLongestIdle(now: Self.at(500)))
            #expect(isOpen() == [false, true, false, false])
        }
    }

    @Test func `U-06: a connection without a first request is idle since it was accepted`() async throws {
        try await Self.run { connections, members in
            let served = FakeConnection(idleSince: Self.at(99))
            members[3].connection = served
            #expect(connections.closeLongestIdle(now: Self.at(400)))
            #expect(!members[3].channel.isOpen)
            #expect(connections.closeLongestIdle(for: members[0], now: Self.at(400)))
            #expect(members[0].channel.isOpen, "the new connection itself stays")
        }
    }

    @Test func `U-06: a connection that was used since the last scan is not closed by it`() async throws {
        try await Self.run { connections, members in
            let served = [100, 101, 102, 103].map { FakeConnection(idleSince: Self.at($0)) }
            for (member, connection) in zip(members, served) { member.connection = connection }
            #expect(connections.closeLongestIdle(now: Self.at(400)))
            served[1].idleSince = nil
            served[2].idleSince = Self.at(399)
            #expect(connections.closeLongestIdle(now: Self.at(400)))
            #expect(members.map(\.channel.isOpen) == [false, true, true, false])
        }
    }

    @Test func `U-06: a client at its limit loses its own longest idle connection`() async throws {
        try await Self.run { connections, members in
            let (one, other) = (IPAddress("192.0.2.1"), IPAddress("192.0.2.2"))
            for (index, member) in members.enumerated() {
                member.client = (index < 2 ? one : other).map { ClientNetwork(of: $0) }
            }
            let client = other.map { ClientNetwork(of: $0) }
            #expect(connections.closeLongestIdle(of: client, now: Self.at(400)))
            #expect(connections.closeLongestIdle(of: client, now: Self.at(400)))
            #expect(!connections.closeLongestIdle(of: client, now: Self.at(500)))
            #expect(members.map(\.channel.isOpen) == [true, true, false, false])
        }
    }

    @Test func `U-06: unsuccessful scans are rare`() async throws {
        try await Self.run { connections, members in
            let busy = members.map { _ in FakeConnection(idleSince: nil) }
            for (member, connection) in zip(members, busy) { member.connection = connection }
            #expect(!connections.closeLongestIdle(now: Self.at(400)))
            busy[0].idleSince = Self.at(1)
            #expect(!connections.closeLongestIdle(now: Self.at(400)))
            #expect(connections.closeLongestIdle(now: Self.at(400) + .microseconds(4)))
        }
    }
}
