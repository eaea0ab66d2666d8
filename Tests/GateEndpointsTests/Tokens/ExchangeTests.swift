// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateConfiguration
import GateCore
import GateEndpoints
import GateFixtures
import GateHTTP
import GateOperations
import GatePolicy
import GateProviders
import GateSessions
import GateTestSupport
import GateWire
import HTTPTypes
import Testing

@testable import GateRuntime

private let tokenURL = "https://gate.example.com/oauth2/token"

/// exchanges of tokens of the gateway, RFC 8693.
@Suite struct OwnExchangeTests {
    private func error(_ response: Response) -> String? { response.json["error"]?.string }

    @Test func `RFC 8693 §2.2.1: a service gets a token of its own for its apps, and no refresh token`() async throws {
        let fixture = try ClientFixture()
        let subject = try #require(try await fixture.tokens()["access_token"]?.string)
        let response = try await fixture.exchange(subject, by: "relay")
        let members = response.json
        #expect(response.status == 200 && members["token_type"] == "Bearer" && members["refresh_token"] == nil)
        #expect(members["issued_token_type"] == .string(ClientFixture.accessToken) && members["expires_in"] == 600)
        #expect(members["scope"] == "openid email")
        let claims = try ClientFixture.claims(members["access_token"])
        #expect(claims["client_id"] == "relay" && claims["sub"] == "staff:ada" && claims["act"] == ["sub": "relay"])
        // The same pair of clients has one session.
        let calls = fixture.gateway.store.calls.count { $0 == "insert" }
        #expect(try await fixture.exchange(subject, by: "relay").status == 200)
        #expect(fixture.gateway.store.calls.count { $0 == "insert" } == calls)
    }

