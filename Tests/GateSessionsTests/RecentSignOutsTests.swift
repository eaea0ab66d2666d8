// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateTestSupport
import Synchronization
import Testing

@testable import GateSessions

@Suite struct RecentSignOutsTests {
    private static let issuer = "https://id.example.com"
    private let host = "gate.example.com"
    private let clock = TestClock()
    private let store = ScriptedStore()
    private let manager: SessionManager

    init() {
        self.manager = SessionManager(
            store: self.store,
            sealer: Sealer([gateSecret], random: .counting()),
            lifetimes: SessionLifetimes(idle: .seconds(3600), absolute: .seconds(8 * 3600)),
            feed: RevocationFeed(),
            clock: self.clock.clock,
            random: .counting()
        )
    }

    /// What ends sessions of `ada`, or of her session `s1` at the provider.
    enum SignOut: CaseIterable {
        case everywhere
        case subject
        case session
        case both
        case subjectClaim
    }

    private func signOut(_ kind: SignOut, of user: String = "ada") async throws {
        let subject: ProviderLogout.Subject?
        switch kind {
        case .everywhere:
            _ = try await self.manager.endAll(of: self.signIn(user, nil).profile)
            return
        case .subject, .both: subject = .profile(user)
        case .session: subject = nil
        case .subjectClaim: subject = .claim("claim-\(user)")
        }
        let logout = ProviderLogout(
            provider: "staff",
            issuer: Self.issuer,
            subject: subject,
            session: kind == .session || kind == .both ? "s1" : nil,
            id: "\(kind)",
            until: self.clock.now.plus(600)
        )
        _ = try await self.manager.end(logout, now: self.clock.now)
    }

    private func signIn(_ user: String, _ session: String?) -> SignIn {
        var signIn = SignIn(profile: Profile(provider: "staff", issuer: Self.issuer, subject: user))
        signIn.providerSession = session
        signIn.subjectClaim = "claim-\(user)"
        signIn.began = self.clock.clock.milliseconds
        return signIn
    }

    private func issue(_ signIn: SignIn) async throws -> IssuedSession? {
        let once = SingleUse("attempt", "a", until: self.clock.now.plus(600))
        return try await self.manager.issue(signIn, host: self.host, now: self.clock.now, spending: once)
    }

    private func isSignedOut(_ signIn: SignIn) async throws -> Bool {
        do {
            _ = try #require(try await self.issue(signIn))
            return false
        } catch let failure as Failure where failure.reason == .signInSignedOut {
            #expect(self.store.state.withLock { $0.records.isEmpty })
            return true
        }
    }

    @Test(arguments: SignOut.allCases, [false, true])
    func `a sign-out ends a sign-in whose callback arrived a millisecond before`(
        kind: SignOut,
        readsWithInsertion: Bool
    ) async throws {
        self.store.state.withLock { $0.readsWithInsertion = readsWithInsertion }
        let signIn = self.signIn("ada", "s1")
        self.clock.advance(byMilliseconds: 1)
        try await self.signOut(kind)
        self.clock.advance(byMilliseconds: 1)
        #expect(try await self.isSignedOut(signIn))
    }

    @Test(arguments: SignOut.allCases, [false, true])
    func `a sign-in whose callback arrives afterwards is a new one`(
        kind: SignOut,
        readsWithInsertion: Bool
    ) async throws {
        self.store.state.withLock { $0.readsWithInsertion = readsWithInsertion }
        try await self.signOut(kind)
        #expect(try await !self.isSignedOut(self.signIn("ada", "s1")))
    }

    @Test func `another user, and another session at the provider, is not concerned`() async throws {
        let (eve, other) = (self.signIn("eve", "s2"), self.signIn("ada", "s2"))
        self.clock.advance(byMilliseconds: 1)
        for kind in SignOut.allCases where kind == .session || kind == .both { try await self.signOut(kind) }
        #expect(try await !self.isSignedOut(other))
        for kind in SignOut.allCases { try await self.signOut(kind) }
        self.store.state.withLock { $0.spent = [] }
        #expect(try await !self.isSignedOut(eve))
    }

    @Test func `a logout with sub and sid ends a sign-in of the user that has no sid`() async throws {
        var (ada, eve) = (self.signIn("ada", nil), self.signIn("eve", nil))
        (ada.subjectClaim, eve.subjectClaim) = (nil, nil)
        self.clock.advance(byMilliseconds: 1)
        try await self.signOut(.both)
        #expect(try await self.isSignedOut(ada))
        self.store.state.withLock { $0.spent = [] }
        #expect(try await !self.isSignedOut(eve))
    }

    @Test func `a time of a clock that is far ahead keeps no user from signing in`() async throws {
        self.clock.advance(byMilliseconds: RecentSignOuts.clockLeeway + 1)
        try await self.signOut(.everywhere)
        self.clock.advance(byMilliseconds: -RecentSignOuts.clockLeeway - 1)
        #expect(try await !self.isSignedOut(self.signIn("ada", "s1")))
    }

    @Test func `without a recent sign-out a sign-in reads one entry`() async throws {
        for expected in [1, 2] {
            self.store.state.withLock { $0.spent = [] }
            _ = try await self.issue(self.signIn("ada", "s1"))
            #expect(self.store.state.withLock { $0.entryReads[.signOut] } == expected)
            try await self.signOut(.everywhere)
            self.clock.advance(by: RecentSignOuts.lifetime.wholeSeconds)
        }
    }

    @Test func `a store that reads with the insertion is not asked again without a recent sign-out`() async throws {
        self.store.state.withLock { $0.readsWithInsertion = true }
        _ = try await self.issue(self.signIn("ada", "s1"))
        #expect(self.store.state.withLock { $0.entryReads[.signOut] } == nil)
    }

    @Test func `if the sign-outs cannot be read there is no session`() async throws {
        let signIn = self.signIn("ada", "s1")
        self.store.state.withLock { $0.entriesFail = true }
        let outage = await #expect(throws: Failure.self) { try await self.issue(signIn) }
        #expect(outage?.reason == .sessionStoreUnavailable)
        self.store.state.withLock { state in
            #expect(state.records.isEmpty)
            state.entriesFail = false
            state.spent = []
        }
        try await self.signOut(.everywhere)
        self.store.state.withLock { state in
            for key in state.entries[.signOut, default: [:]].keys {
                state.entries[.signOut]?[key]?.value = Array("soon".utf8)
            }
        }
        await #expect(throws: Failure.self) { try await self.issue(signIn) }
        #expect(self.store.state.withLock { $0.records.isEmpty })
    }

    @Test func `a sign-out everywhere that cannot be noted ends the sessions and is an outage`() async throws {
        _ = try #require(try await self.issue(self.signIn("ada", "s1")))
        self.store.state.withLock { $0.entriesFail = true }
        await #expect(throws: Failure.self) { try await self.signOut(.everywhere) }
        #expect(self.store.state.withLock { $0.records.isEmpty })
    }
}
