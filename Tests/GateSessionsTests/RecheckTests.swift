// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateSessions

/// When a session has to be confirmed, and how the result reaches all sessions of its family.
@Suite struct RecheckTests {
    private let policy = RecheckPolicy(interval: .seconds(3600), maxStale: .seconds(900))
    private let host = "gate.example.com"

    private func session(
        confirmed: Instant,
        grant: ProviderGrant? = nil,
        family: String = "family"
    ) -> Session {
        Session(
            id: "sid",
            family: family,
            profile: .ada,
            host: "gate.example.com",
            created: noon,
            lastSeen: noon,
            idToken: nil,
            endSession: nil,
            admission: nil,
            origin: nil,
            grant: grant,
            confirmed: confirmed
        )
    }

    @Test(
        arguments: [
            (0, RecheckPolicy.State.confirmed), (2999, .confirmed), (3300, .due), (3599, .due), (3600, .overdue),
            (4499, .overdue), (4500, .stale),
        ] as [(Int64, RecheckPolicy.State)]
    )
    func `a session is confirmed, due, overdue and stale in this order`(seconds: Int64, state: RecheckPolicy.State) {
        #expect(self.policy.state(of: self.session(confirmed: noon), at: noon.plus(seconds)) == state)
    }

    @Test func `without an interval every session stays confirmed`() {
        #expect(RecheckPolicy.never.state(of: self.session(confirmed: noon), at: noon.plus(1 << 40)) == .confirmed)
    }

    // M-01
    @Test func `how and when the user authenticated is always of one authentication`() {
        var known = Profile.ada
        (known.authTime, known.acr, known.amr) = (noon, "phr", ["hwk", "mfa"])
        func after(_ change: (inout Profile) -> Void) -> Profile {
            var session = self.session(confirmed: noon)
            session.profile = known
            var profile = Profile.ada
            profile.authTime = nil
            change(&profile)
            session.replaceProfile(by: profile)
            return session.profile
        }
        let same = after { _ in }
        #expect(same.authTime == noon && same.acr == "phr" && same.amr == ["hwk", "mfa"])
        let later = after { $0.authTime = noon.plus(60) }
        #expect(later.authTime == noon.plus(60) && later.acr == nil && later.amr.isEmpty)
        let other = after { $0.amr = ["pwd"] }
        #expect(other.authTime == noon && other.acr == nil && other.amr == ["pwd"])
    }

    @Test func `a refresh token is redeemed before the access token expires`() {
        var grant = ProviderGrant()
        (grant.refreshToken, grant.accessExpiry) = (Secret(text: "rt"), noon.plus(400))
        #expect(self.policy.state(of: self.session(confirmed: noon, grant: grant), at: noon.plus(299)) == .confirmed)
        #expect(self.policy.state(of: self.session(confirmed: noon, grant: grant), at: noon.plus(300)) == .due)
        grant.refreshToken = nil
        #expect(self.policy.state(of: self.session(confirmed: noon, grant: grant), at: noon.plus(300)) == .confirmed)
    }

    @Test func `no cache serves a session beyond the time at which it must be confirmed`() {
        let fixture = SessionFixture()
        let manager = fixture.manager(recheck: self.policy)
        var session = self.session(confirmed: noon)
        session.lastSeen = noon.plus(3590)
        #expect(manager.remaining(session, under: self.policy, now: noon.plus(3590)) == .seconds(10))
        #expect(manager.remaining(session, under: self.policy, now: noon.plus(3601)) == .seconds(5))
        #expect(manager.remaining(session, under: self.policy, now: noon.plus(4497)) == .seconds(3))
    }

    @Test(arguments: [(3600, 300), (300, 30), (10, 1)] as [(Int64, Int64)])
    func `a cached session is looked up again when its re-check can begin in the background`(
        interval: Int64,
        early: Int64
    ) {
        let policy = RecheckPolicy(interval: .seconds(interval), maxStale: .seconds(900))
        let session = self.session(confirmed: noon)
        let validity = policy.validity(of: session, at: noon)
        #expect(validity >= .seconds(interval - 2 * early) && validity <= .seconds(interval - early))
        let begin = noon.advanced(by: validity)
        #expect(policy.state(of: session, at: begin) == .due)
        #expect(policy.validity(of: session, at: begin) == .seconds(interval) - validity)
    }

