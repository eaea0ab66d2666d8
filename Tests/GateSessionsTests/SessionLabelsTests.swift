// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateSessions

@Suite struct SessionLabelsTests {
    private static let issuer = "https://id.example.com"
    private let host = "gate.example.com"
    private let fixture = SessionFixture()

    private func signIn(
        _ subject: String,
        session: String? = nil,
        subjectClaim: String? = nil,
        provider: String = "staff"
    ) async throws -> IssuedSession {
        var signIn = SignIn(profile: Profile(provider: provider, issuer: Self.issuer, subject: subject))
        signIn.providerSession = session
        signIn.subjectClaim = subjectClaim
        return try await self.fixture.manager.issue(signIn, host: self.host, now: noon)
    }

    private func labels(of issued: IssuedSession) throws -> Set<[UInt8]> {
        let records = self.fixture.store.state.withLock { $0.records }
        return Set(try #require(records[issued.ticket.storeKey]).labels)
    }

    private func isLive(_ issued: IssuedSession) async throws -> Bool {
        try await self.fixture.manager.session(for: issued.ticket, host: issued.session.host, now: noon) != nil
    }

    private func logout(
        _ subject: ProviderLogout.Subject?,
        session: String? = nil,
        id: String = "j1",
        issuer: String = Self.issuer
    ) async throws -> ProviderLogout.Outcome {
        let logout = ProviderLogout(
            provider: "staff",
            issuer: issuer,
            subject: subject,
            session: session,
            id: id,
            until: noon.plus(600)
        )
        return try await self.fixture.manager.end(logout, now: noon)
    }

    private func count(_ outcome: ProviderLogout.Outcome) -> Int? {
        if case .ended(let count, nil) = outcome { count } else { nil }
    }

    // MARK: Labels

    @Test func `a record has a label of the user, and one of the session at the provider or that it has none`()
        async throws
    {
        let user = SessionLabel.user(provider: "staff", issuer: Self.issuer, subject: "ada")
        let session = SessionLabel.providerSession(provider: "staff", issuer: Self.issuer, id: "s1")
        let none = SessionLabel.withoutProviderSession(of: user)
        #expect(try self.labels(of: try await self.signIn("ada")) == [user.hash, none.hash])
        #expect(try self.labels(of: try await self.signIn("ada", session: "s1")) == [user.hash, session.hash])
        #expect(user.hash.count == 32)
    }

    @Test func `where a profile has another subject than the ID token, the record has a label of both`() async throws {
        let issued = try await self.signIn("t:o", session: "s1", subjectClaim: "pairwise")
        let claim = SessionLabel.subjectClaim(provider: "staff", issuer: Self.issuer, subject: "pairwise")
        let labels = try self.labels(of: issued)
        #expect(labels.contains(claim.hash) && labels.count == 3 && labels.count <= SessionRecord.maxLabels)
    }

    @Test func `labels of different kinds and of shifted parts differ`() {
        let labels = [
            SessionLabel.user(provider: "a", issuer: "bc", subject: "d"),
            .user(provider: "ab", issuer: "c", subject: "d"), .user(provider: "a", issuer: "b", subject: "cd"),
            .user(provider: "a", issuer: "bc1:d", subject: ""),
            .subjectClaim(provider: "a", issuer: "bc", subject: "d"),
            .providerSession(provider: "a", issuer: "bc", id: "d"),
            .withoutProviderSession(of: .user(provider: "a", issuer: "bc", subject: "d")),
            .withoutProviderSession(of: .subjectClaim(provider: "a", issuer: "bc", subject: "d")),
        ]
        #expect(Set(labels).count == labels.count)
    }

    @Test func `a session of an app's host has the labels of the one that it was transferred from`() async throws {
        let first = try await self.signIn("ada", session: "s1", subjectClaim: "sub")
        let wiki = try #require(Origin(scheme: "https", host: "wiki.example.com"))
        let binding = BrowserBinding(from: .counting())
        let request = SessionTransferRequest(origin: wiki, path: .root, binding: binding, now: noon)
        let code = SessionTransferCode(for: request, ticket: first.ticket, random: .counting(), now: noon)
        let redeemed = try await self.fixture.manager.redeem(
            code,
            at: wiki,
            cookie: binding.text.utf8,
            gatewayHost: self.host,
            now: noon
        )
        let second = try #require(redeemed)
        #expect(try self.labels(of: second) == self.labels(of: first))
        #expect(second.session.providerSession == "s1")
    }

    @Test func `what the ID token named survives in the record`() async throws {
        let issued = try await self.signIn("ada", session: "s1", subjectClaim: "sub")
        let found = try await self.fixture.manager.session(for: issued.ticket, host: self.host, now: noon)
        #expect(found == issued.session && found?.providerSession == "s1" && found?.subjectClaim == "sub")
    }

    // MARK: Sign-out everywhere

    @Test func `all sessions of a user end, at most 16 at a time, and no others`() async throws {
        var own: [IssuedSession] = []
        for _ in 0..<50 {
            own.append(try await self.signIn("ada"))
        }
        let others = [try await self.signIn("eve"), try await self.signIn("ada", provider: "guests")]
        let heard = Mutex<Set<[UInt8]>>([])
        self.fixture.feed.subscribe { family in _ = heard.withLock { $0.insert(family) } }
        #expect(try await self.fixture.manager.endAll(of: own[0].session.profile) == 50)
        for issued in own { #expect(try await !self.isLive(issued)) }
        for issued in others { #expect(try await self.isLive(issued)) }
        #expect(heard.withLock { $0 } == Set(own.map(\.session.familyKey)))
        #expect(self.fixture.store.state.withLock { $0.removals.most } <= 16)
    }

    @Test func `the family that the caller ends itself is kept`() async throws {
        let (here, there) = (try await self.signIn("ada"), try await self.signIn("ada"))
        let ended = try await self.fixture.manager.endAll(of: here.session.profile, but: here.session.familyKey)
        #expect(ended == 1)
        #expect(try await self.isLive(here))
        #expect(try await !self.isLive(there))
    }

    @Test func `a store that cannot remove sessions is an outage`() async throws {
        let issued = try await self.signIn("ada")
        self.fixture.store.state.withLock { $0.writesFail = true }
        let failure = await #expect(throws: Failure.self) {
            try await self.fixture.manager.endAll(of: issued.session.profile)
        }
        #expect(failure?.reason == .sessionStoreUnavailable)
    }

    // MARK: Logouts of a provider

    @Test func `a logout with sid ends that session, one with sub all of the user, one with both what has both`()
        async throws
    {
        let (first, second) = (try await self.signIn("ada", session: "s1"), try await self.signIn("ada", session: "s2"))
        let eve = try await self.signIn("eve", session: "s3")
        #expect(self.count(try await self.logout(.profile("eve"), session: "s1", id: "j0")) == 0)
        #expect(self.count(try await self.logout(nil, session: "s1", id: "j1")) == 1)
        #expect(try await !self.isLive(first))
        #expect(try await self.isLive(second))
        #expect(self.count(try await self.logout(.profile("ada"), session: "s2", id: "j2")) == 1)
        #expect(try await !self.isLive(second))
        let third = try await self.signIn("ada")
        #expect(self.count(try await self.logout(.profile("ada"), id: "j3")) == 1)
        #expect(try await !self.isLive(third))
        #expect(try await self.isLive(eve))
    }

    @Test(arguments: [nil, "pairwise"])
    func `a logout with both ends also the user's sessions without a sid, which may come from that session`(
        claim: String?
    ) async throws {
        let unknown = try await self.signIn("ada", subjectClaim: claim)
        let other = try await self.signIn("ada", session: "s2", subjectClaim: claim)
        let eve = try await self.signIn("eve", subjectClaim: claim.map { "\($0)-eve" })
        let subject = claim.map { ProviderLogout.Subject.claim($0) } ?? .profile("ada")
        #expect(self.count(try await self.logout(subject, session: "s1")) == 1)
        #expect(try await !self.isLive(unknown))
        #expect(try await self.isLive(other))
        #expect(try await self.isLive(eve))
        #expect(self.count(try await self.logout(nil, session: "s1", id: "j2")) == 0)
    }

    @Test func `a logout names the sub of ID tokens where profiles have another subject`() async throws {
        let issued = try await self.signIn("pairwise")
        let mapped = try await self.signIn("t:o", subjectClaim: "pairwise")
        #expect(self.count(try await self.logout(.claim("pairwise"))) == 1)
        #expect(try await self.isLive(issued))
        #expect(try await !self.isLive(mapped))
    }

    @Test func `a logout of another issuer or of an unknown session ends nothing`() async throws {
        let issued = try await self.signIn("ada", session: "s1")
        #expect(self.count(try await self.logout(.profile("ada"), id: "a", issuer: "https://other.example")) == 0)
        #expect(self.count(try await self.logout(nil, session: "S1", id: "b")) == 0)
        #expect(self.count(try await self.logout(nil, id: "c")) == 0)
        #expect(try await self.isLive(issued))
    }

    @Test func `a logout works once, until its token has expired`() async throws {
        _ = try await self.signIn("ada")
        #expect(self.count(try await self.logout(.profile("ada"))) == 1)
        let issued = try await self.signIn("ada")
        guard case .replayed = try await self.logout(.profile("ada")) else {
            Issue.record("the replay was accepted")
            return
        }
        #expect(try await self.isLive(issued))
        #expect(self.count(try await self.logout(.profile("ada"), id: "j2")) == 1)
    }

    @Test func `a logout that failed can be repeated`() async throws {
        let issued = try await self.signIn("ada")
        self.fixture.store.state.withLock { $0.writesFail = true }
        await #expect(throws: Failure.self) { try await self.logout(.profile("ada")) }
        self.fixture.store.state.withLock { $0.writesFail = false }
        #expect(self.count(try await self.logout(.profile("ada"))) == 1)
        #expect(try await !self.isLive(issued))
    }

    @Test func `a logout that cannot be remembered ends the sessions nevertheless, and that is reported`()
        async throws
    {
        let issued = try await self.signIn("ada")
        self.fixture.store.state.withLock { $0.entriesFail = true }
        guard case .ended(1, .some) = try await self.logout(.profile("ada")) else {
            Issue.record("it did not end one sign-in, or did not report the failure")
            return
        }
        #expect(try await !self.isLive(issued))
    }
}