    @Test func `only services exchange the tokens of others, and only those for an app of theirs`() async throws {
        let fixture = try ClientFixture(client: { if $0.id == "store" { $0.audiences = ["desk"] } })
        let shop = try #require(
            try await fixture.tokens(of: "relay", for: [ClientFixture.shop])["access_token"]?.string
        )
        #expect(try await self.error(fixture.exchange(shop, by: "notes")) == "invalid_request")
        #expect(try await self.error(fixture.exchange(shop, by: "store")) == "invalid_request")
        #expect(try await self.error(fixture.exchange("x", by: "relay")) == "invalid_request")
    }

    @Test func `a client without a secret exchanges its own token for no more than that is for`() async throws {
        let fixture = try ClientFixture()
        let tokens = try await fixture.tokens()
        let one = try await fixture.refresh(tokens, [("resource", ClientFixture.shop)]).json
        let subject = try #require(one["access_token"]?.string)
        #expect(try await fixture.exchange(subject, by: "notes", [("audience", "shop")]).status == 200)
        #expect(
            try await self.error(fixture.exchange(subject, by: "notes", [("audience", "desk")])) == "invalid_target"
        )
        // With a secret, or a key, all that the user granted is in reach.
        let service = try await fixture.tokens(of: "relay")
        let small = try await fixture.refresh(service, as: "relay", [("resource", ClientFixture.shop)]).json
        let own = try #require(small["access_token"]?.string)
        #expect(try await fixture.exchange(own, by: "relay", [("audience", "desk")]).status == 200)
        let granted = try await fixture.tokens(of: "relay", for: [ClientFixture.shop])
        let narrow = try #require(granted["access_token"]?.string)
        #expect(try await self.error(fixture.exchange(narrow, by: "relay", [("audience", "desk")])) == "invalid_target")
    }

    @Test func `a token that is bound to a key is exchanged by its client with that key, which gives it reach`()
        async throws
    {
        let fixture = try ClientFixture()
        let (key, now) = (ProofKey(), fixture.gateway.clock.now)
        let proof = try key.line("POST", tokenURL, at: now)
        let code = try await fixture.code { $0.audiences = [ClientFixture.shop, ClientFixture.desk] }.code
        let tokens = try await fixture.redeem(code, [], proof).json
        let small = try await fixture.refresh(
            tokens,
            [("resource", ClientFixture.shop)],
            try key.line("POST", tokenURL, at: now)
        ).json
        let token = try #require(small["access_token"]?.string)
        let fields = [
            ("grant_type", ClientFixture.exchangeGrant), ("subject_token", token),
            ("subject_token_type", ClientFixture.accessToken), ("audience", "desk"),
        ]
        #expect(try await self.error(fixture.send("token", fields, as: "notes", "")) == "invalid_request")
        let other = try ProofKey().line("POST", tokenURL, at: now)
        #expect(try await self.error(fixture.send("token", fields, as: "notes", other)) == "invalid_request")
        let good = try await fixture.send("token", fields, as: "notes", try key.line("POST", tokenURL, at: now))
        #expect(good.status == 200 && good.json["token_type"] == "DPoP")
        // A service has received it with a proof for itself.
        #expect(try await fixture.exchange(token, by: "relay", [("audience", "shop")]).status == 200)
    }

    @Test func `a token for another service leads not around the apps of a client without a secret`() async throws {
        let fixture = try ClientFixture(client: { $0.tokenAudiences = ["sts.example.com"] })
        let named = [("audience", "sts.example.com")]
        let forApps = try #require(try await fixture.tokens()["access_token"]?.string)
        #expect(try await self.error(fixture.exchange(forApps, by: "notes", named)) == "invalid_target")
        let forNone = try await fixture.tokens(for: [ClientFixture.userinfo])
        let response = try await fixture.exchange(try #require(forNone["access_token"]?.string), by: "notes", named)
        #expect(response.status == 200 && response.json["token_type"] == "N_A")
        #expect(try ClientFixture.claims(response.json["access_token"])["aud"] == "sts.example.com")
        let service = try await fixture.exchange(forApps, by: "relay", named)
        #expect(service.status == 200 && service.json["token_type"] == "N_A")
    }

    @Test func `E-10: an app whose path ends as that of userinfo is an app all the same`() async throws {
        let audience = "https://shop.example.com/a/oauth2/userinfo"
        let fixture = try ClientFixture(
            client: { $0.tokenAudiences = ["sts.example.com"] },
            app: { if $0.route.app == "shop" { $0.route.path = "/a/oauth2/userinfo" } }
        )
        let token = try #require(try await fixture.tokens(for: [audience])["access_token"]?.string)
        #expect(try ClientFixture.claims(.string(token))["aud"] == .string(audience))
        let response = try await fixture.exchange(token, by: "notes", [("audience", "sts.example.com")])
        #expect(self.error(response) == "invalid_target")
    }

    @Test func `both clients have to admit the user, and the session has to live`() async throws {
        let fixture = try ClientFixture()
        let (code, session) = try await fixture.code()
        let tokens = try await fixture.redeem(code).json
        let subject = try #require(tokens["access_token"]?.string)
        for id in ["notes", "relay"] {
            let closed = try ClientFixture(
                sharing: fixture,
                client: { if $0.id == id { $0.route.access = .entries([]) } }
            )
            #expect(try await self.error(closed.exchange(subject, by: "relay")) == "invalid_grant")
        }
        let gone = try ClientFixture(without: ["notes"], sharing: fixture)
        #expect(try await self.error(gone.exchange(subject, by: "relay")) == "invalid_request")
        #expect(try await fixture.exchange(subject, by: "relay").status == 200)
        _ = try await fixture.gateway.runtime.sessions.end(session.ticket)
        #expect(try await self.error(fixture.exchange(subject, by: "relay")) == "invalid_request")
    }

    @Test func `a token for no app that the user may enter is not exchanged`() async throws {
        let fixture = try ClientFixture(app: { $0.route.access = .entries([]) })
        let subject = try #require(try await fixture.tokens(for: [ClientFixture.userinfo])["access_token"]?.string)
        #expect(
            try await self.error(fixture.exchange(subject, by: "relay", [("audience", "shop")])) == "invalid_request"
        )
        let open = try ClientFixture()
        let token = try #require(try await open.tokens(for: [ClientFixture.shop])["access_token"]?.string)
        let later = try ClientFixture(sharing: open, app: { $0.route.access = .entries([]) })
        #expect(try await self.error(later.exchange(token, by: "relay")) == "invalid_target")
    }

    @Test func `an exchanged token has the scopes that are asked for, of those of its subject`() async throws {
        let fixture = try ClientFixture()
        let subject = try #require(try await fixture.tokens()["access_token"]?.string)
        let less = try await fixture.exchange(subject, by: "relay", [("scope", "email")])
        #expect(less.json["scope"] == "email")
        #expect(try await fixture.userinfo(less.json["access_token"]).json["error"] == "insufficient_scope")
        #expect(try await self.error(fixture.exchange(subject, by: "relay", [("scope", "groups")])) == "invalid_scope")
    }
}

