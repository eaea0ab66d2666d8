// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateSessions

@Suite struct SessionTransferTests {
    private let gatewayHost = "gate.example.com"
    private let wiki: Origin
    private let fixture = SessionFixture()
    private let binding = BrowserBinding(from: RandomBytes { [UInt8](repeating: 3, count: $0) })
    private let path: ReturnPath

    init() throws {
        self.wiki = try #require(Origin(scheme: "https", host: "wiki.example.com", port: 8443))
        self.path = try #require(ReturnPath("/page?q=1"))
    }

    private var request: SessionTransferRequest {
        SessionTransferRequest(origin: self.wiki, path: self.path, binding: self.binding, now: noon)
    }

    private func redeem(
        _ code: SessionTransferCode,
        cookie: String? = "",
        now: Instant = noon
    ) async throws -> IssuedSession? {
        let text = cookie == "" ? self.binding.text : cookie
        return try await self.fixture.manager.redeem(
            code,
            at: self.wiki,
            cookie: text?.utf8.map { $0 },
            gatewayHost: self.gatewayHost,
            now: now
        )
    }

    private func code(for ticket: Ticket) -> SessionTransferCode {
        SessionTransferCode(for: self.request, ticket: ticket, random: .counting(), now: noon)
    }

    @Test func `a sealed request opens to the same request`() {
        let text = self.request.sealed(by: self.fixture.sealer)
        #expect(SessionTransferRequest(sealed: text, by: self.fixture.sealer, now: noon) == self.request)
        #expect(text.utf8.allSatisfy { PercentEncoding.isUnreserved($0) })
    }

