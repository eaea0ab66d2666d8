// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateSessions

@Suite struct CookieSessionTests {
    private let host = "gate.example.com"
    private let fixture = SessionFixture(keepsSessions: false)
    private let name = "__Host-gatehouse"

    private func issued(_ change: (inout SignIn) -> Void = { _ in }) async throws -> IssuedSession {
        var signIn = SignIn(profile: .ada)
        change(&signIn)
        let once = SingleUse("attempt", "a1", until: noon.plus(600))
        return try #require(try await self.fixture.manager.issue(signIn, host: self.host, now: noon, spending: once))
    }

    /// The session of a `Cookie` field.
    private func found(_ field: String, at now: Instant = noon, on host: String? = nil) async throws -> Session? {
        let host = host ?? self.host
        let bytes = Array(field.utf8)
        let manager = self.fixture.manager
        guard let value = SplitCookie(name: self.name).value(in: bytes.span) else { return nil }
        guard let ticket = manager.ticket(value, host: host) else { return nil }
        return try await manager.session(for: ticket, host: host, now: now)
    }

    private func field(_ ticket: Ticket) -> String {
        SplitCookie.pieces(of: ticket.text).enumerated().map { index, piece in
            "\(SplitCookie.name(of: self.name, piece: index))=\(piece)"
        }.joined(separator: "; ")
    }

    /// A session whose cookie has two pieces.
    private func long(_ subject: String = "1") async throws -> (field: String, pieces: [String], session: Session) {
        let issued = try await self.fixture.manager.issue(
            SignIn(profile: .member(subject, of: 120)),
            host: self.host,
            now: noon
        )
        let pieces = SplitCookie.pieces(of: issued.ticket.text)
        try #require(pieces.count == 2)
        return (self.field(issued.ticket), pieces, issued.session)
    }

    @Test func `the cookie has the whole session and the store has nothing`() async throws {
        let issued = try await self.issued {
            $0.idToken = Secret(text: "header.claims.signature")
            $0.endSession = "https://accounts.example.com/end"
            $0.providerSession = "p1"
        }
        #expect(try await self.found(self.field(issued.ticket)) == issued.session)
        #expect(issued.session.profile == .ada && issued.session.idToken == Secret(text: "header.claims.signature"))
        #expect(self.fixture.store.state.withLock { $0.records.isEmpty && $0.entries.isEmpty })
        #expect(issued.ticket.text.utf8.count <= SplitCookie.maxPieceBytes)
    }

    @Test func `a sign-in attempt gives one session only`() async throws {
        _ = try await self.issued()
        let once = SingleUse("attempt", "a1", until: noon.plus(600))
        let again = try await self.fixture.manager.issue(
            SignIn(profile: .ada),
            host: self.host,
            now: noon,
            spending: once
        )
        #expect(again == nil)
    }

    @Test func `no grant is in a cookie, since tabs and gateways would redeem it at once`() async throws {
        let issued = try await self.issued {
            $0.grant = ProviderGrant()
            $0.grant?.refreshToken = Secret(text: "refresh-me")
            $0.grant?.accessToken = Secret(text: "access-me")
        }
        #expect(issued.session.grant == nil)
        let found = try #require(try await self.found(self.field(issued.ticket)))
        #expect(found.grant == nil)
        let stored = try await self.fixture.manager.stored(issued.ticket)
        #expect(stored?.session == issued.session)
    }

    @Test func `every gateway with the secret opens it, and no other`() async throws {
        let issued = try await self.issued()
        let text = issued.ticket.text
        let other = SessionFixture(keepsSessions: false)
        let ticket = try #require(other.manager.ticket(text.utf8, host: self.host))
        #expect(try await other.manager.session(for: ticket, host: self.host, now: noon) == issued.session)
        let newer = Secret([UInt8](repeating: 9, count: 32))
        let stranger = SessionFixture(secrets: [newer], keepsSessions: false)
        #expect(stranger.manager.ticket(text.utf8, host: self.host) == nil)
        let rotated = SessionFixture(secrets: [newer, gateSecret], keepsSessions: false).manager
        #expect(rotated.ticket(text.utf8, host: self.host) == issued.ticket)
        let renewed = try #require(rotated.renewed(issued.session, now: noon.plus(60)))
        #expect(stranger.manager.ticket(renewed.ticket.text.utf8, host: self.host) != nil)
    }

