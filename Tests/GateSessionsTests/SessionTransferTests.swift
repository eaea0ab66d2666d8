// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateSessions

@Suite struct SessionTransferTests {
    private let gate = "gate.example.com"
    private let wiki: Origin
    private let rig = Rig()
    private let binding = SessionTransferBinding(from: RandomBytes { [UInt8](repeating: 3, count: $0) })
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
        return try await self.rig.manager.redeem(
            code,
            at: self.wiki,
            cookie: text?.utf8.map { $0 },
            gate: self.gate,
            now: now
        )
    }

    private func code(for ticket: Ticket) -> SessionTransferCode {
        SessionTransferCode(answering: self.request, ticket: ticket, random: .counting(), now: noon)
    }

    @Test func `a request comes back as it was sent`() {
        let text = self.request.sealed(by: self.rig.sealer)
        #expect(SessionTransferRequest(sealed: text, by: self.rig.sealer, now: noon) == self.request)
        #expect(text.utf8.allSatisfy { PercentEncoding.isUnreserved($0) })
    }

    @Test(arguments: [(599, true), (600, false)] as [(Int64, Bool)])
    func `a request waits ten minutes`(seconds: Int64, isGood: Bool) {
        let text = self.request.sealed(by: self.rig.sealer)
        #expect((SessionTransferRequest(sealed: text, by: self.rig.sealer, now: noon.plus(seconds)) != nil) == isGood)
    }

    @Test(arguments: [(59, true), (60, false)] as [(Int64, Bool)])
    func `a code is good for a minute`(seconds: Int64, isGood: Bool) async throws {
        let text = self.code(for: try await self.rig.signedIn().ticket).sealed(by: self.rig.sealer)
        #expect((SessionTransferCode(sealed: text, by: self.rig.sealer, now: noon.plus(seconds)) != nil) == isGood)
    }

    @Test func `a request is no code and a code no request`() async throws {
        let code = self.code(for: try await self.rig.signedIn().ticket).sealed(by: self.rig.sealer)
        let request = self.request.sealed(by: self.rig.sealer)
        #expect(SessionTransferRequest(sealed: code, by: self.rig.sealer, now: noon) == nil)
        #expect(SessionTransferCode(sealed: request, by: self.rig.sealer, now: noon) == nil)
    }

    @Test func `a changed character anywhere makes a code worthless`() async throws {
        let text = Array(self.code(for: try await self.rig.signedIn().ticket).sealed(by: self.rig.sealer).utf8)
        for position in text.indices {
            var changed = text
            changed[position] = text[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let code = SessionTransferCode(
                sealed: String(decoding: changed, as: UTF8.self),
                by: self.rig.sealer,
                now: noon
            )
            #expect(code == nil)
        }
    }

    @Test(arguments: ["", "A", "%00", String(repeating: "A", count: 8193), String(repeating: "A", count: 1_000_000)])
    func `nonsense is neither`(text: String) {
        #expect(SessionTransferRequest(sealed: text, by: self.rig.sealer, now: noon) == nil)
        #expect(SessionTransferCode(sealed: text, by: self.rig.sealer, now: noon) == nil)
    }

    @Test func `a code shows nothing of the ticket`() async throws {
        let issued = try await self.rig.signedIn()
        let text = self.code(for: issued.ticket).sealed(by: self.rig.sealer)
        let plain = String(decoding: Base64URL.decode(text) ?? [], as: UTF8.self)
        #expect(!text.contains(issued.ticket.text) && !plain.contains(issued.ticket.text))
    }

    @Test func `the app's host gets a session of its own in the same family`() async throws {
        let first = try await self.rig.signedIn()
        let text = self.code(for: first.ticket).sealed(by: self.rig.sealer)
        let code = try #require(SessionTransferCode(sealed: text, by: self.rig.sealer, now: noon.plus(5)))
        #expect(code.tag == self.binding.tag)
        #expect(code.path == self.path)
        let second = try #require(try await self.redeem(code, now: noon.plus(5)))
        #expect(second.ticket != first.ticket)
        #expect(second.session.id != first.session.id)
        #expect(second.session.family == first.session.family)
        #expect(second.session.host == "wiki.example.com")
        #expect(second.session.created == noon)
        let manager = self.rig.manager
        #expect(try await manager.session(for: second.ticket, host: "wiki.example.com", now: noon.plus(5)) != nil)
        #expect(try await manager.session(for: second.ticket, host: self.gate, now: noon.plus(5)) == nil)
        #expect(try await manager.session(for: first.ticket, host: "wiki.example.com", now: noon.plus(5)) == nil)
    }

    @Test func `signing out on one host signs out on all`() async throws {
        let first = try await self.rig.signedIn()
        let code = self.code(for: first.ticket)
        let second = try #require(try await self.redeem(code))
        #expect(try await self.rig.manager.end(second.ticket) == second.session)
        #expect(try await self.rig.manager.session(for: first.ticket, host: self.gate, now: noon) == nil)
        #expect(self.rig.store.state.withLock { $0.records.isEmpty })
    }

    @Test func `a code works once`() async throws {
        let first = try await self.rig.signedIn()
        let code = self.code(for: first.ticket)
        #expect(try await self.redeem(code) != nil)
        let failure = await #expect(throws: Failure.self) {
            try await self.redeem(code)
        }
        #expect(failure?.reason == .sessionTransferSpent)
        #expect(self.rig.store.state.withLock { $0.records.count } == 2)
    }

    @Test func `X-08: a code in another browser is rejected and spent all the same`() async throws {
        let first = try await self.rig.signedIn()
        let other = SessionTransferBinding(from: RandomBytes { [UInt8](repeating: 4, count: $0) })
        for cookie in [other.text, "nonsense", self.binding.text + "A", nil] {
            self.rig.store.state.withLock { $0.spent = [] }
            let code = self.code(for: first.ticket)
            let stray = await #expect(throws: Failure.self) { try await self.redeem(code, cookie: cookie) }
            #expect(stray?.code == "handover.other_browser")
            let late = await #expect(throws: Failure.self) { try await self.redeem(code) }
            #expect(late?.code == "handover.spent")
        }
        #expect(self.rig.store.state.withLock { $0.records.count } == 1)
    }

    @Test func `X-07: however often a browser is sent to a host, it has one session there`() async throws {
        let first = try await self.rig.signedIn()
        var seen: Set<Ticket> = []
        for round in 0..<20 {
            self.rig.store.state.withLock { $0.spent = [] }
            let issued = try await self.redeem(self.code(for: first.ticket), now: noon.plus(Int64(round)))
            seen.insert(try #require(issued).ticket)
        }
        #expect(seen.count == 1 && self.rig.store.state.withLock { $0.records.count } == 2)
    }

    @Test func `X-07: a transferred session that idled out is replaced`() async throws {
        let first = try await self.rig.signedIn()
        let second = try #require(try await self.redeem(self.code(for: first.ticket)))
        self.rig.store.state.withLock { $0.spent = [] }
        // The session at the gateway's host was used meanwhile, the one of the app was not.
        self.rig.store.noteUse(first.ticket.storeKey, at: noon.plus(3000))
        let third = try #require(try await self.redeem(self.code(for: first.ticket), now: noon.plus(3600)))
        #expect(third.ticket == second.ticket && third.session.id != second.session.id)
        #expect(self.rig.store.state.withLock { $0.records.count } == 2)
    }

    @Test func `X-07: a transferred session has no copy of the ID token, and finds it at sign-out`() async throws {
        var signIn = SignIn(profile: .ada)
        signIn.idToken = Secret(text: "header.claims.signature")
        signIn.endSession = "https://accounts.example.com/end"
        let first = try await self.rig.manager.issue(signIn, host: self.gate, now: noon)
        let second = try #require(try await self.redeem(self.code(for: first.ticket)))
        #expect(second.session.idToken == nil && second.session.endSession == signIn.endSession)
        let ended = try await self.rig.manager.end(second.ticket)
        #expect(ended?.idToken == signIn.idToken && ended?.id == second.session.id)
        #expect(self.rig.store.state.withLock { $0.records.isEmpty })
    }

    @Test(arguments: [
        ("http", "wiki.example.com", 8443), ("https", "wiki.example.com", 443), ("https", "evil.example", 8443),
    ])
    func `a code at another origin is refused`(scheme: String, host: String, port: Int) async throws {
        let code = self.code(for: try await self.rig.signedIn().ticket)
        let origin = try #require(Origin(scheme: scheme, host: host, port: port))
        let failure = #expect(throws: Failure.self) { try code.claim(at: origin, cookie: self.binding.text.utf8) }
        #expect(failure?.reason == .sessionTransferWrongOrigin)
    }

    @Test func `a session that ended before the code came back is not handed over`() async throws {
        let first = try await self.rig.signedIn()
        let code = self.code(for: first.ticket)
        _ = try await self.rig.manager.end(first.ticket)
        #expect(try await self.redeem(code) == nil)
    }

    @Test func `a sign-out in the middle of a hand-over leaves no session behind`() async throws {
        let first = try await self.rig.signedIn()
        let code = self.code(for: first.ticket)
        let key = first.ticket.storeKey
        self.rig.store.state.withLock { $0.afterInsert = { $0.records[key] = nil } }
        #expect(try await self.redeem(code) == nil)
        #expect(self.rig.store.state.withLock { $0.records.isEmpty })
    }

    @Test func `a binding cannot be printed and its tag is eight hexadecimal digits`() {
        #expect("\(self.binding)" == "<binding>")
        #expect(self.binding.tag.utf8.count == 8)
        #expect(GatewayCookie.handover(self.binding.tag, at: self.wiki) != nil)
    }
}
