// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateSessions

@Suite struct NotBeforeTests {
    private let host = "gate.example.com"

    /// Whether the session of a ticket is live.
    private func isLive(_ issued: IssuedSession, in manager: SessionManager, at time: Instant) async throws -> Bool {
        try await manager.session(for: issued.ticket, host: self.host, now: time) != nil
    }

    @Test func `a session from before the time of all users is revoked, a later one is not`() async throws {
        let fixture = SessionFixture()
        let earlier = try await fixture.signedIn()
        try await fixture.manager.setNotBefore(noon.plus(1), user: nil, now: noon)
        let later = try await fixture.manager.issue(SignIn(profile: .ada), host: self.host, now: noon.plus(1))
        #expect(try await !self.isLive(earlier, in: fixture.manager, at: noon.plus(2)))
        #expect(try await self.isLive(later, in: fixture.manager, at: noon.plus(2)))
    }

    @Test func `the time of a user concerns no other user`() async throws {
        let fixture = SessionFixture()
        let ada = try await fixture.signedIn()
        let other = Profile(provider: "google", issuer: "https://accounts.google.com", subject: "1")
        let grace = try await fixture.manager.issue(SignIn(profile: other), host: self.host, now: noon)
        try await fixture.manager.setNotBefore(noon.plus(1), user: "google:1", now: noon)
        #expect(try await self.isLive(ada, in: fixture.manager, at: noon.plus(2)))
        #expect(try await !self.isLive(grace, in: fixture.manager, at: noon.plus(2)))
        let again = try await fixture.manager.issue(SignIn(profile: other), host: self.host, now: noon.plus(1))
        #expect(try await self.isLive(again, in: fixture.manager, at: noon.plus(2)))
    }

    @Test(arguments: [nil, "google:104729384756102938475"])
    func `a sign-in that was in progress while the sessions were revoked is revoked`(user: String?) async throws {
        let fixture = SessionFixture()
        try await fixture.manager.setNotBefore(noon.plus(1), user: user, now: noon)
        // The callback arrived in the second of the revocation, and the session is issued two seconds later.
        let issued = try await fixture.manager.issue(SignIn(profile: .ada), host: self.host, now: noon)
        #expect(try await !self.isLive(issued, in: fixture.manager, at: noon.plus(2)))
    }

    @Test func `another gateway rejects the session within five seconds`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        let other = fixture.manager()
        #expect(try await self.isLive(issued, in: other, at: noon.plus(10)))
        try await fixture.manager.setNotBefore(noon.plus(1), user: issued.session.profile.user, now: noon.plus(10))
        #expect(try await !self.isLive(issued, in: other, at: noon.plus(15)))
    }

    @Test func `look-ups read no entry but every five seconds, until the sessions of a user are revoked`()
        async throws
    {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        func reads() -> Int { fixture.store.state.withLock { $0.entryReads[.notBefore, default: 0] } }
        #expect(try await self.isLive(issued, in: fixture.manager, at: noon))
        let first = reads()
        for second in Int64(0)..<5 {
            #expect(try await self.isLive(issued, in: fixture.manager, at: noon.plus(second)))
        }
        #expect(reads() == first)
        #expect(try await self.isLive(issued, in: fixture.manager, at: noon.plus(5)))
        #expect(reads() == first + 2)
        try await fixture.manager.setNotBefore(noon.plus(6), user: "google:1", now: noon.plus(6))
        #expect(try await self.isLive(issued, in: fixture.manager, at: noon.plus(7)))
        let revoked = reads()
        #expect(try await self.isLive(issued, in: fixture.manager, at: noon.plus(8)))
        #expect(reads() == revoked + 1)
        let later = try await fixture.manager.issue(SignIn(profile: .ada), host: self.host, now: noon.plus(400))
        #expect(try await self.isLive(later, in: fixture.manager, at: noon.plus(401)))
        let settled = reads()
        #expect(try await self.isLive(later, in: fixture.manager, at: noon.plus(402)))
        #expect(reads() == settled)
    }

    @Test func `a time is never lowered`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        for user in [nil, issued.session.profile.user] {
            try await fixture.manager.setNotBefore(noon.plus(1), user: user, now: noon)
            try await fixture.manager.setNotBefore(noon.plus(-100), user: user, now: noon)
            #expect(try await !self.isLive(issued, in: fixture.manager, at: noon.plus(2)))
        }
    }

    @Test(arguments: [nil, Profile.ada.user])
    func `a later time that another gateway sets meanwhile is not lost`(user: String?) async throws {
        let fixture = SessionFixture()
        fixture.store.state.withLock { state in
            state.beforeEntry = { state, key in
                let later = Array("\(noon.plus(100))".utf8)
                let entry = StoreEntry(kind: .notBefore, key: key, value: later, expires: noon.plus(86_400))
                state.entries[.notBefore, default: [:]][key] = entry
            }
        }
        try await fixture.manager.setNotBefore(noon.plus(1), user: user, now: noon)
        let between = try await fixture.manager.issue(SignIn(profile: .ada), host: self.host, now: noon.plus(99))
        let after = try await fixture.manager.issue(SignIn(profile: .ada), host: self.host, now: noon.plus(100))
        #expect(try await !self.isLive(between, in: fixture.manager, at: noon.plus(100)))
        #expect(try await self.isLive(after, in: fixture.manager, at: noon.plus(100)))
    }

    @Test func `the time lasts longer than any session that it revokes`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        try await fixture.manager.setNotBefore(noon.plus(1), user: nil, now: noon)
        // Another gateway has longer lifetimes.
        let other = fixture.manager(absolute: .seconds(80 * 3600))
        fixture.store.state.withLock { state in
            for key in state.records.keys {
                state.records[key]?.lastSeen = noon.plus(8 * 3600 + 86_390)
                state.records[key]?.expires = noon.plus(80 * 3600)
            }
        }
        #expect(try await !self.isLive(issued, in: other, at: noon.plus(8 * 3600 + 86_399)))
    }

    @Test func `an unreadable time and an unavailable store admit no session`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        try await fixture.manager.setNotBefore(noon.plus(-10), user: nil, now: noon)
        fixture.store.state.withLock { state in
            for key in state.entries[.notBefore, default: [:]].keys {
                state.entries[.notBefore]?[key]?.value = Array("soon".utf8)
            }
        }
        await #expect(throws: Failure.self) { try await self.isLive(issued, in: fixture.manager, at: noon.plus(1)) }
    }
}
