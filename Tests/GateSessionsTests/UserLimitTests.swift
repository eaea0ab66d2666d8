// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateSessions

/// How many sign-ins a user may have at a time.
@Suite struct UserLimitTests {
    private let host = "gate.example.com"
    private let fixture = SessionFixture()

    private func manager(_ limit: Int?) -> SessionManager {
        SessionManager(
            store: self.fixture.store,
            sealer: self.fixture.sealer,
            lifetimes: SessionLifetimes(idle: .seconds(3600), absolute: .seconds(8 * 3600)),
            feed: self.fixture.feed,
            maxPerUser: limit
        )
    }

    private func signIn(
        _ manager: SessionManager,
        _ id: Int,
        as subject: String = "ada",
        at now: Instant = noon,
        replacing old: Ticket? = nil
    ) async throws -> IssuedSession {
        let profile = Profile(provider: "staff", issuer: "https://id.example.com", subject: subject)
        let once = SingleUse("attempt", "\(id)", until: now.plus(600))
        let result = try await manager.issue(
            SignIn(profile: profile),
            host: self.host,
            now: now,
            spending: once,
            replacing: old
        )
        return try #require(result)
    }

    private func isLive(_ signIn: IssuedSession, at now: Instant = noon) async throws -> Bool {
        try await self.fixture.manager.session(for: signIn.ticket, host: self.host, now: now) != nil
    }