/// exchanges of tokens of other issuers.
@Suite struct IssuerExchangeTests {
    private static let issuer = "https://ci.example"

    private func fixture(
        sharing other: ClientFixture? = nil,
        log: RequestLog? = nil,
        client: (inout ClientSettings) -> Void = { _ in },
        app: (inout AppSettings) -> Void = { _ in }
    ) throws -> ClientFixture {
        var provider = ProviderSettings(id: "ci", type: .oidc, clientID: "gate", clientSecret: Secret(text: "s"))
        provider.issuer = Self.issuer
        provider.clockLeeway = .zero
        var settings = IssuerSettings(provider, .keys(at: nil))
        settings.audiences = ["gatehouse"]
        return try ClientFixture(
            sharing: other,
            issuers: [settings],
            log: log,
            client: { settings in
                settings.route.issuers = ["ci"]
                settings.accessTokenLifetime = .seconds(600)
                client(&settings)
            },
            app: { settings in
                settings.route.exchangedIssuers = ["ci"]
                app(&settings)
            }
        )
    }

    /// A token of the issuer, valid for five minutes.
    private func token(_ fixture: ClientFixture, _ claims: [String: JSON] = ["sub": "job"]) -> String {
        fixture.gateway.providers.token(claims, of: Self.issuer)
    }

    private func exchange(
        _ token: String,
        _ fixture: ClientFixture,
        by id: String = "relay",
        _ more: [(String, String)] = []
    ) async throws -> Response {
        let fields = [
            ("grant_type", ClientFixture.exchangeGrant), ("subject_token", token),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"),
        ]
        return try await fixture.post("token", fields + more, as: id)
    }

    private func error(_ response: Response) -> String? { response.json["error"]?.string }

    @Test func `a token of an issuer of the client is a sign-in that ends with it`() async throws {
        let lines = LogLines()
        let fixture = try self.fixture(log: RequestLog(logger: lines.logger))
        let subject = self.token(fixture)
        fixture.gateway.clock.advance(by: 60)
        let response = try await self.exchange(subject, fixture)
        #expect(response.status == 200 && response.json["expires_in"] == 240 && response.json["refresh_token"] == nil)
        let claims = try ClientFixture.claims(response.json["access_token"])
        #expect(claims["sub"] == "ci:job" && claims["client_id"] == "relay" && claims["act"] == nil)
        #expect(lines.all.contains { $0.message == "client signed in" && $0.values["client"] == "relay" })
        #expect(try await fixture.isActive(response.json["access_token"]))
        fixture.gateway.clock.advance(by: 240)
        #expect(try await !fixture.isActive(response.json["access_token"]))
        #expect(try await self.error(self.exchange(subject, fixture)) == "invalid_request")
    }