    @Test(arguments: [(599, true), (600, false)] as [(Int64, Bool)])
    func `a request is valid for ten minutes`(seconds: Int64, isGood: Bool) {
        let text = self.request.sealed(by: self.fixture.sealer)
        #expect(
            (SessionTransferRequest(sealed: text, by: self.fixture.sealer, now: noon.plus(seconds)) != nil) == isGood
        )
    }

    @Test(arguments: [(59, true), (60, false)] as [(Int64, Bool)])
    func `a code is valid for a minute`(seconds: Int64, isGood: Bool) async throws {
        let text = self.code(for: try await self.fixture.signedIn().ticket).sealed(by: self.fixture.sealer)
        #expect((SessionTransferCode(sealed: text, by: self.fixture.sealer, now: noon.plus(seconds)) != nil) == isGood)
    }

    @Test func `a request does not open as a code, nor a code as a request`() async throws {
        let code = self.code(for: try await self.fixture.signedIn().ticket).sealed(by: self.fixture.sealer)
        let request = self.request.sealed(by: self.fixture.sealer)
        #expect(SessionTransferRequest(sealed: code, by: self.fixture.sealer, now: noon) == nil)
        #expect(SessionTransferCode(sealed: request, by: self.fixture.sealer, now: noon) == nil)
    }

    @Test func `a code with one changed character does not open`() async throws {
        let text = Array(self.code(for: try await self.fixture.signedIn().ticket).sealed(by: self.fixture.sealer).utf8)
        for position in text.indices {
            var changed = text
            changed[position] = text[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let code = SessionTransferCode(
                sealed: String(decoding: changed, as: UTF8.self),
                by: self.fixture.sealer,
                now: noon
            )
            #expect(code == nil)
        }
    }

    @Test(arguments: ["", "A", "%00", String(repeating: "A", count: 8193), String(repeating: "A", count: 1_000_000)])
    func `arbitrary text opens as neither`(text: String) {
        #expect(SessionTransferRequest(sealed: text, by: self.fixture.sealer, now: noon) == nil)
        #expect(SessionTransferCode(sealed: text, by: self.fixture.sealer, now: noon) == nil)
    }

    @Test func `a code does not reveal the ticket`() async throws {
        let issued = try await self.fixture.signedIn()
        let text = self.code(for: issued.ticket).sealed(by: self.fixture.sealer)
        let plain = String(decoding: Base64URL.decode(text) ?? [], as: UTF8.self)
        #expect(!text.contains(issued.ticket.text) && !plain.contains(issued.ticket.text))
    }

    @Test func `the app's host gets another session of the same family`() async throws {
        let first = try await self.fixture.signedIn()
        let text = self.code(for: first.ticket).sealed(by: self.fixture.sealer)
        let code = try #require(SessionTransferCode(sealed: text, by: self.fixture.sealer, now: noon.plus(5)))
        #expect(code.tag == self.binding.tag)
        #expect(code.path == self.path)
        let second = try #require(try await self.redeem(code, now: noon.plus(5)))
        #expect(second.ticket != first.ticket)
        #expect(second.session.id != first.session.id)
        #expect(second.session.family == first.session.family)
        #expect(second.session.host == "wiki.example.com")
        #expect(second.session.created == noon)
        let manager = self.fixture.manager
        #expect(try await manager.session(for: second.ticket, host: "wiki.example.com", now: noon.plus(5)) != nil)
        #expect(try await manager.session(for: second.ticket, host: self.gatewayHost, now: noon.plus(5)) == nil)
        #expect(try await manager.session(for: first.ticket, host: "wiki.example.com", now: noon.plus(5)) == nil)
    }

    @Test func `signing out on one host signs out on all`() async throws {
        let first = try await self.fixture.signedIn()
        let code = self.code(for: first.ticket)
        let second = try #require(try await self.redeem(code))
        #expect(try await self.fixture.manager.end(second.ticket) == second.session)
        #expect(try await self.fixture.manager.session(for: first.ticket, host: self.gatewayHost, now: noon) == nil)
        #expect(self.fixture.store.state.withLock { $0.records.isEmpty })
    }

    @Test func `a code can be redeemed once`() async throws {
        let first = try await self.fixture.signedIn()
        let code = self.code(for: first.ticket)
        #expect(try await self.redeem(code) != nil)
        let failure = await #expect(throws: Failure.self) {
            try await self.redeem(code)
        }
        #expect(failure?.reason == .sessionTransferSpent)
        #expect(self.fixture.store.state.withLock { $0.records.count } == 2)
    }

    @Test func `X-08: a code in another browser is rejected and spent`() async throws {
        let first = try await self.fixture.signedIn()
        let other = BrowserBinding(from: RandomBytes { [UInt8](repeating: 4, count: $0) })
        for cookie in [other.text, "nonsense", self.binding.text + "A", nil] {
            self.fixture.store.state.withLock { $0.spent = [] }
            let code = self.code(for: first.ticket)
            let stray = await #expect(throws: Failure.self) { try await self.redeem(code, cookie: cookie) }
            #expect(stray?.code == "handover.other_browser")
            let late = await #expect(throws: Failure.self) { try await self.redeem(code) }
            #expect(late?.code == "handover.spent")
        }
        #expect(self.fixture.store.state.withLock { $0.records.count } == 1)
    }

    @Test func `X-07: repeated transfers to a host give one session`() async throws {
        let first = try await self.fixture.signedIn()
        var seen: Set<Ticket> = []
        for round in 0..<20 {
            self.fixture.store.state.withLock { $0.spent = [] }
            let issued = try await self.redeem(self.code(for: first.ticket), now: noon.plus(Int64(round)))
            seen.insert(try #require(issued).ticket)
        }
        #expect(seen.count == 1 && self.fixture.store.state.withLock { $0.records.count } == 2)
    }

    @Test func `X-07: a transferred session that is idle for too long is replaced`() async throws {
        let first = try await self.fixture.signedIn()
        let second = try #require(try await self.redeem(self.code(for: first.ticket)))
        self.fixture.store.state.withLock { $0.spent = [] }
        // The session at the gateway's host was used meanwhile, the one of the app was not.
        self.fixture.store.noteUse(first.ticket.storeKey, at: noon.plus(3000))
        let third = try #require(try await self.redeem(self.code(for: first.ticket), now: noon.plus(3600)))
        #expect(third.ticket == second.ticket && third.session.id != second.session.id)
        #expect(self.fixture.store.state.withLock { $0.records.count } == 2)
    }

    @Test func `X-07: the record of a transferred session has no tokens, but its session and a sign-out have them`()
        async throws
    {
        var signIn = SignIn(profile: .ada)
        signIn.idToken = Secret(text: "header.claims.signature")
        signIn.endSession = "https://accounts.example.com/end"
        let first = try await self.fixture.manager.issue(signIn, host: self.gatewayHost, now: noon)
        let second = try #require(try await self.redeem(self.code(for: first.ticket)))
        #expect(second.session.idToken == signIn.idToken && second.session.endSession == signIn.endSession)
        let record = try #require(try await self.fixture.store.record(for: second.ticket.storeKey))
        let kept = try #require(self.fixture.manager.open(record, with: second.ticket))
        #expect(kept.idToken == nil && kept.grant == nil)
        let found = try await self.fixture.manager.session(for: second.ticket, host: "wiki.example.com", now: noon)
        #expect(found?.idToken == signIn.idToken)
        let ended = try await self.fixture.manager.end(second.ticket)
        #expect(ended?.idToken == signIn.idToken && ended?.id == second.session.id)
        #expect(self.fixture.store.state.withLock { $0.records.isEmpty })
    }

    @Test(arguments: [
        ("http", "wiki.example.com", 8443), ("https", "wiki.example.com", 443), ("https", "evil.example", 8443),
    ])
    func `a code at another origin is rejected`(scheme: String, host: String, port: Int) async throws {
        let code = self.code(for: try await self.fixture.signedIn().ticket)
        let origin = try #require(Origin(scheme: scheme, host: host, port: port))
        let failure = #expect(throws: Failure.self) { try code.claim(at: origin, cookie: self.binding.text.utf8) }
        #expect(failure?.reason == .sessionTransferWrongOrigin)
    }

    @Test func `a session that ended before its code is redeemed is not transferred`() async throws {
        let first = try await self.fixture.signedIn()
        let code = self.code(for: first.ticket)
        _ = try await self.fixture.manager.end(first.ticket)
        #expect(try await self.redeem(code) == nil)
    }

    @Test func `a sign-out during a transfer leaves no session`() async throws {
        let first = try await self.fixture.signedIn()
        let code = self.code(for: first.ticket)
        let key = first.ticket.storeKey
        self.fixture.store.state.withLock { $0.afterInsert = { $0.records[key] = nil } }
        #expect(try await self.redeem(code) == nil)
        #expect(self.fixture.store.state.withLock { $0.records.isEmpty })
    }

    /// Visits hosts of a wildcard, one a second; returns their sessions.
    private func visit(_ hosts: Range<Int>, from first: IssuedSession) async throws -> [IssuedSession] {
        var visited: [IssuedSession] = []
        for number in hosts {
            let origin = try #require(Origin(scheme: "https", host: "x\(number).apps.example.com"))
            let now = noon.plus(Int64(number))
            let request = SessionTransferRequest(origin: origin, path: .root, binding: self.binding, now: now)
            let code = SessionTransferCode(for: request, ticket: first.ticket, random: .system, now: now)
            let issued = try await self.fixture.manager.redeem(
                code,
                at: origin,
                cookie: self.binding.text.utf8,
                gatewayHost: self.gatewayHost,
                now: now
            )
            visited.append(try #require(issued))
        }
        return visited
    }

    @Test func `one sign-in has sessions on two hundred hosts; another host ends the one that was unused for longest`()
        async throws
    {
        let first = try await self.fixture.signedIn()
        let limit = SessionManager.maxHosts
        let visited = try await self.visit(1..<limit, from: first)
        #expect(self.fixture.store.state.withLock { $0.records.count } == limit)
        self.fixture.store.noteUse(visited[0].ticket.storeKey, at: noon.plus(1000))
        let others = try await self.visit(limit..<limit + 3, from: first)
        let live = self.fixture.store.state.withLock { Set($0.records.keys) }
        #expect(live.count == limit)
        let kept = [first, visited[0], visited[4]] + others
        #expect(live.isSuperset(of: kept.map(\.ticket.storeKey)))
        #expect(live.isDisjoint(with: visited[1...3].map(\.ticket.storeKey)))
        // The browser that still has the cookie of a host gets a session there again.
        let again = try await self.visit(2..<3, from: first)
        #expect(again[0].ticket == visited[1].ticket)
        #expect(self.fixture.store.state.withLock { $0.records.count } == limit)
    }

    @Test func `a binding is never printed and its tag is eight hexadecimal digits`() {
        #expect("\(self.binding)" == "<binding>")
        #expect(self.binding.tag.utf8.count == 8)
        #expect(GatewayCookie.sessionTransfer(self.binding.tag, at: self.wiki) != nil)
    }

    // MARK: F-02, hosts below a wildcard

    /// A transfer to a host, which may have asked for a passkey.
    private func transfer(
        _ first: Ticket,
        to host: String,
        isBelowWildcard: Bool,
        forPasskey: Bool = false,
        now: Instant
    ) async throws -> IssuedSession {
        let origin = try #require(Origin(scheme: "https", host: host))
        let request = SessionTransferRequest(
            origin: origin,
            path: self.path,
            binding: self.binding,
            needsPasskey: forPasskey,
            now: now
        )
        let sealed = SessionTransferCode(for: request, ticket: first, random: .system, now: now)
            .sealed(by: self.fixture.sealer)
        let code = try #require(SessionTransferCode(sealed: sealed, by: self.fixture.sealer, now: now))
        let issued = try await self.fixture.manager.redeem(
            code,
            at: origin,
            cookie: self.binding.text.utf8.map { $0 },
            gatewayHost: self.gatewayHost,
            isBelowWildcard: isBelowWildcard,
            now: now
        )
        return try #require(issued)
    }

    private func passkey(_ issued: IssuedSession, _ now: Instant) async throws -> Instant? {
        let host = issued.session.host
        let found = try await self.fixture.manager.session(for: issued.ticket, host: host, now: now)
        return try #require(found).passkeyUsed
    }

    @Test func `F-02: a passkey that is used later counts on listed hosts, and not on others below a wildcard`()
        async throws
    {
        let first = try await self.fixture.signedIn()
        let listed = try await self.transfer(first.ticket, to: "wiki.example.com", isBelowWildcard: false, now: noon)
        let other = try await self.transfer(first.ticket, to: "x.apps.example.com", isBelowWildcard: true, now: noon)
        #expect(try await self.fixture.manager.notePasskey("hwk", in: first.ticket, at: noon.plus(5)))
        #expect(try await self.passkey(listed, noon.plus(6)) == noon.plus(5))
        #expect(try await self.passkey(other, noon.plus(6)) == nil)
    }

    @Test func `F-02: nor does one that was used before the transfer, unless the host has asked for it`() async throws {
        let first = try await self.fixture.signedIn()
        #expect(try await self.fixture.manager.notePasskey("hwk", in: first.ticket, at: noon))
        let (one, other) = ("one.apps.example.com", "other.apps.example.com")
        let later = noon.plus(5)
        let foreign = try await self.transfer(first.ticket, to: other, isBelowWildcard: true, now: later)
        #expect(try await self.passkey(foreign, later) == nil)
        // The host that asks has a session already.
        _ = try await self.transfer(first.ticket, to: one, isBelowWildcard: true, now: later)
        #expect(try await self.fixture.manager.notePasskey("hwk", in: first.ticket, at: later))
        let asked = try await self.transfer(first.ticket, to: one, isBelowWildcard: true, forPasskey: true, now: later)
        #expect(try await self.passkey(asked, later) == later)
        #expect(try await self.passkey(foreign, later) == nil)
        let listed = try await self.transfer(first.ticket, to: "wiki.example.com", isBelowWildcard: false, now: later)
        #expect(try await self.passkey(listed, later) == later)
    }

    @Test func `B-19: an end at an app's host that was not written goes on with what the first session has`()
        async throws
    {
        var signIn = SignIn(profile: .ada)
        signIn.idToken = Secret(text: "header.claims.signature")
        let first = try await self.fixture.manager.issue(signIn, host: self.gatewayHost, now: noon)
        let wiki = try await self.transfer(first.ticket, to: "wiki.example.com", isBelowWildcard: false, now: noon)
        self.fixture.store.state.withLock { $0.writesFail = true }
        await #expect(throws: Failure.self) { _ = try await self.fixture.manager.end(wiki.ticket) }
        // The removal is in force, so the store does not return the records any more.
        self.fixture.store.state.withLock { state in
            state.records = [:]
            state.writesFail = false
        }
        let ended = try #require(try await self.fixture.manager.end(wiki.ticket))
        #expect(ended.idToken == signIn.idToken)
    }

    @Test func `F-02: the session of a host below a wildcard follows the first one in all else`() async throws {
        let first = try await self.fixture.signedIn()
        let other = try await self.transfer(first.ticket, to: "x.apps.example.com", isBelowWildcard: true, now: noon)
        let stored = try #require(try await self.fixture.manager.stored(first.ticket))
        var change = SignIn(profile: stored.session.profile)
        change.profile.name = "Another Name"
        change.profile.authTime = noon.plus(50)
        #expect(try await self.fixture.manager.update(stored, with: change, confirmed: noon.plus(60)))
        let manager = self.fixture.manager
        let found = try await manager.session(for: other.ticket, host: "x.apps.example.com", now: noon.plus(61))
        let session = try #require(found)
        #expect(session.profile.name == "Another Name" && session.confirmed == noon.plus(60))
        #expect(session.profile.authTime == first.session.profile.authTime, "nor a later authentication")
    }
}
