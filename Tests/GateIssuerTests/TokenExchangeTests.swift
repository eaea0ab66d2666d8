// SPDX-License-Identifier: Apache-2.0

import GateAssertion
import GateClients
import GateCore
import GatePolicy
import GateSessionStores
import GateSessions
import Testing

@testable import GateIssuer

/// Two clients: `notes` of a user, and the service `forum`, both with the apps wiki and ledger.
@Suite struct TokenExchangeTests {
    private static let wiki = "https://wiki.example.com"
    private static let ledger = "https://apps.example.com/ledger"
    private let issuer: Issuer
    private let session: ClientSession

    init() async throws {
        let fixture = try IssuerFixture()
        var notes = try #require(fixture.issuer.clients["notes"])
        notes.tokenAudiences = ["sts.amazonaws.com"]
        var forum = try #require(fixture.issuer.clients["forum"])
        forum.audiences = ["wiki", "ledger"]
        forum.tokenAudiences = ["kubernetes"]
        var phone = ClientSettings(id: "phone", kind: .native, route: notes.route)
        phone.audiences = ["wiki"]
        var runner = ClientSettings(id: "runner", kind: .native, route: notes.route)
        runner.audiences = ["wiki", "ledger"]
        runner.tokenAudiences = ["kubernetes"]
        runner.route.issuers = ["ci"]
        self.issuer = Issuer(
            signer: fixture.issuer.signer,
            clients: [notes, forum, phone, runner],
            audiences: fixture.issuer.audiences,
            sealer: fixture.sealer
        )
        let manager = SessionManager(
            store: MemoryStore(),
            sealer: fixture.sealer,
            lifetimes: SessionLifetimes(idle: .seconds(3600), absolute: .seconds(86_400)),
            feed: RevocationFeed()
        )
        var profile = Profile(provider: "mock", issuer: "https://id.example.com", subject: "1")
        profile.email = "ada@example.com"
        let signedIn = try await manager.issue(SignIn(profile: profile), host: "gate.example.com", now: noon)
        let grant = ClientGrant(client: "notes", scopes: ["openid", "email"], audiences: [Self.wiki], at: noon)
        let issued = try await manager.issue(grant, from: signedIn.ticket, gatewayHost: "gate.example.com", now: noon)
        self.session = try #require(issued)
    }

    private func token(for audiences: [String] = [wiki], actor: JSON? = nil) throws -> String {
        let session = self.session
        return try self.issuer.accessToken(
            of: session,
            for: audiences,
            actor: actor,
            lifetime: .seconds(600),
            now: noon
        )
    }

    private func exchange(
        _ fields: [(String, String)],
        by id: String = "notes",
        of token: String? = nil,
        as type: TokenExchange.TokenType = .accessToken,
        at now: Instant = noon
    ) throws -> TokenExchange {
        var form = Form(fields.map { Form.Field($0.0, $0.1) })
        form.append("subject_token", try token ?? self.token())
        form.append("subject_token_type", type.rawValue)
        let client = try #require(self.issuer.clients[id])
        return try self.issuer.exchange(in: TokenRequest(client: client, form: form), now: now)
    }