    @Test(arguments: [(60, 600, 60), (600, 60, 60), (600, 600, 300)] as [(Int64, Int64, Int64)])
    func `no exchanged token outlives its subject, its client's tokens, or the sign-in at the client`(
        access: Int64,
        lifetime: Int64,
        expected: Int64
    ) async throws {
        let fixture = try self.fixture(client: { client in
            client.accessTokenLifetime = .seconds(access)
            client.lifetime = .seconds(lifetime)
        })
        #expect(try await self.exchange(self.token(fixture), fixture).json["expires_in"] == .int(expected))
    }

    @Test func `a token of another issuer, or one that is not valid, is rejected`() async throws {
        let fixture = try self.fixture()
        let other = fixture.gateway.providers.token(["sub": "job"], of: "https://other.example")
        let token = self.token(fixture)
        for text in [other, String(token.dropLast(4)) + "AAAA", "x", "ghr_x", ""] {
            let response = try await self.exchange(text, fixture)
            #expect(response.status == 400 && self.error(response) == "invalid_request")
        }
        let none = try self.fixture(sharing: fixture, client: { $0.route.issuers = [] })
        #expect(try await self.error(self.exchange(token, none)) == "invalid_request")
        let wrong = try await self.exchange(String(token.dropLast(4)) + "AAAA", fixture)
        #expect(wrong.rejection?.reason == .tokenRejected)
    }

    @Test func `an issuer that does not respond is 503`() async throws {
        let fixture = try self.fixture()
        fixture.gateway.providers.stub("/.well-known/openid-configuration", 500)
        let response = try await self.exchange(self.token(fixture), fixture)
        #expect(response.status == 503 && self.error(response) == "temporarily_unavailable")
        #expect(fixture.gateway.runtime.services.signIns.count == 0)
    }

    @Test func `the rules of the client are asked, and none that the token cannot prove admits`() async throws {
        for condition in [nil, RequestCondition.passkey(within: nil), .authenticated(within: .seconds(600))] {
            let fixture = try self.fixture(client: { client in
                var entry = AccessEntry(at: RulePlace(line: 1))
                if let condition { entry.request = [condition] } else { entry.email = EmailAddress("a@example.org") }
                client.route.access = .entries([entry])
            })
            let response = try await self.exchange(self.token(fixture), fixture)
            #expect(response.status == 400 && self.error(response) == "invalid_request")
            #expect(response.rejection?.reason != .clientRejected, "\(String(describing: condition))")
            #expect(!fixture.gateway.store.calls.contains("insert"))
        }
    }

    @Test func `of the apps those are left out that do not admit the user, unless they are named`() async throws {
        let fixture = try self.fixture(app: { if $0.route.app == "desk" { $0.route.access = .entries([]) } })
        let token = self.token(fixture)
        let all = try await self.exchange(token, fixture)
        #expect(try ClientFixture.claims(all.json["access_token"])["aud"] == .string(ClientFixture.shop))
        let both = [("audience", "shop"), ("audience", "desk")]
        #expect(try await self.error(self.exchange(token, fixture, by: "relay", both)) == "invalid_target")
        let closed = try self.fixture(sharing: fixture, app: { $0.route.access = .entries([]) })
        #expect(try await self.error(self.exchange(token, closed)) == "invalid_target")
    }

    @Test func `a token for another service leaves no session`() async throws {
        let fixture = try self.fixture(client: { $0.tokenAudiences = ["sts.example.com"] })
        let response = try await self.exchange(
            self.token(fixture),
            fixture,
            by: "relay",
            [("audience", "sts.example.com")]
        )
        #expect(response.status == 200 && response.json["token_type"] == "N_A" && response.json["expires_in"] == 300)
        #expect(!fixture.gateway.store.calls.contains("insert"))
    }

