// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateSessions

@Suite struct ClientSessionTests {
    private let fixture = SessionFixture()
    private let host = "gate.example.com"

    private func terms(_ client: String = "notes") -> AuthorizationCode.Terms {
        var terms = AuthorizationCode.Terms(client: client, redirectURI: "com.example:/cb", challenge: "challenge")
        terms.scopes = ["openid", "email"]
        terms.audiences = ["https://wiki.example.com", "https://gate.example.com/x"]
        terms.nonce = "n"
        return terms
    }

    private func code(for ticket: Ticket) -> AuthorizationCode {
        AuthorizationCode(for: self.terms(), ticket: ticket, random: .counting(), now: noon)
    }

    private func redeem(_ code: AuthorizationCode, now: Instant = noon) async throws -> ClientSession? {
        let redemption = try await self.fixture.manager.redeem(
            code,
            boundTo: nil,
            gatewayHost: self.host,
            arrival: .max,
            now: now
        )
        guard case .issued(let session) = redemption else { return nil }
        return session
    }

    /// Whether the redemption of a code is noticed as its second use.
    private func isReplayed(_ code: AuthorizationCode) async throws -> Bool {
        let manager = self.fixture.manager
        let result = try await manager.redeem(
            code,
            boundTo: nil,
            gatewayHost: self.host,
            arrival: .max,
            now: noon
        )
        guard case .replayed = result else { return false }
        return true
    }