    private func error(_ body: () throws -> TokenExchange) -> OAuthError.Code? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? OAuthError)?.code
        }
    }

    @Test(
        arguments: [
            ([], .apps([wiki])), ([("resource", ledger)], .apps([ledger])), ([("audience", "ledger")], .apps([ledger])),
            ([("audience", "wiki"), ("resource", ledger)], .apps([ledger, wiki])),
            ([("audience", wiki), ("audience", "wiki")], .apps([wiki])),
            ([("audience", "sts.amazonaws.com")], .other("sts.amazonaws.com")),
        ] as [([(String, String)], TokenExchange.Target)]
    )
    func `RFC 8693 §2.1: resource and audience name apps of the client, or one fixed audience`(
        fields: [(String, String)],
        target: TokenExchange.Target
    ) throws {
        #expect(try self.exchange(fields).target == target)
    }

    @Test(
        arguments: [
            [("audience", "kubernetes")], [("audience", "nothing")], [("audience", gate)],
            [("audience", "sts.amazonaws.com"), ("audience", "sts.amazonaws.com")],
            [("audience", "sts.amazonaws.com"), ("resource", ledger)], Array(repeating: ("audience", "wiki"), count: 9),
        ] as [[(String, String)]]
    )
    func `RFC 8693 §2.2.2: every other target is invalid`(fields: [(String, String)]) {
        #expect(self.error { try self.exchange(fields) } == .invalidTarget)
    }

    @Test func `RFC 8693 §4.1: a service that exchanges becomes the actor before those that did`() throws {
        let first = try self.exchange([], by: "forum")
        #expect(first.actor == ["sub": "forum"])
        #expect(try self.exchange([]).actor == nil)
        let token = try self.token(actor: ["sub": "b", "act": ["sub": "a"]])
        let third = try self.exchange([], by: "forum", of: token)
        #expect(third.actor == ["sub": "forum", "act": ["sub": "b", "act": ["sub": "a"]]])
        let full = try self.token(actor: third.actor)
        #expect(self.error { try self.exchange([], by: "forum", of: full) } == .invalidRequest)
    }

    @Test func `RFC 8693 §2.1: a client without a secret exchanges no tokens of others`() {
        #expect(self.error { try self.exchange([], by: "phone") } == .invalidRequest)
    }

    @Test func `RFC 8693 §2.1: a token for no app of the service is not exchanged`() throws {
        let token = try self.token(for: [gate])
        #expect(self.error { try self.exchange([], by: "forum", of: token) } == .invalidRequest)
    }

    @Test func `RFC 8693 §2.1: a service without apps exchanges no tokens of others`() throws {
        let forum = try #require(self.issuer.clients["forum"])
        var plain = ClientSettings(id: "plain", kind: .confidential, route: forum.route)
        plain.secrets = forum.secrets
        let issuer = Issuer(
            signer: self.issuer.signer,
            clients: Array(self.issuer.clients.values) + [plain],
            audiences: self.issuer.audiences,
            sealer: self.issuer.sealer
        )
        var form = Form([Form.Field("subject_token_type", TokenExchange.TokenType.accessToken.rawValue)])
        form.append("subject_token", try self.token(for: issuer.audiences(of: plain)))
        let error = #expect(throws: OAuthError.self) {
            try issuer.exchange(in: TokenRequest(client: plain, form: form), now: noon)
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test func `RFC 8693 §2.1: scopes are narrowed, never widened`() throws {
        #expect(try self.exchange([("scope", "email")]).scopes == ["email"])
        #expect(try self.exchange([]).scopes == ["openid", "email"])
        #expect(self.error { try self.exchange([("scope", "openid groups")]) } == .invalidScope)
    }

    @Test func `RFC 8693 §2.1: an expired token is not exchanged`() throws {
        _ = try self.exchange([], at: Instant(seconds: noon.seconds + 599))
        #expect(self.error { try self.exchange([], at: Instant(seconds: noon.seconds + 600)) } == .invalidRequest)
    }

    // MARK: Tokens of issuers

    @Test(arguments: [TokenExchange.TokenType.accessToken, .jwt, .idToken])
    func `RFC 8693 §2.1: a client with issuers exchanges what may be a token of theirs, as any type`(
        type: TokenExchange.TokenType
    ) throws {
        let exchange = try self.exchange(
            [("scope", "openid offline_access other")],
            by: "runner",
            of: "a.b.c",
            as: type
        )
        guard case .ofIssuer("a.b.c") = exchange.subject else {
            Issue.record("not the token of an issuer")
            return
        }
        #expect(exchange.target == .apps([Self.wiki, Self.ledger, self.issuer.userinfo]) && !exchange.isTargetNamed)
        #expect(exchange.scopes == ["openid"] && exchange.actor == nil)
    }

    @Test func `RFC 8693 §2.1: a client without issuers takes access tokens of the gateway only`() {
        #expect(self.error { try self.exchange([], of: "a.b.c") } == .invalidRequest)
        #expect(self.error { try self.exchange([], as: .jwt) } == .invalidRequest)
    }

    @Test func `an access token of the gateway is one also for a client with issuers`() throws {
        #expect(self.error { try self.exchange([], by: "runner") } == .invalidRequest)
    }

    @Test func `RFC 8693 §2.2.2: the token of an issuer is exchanged for targets of the client only`() throws {
        let other = try self.exchange([("audience", "kubernetes")], by: "runner", of: "a.b.c", as: .jwt)
        #expect(other.target == .other("kubernetes") && other.isTargetNamed)
        #expect(
            self.error { try self.exchange([("audience", "sts.amazonaws.com")], by: "runner", of: "a.b.c", as: .jwt) }
                == .invalidTarget
        )
    }

    private func credential(subject: ClientSettings.TokenSubject, verified: Bool) async throws -> JSON? {
        var client = try #require(self.issuer.clients["notes"])
        client.tokenSubject = subject
        let session = try await self.session(verified: verified)
        let text = try self.issuer.credential(
            self.exchange([
                ("audience", "sts.amazonaws.com"), ("requested_token_type", TokenExchange.TokenType.idToken.rawValue),
            ]),
            for: "sts.amazonaws.com",
            of: session,
            client: client,
            lifetime: .seconds(300),
            now: noon
        )
        #expect(self.issuer.accessToken(text.utf8, now: noon) == nil)
        return self.issuer.signer.claims(of: text.utf8, as: .idToken)
    }

    private func session(verified: Bool) async throws -> ClientSession {
        let manager = SessionManager(
            store: MemoryStore(),
            sealer: self.issuer.sealer,
            lifetimes: SessionLifetimes(idle: .seconds(3600), absolute: .seconds(86_400)),
            feed: RevocationFeed()
        )
        var profile = Profile(provider: "mock", issuer: "https://id.example.com", subject: "1")
        profile.email = "ada@example.com"
        profile.emailVerified = verified
        let signedIn = try await manager.issue(SignIn(profile: profile), host: "gate.example.com", now: noon)
        let grant = ClientGrant(client: "notes", scopes: ["openid"], audiences: [Self.wiki], at: noon)
        let issued = try await manager.issue(grant, from: signedIn.ticket, gatewayHost: "gate.example.com", now: noon)
        return try #require(issued)
    }

    @Test func `a token for others has their audience and no claim that leads to a session`() async throws {
        let claims = try #require(try await self.credential(subject: .user, verified: false))
        #expect(claims["aud"]?.string == "sts.amazonaws.com" && claims["sub"]?.string == "mock:1")
        #expect(claims["exp"]?.integer == noon.seconds + 300 && claims["grant"] == nil && claims["azp"] == nil)
    }

    @Test func `an email address is a subject only if it is verified`() async throws {
        #expect(try await self.credential(subject: .email, verified: true)?["sub"]?.string == "ada@example.com")
        await #expect(throws: OAuthError.self) { try await self.credential(subject: .email, verified: false) }
    }
}
