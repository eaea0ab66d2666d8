// SPDX-License-Identifier: Apache-2.0

import Crypto
import GateCore
import Synchronization
import Testing

@testable import GateSessions

@Suite struct SessionManagerTests {
    private let gate = "gate.example.com"

    @Test func `what a sign-in brought is what the ticket finds`() async throws {
        let rig = Rig()
        var signIn = SignIn(profile: .ada)
        signIn.idToken = Secret(text: "header.claims.signature")
        signIn.endSession = "https://accounts.example.com/end"
        let issued = try await rig.manager.issue(signIn, host: self.gate, now: noon)
        let found = try #require(try await rig.manager.session(for: issued.ticket, host: self.gate, now: noon))
        #expect(found == issued.session)
        #expect(found.profile == .ada)
        #expect(found.idToken == Secret(text: "header.claims.signature"))
        #expect(found.endSession == "https://accounts.example.com/end")
        #expect(found.provider == "google")
        #expect(found.created == noon)
    }

    @Test func `a profile with the least fields keeps its defaults`() async throws {
        let rig = Rig()
        let profile = Profile(provider: "github", issuer: "https://github.com", subject: "1")
        let issued = try await rig.manager.issue(SignIn(profile: profile), host: self.gate, now: noon)
        let found = try await rig.manager.session(for: issued.ticket, host: self.gate, now: noon)
        #expect(found?.profile == profile)
    }

    @Test(arguments: [(16_384, true), (16_385, false)])
    func `an ID token over its bound is dropped`(length: Int, isKept: Bool) async throws {
        let rig = Rig()
        var signIn = SignIn(profile: .ada)
        signIn.idToken = Secret([UInt8](repeating: UInt8(ascii: "a"), count: length))
        let issued = try await rig.manager.issue(signIn, host: self.gate, now: noon)
        let found = try await rig.manager.session(for: issued.ticket, host: self.gate, now: noon)
        #expect((found?.idToken != nil) == isKept)
    }

    @Test func `each sign-in has a ticket, an id and a family of its own`() async throws {
        let rig = Rig()
        let first = try await rig.signedIn()
        let second = try await rig.signedIn()
        #expect(first.ticket != second.ticket)
        #expect(first.session.id != second.session.id)
        #expect(first.session.family != second.session.family)
        #expect(first.session.familyKey != second.session.familyKey)
    }

    @Test func `a ticket of one host is nobody on another`() async throws {
        let rig = Rig()
        let issued = try await rig.signedIn()
        #expect(try await rig.manager.session(for: issued.ticket, host: "wiki.example.com", now: noon) == nil)
    }

    @Test func `an unknown ticket is nobody`() async throws {
        let rig = Rig()
        _ = try await rig.signedIn()
        let other = rig.manager.signed([UInt8](repeating: 1, count: 32), host: self.gate)
        #expect(try await rig.manager.session(for: other, host: self.gate, now: noon) == nil)
    }

    @Test(arguments: [(3599, true), (3600, false), (-300, true), (-301, false)] as [(Int64, Bool)])
    func `an unused session ends after the idle time and does not come from the future`(
        seconds: Int64,
        isLive: Bool
    ) async throws {
        let rig = Rig()
        let issued = try await rig.signedIn()
        let found = try await rig.manager.session(for: issued.ticket, host: self.gate, now: noon.plus(seconds))
        #expect((found != nil) == isLive)
    }

    @Test func `a session in use ends after its lifetime all the same`() async throws {
        let rig = Rig()
        let issued = try await rig.signedIn()
        for step in 1..<16 {
            let now = noon.plus(Int64(step) * 1800)
            #expect(try await rig.manager.session(for: issued.ticket, host: self.gate, now: now) != nil)
        }
        let last = noon.plus(8 * 3600)
        #expect(try await rig.manager.session(for: issued.ticket, host: self.gate, now: last.plus(-1)) != nil)
        #expect(try await rig.manager.session(for: issued.ticket, host: self.gate, now: last) == nil)
    }