    @Test func `a sign-in over the limit ends the oldest of the user, and no other`() async throws {
        let manager = self.manager(2)
        let eve = try await self.signIn(manager, 0, as: "eve", at: noon.plus(-60))
        let first = try await self.signIn(manager, 1)
        let second = try await self.signIn(manager, 2, at: noon.plus(1))
        #expect(first.ended.isEmpty && second.ended.isEmpty)
        let third = try await self.signIn(manager, 3, at: noon.plus(2))
        #expect(third.ended == [first.session.id] && third.endFailure == nil)
        let now = noon.plus(2)
        #expect(try await !self.isLive(first, at: now))
        for one in [eve, second, third] { #expect(try await self.isLive(one, at: now)) }
    }

    @Test func `sign-ins of the same second count in the order in which they came`() async throws {
        let manager = self.manager(1)
        var last: IssuedSession?
        for id in 0..<8 {
            let next = try await self.signIn(manager, id)
            if let last {
                #expect(next.ended == [last.session.id])
                #expect(try await !self.isLive(last))
            }
            #expect(try await self.isLive(next))
            last = next
        }
    }

    @Test func `a session that the sign-in replaces does not count`() async throws {
        let manager = self.manager(2)
        let phone = try await self.signIn(manager, 1)
        let laptop = try await self.signIn(manager, 2, at: noon.plus(1))
        let again = try await self.signIn(manager, 3, at: noon.plus(2), replacing: laptop.ticket)
        #expect(again.ended.isEmpty)
        #expect(try await self.isLive(phone, at: noon.plus(2)))
    }

    @Test func `a session that has expired does not count`() async throws {
        let manager = self.manager(2)
        let used = try await self.signIn(manager, 1)
        _ = try await self.signIn(manager, 2, at: noon.plus(1))
        self.fixture.store.noteUse(used.ticket.storeKey, at: noon.plus(3000))
        let third = try await self.signIn(manager, 3, at: noon.plus(3601))
        #expect(third.ended.isEmpty)
        #expect(try await self.isLive(used, at: noon.plus(3601)))
    }

    @Test func `sign-ins at the same time keep the limit, and one of them survives`() async throws {
        let manager = self.manager(1)
        let old = try await self.signIn(manager, 0, at: noon.plus(-60))
        let all = try await withThrowingTaskGroup(of: IssuedSession.self) { group in
            for id in 1...4 { group.addTask { try await self.signIn(self.manager(1), id) } }
            return try await group.reduce(into: [old]) { $0.append($1) }
        }
        var live = 0
        for one in all where try await self.isLive(one) { live += 1 }
        #expect(live == 1)
    }

    @Test func `one sign-in ends 64 others at most, the oldest first`() async throws {
        var all: [IssuedSession] = []
        for id in 0..<70 { all.append(try await self.signIn(self.manager(nil), id, at: noon.plus(Int64(id)))) }
        let next = try await self.signIn(self.manager(1), 70, at: noon.plus(100))
        #expect(next.ended == all.prefix(SessionManager.maxEndedAtOnce).map(\.session.id))
        let last = try await self.signIn(self.manager(1), 71, at: noon.plus(101))
        #expect(last.ended.count == 7)
    }

    @Test func `where the store fails before the sign-in, it is not spent and ends no other`() async throws {
        let first = try await self.signIn(self.manager(1), 1)
        self.fixture.store.state.withLock { $0.readsFail = true }
        await #expect(throws: Failure.self) { try await self.signIn(self.manager(1), 2) }
        self.fixture.store.state.withLock { $0.readsFail = false }
        #expect(try await self.isLive(first))
        #expect(try await self.signIn(self.manager(1), 2).ended == [first.session.id])
    }

    @Test func `where the others cannot be ended, the sign-in is complete and the next one ends them`() async throws {
        let first = try await self.signIn(self.manager(1), 1)
        self.fixture.store.state.withLock { $0.afterInsert = { $0.writesFail = true } }
        let second = try await self.signIn(self.manager(1), 2)
        #expect(second.endFailure?.reason == .sessionStoreUnavailable && second.ended.isEmpty)
        self.fixture.store.state.withLock {
            $0.afterInsert = nil
            $0.writesFail = false
            $0.locks = [:]
        }
        #expect(try await self.isLive(second))
        let third = try await self.signIn(self.manager(1), 3)
        #expect(Set(third.ended) == [first.session.id, second.session.id])
    }

    @Test(arguments: [1, 2, 3]) func `B-15: of the sign-ins of one second the earliest end`(limit: Int) async throws {
        let manager = self.manager(limit)
        var all = [try await self.signIn(manager, 100, at: noon.plus(-1))]
        for id in 1...9 {
            all.append(try await self.signIn(manager, id))
            for (place, one) in all.enumerated() {
                #expect(try await self.isLive(one) == (place > id - limit), "\(place) after \(id)")
            }
        }
        // A limit that is lowered later ends them in the same order.
        let last = try await self.signIn(self.manager(1), 200, at: noon.plus(1))
        #expect(last.ended == all.suffix(limit).map(\.session.id))
    }

    @Test func `B-15: a sign-in keeps its place when another host's session of it is the one used last`() async throws {
        let manager = self.manager(3)
        let all = [
            try await self.signIn(manager, 1), try await self.signIn(manager, 2), try await self.signIn(manager, 3),
        ]
        for (number, one) in all.enumerated().reversed() {
            let origin = try #require(Origin(scheme: "https", host: "wiki\(number).example.com"))
            let binding = BrowserBinding(from: .system)
            let path = try #require(ReturnPath("/"))
            let request = SessionTransferRequest(origin: origin, path: path, binding: binding, now: noon)
            let code = SessionTransferCode(for: request, ticket: one.ticket, random: .system, now: noon)
            let transferred = try #require(
                try await manager.redeem(
                    code,
                    at: origin,
                    cookie: Array(binding.text.utf8),
                    gatewayHost: self.host,
                    now: noon.plus(1)
                )
            )
            self.fixture.store.noteUse(transferred.ticket.storeKey, at: noon.plus(600))
        }
        let next = try await self.signIn(manager, 4, at: noon.plus(1000))
        #expect(next.ended.count == 1)
        var isLive: [Bool] = []
        for one in all { isLive.append(try await self.isLive(one, at: noon.plus(1001))) }
        #expect(isLive == [false, true, true])
    }

    /// How a sign-in fails.
    enum Failing: CaseIterable {
        case beforeTheSession
        case afterTheSession
        case spentValue
    }

    @Test(arguments: Failing.allCases)
    func `Q-23: a sign-in that fails leaves its turn to the next one at once`(failing: Failing) async throws {
        let manager = self.manager(1)
        _ = try await self.signIn(manager, 1)
        var signIn = SignIn(profile: Profile(provider: "staff", issuer: "https://id.example.com", subject: "ada"))
        signIn.began = noon.seconds * 1000
        let once = SingleUse("attempt", failing == .spentValue ? "1" : "2", until: noon.plus(600))
        self.fixture.store.state.withLock { state in
            state.readsFail = failing == .beforeTheSession
            state.entriesFail = failing == .afterTheSession
        }
        let result = try? await manager.issue(signIn, host: self.host, now: noon, spending: once, replacing: nil)
        #expect((result ?? nil) == nil)
        #expect(self.fixture.store.state.withLock { $0.locks.isEmpty })
    }
}