    @Test func `a network exchanges so many tokens with clients without a secret, and services any number`()
        async throws
    {
        let fixture = try self.fixture()
        fixture.browser.client = IPAddress("192.0.2.1")
        let limit = fixture.gateway.runtime.limits.signIns.perMinute
        let token = self.token(fixture)
        // More than the limit, since a slow machine earns some while it goes through them.
        var response = try await self.exchange(token, fixture, by: "notes")
        var admitted = 0
        while response.status == 200, admitted < 10 * limit {
            admitted += 1
            response = try await self.exchange(token, fixture, by: "notes")
        }
        #expect(admitted >= limit)
        #expect(response.status == 503 && self.error(response) == "temporarily_unavailable")
        #expect(response.rejection?.reason == .signInTooOften && response.head.headerFields[.retryAfter] != nil)
        #expect(try await self.exchange(token, fixture).status == 200)
        #expect(fixture.gateway.runtime.services.signIns.count == 0)
    }

    @Test func `while memory is short, or too many sign-ins are in progress, none is exchanged`() async throws {
        let fixture = try self.fixture()
        let signIns = fixture.gateway.runtime.services.signIns
        signIns.close(true)
        #expect(try await self.exchange(self.token(fixture), fixture).rejection?.reason == .signInOverloaded)
        signIns.close(false)
        let limits = fixture.gateway.runtime.limits.signIns
        for _ in 0..<limits.inFlight { try signIns.acquire(within: limits) }
        let response = try await self.exchange(self.token(fixture), fixture)
        #expect(response.status == 503 && response.rejection?.reason == .signInTooMany)
        #expect(signIns.count == limits.inFlight)
    }

    @Test func `what an issuer's token was exchanged for is exchanged by other services, and no longer`() async throws {
        let fixture = try self.fixture()
        let first = try #require(try await self.exchange(self.token(fixture), fixture).json["access_token"]?.string)
        fixture.gateway.clock.advance(by: 100)
        let second = try await fixture.exchange(first, by: "store")
        #expect(second.status == 200 && second.json["expires_in"] == 200)
        fixture.gateway.clock.advance(by: 200)
        #expect(try await !fixture.isActive(second.json["access_token"], of: "store"))
    }
}

/// what the gateway knows about the apps of a client's tokens.
@Suite struct ClientRulesTests {
    private func asking(_ gateway: GatewayFixture, _ audiences: [String], _ profile: Profile) -> [String] {
        gateway.runtime.routes.permitted(audiences, to: profile, at: gateway.clock.now)
    }

    @Test(
        arguments: [(nil, nil, 600), (60, nil, 60), (nil, 90, 90), (60, 30, 30), (900, nil, 600)]
            as [(Int64?, Int64?, Int64)]
    )
    func `no token outlives the access of its user to the app and to the client`(
        app: Int64?,
        client: Int64?,
        expected: Int64
    ) throws {
        let now = TestClock().now
        func rule(_ seconds: Int64?) -> AccessRule {
            var entry = AccessEntry()
            entry.provider = "staff"
            entry.request = seconds.map { [.until(now.advanced(by: .seconds($0)))] } ?? []
            return .entries([entry])
        }
        let gateway = try GatewayFixture(app: { $0.route.access = rule(app) })
        var route = try gateway.route("wiki").route
        route.access = rule(client)
        let settings = ClientSettings(id: "notes", kind: .native, route: route)
        let profile = Profile(provider: "staff", issuer: "https://id.example.com", subject: "ada")
        let audience = try gateway.route("wiki").route.audience
        let lifetime = gateway.runtime.routes.lifetime(
            .seconds(600),
            ofTokenFor: [audience],
            to: profile,
            at: [settings],
            now: now
        )
        #expect(lifetime == .seconds(expected))
        let later = app.map { now.advanced(by: .seconds($0)) } ?? now
        let permitted = gateway.runtime.routes.permitted([audience], to: profile, at: later)
        #expect(permitted == (app == nil ? [audience] : []))
    }

    @Test func `of some audiences those of apps that deny the user are left out; with no app left all are`()
        throws
    {
        let gateway = try GatewayFixture()
        let (shop, desk, info) = (ClientFixture.shop, ClientFixture.desk, ClientFixture.userinfo)
        #expect(self.asking(gateway, [shop, desk, info], .staff()) == [shop, desk, info])
        #expect(self.asking(gateway, [shop, desk, info], .guest) == [shop, info])
        #expect(self.asking(gateway, [desk, info], .guest).isEmpty)
        #expect(self.asking(gateway, [info], .guest) == [info])
    }

