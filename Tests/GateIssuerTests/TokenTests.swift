// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateCore
import GateSessionStores
import GateSessions
import Testing

@testable import GateIssuer

@Suite struct TokenTests {
    private let fixture: IssuerFixture
    private let manager: SessionManager

    init() throws {
        self.fixture = try IssuerFixture()
        self.manager = SessionManager(
            store: MemoryStore(),
            sealer: self.fixture.sealer,
            lifetimes: SessionLifetimes(idle: .seconds(3600), absolute: .seconds(86_400)),
            feed: RevocationFeed()
        )
    }

    private func session(_ audiences: [String] = ["https://wiki.example.com"]) async throws -> ClientSession {
        var profile = Profile(provider: "mock", issuer: "https://id.example.com", subject: "1")
        profile.email = "ada@example.com"
        profile.name = "Ada"
        profile.groups = ["staff"]
        let signedIn = try await self.manager.issue(SignIn(profile: profile), host: "gate.example.com", now: noon)
        let grant = ClientGrant(client: "notes", scopes: ["openid", "email"], audiences: audiences, at: noon)
        return try #require(
            try await self.manager.issue(grant, from: signedIn.ticket, gatewayHost: "gate.example.com", now: noon)
        )
    }

    private func client(_ fields: [String: String], _ authorization: String? = nil) -> Result<String, OAuthError> {
        let form = Form(fields.map { Form.Field($0.key, $0.value) })
        do {
            return .success(try self.fixture.issuer.client(of: form, authorization).id)
        } catch {
            return .failure(error)
        }
    }

    @Test func `RFC 9068 §2.2: an access token leads to the session that it was issued for`() async throws {
        let session = try await self.session()
        let text = try self.fixture.issuer.accessToken(
            of: session,
            for: ["https://wiki.example.com"],
            lifetime: .seconds(600),
            now: noon
        )
        let token = try #require(self.fixture.issuer.accessToken(text.utf8, now: noon))
        #expect(
            token.client == "notes" && token.isFor("https://wiki.example.com")
                && !token.isFor("https://wiki.example.com/")
        )
        #expect(token.scopes == ["openid", "email"] && token.expires == Instant(seconds: noon.seconds + 600))
        #expect(try await self.manager.clientSession(token.ticket, of: "notes", now: noon)?.session == session.session)
        #expect(!text.contains(session.ticket.text))
    }

    @Test(arguments: [(-6, false), (-5, true), (0, true), (599, true), (600, false)] as [(Int64, Bool)])
    func `an access token is valid from its issue to its expiry`(seconds: Int64, isValid: Bool) async throws {
        let session = try await self.session()
        let text = try self.fixture.issuer.accessToken(of: session, for: [gate], lifetime: .seconds(600), now: noon)
        let found = self.fixture.issuer.accessToken(text.utf8, now: Instant(seconds: noon.seconds + seconds))
        #expect((found != nil) == isValid)
    }

    @Test func `a token with a ticket of another gateway is rejected`() async throws {
        let other = Issuer(
            signer: self.fixture.issuer.signer,
            clients: [],
            audiences: [:],
            sealer: Sealer([Secret([UInt8](repeating: 2, count: 32))])
        )
        let session = try await self.session()
        let text = try other.accessToken(of: session, for: [gate], lifetime: .seconds(600), now: noon)
        #expect(self.fixture.issuer.accessToken(text.utf8, now: noon) == nil)
    }

    @Test func `OpenID Connect Core §5.4: scopes choose the claims`() async throws {
        let profile = try await self.session().session.profile
        #expect(profile.claims(for: [], of: nil) == ["sub": "mock:1"])
        #expect(
            profile.claims(for: ["email"], of: nil) == [
                "sub": "mock:1", "email": "ada@example.com", "email_verified": false,
            ]
        )
        #expect(profile.claims(for: ["groups"], of: nil) == ["sub": "mock:1", "groups": ["staff"]])
        #expect(profile.claims(for: ["profile"], of: nil) == ["sub": "mock:1", "name": "Ada", "provider": "mock"])
    }

    // M-02
    @Test func `a scope of a client gives its claims to that client only, and no unknown one`() async throws {
        var profile = try await self.session().session.profile
        profile.claims = ["department": .text("eng"), "level": .number("7"), "secret": .flag(true)]
        var client = self.fixture.issuer.clients.values.first
        client?.claims = []
        client?.scopes = ["hr": ["department", "cost_center"], "rank": ["level"]]
        #expect(profile.claims(for: ["openid"], of: client) == ["sub": "mock:1"])
        #expect(profile.claims(for: ["hr"], of: client) == ["sub": "mock:1", "department": "eng"])
        #expect(profile.claims(for: ["hr", "rank", "other"], of: client)["level"] == .number("7"))
        #expect(profile.claims(for: ["hr"], of: nil) == ["sub": "mock:1"])
    }

    @Test(
        arguments: [
            (["client_id": "notes"], nil, "notes"), (["client_id": "notes", "client_secret": ""], nil, "notes"),
            (["client_id": "forum", "client_secret": "new secret"], nil, "forum"),
            (["client_id": "forum", "client_secret": "old+secret%"], nil, "forum"),
            // forum:new+secret, forum:old%2Bsecret%25
            ([:], "Basic Zm9ydW06bmV3K3NlY3JldA==", "forum"), ([:], "basic Zm9ydW06b2xkJTJCc2VjcmV0JTI1", "forum"),
            (["client_id": "forum"], "Basic Zm9ydW06bmV3K3NlY3JldA==", "forum"),
            // forum:old+secret%, as RFC 7617 §2 has it, of which the form encoding is malformed.
            ([:], "Basic Zm9ydW06b2xkK3NlY3JldCU=", "forum"),
        ] as [([String: String], String?, String)]
    )
    func `RFC 6749 §2.3.1: a client proves to be itself`(fields: [String: String], authorization: String?, id: String) {
        #expect(self.client(fields, authorization) == .success(id))
    }

    @Test(
        arguments: [
            ([:], nil, .invalidClient), (["client_id": "absent"], nil, .invalidClient),
            (["client_id": "forum"], nil, .invalidClient),
            (["client_id": "forum", "client_secret": "new secret "], nil, .invalidClient),
            (["client_id": "notes", "client_secret": "x"], nil, .invalidClient),
            (["client_id": "notes"], "Basic Zm9ydW06bmV3K3NlY3JldA==", .invalidRequest),
            (["client_secret": "new secret"], "Basic Zm9ydW06bmV3K3NlY3JldA==", .invalidRequest),
            ([:], "Bearer x", .invalidClient), ([:], "Basic !", .invalidClient),
            ([:], "Basic Zm9ydW0=", .invalidClient),
            // forum:old+secret%25, half of it encoded.
            ([:], "Basic Zm9ydW06b2xkK3NlY3JldCUyNQ==", .invalidClient),
        ] as [([String: String], String?, OAuthError.Code)]
    )
    func `RFC 6749 §5.2: a client that does not is rejected`(
        fields: [String: String],
        authorization: String?,
        code: OAuthError.Code
    ) {
        guard case .failure(let error) = self.client(fields, authorization) else {
            Issue.record("\(fields)")
            return
        }
        #expect(error.code == code)
    }

    @Test func `RFC 7636 appendix B: the verifier of the example fits`() async throws {
        let signedIn = try await self.session()
        var terms = AuthorizationCode.Terms(
            client: "notes",
            redirectURI: "com.example.notes:/signed-in",
            challenge: IssuerFixture.challenge
        )
        terms.audiences = [gate]
        let code = AuthorizationCode(for: terms, ticket: signedIn.ticket, random: .system, now: noon)
        let client = try #require(self.fixture.issuer.clients["notes"])
        func outcome(_ changes: [String: String?], at now: Instant = noon) -> OAuthError.Code? {
            var values: [String: String?] = [
                "code": code.sealed(by: self.fixture.sealer), "code_verifier": IssuerFixture.verifier,
                "redirect_uri": "com.example.notes:/signed-in",
            ]
            for (name, value) in changes { values[name] = .some(value) }
            let form = Form(values.compactMap { name, value in value.map { Form.Field(name, $0) } })
            do {
                _ = try self.fixture.issuer.code(in: TokenRequest(client: client, form: form), now: now)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(outcome([:]) == nil && outcome(["redirect_uri": nil]) == nil)
        #expect(outcome([:], at: Instant(seconds: noon.seconds + 59)) == nil)
        #expect(outcome([:], at: Instant(seconds: noon.seconds + 60)) == .invalidGrant)
        #expect(outcome(["redirect_uri": "com.example.notes:/signed-im"]) == .invalidGrant)
        #expect(outcome(["code_verifier": String(IssuerFixture.verifier.dropLast())]) == .invalidGrant)
        #expect(outcome(["code_verifier": IssuerFixture.challenge]) == .invalidGrant)
    }

    private func request(_ fields: [(String, String)], audiences: [String]) throws -> TokenRequest {
        var client = try #require(self.fixture.issuer.clients["notes"])
        client.audiences = audiences
        return TokenRequest(client: client, form: Form(fields.map { Form.Field($0.0, $0.1) }))
    }

    //
    @Test func `RFC 8707 §2.2: an app that was removed from the client is in no token of an old grant`() throws {
        let (wiki, ledger) = ("https://wiki.example.com", "https://apps.example.com/ledger")
        let grant = ClientGrant(client: "notes", scopes: [], audiences: [wiki, ledger], at: noon)
        let issuer = self.fixture.issuer
        func audiences(_ fields: [(String, String)], _ apps: [String]) throws -> [String] {
            try issuer.audiences(namedIn: self.request(fields, audiences: apps), grantedTo: grant)
        }
        #expect(try audiences([], ["wiki", "ledger"]) == [wiki, ledger])
        #expect(try audiences([], ["ledger"]) == [ledger])
        #expect(try audiences([], []) == [])
        #expect(try audiences([("resource", ledger)], ["ledger"]) == [ledger])
        for named in [[("resource", wiki)], [("resource", ledger), ("resource", wiki)]] {
            #expect(throws: OAuthError.self) { try audiences(named, ["ledger"]) }
        }
        // Nor is one that the client has got since.
        let narrow = ClientGrant(client: "notes", scopes: [], audiences: [wiki], at: noon)
        let both = try self.request([("resource", ledger)], audiences: ["wiki", "ledger"])
        #expect(throws: OAuthError.self) { try issuer.audiences(namedIn: both, grantedTo: narrow) }
        #expect(
            try issuer.audiences(namedIn: self.request([], audiences: ["wiki", "ledger"]), grantedTo: narrow) == [wiki]
        )
    }

    // E-11
    @Test(
        arguments: [
            (nil, ["openid", "email"]), ("email", ["email"]), ("email openid", ["openid", "email"]),
            ("openid groups", nil),
            ("", nil), (" ", nil), ("OPENID", nil), ("offline_access", nil),
        ] as [(String?, [String]?)]
    )
    func `RFC 6749 §6: a refresh may ask for fewer scopes, and for no others`(text: String?, scopes: [String]?) throws {
        let grant = ClientGrant(client: "notes", scopes: ["openid", "email"], audiences: [], at: noon)
        let request = try self.request(text.map { [("scope", $0)] } ?? [], audiences: [])
        let found = try? self.fixture.issuer.scopes(namedIn: request, grantedTo: grant)
        #expect(found == scopes)
    }

    // E-09
    @Test func `OIDC Core §2: no token has a time of an authentication that the provider did not report`() async throws
    {
        let session = try await self.session()
        let issuer = self.fixture.issuer
        let access = try issuer.accessToken(of: session, for: [gate], lifetime: .seconds(600), now: noon)
        let client = try #require(issuer.clients["notes"])
        let id = try issuer.idToken(of: session, for: client, scopes: ["openid"], nonce: nil, beside: access, now: noon)
        for token in [access, id] {
            let claims = Base64URL.decode(token.split(separator: ".")[1].utf8).flatMap { try? JSON(parsing: $0) }
            #expect(claims?["sub"] == "mock:1" && claims?["auth_time"] == nil)
        }
    }
}