    @Test func `B-12: the re-checks of users who signed in together do not begin together`() {
        let begins = (0..<1000).map { number in
            self.policy.validity(of: self.session(confirmed: noon, family: "family \(number)"), at: noon)
        }
        // 3000 to 3300 s after the sign-in, about as many in each minute.
        for minute in 0..<5 {
            let minute = Duration.seconds(3000 + 60 * minute)
            let count = begins.filter { $0 > minute && $0 <= minute + .seconds(60) }.count
            #expect((120...280).contains(count), "\(count)")
        }
    }

    @Test(
        arguments: [
            // What is looked up for an app counts for all with the same or a longer interval.
            (3600, 3600, 9999, true), (3600, 300, 9999, true), (nil, 300, 9999, true), (nil, nil, 9999, true),
            // Else until it is due for the other app.
            (300, 3600, 239, true), (300, 3600, 270, false), (300, nil, 239, true), (300, nil, 270, false),
        ] as [(Int64?, Int64?, Int64, Bool)]
    )
    func `what one app has looked up is served by another until that one's re-check is due`(
        own: Int64?,
        other: Int64?,
        seconds: Int64,
        isServed: Bool
    ) {
        func policy(_ interval: Int64?) -> RecheckPolicy {
            RecheckPolicy(interval: interval.map { .seconds($0) }, maxStale: .seconds(900))
        }
        let session = self.session(confirmed: noon)
        let now = noon.plus(seconds)
        #expect(policy(own).accepts(lookUpUnder: policy(other), of: session, at: now) == isServed)
    }

    @Test func `what was confirmed in part is asked for again after five minutes`() {
        let counted = self.policy.confirmation(at: noon, isPartial: true, pause: .zero)
        #expect(self.policy.state(of: self.session(confirmed: counted), at: noon.plus(299)) != .overdue)
        #expect(self.policy.state(of: self.session(confirmed: counted), at: noon.plus(300)) == .overdue)
        #expect(self.policy.confirmation(at: noon, isPartial: false, pause: .zero) == noon)
        let short = RecheckPolicy(interval: .seconds(60), maxStale: .zero)
        #expect(short.confirmation(at: noon, isPartial: true, pause: .zero) == noon)
    }

    @Test(arguments: [(86_400, 86_400), (0, 3600), (60, 3600)] as [(Int64, Int64)])
    func `a provider is not asked about a user before its pause is over`(pause: Int64, due: Int64) {
        let counted = self.policy.confirmation(at: noon, isPartial: false, pause: .seconds(pause))
        var grant = ProviderGrant()
        (grant.refreshToken, grant.accessExpiry) = (Secret(text: "rt"), noon.plus(3600))
        let session = self.session(confirmed: counted, grant: grant)
        #expect(self.policy.state(of: session, at: noon.plus(due - 601)) == .confirmed)
        #expect(self.policy.state(of: session, at: noon.plus(due)) == .overdue)
    }

    @Test func `a grant is kept in the sealed record and nowhere else`() async throws {
        let fixture = SessionFixture()
        var signIn = SignIn(profile: .ada)
        var grant = ProviderGrant()
        grant.refreshToken = Secret(text: "rt-secret")
        grant.accessExpiry = noon.plus(60)
        grant.scopes = "openid email"
        grant.extras = "{}"
        signIn.grant = grant
        let issued = try await fixture.manager.issue(signIn, host: self.host, now: noon)
        let found = try await fixture.manager.session(for: issued.ticket, host: self.host, now: noon)
        #expect(found?.grant == grant && found?.confirmed == noon)
        let record = try await fixture.store.record(for: issued.ticket.storeKey)
        #expect(record.map { $0.sealed.firstRange(of: Array("rt-secret".utf8)) == nil } == true)
    }

