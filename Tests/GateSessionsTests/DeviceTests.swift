// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateSessions

@Suite struct UserCodeTests {
    @Test func `RFC 8628 §6.1: a code has eight consonants in two groups`() {
        for _ in 0..<50 {
            let text = UserCode(random: .system).text
            #expect(text.utf8.count == 9 && text.utf8.dropFirst(4).first == UInt8(ascii: "-"))
            #expect(text.utf8.filter { $0 != UInt8(ascii: "-") }.allSatisfy("BCDFGHJKLMNPQRSTVWXZ".utf8.contains))
        }
    }

    @Test func `bytes that would make some letters more likely are not used`() {
        let bytes = Mutex<[UInt8]>(
            Array(repeating: 255, count: 16) + Array(repeating: 240, count: 16) + Array(repeating: 20, count: 16)
        )
        let random = RandomBytes { count in
            bytes.withLock { bytes in
                defer { bytes.removeFirst(count) }
                return Array(bytes.prefix(count))
            }
        }
        #expect(UserCode(random: random).text == "BBBB-BBBB")
    }

    @Test(arguments: ["WDJB-MJHT", "wdjb-mjht", "WDJBMJHT", " wdjb mjht ", "W.D.J.B_MJHT", "WDJB--MJHT"])
    func `RFC 8628 §6.1: letter case, spaces and punctuation do not matter`(text: String) {
        #expect(UserCode(text)?.text == "WDJB-MJHT")
    }

    @Test(
        arguments: [
            "", "WDJB-MJH", "WDJB-MJHTT", "WDJB-MJHA", "WDJB-MJH1", "WDJB-MJHÄ", "WDJB-MJH\u{212A}", "１２３４-MJHT",
            "WDJBMJHT" + String(repeating: "-", count: 25),
        ]
    )
    func `what cannot be a code is rejected`(text: String) {
        #expect(UserCode(text) == nil)
    }
}

/// A user with a session at the gateway's host, and clients with sign-ins on another device.
private struct Fixture {
    let store = ScriptedStore()
    let sessions: SessionManager
    let sealer = Sealer([gateSecret], random: .counting())
    let ticket: Ticket

    init() async throws {
        self.sessions = SessionManager(
            store: self.store,
            sealer: self.sealer,
            lifetimes: SessionLifetimes(idle: .seconds(3600), absolute: .seconds(36_000)),
            feed: RevocationFeed()
        )
        let profile = Profile(provider: "mock", issuer: "https://op.example.com", subject: "ada")
        self.ticket = try await self.sessions.issue(SignIn(profile: profile), host: "gate.example.com", now: noon)
            .ticket
    }

    func begin(now: Instant = noon) async throws -> DeviceCode {
        try await self.sessions.beginDevice(of: "cli", scopes: ["openid"], audiences: ["https://a.example"], now: now)
    }

    /// What a redemption led to, in a word.
    func redeem(_ code: DeviceCode, now: Instant = noon) async throws -> String {
        switch try await self.sessions.redeem(code, boundTo: "jkt", gatewayHost: "gate.example.com", now: now) {
        case .pending: "pending"
        case .rejected: "rejected"
        case .issued(let session): "issued \(session.grant.client) \(session.grant.keyThumbprint ?? "")"
        case .redeemed: "redeemed"
        case .none: "none"
        }
    }
}

@Suite struct DeviceAuthorizationTests {
    @Test func `RFC 8628 §3.4: a device code gives a session once the user has confirmed, and only once`() async throws
    {
        let fixture = try await Fixture()
        let code = try await fixture.begin()
        #expect(try await fixture.redeem(code) == "pending")
        let decided = try await fixture.sessions.decideDevice(code.userCode, by: fixture.ticket, now: noon)
        #expect(decided?.client == "cli")
        #expect(try await fixture.redeem(code) == "issued cli jkt")
        #expect(try await fixture.redeem(code) == "redeemed")
    }

    @Test func `the client gets what the user has agreed to only`() async throws {
        let fixture = try await Fixture()
        let code = try await fixture.begin()
        let asked = try #require(try await fixture.sessions.device(code.userCode, now: noon)).audiences
        #expect(!asked.isEmpty)
        let decided = try await fixture.sessions.decideDevice(
            code.userCode,
            by: fixture.ticket,
            for: ["https://other.example.com"],
            now: noon
        )
        #expect(decided?.audiences == [])
        #expect(try await fixture.sessions.device(code.userCode, now: noon)?.audiences == [])
    }

    @Test func `a decision is final`() async throws {
        let fixture = try await Fixture()
        let code = try await fixture.begin()
        #expect(try await fixture.sessions.decideDevice(code.userCode, by: nil, now: noon) != nil)
        #expect(try await fixture.sessions.decideDevice(code.userCode, by: fixture.ticket, now: noon) == nil)
        #expect(try await fixture.redeem(code) == "rejected")
        #expect(try await fixture.sessions.device(code.userCode, now: noon)?.isPending == false)
    }

    @Test func `RFC 8628 §3.2: it lasts ten minutes`() async throws {
        let fixture = try await Fixture()
        let code = try await fixture.begin()
        #expect(try await fixture.sessions.device(code.userCode, now: noon.plus(599)) != nil)
        #expect(try await fixture.sessions.device(code.userCode, now: noon.plus(600)) == nil)
        #expect(try await fixture.redeem(code, now: noon.plus(600)) == "none")
    }