    @Test func `C-05: the cookie of one host opens at no other`() async throws {
        let issued = try await self.issued()
        #expect(try await self.found(self.field(issued.ticket), on: "wiki.example.com") == nil)
        #expect(self.fixture.manager.ticket(issued.ticket.text.utf8, host: "wiki.example.com") == nil)
        let ticket = issued.ticket
        #expect(try await self.fixture.manager.session(for: ticket, host: "wiki.example.com", now: noon) == nil)
    }

    @Test func `C-06: every changed character gives the same as no cookie`() async throws {
        let text = Array(try await self.issued().ticket.text.utf8)
        for position in text.indices {
            var changed = text
            changed[position] = changed[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(self.fixture.manager.ticket(changed, host: self.host) == nil, "at \(position)")
        }
        #expect(self.fixture.manager.ticket(text.dropLast(), host: self.host) == nil)
        #expect(self.fixture.manager.ticket(text + [0x41], host: self.host) == nil)
        let stored = SessionFixture().manager.signed([UInt8](repeating: 1, count: 32), host: self.host)
        #expect(self.fixture.manager.ticket(stored.text.utf8, host: self.host) == nil)
    }

    @Test func `C-08: pieces that are reordered, missing, doubled, or of another session or time, give nothing`()
        async throws
    {
        let (field, pieces, session) = try await self.long()
        #expect(try await self.found(field) == session)
        let other = try await self.long("2")
        let renewal = try #require(self.fixture.manager.renewed(session, now: noon.plus(60)))
        let later = SplitCookie.pieces(of: renewal.ticket.text)
        #expect(try await self.found(self.field(renewal.ticket)) != nil)
        let sets = [
            [(0, pieces[0])], [(1, pieces[1])], [(0, pieces[1]), (1, pieces[0])],
            [(0, pieces[0]), (1, pieces[1]), (1, pieces[1])], [(0, pieces[0]), (0, pieces[0]), (1, pieces[1])],
            [(0, pieces[0]), (1, other.pieces[1])], [(0, other.pieces[0]), (1, pieces[1])],
            [(0, pieces[0]), (1, later[1])], [(0, later[0]), (1, pieces[1])],
            [(0, pieces[0]), (1, pieces[1]), (2, pieces[1])], [(0, pieces[0]), (2, pieces[1])],
            [(0, pieces[0]), (1, pieces[1]), (99_999_999, "x")], [(0, pieces[0]), (1, pieces[0] + pieces[1])],
        ]
        for set in sets {
            let field = set.map { "\(SplitCookie.name(of: self.name, piece: $0.0))=\($0.1)" }.joined(separator: "; ")
            #expect(try await self.found(field) == nil, "\(set.map(\.0))")
        }
    }

    @Test func `an ID token is kept only while one cookie suffices, and the session is issued without it`() async throws
    {
        let small = try await self.issued { $0.idToken = Secret(text: String(repeating: "a", count: 1500)) }
        #expect(small.session.idToken != nil)
        let large = try await self.fixture.manager.issue(
            self.signIn(.ada, idTokenCount: 3000),
            host: self.host,
            now: noon
        )
        #expect(large.session.idToken == nil && large.ticket.text.utf8.count <= SplitCookie.maxPieceBytes)
        let member = try await self.fixture.manager.issue(
            self.signIn(.member("1", of: 120), idTokenCount: 10),
            host: self.host,
            now: noon
        )
        #expect(member.session.idToken == nil)
    }

    private func signIn(_ profile: Profile, idTokenCount: Int) -> SignIn {
        var signIn = SignIn(profile: profile)
        signIn.idToken = Secret(text: String(repeating: "a", count: idTokenCount))
        return signIn
    }

    @Test func `a session that does not fit is a failure that names what is too large`() async throws {
        var count = 100
        while let issued = try? await self.fixture.manager.issue(
            SignIn(profile: .member("1", of: count)),
            host: self.host,
            now: noon
        ) {
            #expect(issued.ticket.text.utf8.count <= SplitCookie.maxBytes)
            count += 1
        }
        let failure = await #expect(throws: Failure.self) {
            try await self.fixture.manager.issue(SignIn(profile: .member("1", of: count)), host: self.host, now: noon)
        }
        #expect(count > 120 && failure?.reason == .sessionTooLarge)
        #expect(
            failure?.detail.contains("\(count) groups") == true && failure?.detail.contains("sessions.store") == true
        )
    }

    @Test(arguments: [(3599, true), (3600, false), (-300, true), (-301, false)] as [(Int64, Bool)])
    func `an unused session ends after the idle time, and one from the future is rejected`(
        seconds: Int64,
        isLive: Bool
    ) async throws {
        let field = self.field(try await self.issued().ticket)
        #expect((try await self.found(field, at: noon.plus(seconds)) != nil) == isLive)
    }

    @Test func `a session in use ends after its absolute lifetime, however often its cookie was renewed`() async throws
    {
        var issued = try await self.issued()
        for step in 1..<16 {
            let now = noon.plus(Int64(step) * 1800)
            let session = try #require(try await self.found(self.field(issued.ticket), at: now))
            issued = try #require(self.fixture.manager.renewed(session, now: now))
        }
        let end = noon.plus(8 * 3600)
        #expect(try await self.found(self.field(issued.ticket), at: end.plus(-1)) != nil)
        #expect(try await self.found(self.field(issued.ticket), at: end) == nil)
    }

    @Test func `a cookie is renewed once a minute, alike at every gateway`() async throws {
        let issued = try await self.issued()
        let manager = self.fixture.manager
        for second in 0..<60 { #expect(manager.renewed(issued.session, now: noon.plus(Int64(second))) == nil) }
        let first = try #require(manager.renewed(issued.session, now: noon.plus(60)))
        let same = SessionFixture(keepsSessions: false).manager.renewed(issued.session, now: noon.plus(119))
        #expect(same?.ticket == first.ticket && first.session.lastSeen == noon.plus(60))
        #expect(manager.renewed(issued.session, now: noon.plus(120))?.ticket != first.ticket)
        let found = try await self.found(self.field(first.ticket), at: noon.plus(60 + 3599))
        #expect(found == first.session)
        #expect(SessionFixture().manager.renewed(issued.session, now: noon.plus(60)) == nil)
    }

    @Test func `an idle time that ends the session for an app stays in the renewed cookie`() async throws {
        let manager = SessionFixture(keepsSessions: false, minIdleTimeout: .seconds(900)).manager
        let issued = try await manager.issue(SignIn(profile: .ada), host: self.host, now: noon)
        let limits = SessionLimits(idle: .seconds(900))
        let at = { (ticket: Ticket, seconds: Int64) in
            try #require(try await manager.session(for: ticket, host: self.host, now: noon.plus(seconds)))
        }
        #expect(limits.admits(try await at(issued.ticket, 899), at: noon.plus(899)))
        let late = try await at(issued.ticket, 900)
        #expect(!limits.admits(late, at: noon.plus(900)))
        let renewed = try #require(manager.renewed(late, now: noon.plus(900)))
        #expect(!limits.admits(try await at(renewed.ticket, 901), at: noon.plus(901)))
    }

    @Test func `changed admission settings end it`() async throws {
        let manager = { (terms: String) in
            let store = ScriptedStore(keepsSessions: false)
            return SessionManager(
                store: store,
                sealer: self.fixture.sealer,
                lifetimes: SessionLifetimes(idle: .seconds(3600), absolute: .seconds(8 * 3600)),
                feed: self.fixture.feed,
                admissions: AdmissionFingerprints(["google": terms])
            )
        }
        let issued = try await manager("a").issue(SignIn(profile: .ada), host: self.host, now: noon)
        #expect(try await manager("a").session(for: issued.ticket, host: self.host, now: noon) != nil)
        #expect(try await manager("b").session(for: issued.ticket, host: self.host, now: noon) == nil)
    }

    @Test func `a sign-out reaches the caches of this process and returns the session`() async throws {
        let ended = Mutex<[[UInt8]]>([])
        self.fixture.feed.subscribe { family in ended.withLock { $0.append(family) } }
        let issued = try await self.issued()
        #expect(try await self.fixture.manager.end(issued.ticket) == issued.session)
        #expect(ended.withLock { $0 } == [issued.session.familyKey])
    }
}

extension Profile {
    /// A user with a number of groups.
    fileprivate static func member(_ subject: String, of groups: Int) -> Profile {
        var profile = Profile(provider: "google", issuer: "https://accounts.google.com", subject: subject)
        profile.groups = (0..<groups).map { "organization/department-of-work-\($0)" }
        return profile
    }
}
