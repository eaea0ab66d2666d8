// SPDX-License-Identifier: Apache-2.0

import Crypto
import GateCore
import Synchronization
import Testing

@testable import GateSessions

@Suite struct SessionManagerTests {
    private let gatewayHost = "gate.example.com"

    @Test func `a ticket finds the session of the sign-in`() async throws {
        let fixture = SessionFixture()
        var signIn = SignIn(profile: .ada)
        signIn.idToken = Secret(text: "header.claims.signature")
        signIn.endSession = "https://accounts.example.com/end"
        let issued = try await fixture.manager.issue(signIn, host: self.gatewayHost, now: noon)
        let found = try #require(
            try await fixture.manager.session(for: issued.ticket, host: self.gatewayHost, now: noon)
        )
        #expect(found == issued.session)
        #expect(found.profile == .ada)
        #expect(found.idToken == Secret(text: "header.claims.signature"))
        #expect(found.endSession == "https://accounts.example.com/end")
        #expect(found.provider == "google")
        #expect(found.created == noon)
    }

    @Test func `a minimal profile keeps its defaults`() async throws {
        let fixture = SessionFixture()
        let profile = Profile(provider: "github", issuer: "https://github.com", subject: "1")
        let issued = try await fixture.manager.issue(SignIn(profile: profile), host: self.gatewayHost, now: noon)
        let found = try await fixture.manager.session(for: issued.ticket, host: self.gatewayHost, now: noon)
        #expect(found?.profile == profile)
    }

    @Test(arguments: [(16_384, true), (16_385, false)])
    func `an ID token over its limit is dropped`(length: Int, isKept: Bool) async throws {
        let fixture = SessionFixture()
        var signIn = SignIn(profile: .ada)
        signIn.idToken = Secret([UInt8](repeating: UInt8(ascii: "a"), count: length))
        let issued = try await fixture.manager.issue(signIn, host: self.gatewayHost, now: noon)
        let found = try await fixture.manager.session(for: issued.ticket, host: self.gatewayHost, now: noon)
        #expect((found?.idToken != nil) == isKept)
    }

    @Test func `each sign-in has a new ticket, id and family`() async throws {
        let fixture = SessionFixture()
        let first = try await fixture.signedIn()
        let second = try await fixture.signedIn()
        #expect(first.ticket != second.ticket)
        #expect(first.session.id != second.session.id)
        #expect(first.session.family != second.session.family)
        #expect(first.session.familyKey != second.session.familyKey)
    }

    @Test func `a ticket of one host has no session on another`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        #expect(try await fixture.manager.session(for: issued.ticket, host: "wiki.example.com", now: noon) == nil)
    }

    @Test func `an unknown ticket has no session`() async throws {
        let fixture = SessionFixture()
        _ = try await fixture.signedIn()
        let other = fixture.manager.signed([UInt8](repeating: 1, count: 32), host: self.gatewayHost)
        #expect(try await fixture.manager.session(for: other, host: self.gatewayHost, now: noon) == nil)
    }

    @Test(arguments: [(3599, true), (3600, false), (-300, true), (-301, false)] as [(Int64, Bool)])
    func `an unused session ends after the idle time, and one from the future is rejected`(
        seconds: Int64,
        isLive: Bool
    ) async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        let found = try await fixture.manager.session(
            for: issued.ticket,
            host: self.gatewayHost,
            now: noon.plus(seconds)
        )
        #expect((found != nil) == isLive)
    }

    @Test func `a session in use ends after its absolute lifetime`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        for step in 1..<16 {
            let now = noon.plus(Int64(step) * 1800)
            #expect(try await fixture.manager.session(for: issued.ticket, host: self.gatewayHost, now: now) != nil)
        }
        let last = noon.plus(8 * 3600)
        #expect(
            try await fixture.manager.session(for: issued.ticket, host: self.gatewayHost, now: last.plus(-1)) != nil
        )
        #expect(try await fixture.manager.session(for: issued.ticket, host: self.gatewayHost, now: last) == nil)
    }

    @Test func `a later expiry in the record does not prolong the session`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        let late = noon.plus(9 * 3600)
        fixture.store.state.withLock { state in
            state.records[issued.ticket.storeKey]?.expires = noon.plus(99 * 3600)
            state.records[issued.ticket.storeKey]?.created = late
            state.records[issued.ticket.storeKey]?.lastSeen = late
        }
        #expect(try await fixture.manager.session(for: issued.ticket, host: self.gatewayHost, now: late) == nil)
    }

    @Test func `a shorter lifetime applies to existing sessions`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        let strict = fixture.manager(secrets: [gateSecret], absolute: .seconds(60))
        #expect(try await strict.session(for: issued.ticket, host: self.gatewayHost, now: noon.plus(59)) != nil)
        #expect(try await strict.session(for: issued.ticket, host: self.gatewayHost, now: noon.plus(60)) == nil)
    }

    @Test func `a use is recorded at most once a minute`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        for second in 0..<60 {
            let now = noon.plus(Int64(second))
            _ = try await fixture.manager.session(for: issued.ticket, host: self.gatewayHost, now: now)
        }
        #expect(fixture.store.state.withLock { $0.touches } == 0)
        let found = try await fixture.manager.session(for: issued.ticket, host: self.gatewayHost, now: noon.plus(60))
        #expect(fixture.store.state.withLock { $0.touches } == 1)
        #expect(found?.lastSeen == noon.plus(60))
        #expect(fixture.store.state.withLock { $0.records[issued.ticket.storeKey]?.lastSeen } == noon.plus(60))
    }

    @Test func `a store that cannot be read is an outage, not the end of a session`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        fixture.store.state.withLock { $0.readsFail = true }
        let failure = await #expect(throws: Failure.self) {
            try await fixture.manager.session(for: issued.ticket, host: self.gatewayHost, now: noon)
        }
        #expect(failure?.kind == .overloaded)
        #expect(failure?.reason == .sessionStoreUnavailable)
    }

    @Test func `a store that cannot be written admits existing sessions only`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        fixture.store.state.withLock { $0.writesFail = true }
        let later = noon.plus(600)
        #expect(try await fixture.manager.session(for: issued.ticket, host: self.gatewayHost, now: later) != nil)
        await #expect(throws: Failure.self) { try await fixture.signedIn() }
        await #expect(throws: Failure.self) { try await fixture.manager.end(issued.ticket) }
        await #expect(throws: Failure.self) { try await fixture.manager.spend(SingleUse("attempt", "x", until: later)) }
    }

    @Test func `a revoked ticket stays invalid and the caches are notified before the call returns`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        let log = FamilyLog()
        fixture.feed.subscribe { log.note($0) }
        let ended = try await fixture.manager.end(issued.ticket)
        #expect(ended == issued.session)
        #expect(Set(log.families) == [issued.session.familyKey])
        #expect(try await fixture.manager.session(for: issued.ticket, host: self.gatewayHost, now: noon) == nil)
        #expect(try await fixture.manager.end(issued.ticket) == nil)
        #expect(fixture.store.state.withLock { $0.records.isEmpty })
    }

    @Test(arguments: [false, true])
    func `caches drop a session before its removal and once more after it, since a look-up between them finds it`(
        fails: Bool
    ) async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        let store = fixture.store
        let removals = Mutex<[Int]>([])
        fixture.feed.subscribe { _ in
            let ended = store.state.withLock { $0.removals.ended }
            removals.withLock { $0.append(ended) }
        }
        store.state.withLock { $0.writesFail = fails }
        let ended = try? await fixture.manager.end(issued.ticket)
        #expect((ended == nil) == fails)
        #expect(removals.withLock { $0 } == [0, 1])
    }

    @Test func `another secret opens no session, a rotated one opens existing sessions`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        let fresh = Secret([UInt8](repeating: 9, count: 32))
        let stranger = fixture.manager(secrets: [fresh])
        #expect(try await stranger.session(for: issued.ticket, host: self.gatewayHost, now: noon) == nil)
        let rotated = fixture.manager(secrets: [fresh, gateSecret])
        #expect(try await rotated.session(for: issued.ticket, host: self.gatewayHost, now: noon) == issued.session)
        #expect(fixture.store.state.withLock { $0.records.count } == 1)
    }

    @Test func `R-51: a record under another key does not open`() async throws {
        let fixture = SessionFixture()
        let ada = try await fixture.signedIn()
        let eve = try await fixture.manager.issue(
            SignIn(profile: Profile(provider: "github", issuer: "https://github.com", subject: "666")),
            host: self.gatewayHost,
            now: noon
        )
        fixture.store.state.withLock { $0.records[eve.ticket.storeKey] = $0.records[ada.ticket.storeKey] }
        #expect(try await fixture.manager.session(for: eve.ticket, host: self.gatewayHost, now: noon) == nil)
    }

    @Test func `a record with one changed byte does not open, and is kept`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        let key = issued.ticket.storeKey
        let sealed = try #require(fixture.store.state.withLock { $0.records[key]?.sealed })
        for position in sealed.indices {
            fixture.store.state.withLock { state in
                state.records[key]?.sealed = sealed
                state.records[key]?.sealed[position] ^= 1
            }
            #expect(try await fixture.manager.session(for: issued.ticket, host: self.gatewayHost, now: noon) == nil)
        }
        #expect(fixture.store.state.withLock { $0.records.count } == 1)
    }

    @Test(arguments: ["{\"v\":2}", "{\"v\":1}", "{}", "[]", "", "nonsense"])
    func `R-06: a record of another version does not open, and is kept`(plain: String) async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        let key = issued.ticket.storeKey
        let ticket = try #require(Base64URL.decode(issued.ticket.text)).prefix(32)
        let part = Array(SHA256.hash(data: Array("gatehouse/session/part/".utf8) + ticket))
        let purpose = "session/\(Base64URL.encode(key))"
        let sealed = try #require(fixture.store.state.withLock { $0.records[key]?.sealed })
        let found = try #require(fixture.sealer.open(sealed, for: purpose, part: part))
        #expect(try JSON(parsing: found)["v"]?.integer == 1)
        let other = fixture.sealer.seal(Array(plain.utf8), for: purpose, part: part)
        fixture.store.state.withLock { $0.records[key]?.sealed = other }
        #expect(try await fixture.manager.session(for: issued.ticket, host: self.gatewayHost, now: noon) == nil)
        #expect(fixture.store.state.withLock { $0.records.count } == 1)
    }

    @Test func `a record reveals nothing about the user`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        let record = try #require(fixture.store.state.withLock { $0.records[issued.ticket.storeKey] })
        let shown = String(decoding: record.key + record.family + record.sealed, as: UTF8.self)
        for secret in ["ada", "example.com", "google", issued.ticket.text, issued.session.id, issued.session.family] {
            #expect(!shown.contains(secret))
        }
    }

    @Test func `a single-use value can be spent once, per kind`() async throws {
        let fixture = SessionFixture()
        let until = noon.plus(60)
        #expect(try await fixture.manager.spend(SingleUse("attempt", "x", until: until)))
        #expect(try await !fixture.manager.spend(SingleUse("attempt", "x", until: until)))
        #expect(try await fixture.manager.spend(SingleUse("handover", "x", until: until)))
    }
}