    private func issued() async throws -> (ticket: Ticket, client: ClientSession) {
        let signedIn = try await self.fixture.signedIn()
        return (signedIn.ticket, try #require(try await self.redeem(self.code(for: signedIn.ticket))))
    }

    private func rotate(_ token: RefreshToken, at now: Instant = noon) async throws -> ClientSession? {
        guard case .rotated(let next) = try await self.fixture.manager.rotate(token, of: "notes", now: now) else {
            return nil
        }
        return next
    }

    @Test func `a sealed code opens to the same code`() async throws {
        let code = self.code(for: try await self.fixture.signedIn().ticket)
        let text = code.sealed(by: self.fixture.sealer)
        #expect(AuthorizationCode(sealed: text, by: self.fixture.sealer) == code)
        #expect(text.utf8.allSatisfy { PercentEncoding.isUnreserved($0) })
        #expect(AuthorizationCode(sealed: String(text.dropLast()), by: self.fixture.sealer) == nil)
        #expect(SessionTransferCode(sealed: text, by: self.fixture.sealer) == nil)
    }

    @Test func `RFC 6749 §4.1.2: the session of a client is the user's, with what was granted`() async throws {
        let (_, client) = try await self.issued()
        #expect(client.grant.client == "notes" && client.grant.scopes == ["openid", "email"])
        #expect(client.grant.audiences == self.terms().audiences && client.grant.generation == 0)
        let found = try await self.fixture.manager.clientSession(client.ticket, of: "notes", now: noon)
        #expect(found?.session == client.session && found?.grant == client.grant)
    }

    @Test func `the session of a client does not count for a browser or another client`() async throws {
        let (_, client) = try await self.issued()
        let manager = self.fixture.manager
        #expect(try await manager.session(for: client.ticket, host: self.host, now: noon) == nil)
        #expect(try await manager.clientSession(client.ticket, of: "other", now: noon) == nil)
        #expect(manager.ticket(Array(client.ticket.text.utf8), host: self.host) == nil)
    }

    @Test func `RFC 6749 §4.1.2: a code used twice ends what its first use gave`() async throws {
        let signedIn = try await self.fixture.signedIn()
        let code = self.code(for: signedIn.ticket)
        let client = try #require(try await self.redeem(code))
        #expect(try await self.isReplayed(code))
        #expect(try await self.fixture.manager.clientSession(client.ticket, of: "notes", now: noon) == nil)
        #expect(try await self.fixture.manager.session(for: signedIn.ticket, host: self.host, now: noon) != nil)
    }

    // E-11
    @Test(arguments: [(0, true), (.max, false)] as [(Int64, Bool)])
    func `a code that is sent several times at once has one use, whose tokens go on`(
        arrival: Int64,
        isAtOnce: Bool
    ) async throws {
        let code = self.code(for: try await self.fixture.signedIn().ticket)
        let client = try #require(try await self.redeem(code))
        for _ in 0..<2 {
            let result = try await self.fixture.manager.redeem(
                code,
                boundTo: nil,
                gatewayHost: self.host,
                arrival: arrival,
                now: noon
            )
            switch result {
            case .repeated: #expect(isAtOnce)
            case .replayed: #expect(!isAtOnce)
            case .issued, .none: Issue.record("a second use")
            }
        }
        let found = try await self.fixture.manager.clientSession(client.ticket, of: "notes", now: noon)
        #expect((found != nil) == isAtOnce)
    }

    // E-11
    @Test func `of several requests with a code at once, those that wait for the first do not use it a second time`()
        async throws
    {
        let code = self.code(for: try await self.fixture.signedIn().ticket)
        let redemptions = RecentRedemptions()
        redemptions.begin(code, now: noon)
        #expect(!redemptions.overlaps(code, arrival: 5))
        redemptions.begin(code, now: noon)
        #expect(redemptions.overlaps(code, arrival: 5))
        redemptions.end(code, withTokensAt: nil)
        redemptions.end(code, withTokensAt: 7)
        #expect(redemptions.overlaps(code, arrival: 6) && !redemptions.overlaps(code, arrival: 7))
        // One that was used at another gateway leaves nothing behind here.
        let other = AuthorizationCode(for: self.terms(), ticket: code.ticket, random: .system, now: noon)
        redemptions.begin(other, now: noon)
        redemptions.end(other, withTokensAt: nil)
        #expect(!redemptions.overlaps(other, arrival: 0))
    }

    @Test func `a code whose second use comes between the writes of the first gives nothing`() async throws {
        let code = self.code(for: try await self.fixture.signedIn().ticket)
        let replayed = SingleUse("code-replayed", code.id, until: code.expires)
        self.fixture.store.state.withLock { state in
            state.afterInsert = { $0.spent.insert(replayed.hash) }
        }
        #expect(try await self.isReplayed(code))
        #expect(self.fixture.store.state.withLock { $0.records.count } == 1)
    }

    @Test func `a user who has signed out gives a client nothing`() async throws {
        let signedIn = try await self.fixture.signedIn()
        _ = try await self.fixture.manager.end(signedIn.ticket)
        #expect(try await self.redeem(self.code(for: signedIn.ticket)) == nil)
    }

    @Test func `a sign-out between the look-up and the write leaves no session of a client`() async throws {
        let signedIn = try await self.fixture.signedIn()
        self.fixture.store.state.withLock { $0.afterInsert = { $0.records[signedIn.ticket.storeKey] = nil } }
        #expect(try await self.redeem(self.code(for: signedIn.ticket)) == nil)
        #expect(self.fixture.store.state.withLock { $0.records.isEmpty })
    }

    @Test func `a sign-out ends the sessions of all clients`() async throws {
        let (ticket, client) = try await self.issued()
        _ = try await self.fixture.manager.end(ticket)
        #expect(try await self.fixture.manager.clientSession(client.ticket, of: "notes", now: noon) == nil)
        #expect(try await self.rotate(client.refreshToken) == nil)
    }

    /// A sign-in that began at a client, with the session of another client in it.
    private func owned() async throws -> (ticket: Ticket, client: ClientSession, other: ClientSession) {
        let ticket = try await self.fixture.signedIn().ticket
        let grant = ClientGrant(client: "notes", scopes: [], audiences: [], ownsSignIn: true, at: noon)
        let manager = self.fixture.manager
        let client = try await manager.issue(grant, from: ticket, gatewayHost: self.host, now: noon)
        return (ticket, try #require(client), try #require(try await self.redeem(self.code(for: ticket))))
    }

    private func expectEnded(_ owned: (ticket: Ticket, client: ClientSession, other: ClientSession)) async throws {
        let manager = self.fixture.manager
        #expect(try await manager.session(for: owned.ticket, host: self.host, now: noon) == nil)
        #expect(try await manager.clientSession(owned.client.ticket, of: "notes", now: noon) == nil)
        #expect(try await manager.clientSession(owned.other.ticket, of: "notes", now: noon) == nil)
    }

    @Test func `a sign-in that began at a client ends with it, and with all that came of it`() async throws {
        let owned = try await self.owned()
        try await self.fixture.manager.endClient(owned.client.ticket)
        try await self.expectEnded(owned)
    }

    @Test func `a sign-in that began at a client does not end with another client`() async throws {
        let owned = try await self.owned()
        try await self.fixture.manager.endClient(owned.other.ticket)
        let found = try await self.fixture.manager.clientSession(owned.client.ticket, of: "notes", now: noon)
        #expect(found?.grant.ownsSignIn == true)
    }

    @Test func `RFC 9700 §4.14.2: a reused token of such a client ends the sign-in`() async throws {
        let owned = try await self.owned()
        let second = try #require(try await self.rotate(owned.client.refreshToken))
        #expect(try await self.rotate(second.refreshToken)?.grant.ownsSignIn == true)
        #expect(try await self.rotate(owned.client.refreshToken) == nil)
        try await self.expectEnded(owned)
    }

    // MARK: Sign-ins that begin with a token of an issuer

    private func ofIssuer(until seconds: Int64 = 300) async throws -> ClientSession {
        let end = noon.advanced(by: .seconds(seconds))
        let grant = ClientGrant(client: "notes", scopes: [], audiences: ["a"], ownsSignIn: true, until: end, at: noon)
        let profile = Profile(provider: "ci", issuer: "https://ci.example.com", subject: "job")
        return try await self.fixture.manager.issue(grant, to: profile, now: noon)
    }

    @Test func `the session of a token of an issuer is one record, which ends at its time`() async throws {
        let session = try await self.ofIssuer()
        let record = try #require(self.fixture.store.state.withLock { $0.records.values.first })
        #expect(self.fixture.store.state.withLock { $0.records.count } == 1)
        #expect(record.expires == noon.advanced(by: .seconds(300)))
        let manager = self.fixture.manager
        let last = noon.advanced(by: .seconds(299))
        #expect(try await manager.clientSession(session.ticket, of: "notes", now: last)?.grant == session.grant)
        #expect(try await manager.clientSession(session.ticket, of: "notes", now: record.expires) == nil)
    }

    @Test func `the session of a token of an issuer ends at the lifetime of sessions at the latest`() async throws {
        _ = try await self.ofIssuer(until: 1 << 40)
        let record = try #require(self.fixture.store.state.withLock { $0.records.values.first })
        #expect(record.expires == noon.advanced(by: self.fixture.manager.lifetimes.absolute))
    }

    @Test func `the session of a token of an issuer is not confirmed again`() async throws {
        let session = try await self.ofIssuer().session
        let policy = RecheckPolicy(interval: .seconds(60), maxStale: .zero)
        let late = noon.advanced(by: .seconds(200))
        #expect(policy.state(of: session, at: late) == .confirmed)
        #expect(policy.accepts(lookUpUnder: .never, of: session, at: late))
        #expect(self.fixture.manager.remaining(session, under: policy, now: late) == .seconds(100))
        let user = try await self.issued().client.session
        #expect(policy.state(of: user, at: late) == .stale)
    }

    @Test func `what another client gets for its token ends with it`() async throws {
        let (session, manager) = (try await self.ofIssuer(), self.fixture.manager)
        func exchanged() async throws -> ClientSession? {
            try await manager.issue(to: "forum", for: ["a"], exchanging: session, gatewayHost: self.host, now: noon)
        }
        let other = try #require(try await exchanged())
        let third = try await manager.issue(
            to: "wiki",
            for: ["a"],
            exchanging: other,
            gatewayHost: self.host,
            now: noon
        )
        #expect(third?.session.profile == session.session.profile && third?.grant.ends == session.grant.ends)
        #expect(other.session.profile == session.session.profile && other.grant.ends == session.grant.ends)
        let end = try #require(session.grant.ends)
        #expect(try await manager.clientSession(other.ticket, of: "forum", now: end) == nil)
        try await manager.endClient(session.ticket)
        #expect(try await manager.clientSession(try #require(third).ticket, of: "wiki", now: noon) == nil)
        #expect(try await manager.clientSession(other.ticket, of: "forum", now: noon) == nil)
        #expect(try await exchanged() == nil)
    }

    /// The session of a client, and what others have exchanged it for, one after the other.
    private func chain(_ names: [String]) async throws -> [ClientSession] {
        var chain = [try await self.issued().client]
        for name in names {
            let next = try await self.fixture.manager.issue(
                to: name,
                for: ["a"],
                exchanging: chain[chain.count - 1],
                gatewayHost: self.host,
                now: noon
            )
            chain.append(try #require(next))
        }
        return chain
    }

    // E-01
    @Test(arguments: [0, 1, 2])
    func `what was exchanged ends with each session that it comes from`(ended: Int) async throws {
        let chain = try await self.chain(["forum", "wiki", "notes"])
        let manager = self.fixture.manager
        #expect(chain[3].grant.subjects == ["wiki", "forum", "notes"])
        let found = try await manager.clientSession(chain[3].ticket, of: "notes", now: noon)
        #expect(found?.grant.subjects == chain[3].grant.subjects)
        try await manager.endClient(chain[ended].ticket)
        for (index, session) in chain.enumerated() {
            let found = try await manager.clientSession(session.ticket, of: session.grant.client, now: noon)
            #expect((found != nil) == (index < ended), "\(index)")
        }
    }

    // E-01
    @Test func `what was exchanged ends when a session that it comes from was idle for too long`() async throws {
        let chain = try await self.chain(["forum", "wiki"])
        let manager = self.fixture.manager
        let (half, end) = (manager.lifetimes.idle / 2, manager.lifetimes.idle + .seconds(1))
        // The last one is in use, and with it the session of the user.
        #expect(try await manager.clientSession(chain[2].ticket, of: "wiki", now: noon.advanced(by: half)) != nil)
        #expect(try await manager.clientSession(chain[2].ticket, of: "wiki", now: noon.advanced(by: end)) == nil)
    }

    // E-01
    @Test func `a chain of more clients than can act for each other leads to nothing`() async throws {
        let chain = try await self.chain(["a", "b", "c", "d"])
        let manager = self.fixture.manager
        #expect(try await manager.clientSession(chain[3].ticket, of: "c", now: noon) != nil)
        #expect(try await manager.clientSession(chain[4].ticket, of: "d", now: noon) == nil)
    }

    @Test func `the text of a refresh token is always the same, and only its client's`() async throws {
        let token = try await self.issued().client.refreshToken
        let text = token.text(for: "notes", by: self.fixture.sealer)
        #expect(text == token.text(for: "notes", by: self.fixture.sealer) && text.hasPrefix(RefreshToken.prefix))
        #expect(RefreshToken(text, for: "notes", by: self.fixture.sealer) == token)
        #expect(RefreshToken(text, for: "other", by: self.fixture.sealer) == nil)
    }

    @Test func `a refresh token with one changed character is rejected`() async throws {
        let text = Array(try await self.issued().client.refreshToken.text(for: "notes", by: self.fixture.sealer).utf8)
        for position in text.indices {
            for letter in [UInt8(ascii: "A"), UInt8(ascii: "Q")] where text[position] != letter {
                var changed = text
                changed[position] = letter
                let parsed = RefreshToken(
                    String(decoding: changed, as: UTF8.self),
                    for: "notes",
                    by: self.fixture.sealer
                )
                #expect(parsed == nil, "\(position)")
            }
        }
    }

    @Test func `RFC 9700 §4.14.2: each refresh makes the next token the valid one`() async throws {
        var client = try await self.issued().client
        for generation in 1...3 {
            client = try #require(try await self.rotate(client.refreshToken, at: noon.plus(Int64(generation))))
            #expect(client.grant.generation == generation && client.refreshToken.generation == generation)
        }
    }

    @Test(arguments: [(60, true), (61, false)] as [(Int64, Bool)])
    func `a repeated refresh leads to the same token for a minute`(seconds: Int64, isGood: Bool) async throws {
        let first = try await self.issued().client
        let second = try #require(try await self.rotate(first.refreshToken))
        let again = try await self.rotate(first.refreshToken, at: noon.plus(seconds))
        #expect((again?.refreshToken == second.refreshToken) == isGood)
    }

    @Test func `RFC 9700 §4.14.2: an earlier token ends the grant, and not the user's session`() async throws {
        let (ticket, first) = try await self.issued()
        let second = try #require(try await self.rotate(first.refreshToken))
        let third = try #require(try await self.rotate(second.refreshToken))
        guard case .reused = try await self.fixture.manager.rotate(first.refreshToken, of: "notes", now: noon) else {
            Issue.record("not noticed")
            return
        }
        #expect(try await self.rotate(third.refreshToken) == nil)
        #expect(try await self.fixture.manager.session(for: ticket, host: self.host, now: noon) != nil)
    }

    @Test func `a session of a client goes through the store as it is`() async throws {
        let session = try await self.issued().client.session
        let copy = try #require(Session(encoded: session.encoded, lastSeen: session.lastSeen))
        #expect(copy == session && copy.client == session.client)
    }

    @Test func `the id of a sign-in is the same for all its clients, and not its family`() async throws {
        let signedIn = try await self.fixture.signedIn()
        let one = try #require(try await self.redeem(self.code(for: signedIn.ticket)))
        #expect(one.session.signInID == signedIn.session.signInID && one.session.signInID != signedIn.session.family)
    }

    @Test func `a masked ticket opens for its token, its client and with each secret of the gateway`() async throws {
        let ticket = try await self.issued().client.ticket
        let host = ClientGrant.host(of: "notes")
        let text = ticket.masked(for: "id", by: self.fixture.sealer)
        #expect(Ticket(masked: text, for: "id", host: host, by: self.fixture.sealer) == ticket)
        let rotated = Sealer([Secret([UInt8](repeating: 8, count: 32)), gateSecret])
        #expect(Ticket(masked: text, for: "id", host: host, by: rotated) == ticket)
        #expect(Ticket(masked: text, for: "other", host: host, by: self.fixture.sealer) == nil)
        #expect(Ticket(masked: text, for: "id", host: ClientGrant.host(of: "other"), by: self.fixture.sealer) == nil)
        #expect(
            Ticket(masked: text, for: "id", host: host, by: Sealer([Secret([UInt8](repeating: 8, count: 32))])) == nil
        )
        #expect(ticket.masked(for: "other", by: self.fixture.sealer) != text && text != ticket.text)
    }

    @Test func `a masked ticket with one changed character is rejected`() async throws {
        let ticket = try await self.issued().client.ticket
        let text = Array(ticket.masked(for: "id", by: self.fixture.sealer).utf8)
        for position in text.indices {
            var changed = text
            changed[position] = text[position] == UInt8(ascii: "A") ? UInt8(ascii: "Q") : UInt8(ascii: "A")
            let opened = Ticket(
                masked: String(decoding: changed, as: UTF8.self),
                for: "id",
                host: ClientGrant.host(of: "notes"),
                by: self.fixture.sealer
            )
            #expect(opened == nil, "\(position)")
        }
    }
}