    @Test func `the result of a re-check is the profile of every session of the family`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.manager.issue(SignIn(profile: .ada), host: self.host, now: noon)
        let other = try await fixture.transferred(issued, to: "wiki.example.com")
        let stored = try #require(try await fixture.manager.stored(other.ticket))
        var changed = SignIn(profile: .ada)
        changed.profile.groups = ["new"]
        #expect(try await fixture.manager.update(stored, with: changed, confirmed: noon.plus(60)))
        for (ticket, host) in [(issued.ticket, self.host), (other.ticket, "wiki.example.com")] {
            let session = try await fixture.manager.session(for: ticket, host: host, now: noon.plus(60))
            #expect(session?.profile.groups == ["new"] && session?.confirmed == noon.plus(60))
        }
    }

    @Test func `of two results for the same record one is stored`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.manager.issue(SignIn(profile: .ada), host: self.host, now: noon)
        let stored = try #require(try await fixture.manager.stored(issued.ticket))
        #expect(try await fixture.manager.update(stored, with: SignIn(profile: .ada), confirmed: noon.plus(1)))
        #expect(try await fixture.manager.update(stored, with: SignIn(profile: .ada), confirmed: noon.plus(2)) == false)
    }

    @Test func `a re-check brings no session back that has ended meanwhile`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.manager.issue(SignIn(profile: .ada), host: self.host, now: noon)
        let stored = try #require(try await fixture.manager.stored(issued.ticket))
        _ = try await fixture.manager.end(issued.ticket)
        #expect(try await fixture.manager.update(stored, with: SignIn(profile: .ada), confirmed: noon.plus(1)) == false)
        #expect(try await fixture.manager.session(for: issued.ticket, host: self.host, now: noon.plus(1)) == nil)
    }

    @Test func `one gateway reserves a re-check`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.manager.issue(SignIn(profile: .ada), host: self.host, now: noon)
        let stored = try #require(try await fixture.manager.stored(issued.ticket))
        let other = fixture.manager()
        let storedThere = try #require(try await other.stored(issued.ticket))
        #expect(try await fixture.manager.reserveRecheck(of: stored, now: noon))
        #expect(try await other.reserveRecheck(of: storedThere, now: noon.plus(59)) == false)
        #expect(try await other.reserveRecheck(of: storedThere, now: noon.plus(60)))
        // The first gateway ends late, and not the reservation of the other one.
        await fixture.manager.endRecheck(of: stored)
        let third = try #require(try await fixture.manager.stored(issued.ticket))
        #expect(try await fixture.manager.reserveRecheck(of: third, now: noon.plus(61)) == false)
        await other.endRecheck(of: storedThere)
        #expect(try await fixture.manager.reserveRecheck(of: third, now: noon.plus(61)))
    }

    @Test func `a transferred session ends with the one that it came from`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.manager.issue(SignIn(profile: .ada), host: self.host, now: noon)
        let other = try await fixture.transferred(issued, to: "wiki.example.com")
        try await fixture.store.remove(issued.ticket.storeKey)
        #expect(try await fixture.manager.session(for: other.ticket, host: "wiki.example.com", now: noon) == nil)
    }

    @Test func `a use of a transferred session is a use of the one that it came from`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.manager.issue(SignIn(profile: .ada), host: self.host, now: noon)
        let other = try await fixture.transferred(issued, to: "wiki.example.com")
        for minute in stride(from: 0, through: 120, by: 30) {
            let now = noon.plus(Int64(minute) * 60)
            #expect(try await fixture.manager.session(for: other.ticket, host: "wiki.example.com", now: now) != nil)
        }
        #expect(try await fixture.manager.session(for: issued.ticket, host: self.host, now: noon.plus(7200)) != nil)
    }
}

extension SessionFixture {
    /// A session on another host, transferred from one at the gateway's.
    fileprivate func transferred(_ issued: IssuedSession, to host: String) async throws -> IssuedSession {
        let origin = try #require(Origin(scheme: "https", host: host))
        let binding = BrowserBinding(from: .counting())
        let request = SessionTransferRequest(origin: origin, path: .root, binding: binding, now: noon)
        let code = SessionTransferCode(for: request, ticket: issued.ticket, random: .counting(), now: noon)
        return try #require(
            try await self.manager.redeem(
                code,
                at: origin,
                cookie: binding.text.utf8.map { $0 },
                gatewayHost: "gate.example.com",
                now: noon
            )
        )
    }
}