    @Test func `a later end written into the record does not prolong the session`() async throws {
        let rig = Rig()
        let issued = try await rig.signedIn()
        let late = noon.plus(9 * 3600)
        rig.store.state.withLock { state in
            state.records[issued.ticket.storeKey]?.expires = noon.plus(99 * 3600)
            state.records[issued.ticket.storeKey]?.created = late
            state.records[issued.ticket.storeKey]?.lastSeen = late
        }
        #expect(try await rig.manager.session(for: issued.ticket, host: self.gate, now: late) == nil)
    }

    @Test func `a shorter lifetime counts for sessions that are there already`() async throws {
        let rig = Rig()
        let issued = try await rig.signedIn()
        let strict = rig.manager(secrets: [gateSecret], absolute: .seconds(60))
        #expect(try await strict.session(for: issued.ticket, host: self.gate, now: noon.plus(59)) != nil)
        #expect(try await strict.session(for: issued.ticket, host: self.gate, now: noon.plus(60)) == nil)
    }

    @Test func `a use is noted at most once a minute`() async throws {
        let rig = Rig()
        let issued = try await rig.signedIn()
        for second in 0..<60 {
            let now = noon.plus(Int64(second))
            _ = try await rig.manager.session(for: issued.ticket, host: self.gate, now: now)
        }
        #expect(rig.store.state.withLock { $0.touches } == 0)
        let found = try await rig.manager.session(for: issued.ticket, host: self.gate, now: noon.plus(60))
        #expect(rig.store.state.withLock { $0.touches } == 1)
        #expect(found?.lastSeen == noon.plus(60))
        #expect(rig.store.state.withLock { $0.records[issued.ticket.storeKey]?.lastSeen } == noon.plus(60))
    }