    @Test func `users read the apps, and what each scope permits in them`() throws {
        let gateway = try GatewayFixture(app: { app in
            guard app.route.app == "shop" else { return }
            app.display.name = "Shop"
            app.route.scopes = [AppScope(name: "orders", text: "read orders"), AppScope(name: "pay", text: "pay")]
        })
        var client = ClientSettings(id: "notes", kind: .native, route: try gateway.route("shop").route)
        client.scopes = ["hr": ["department"], "other": ["level"]]
        let words = gateway.runtime.routes.permissions(
            of: [ClientFixture.shop, ClientFixture.desk, ClientFixture.userinfo],
            ["orders", "hr"],
            by: client
        )
        #expect(words == ["Shop", "Shop: read orders", "desk", "hr: department"])
    }

    @Test func `a session is current for some apps if it is for each`() async throws {
        let gateway = try GatewayFixture(app: { app in
            if app.route.app == "desk" { app.sessionLimits = SessionLimits(lifetime: .seconds(60)) }
        })
        let session = try await gateway.session(of: .staff()).session
        gateway.clock.advance(by: 60)
        let now = gateway.clock.now
        #expect(gateway.runtime.routes.accepts(session, at: [ClientFixture.shop, ClientFixture.userinfo], now: now))
        #expect(!gateway.runtime.routes.accepts(session, at: [ClientFixture.shop, ClientFixture.desk], now: now))
        #expect(gateway.runtime.routes.route(withAudience: ClientFixture.desk)?.name == "desk")
        #expect(gateway.runtime.routes.route(withAudience: ClientFixture.userinfo) == nil)
    }

    @Test func `an app asks for a passkey at its front page, until the user has used one`() async throws {
        let gateway = try GatewayFixture(app: { app in
            guard app.route.app == "desk" else { return }
            var entry = AccessEntry(at: RulePlace(line: 1))
            entry.request = [.passkey(within: .seconds(60)), .method(["GET"])]
            app.route.access = .entries([entry])
        })
        let issued = try await gateway.session(of: .staff())
        let now = gateway.clock.now
        let audiences = [ClientFixture.shop, ClientFixture.desk]
        #expect(gateway.runtime.routes.needsPasskey(issued.session, for: audiences, nil, now: now))
        #expect(!gateway.runtime.routes.needsPasskey(issued.session, for: [ClientFixture.shop], nil, now: now))
        #expect(gateway.runtime.routes.needsPasskey(Profile.staff(), for: audiences, nil, now: now))
        _ = try await gateway.runtime.sessions.notePasskey("hwk", in: issued.ticket, at: now)
        let sessions = gateway.runtime.sessions
        let used = try #require(try await sessions.session(for: issued.ticket, host: GatewayFixture.gate, now: now))
        #expect(!gateway.runtime.routes.needsPasskey(used, for: audiences, nil, now: now))
        #expect(gateway.runtime.routes.needsPasskey(used, for: audiences, nil, now: now.advanced(by: .seconds(61))))
    }

    @Test func `a user who signs in at the moment has authenticated now`() throws {
        let gateway = try GatewayFixture()
        var route = Route(app: "notes", origin: gateway.runtime.hosts.publicOrigin, path: "/")
        route.providers = ["staff"]
        var entry = AccessEntry(at: RulePlace(line: 1))
        entry.request = [.authenticated(within: .seconds(1))]
        route.access = .entries([entry])
        let client = ClientSettings(id: "notes", kind: .native, route: route)
        let decision = client.decision(about: Profile.staff(), from: nil, now: gateway.clock.now)
        #expect(decision == .admitted(at: RulePlace(line: 1)))
        let guest = client.decision(about: Profile.guest, from: nil, now: gateway.clock.now)
        #expect(guest == .signInNeeded)
    }
}