/// The families of which a feed notified.
final class FamilyLog: Sendable {
    private let state = Mutex<[[UInt8]]>([])

    var families: [[UInt8]] { self.state.withLock { $0 } }

    func note(_ family: [UInt8]) {
        self.state.withLock { $0.append(family) }
    }
}

@Suite struct RevocationFeedTests {
    @Test func `every subscriber is notified of every family`() {
        let feed = RevocationFeed()
        let first = FamilyLog()
        let second = FamilyLog()
        feed.subscribe { first.note($0) }
        feed.subscribe { second.note($0) }
        feed.publish([1])
        feed.publish([2])
        #expect(first.families == [[1], [2]])
        #expect(second.families == [[1], [2]])
    }

    @Test func `the end of a family and a change of it have different subscribers`() {
        let feed = RevocationFeed()
        let (ends, changes) = (FamilyLog(), FamilyLog())
        feed.subscribe { ends.note($0) }
        feed.subscribeToChanges { changes.note($0) }
        feed.publish([1])
        feed.publishChange([2])
        #expect(ends.families == [[1]] && changes.families == [[2]])
    }

    @Test func `a subscriber can subscribe others`() {
        let feed = RevocationFeed()
        let log = FamilyLog()
        feed.subscribe { _ in feed.subscribe { log.note($0) } }
        feed.publish([1])
        feed.publish([2])
        #expect(log.families == [[2]])
    }
}
