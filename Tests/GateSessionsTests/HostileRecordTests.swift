// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateTestSupport
import Synchronization
import Testing

@testable import GateSessions

/// B-05: the times of records and entries are outside of every seal, so a store can have any.
@Suite struct HostileRecordTests {
    private static let host = "gate.example.com"

    /// The times of a record.
    enum Time: CaseIterable {
        case created
        case lastSeen
        case expires
        case all
    }

    @Test(arguments: Time.allCases, HostileNumbers.integers)
    func `B-05: a record with any time is served within its limits or not at all`(
        time: Time,
        seconds: Int64
    ) async throws {
        let fixture = SessionFixture(minIdleTimeout: .seconds(60))
        let issued = try await fixture.signedIn()
        let key = issued.ticket.storeKey
        fixture.store.state.withLock { state in
            guard var record = state.records[key] else { return }
            let value = Instant(seconds: seconds)
            if time == .created || time == .all { record.created = value }
            if time == .lastSeen || time == .all { record.lastSeen = value }
            if time == .expires || time == .all { record.expires = value }
            state.records[key] = record
        }
        let manager = fixture.manager(recheck: RecheckPolicy(interval: .seconds(600), maxStale: .seconds(60)))
        for now in [noon, noon.plus(3700), noon.plus(9 * 3600)] {
            guard let session = try await manager.session(for: issued.ticket, host: Self.host, now: now) else {
                continue
            }
            #expect(now < noon.plus(8 * 3600), "its absolute lifetime is in the seal")
            let remaining = manager.remaining(session, under: manager.recheck, now: now)
            #expect(remaining <= .seconds(8 * 3600))
            _ = manager.remainingLifetime(session, now: now)
            _ = SessionLimits(idle: .seconds(60), lifetime: .seconds(60)).remaining(session, at: now)
        }
        let page = try await manager.sessions(from: [], limit: 10, now: noon)
        #expect(page.items.allSatisfy { $0.expires > noon })
        _ = try await manager.endAll(of: issued.session.profile)
        #expect(try await manager.session(for: issued.ticket, host: Self.host, now: noon) == nil)
    }

    /// The content of a not-before entry, or of a recent sign-out.
    private func put(
        _ value: String,
        until expires: Int64,
        at key: [UInt8],
        _ kind: StoreEntry.Kind,
        _ fixture: SessionFixture
    ) {
        let entry = StoreEntry(kind: kind, key: key, value: Array(value.utf8), expires: Instant(seconds: expires))
        fixture.store.state.withLock { $0.entries[kind, default: [:]][key] = entry }
    }