    @Test func `a store that cannot be read is an outage and not the end of a session`() async throws {
        let rig = Rig()
        let issued = try await rig.signedIn()
        rig.store.state.withLock { $0.readsFail = true }
        let failure = await #expect(throws: Failure.self) {
            try await rig.manager.session(for: issued.ticket, host: self.gate, now: noon)
        }
        #expect(failure?.kind == .overloaded)
        #expect(failure?.reason == .sessionStoreUnavailable)
    }

    @Test func `a store that cannot be written lets people in who are signed in, and nobody else`() async throws {
        let rig = Rig()
        let issued = try await rig.signedIn()
        rig.store.state.withLock { $0.writesFail = true }
        let later = noon.plus(600)
        #expect(try await rig.manager.session(for: issued.ticket, host: self.gate, now: later) != nil)
        await #expect(throws: Failure.self) { try await rig.signedIn() }
        await #expect(throws: Failure.self) { try await rig.manager.end(issued.ticket) }
        await #expect(throws: Failure.self) { try await rig.manager.spend(SingleUse("attempt", "x", until: later)) }
    }

    @Test func `a signed-out ticket stays dead and the caches know before the person does`() async throws {
        let rig = Rig()
        let issued = try await rig.signedIn()
        let heard = Heard()
        rig.feed.subscribe { heard.note($0) }
        let ended = try await rig.manager.end(issued.ticket)
        #expect(ended == issued.session)
        #expect(heard.families == [issued.session.familyKey])
        #expect(try await rig.manager.session(for: issued.ticket, host: self.gate, now: noon) == nil)
        #expect(try await rig.manager.end(issued.ticket) == nil)
        #expect(rig.store.state.withLock { $0.records.isEmpty })
    }

    @Test func `another secret opens nothing, a rotated one opens what is there`() async throws {
        let rig = Rig()
        let issued = try await rig.signedIn()
        let fresh = Secret([UInt8](repeating: 9, count: 32))
        let stranger = rig.manager(secrets: [fresh])
        #expect(try await stranger.session(for: issued.ticket, host: self.gate, now: noon) == nil)
        let rotated = rig.manager(secrets: [fresh, gateSecret])
        #expect(try await rotated.session(for: issued.ticket, host: self.gate, now: noon) == issued.session)
        #expect(rig.store.state.withLock { $0.records.count } == 1)
    }

    @Test func `a record under another key opens for nobody`() async throws {
        let rig = Rig()
        let ada = try await rig.signedIn()
        let eve = try await rig.manager.issue(
            SignIn(profile: Profile(provider: "github", issuer: "https://github.com", subject: "666")),
            host: self.gate,
            now: noon
        )
        rig.store.state.withLock { $0.records[eve.ticket.storeKey] = $0.records[ada.ticket.storeKey] }
        #expect(try await rig.manager.session(for: eve.ticket, host: self.gate, now: noon) == nil)
    }

    @Test func `a flipped byte anywhere in a record makes it nobody's, and it is kept`() async throws {
        let rig = Rig()
        let issued = try await rig.signedIn()
        let key = issued.ticket.storeKey
        let sealed = try #require(rig.store.state.withLock { $0.records[key]?.sealed })
        for position in sealed.indices {
            rig.store.state.withLock { state in
                state.records[key]?.sealed = sealed
                state.records[key]?.sealed[position] ^= 1
            }
            #expect(try await rig.manager.session(for: issued.ticket, host: self.gate, now: noon) == nil)
        }
        #expect(rig.store.state.withLock { $0.records.count } == 1)
    }

    @Test(arguments: ["{\"v\":2}", "{\"v\":1}", "{}", "[]", "", "nonsense"])
    func `a record of another version is nobody's, and it is kept`(plain: String) async throws {
        let rig = Rig()
        let issued = try await rig.signedIn()
        let key = issued.ticket.storeKey
        let ticket = try #require(Base64URL.decode(issued.ticket.text)).prefix(32)
        let part = Array(SHA256.hash(data: Array("gatehouse/session/part/".utf8) + ticket))
        let purpose = "session/\(Base64URL.encode(key))"
        let sealed = try #require(rig.store.state.withLock { $0.records[key]?.sealed })
        let found = try #require(rig.sealer.open(sealed, for: purpose, part: part))
        #expect(try JSON(parsing: found)["v"]?.integer == 1)
        let other = rig.sealer.seal(Array(plain.utf8), for: purpose, part: part)
        rig.store.state.withLock { $0.records[key]?.sealed = other }
        #expect(try await rig.manager.session(for: issued.ticket, host: self.gate, now: noon) == nil)
        #expect(rig.store.state.withLock { $0.records.count } == 1)
    }

    @Test func `a record tells nothing about the person`() async throws {
        let rig = Rig()
        let issued = try await rig.signedIn()
        let record = try #require(rig.store.state.withLock { $0.records[issued.ticket.storeKey] })
        let shown = String(decoding: record.key + record.family + record.sealed, as: UTF8.self)
        for secret in ["ada", "example.com", "google", issued.ticket.text, issued.session.id, issued.session.family] {
            #expect(!shown.contains(secret))
        }
    }

    @Test func `a thing that works once works once, per kind`() async throws {
        let rig = Rig()
        let until = noon.plus(60)
        #expect(try await rig.manager.spend(SingleUse("attempt", "x", until: until)))
        #expect(try await !rig.manager.spend(SingleUse("attempt", "x", until: until)))
        #expect(try await rig.manager.spend(SingleUse("handover", "x", until: until)))
    }
}

/// The families that a feed told of.
final class Heard: Sendable {
    private let state = Mutex<[[UInt8]]>([])

    var families: [[UInt8]] { self.state.withLock { $0 } }

    func note(_ family: [UInt8]) {
        self.state.withLock { $0.append(family) }
    }
}

@Suite struct RevocationFeedTests {
    @Test func `every subscriber hears of every family until it unsubscribes`() {
        let feed = RevocationFeed()
        let first = Heard()
        let second = Heard()
        let subscription = feed.subscribe { first.note($0) }
        feed.subscribe { second.note($0) }
        feed.publish([1])
        feed.unsubscribe(subscription)
        feed.publish([2])
        #expect(first.families == [[1]])
        #expect(second.families == [[1], [2]])
    }

    @Test func `a subscriber may subscribe others`() {
        let feed = RevocationFeed()
        let heard = Heard()
        feed.subscribe { _ in feed.subscribe { heard.note($0) } }
        feed.publish([1])
        feed.publish([2])
        #expect(heard.families == [[2]])
    }
}
