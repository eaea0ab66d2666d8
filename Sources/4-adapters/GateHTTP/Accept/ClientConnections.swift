// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateNet
internal import NIOCore

/// The client connections of one event loop, of which an idle one can be closed for a new one; confined to the loop.
///
/// Requests cost nothing here: when a slot is needed, the connections are asked how long they have been idle.
final class ClientConnections {
    /// One connection from accept to close.
    final class Member {
        let channel: SocketChannel
        let accepted: NIODeadline
        /// The client it counts for; nil as long as that is not known.
        var client: ClientNetwork?
        /// The handler that serves it; nil before that, for example during the TLS handshake.
        var connection: (any IdleClosable)?
        fileprivate var index = 0

        fileprivate init(_ channel: SocketChannel, accepted: NIODeadline) {
            self.channel = channel
            self.accepted = accepted
        }

        /// Since when it waits for its client; nil while a request is in progress.
        var idleSince: NIODeadline? {
            guard let connection else { return self.accepted }
            return connection.idleSince
        }
    }

    private struct Candidate {
        let member: Member
        let since: NIODeadline
    }

    /// How many of the longest idle connections are remembered from one scan to the next.
    private static let maxCandidates = 16

    private var members: [Member] = []
    /// The longest idle connections of the last scan, the longest last.
    private var candidates: [Candidate] = []
    private var candidatesClient: ClientNetwork?
    private var nextScan = NIODeadline.uptimeNanoseconds(0)

    var count: Int { self.members.count }

    /// Adds an accepted connection, until it closes.
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
    /// One scan serves up to 16 calls, and the more connections there are the rarer it is, so that a flood of new
    /// connections does not cause a flood of scans.
    ///
    /// - Parameters:
    ///   - client: The client whose connections count; nil for all.
    ///   - newcomer: The connection that needs the slot, which is not closed.
    ///   - now: The time.
    /// - Returns: Whether one was closed.
    func closeLongestIdle(
        of client: ClientNetwork? = nil,
        for newcomer: Member? = nil,
        now: NIODeadline = .now()
    ) -> Bool {
        if self.closeCandidate(of: client, for: newcomer) { return true }
        guard now >= self.nextScan else { return false }
        self.nextScan = now + .microseconds(Int64(self.members.count))
        self.scan(for: client)
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

    private func scan(for client: ClientNetwork?) {
        let idle = self.members.compactMap { member -> Candidate? in
            guard client == nil || member.client == client, member.channel.isOpen else { return nil }
            return member.idleSince.map { Candidate(member: member, since: $0) }
        }
        let longest = idle.sorted { $0.since < $1.since }.prefix(ClientConnections.maxCandidates)
        self.candidates = longest.reversed()
        self.candidatesClient = client
    }
}