    @Test(arguments: HostileNumbers.texts)
    func `B-05: a not-before time of a user that no gateway has written ends with the next revocation`(
        text: String
    )
        async throws
    {
        for expires in HostileNumbers.integers {
            let fixture = SessionFixture()
            let issued = try await fixture.signedIn()
            let user = issued.session.profile.user
            try await fixture.manager.setNotBefore(noon.plus(-10), user: user, now: noon)
            let key = try #require(
                fixture.store.state.withLock { state in
                    state.entries[.notBefore]?.first { $0.value.value == Array("\(noon.plus(-10))".utf8) }?.key
                }
            )
            self.put(text, until: expires, at: key, .notBefore, fixture)
            let manager = fixture.manager()
            // Served, revoked or a failure; never a trap.
            _ = try? await manager.session(for: issued.ticket, host: Self.host, now: noon)
            try await manager.setNotBefore(noon.plus(1), user: user, now: noon)
            #expect(try await manager.session(for: issued.ticket, host: Self.host, now: noon.plus(2)) == nil)
            let again = try await manager.issue(SignIn(profile: .ada), host: Self.host, now: noon.plus(2))
            #expect(try await manager.session(for: again.ticket, host: Self.host, now: noon.plus(2)) != nil)
        }
    }

    @Test(arguments: ["", "?", "12x", "1.5", "\u{0}"])
    func `B-05: no session of a user is served whose not-before time cannot be read`(text: String) async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        try await fixture.manager.setNotBefore(noon.plus(-10), user: issued.session.profile.user, now: noon)
        let key = try #require(
            fixture.store.state.withLock { state in
                state.entries[.notBefore]?.first { $0.value.value == Array("\(noon.plus(-10))".utf8) }?.key
            }
        )
        self.put(text, until: noon.seconds * 2, at: key, .notBefore, fixture)
        let failure = await #expect(throws: Failure.self) {
            try await fixture.manager().session(for: issued.ticket, host: Self.host, now: noon)
        }
        #expect(failure?.reason == .sessionStoreDamaged)
    }

    @Test func `B-05: a latest time of all users that cannot be read costs no user the session`() async throws {
        let fixture = SessionFixture()
        let ada = try await fixture.signedIn()
        let other = Profile(provider: "google", issuer: "https://accounts.google.com", subject: "1")
        let grace = try await fixture.manager.issue(SignIn(profile: other), host: Self.host, now: noon)
        try await fixture.manager.setNotBefore(noon.plus(1), user: other.user, now: noon)
        fixture.store.state.withLock { state in
            for (key, entry) in state.entries[.notBefore] ?? [:] where entry.value != Array("\(noon.plus(1))".utf8) {
                state.entries[.notBefore]?[key]?.value = Array("?".utf8)
            }
        }
        let manager = fixture.manager()
        #expect(try await manager.session(for: ada.ticket, host: Self.host, now: noon.plus(2)) != nil)
        #expect(try await manager.session(for: grace.ticket, host: Self.host, now: noon.plus(2)) == nil)
    }

    @Test(arguments: HostileNumbers.texts)
    func `B-05: a time of a sign-out that cannot be read is a failure of the store, and any number is compared`(
        text: String
    )
        async throws
    {
        let fixture = SessionFixture()
        let labels = try await fixture.signedIn().session.labels
        let failure = await fixture.manager.signOuts.failure(noting: labels)
        #expect(failure == nil)
        let keys = fixture.store.state.withLock { Array(($0.entries[.signOut] ?? [:]).keys) }
        for key in keys { self.put(text, until: noon.seconds * 2, at: key, .signOut, fixture) }
        var signIn = SignIn(profile: .ada)
        signIn.began = .max
        do throws(Failure) {
            let once = SingleUse("attempt", "1", until: noon.plus(60))
            let issued = try await fixture.manager.issue(signIn, host: Self.host, now: noon, spending: once)
            #expect(issued != nil && Int64(text) != nil)
        } catch {
            #expect(error.reason == .sessionStoreDamaged && Int64(text) == nil)
            // Each label fails once, and is replaced by the present time.
            var failures = 1
            for number in 2...9 {
                let once = SingleUse("attempt", "\(number)", until: noon.plus(60))
                let issued = try? await fixture.manager.issue(signIn, host: Self.host, now: noon, spending: once)
                if issued == nil { failures += 1 }
            }
            #expect(failures == labels.count)
        }
    }

    @Test(arguments: HostileNumbers.json) func `B-05: any number in a sealed session opens it or not`(
        number: String
    ) throws {
        var session = Session(
            id: "a",
            family: "b",
            profile: .ada,
            host: Self.host,
            created: noon,
            lastSeen: noon,
            idToken: nil,
            endSession: nil,
            confirmed: noon
        )
        session.grant = ProviderGrant()
        session.grant?.accessExpiry = noon
        session.grant?.refreshToken = Secret(text: "r")
        session.client = nil
        let text = String(decoding: session.encoded, as: UTF8.self)
        let policy = RecheckPolicy(interval: .seconds(600), maxStale: .seconds(60))
        for value in ["\(noon)", "\(noon.plus(-5))"] {
            let changed = text.replacing(":\(value)", with: ":\(number)")
            #expect(changed != text || number == value)
            for seen in HostileNumbers.integers.map(Instant.init(seconds:)) {
                guard let opened = Session(encoded: Array(changed.utf8), lastSeen: seen) else { continue }
                for now in [noon, .distantPast, .distantFuture] {
                    _ = policy.state(of: opened, at: now)
                    _ = policy.validity(of: opened, at: now)
                    _ = policy.accepts(lookUpUnder: .never, of: opened, at: now)
                    _ = SessionLimits(idle: .seconds(60), lifetime: .seconds(60)).remaining(opened, at: now)
                }
                #expect(Session(encoded: opened.encoded, lastSeen: seen) == opened)
            }
        }
    }
}
