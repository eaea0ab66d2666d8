// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateNet
internal import NIOCore

/// The client connections of one event loop, of which an idle one can make room for a new one; confined to the loop.
///
/// Nothing is noted here per request: when room is needed, the connections are asked how long they have been idle.
final class ClientConnections {
    /// One connection from its accept to its end.
    final class Member {
        let channel: SocketChannel
        let accepted: NIODeadline
        /// The client that it counts for; nil as long as that is not known.
        var client: ClientNetwork?
        /// What serves it; nil before that, during a TLS handshake for example.
        var connection: (any IdleClosable)?
        fileprivate var index = 0

        fileprivate init(_ channel: SocketChannel, accepted: NIODeadline) {
            self.channel = channel
            self.accepted = accepted
        }

        /// Since when it waits for its client; nil while a request is in progress on it.
        var idleSince: NIODeadline? {
            guard let connection else { return self.accepted }
            return connection.idleSince
        }
    }

    private struct Candidate {
        let member: Member
        let since: NIODeadline
    }

    /// How many of those that have been idle longest are remembered from one look to the next.
    private static let maxCandidates = 16

    private var members: [Member] = []
    /// Those that were idle longest at the last look, the longest last.
    private var candidates: [Candidate] = []
    private var candidatesClient: ClientNetwork?
    private var nextLook = NIODeadline.uptimeNanoseconds(0)

    /// How many there are.
    var count: Int { self.members.count }

    /// Adds a connection that was just accepted, until it closes.
    func add(_ channel: SocketChannel, accepted: NIODeadline) -> Member {
        let member = Member(channel, accepted: accepted)
        member.index = self.members.count
        self.members.append(member)
        let bound = NIOLoopBound((self, member), eventLoop: channel.eventLoop)
        channel.closeFuture.whenComplete { _ in
            let (connections, member) = bound.value
            connections.remove(member)
        }
        return member
    }

    private func remove(_ member: Member) {
        member.connection = nil
        guard member.index < self.members.count, self.members[member.index] === member else { return }
        let last = self.members.removeLast()
        guard last !== member else { return }
        last.index = member.index
        self.members[member.index] = last
    }

    /// Closes the connection that has been idle longest.
    ///
    /// One look at all of them serves for up to 16 calls, and the more there are, the rarer it is, so that a flood of new
    /// connections does not become a flood of looks.
    ///
    /// - Parameters:
    ///   - client: The client whose connections count; nil for all.
    ///   - newcomer: The connection that needs the room, which stays.
    ///   - now: The time.
    /// - Returns: Whether one was closed; its socket is closed then.
    func closeLongestIdle(
        of client: ClientNetwork? = nil,
        for newcomer: Member? = nil,
        now: NIODeadline = .now()
    ) -> Bool {
        if self.closeCandidate(of: client, for: newcomer) { return true }
        guard now >= self.nextLook else { return false }
        self.nextLook = now + .microseconds(Int64(self.members.count))
        self.look(for: client)
        return self.closeCandidate(of: client, for: newcomer)
    }

    private func closeCandidate(of client: ClientNetwork?, for newcomer: Member?) -> Bool {
        guard self.candidatesClient == client else { return false }
        while let candidate = self.candidates.popLast() {
            let member = candidate.member
            guard member !== newcomer, member.channel.isOpen, member.idleSince == candidate.since else { continue }
            member.channel.close0(error: ChannelError.eof, mode: .all, promise: nil)
            return true
        }
        return false
    }

    private func look(for client: ClientNetwork?) {
        let idle = self.members.compactMap { member -> Candidate? in
            guard client == nil || member.client == client, member.channel.isOpen else { return nil }
            return member.idleSince.map { Candidate(member: member, since: $0) }
        }
        let longest = idle.sorted { $0.since < $1.since }.prefix(ClientConnections.maxCandidates)
        self.candidates = longest.reversed()
        self.candidatesClient = client
    }
}