    @Test func `a session that has ended meanwhile gives no tokens`() async throws {
        let fixture = try await Fixture()
        let code = try await fixture.begin()
        _ = try await fixture.sessions.decideDevice(code.userCode, by: fixture.ticket, now: noon)
        _ = try await fixture.sessions.end(fixture.ticket)
        #expect(try await fixture.redeem(code) == "none")
    }

    @Test func `the store shows neither the code nor the client`() async throws {
        let fixture = try await Fixture()
        let code = try await fixture.begin()
        _ = try await fixture.sessions.decideDevice(code.userCode, by: fixture.ticket, now: noon)
        let entries = fixture.store.state.withLock { Array($0.entries[.device, default: [:]].values) }
        #expect(entries.count == 1)
        for entry in entries {
            for word in [code.userCode.text, "cli", fixture.ticket.text] {
                #expect(!(entry.key + entry.value).contains(Array(word.utf8)))
            }
        }
    }

    @Test func `a sealed device code opens by the same gateway only`() async throws {
        let fixture = try await Fixture()
        let code = try await fixture.begin()
        #expect(DeviceCode(sealed: code.sealed(by: fixture.sealer), by: fixture.sealer) == code)
        let other = Sealer([Secret([UInt8](repeating: 8, count: 32))])
        #expect(DeviceCode(sealed: code.sealed(by: other), by: fixture.sealer) == nil)
    }
}

@Suite struct DeviceLimiterTests {
    private func limiter() -> (DeviceLimiter, Clock) {
        let clock = Clock()
        return (DeviceLimiter { clock.now }, clock)
    }

    private final class Clock: Sendable {
        private let value = Mutex(Duration.zero)
        var now: Duration { self.value.withLock { $0 } }
        func advance(_ time: Duration) { self.value.withLock { $0 += time } }
    }

    @Test func `RFC 8628 §3.5: a client that asks too early has to wait five seconds longer`() {
        let (limiter, clock) = self.limiter()
        #expect(limiter.admitsPoll(of: "a") && limiter.admitsPoll(of: "b"))
        clock.advance(.seconds(5))
        #expect(limiter.admitsPoll(of: "a"))
        clock.advance(.seconds(3))
        #expect(!limiter.admitsPoll(of: "a"))
        clock.advance(.seconds(8))
        #expect(!limiter.admitsPoll(of: "a"))
        clock.advance(.seconds(15))
        #expect(limiter.admitsPoll(of: "a"))
    }

    // F-04, E-12: attempts are counted when they begin, so of many at once no more reach the look-up.
    @Test func `RFC 8628 §5.1: one client network may try ten wrong codes in a minute, with any user`() throws {
        let (limiter, clock) = self.limiter()
        let client = try #require(IPAddress("192.0.2.1"))
        let begun = (0..<40).compactMap { limiter.attempt(by: "staff:\($0)", from: client) }
        #expect(begun.count == DeviceLimiter.attempts)
        #expect(limiter.attempt(by: "staff:ada", from: IPAddress("192.0.2.2")) != nil)
        clock.advance(.seconds(6))
        #expect(limiter.attempt(by: "staff:ada", from: client) != nil)
        #expect(limiter.attempt(by: "staff:ada", from: client) == nil)
    }

    @Test func `RFC 8628 §5.1: one user may try ten wrong codes in a minute, from all networks, and stops no other`() {
        let (limiter, clock) = self.limiter()
        let begun = (0..<40).compactMap { limiter.attempt(by: "staff:eve", from: IPAddress("192.0.2.\($0)")) }
        #expect(begun.count == DeviceLimiter.attempts)
        #expect(limiter.attempt(by: "staff:ada", from: IPAddress("192.0.2.1")) != nil)
        clock.advance(.seconds(6))
        #expect(limiter.attempt(by: "staff:eve", from: nil) != nil)
        #expect(limiter.attempt(by: "staff:eve", from: nil) == nil)
    }

    @Test func `a code that a sign-in has, and one that was not looked up, count for nothing`() throws {
        let (limiter, _) = self.limiter()
        let client = try #require(IPAddress("192.0.2.1"))
        for _ in 0..<100 { limiter.attempt(by: "staff:ada", from: client)?.release() }
        for _ in 0..<DeviceLimiter.attempts { #expect(limiter.attempt(by: "staff:eve", from: nil) != nil) }
        // The limit of the user is reached, so the network loses nothing.
        for _ in 0..<100 { #expect(limiter.attempt(by: "staff:eve", from: client) == nil) }
        #expect(limiter.attempt(by: "staff:ada", from: client) != nil)
    }

    @Test func `a client may begin thirty sign-ins in a minute`() throws {
        let (limiter, _) = self.limiter()
        let client = try #require(IPAddress("2001:db8::1"))
        for _ in 0..<DeviceLimiter.beginsPerClient { #expect(limiter.admitsBegin(from: client)) }
        #expect(!limiter.admitsBegin(from: IPAddress("2001:db8::2")))
    }
}
