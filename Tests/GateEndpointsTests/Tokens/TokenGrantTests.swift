// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GateOperations
import GatePolicy
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateRuntime

private let gate = "https://gate.example.com"
private let tokenURL = "\(gate)/oauth2/token"

extension ClientFixture {
    /// The claims of a token, not verified.
    static func claims(_ token: JSON?) throws -> JSON {
        let part = try #require(token?.string?.split(separator: ".").dropFirst().first)
        return try JSON(parsing: try #require(Base64URL.decode(String(part))))
    }

    /// A code for the user of a new session, and that session.
    func code(
        for id: String = "notes",
        bound thumbprint: String? = nil,
        change: (inout AuthorizationCode.Terms) -> Void = { _ in }
    ) async throws -> (code: String, session: IssuedSession) {
        let session = try await self.gateway.session(of: .staff())
        var terms = AuthorizationCode.Terms(
            client: id,
            redirectURI: ClientFixture.redirectURI,
            challenge: ClientFixture.challenge
        )
        (terms.scopes, terms.audiences) = (["openid", "email"], [ClientFixture.shop, ClientFixture.userinfo])
        terms.keyThumbprint = thumbprint
        change(&terms)
        let (runtime, now) = (self.gateway.runtime, self.gateway.clock.now)
        let code = AuthorizationCode(for: terms, ticket: session.ticket, random: runtime.services.random, now: now)
        return (code.sealed(by: runtime.sealer), session)
    }

    func redeem(
        _ code: String,
        as id: String = "notes",
        _ more: [(String, String)] = [],
        _ lines: String = ""
    ) async throws -> Response {
        try await self.send(
            "token",
            [("grant_type", "authorization_code"), ("code", code), ("code_verifier", ClientFixture.verifier)] + more,
            as: id,
            lines
        )
    }

    func refresh(
        _ tokens: JSON,
        as id: String = "notes",
        _ more: [(String, String)] = [],
        _ lines: String = ""
    ) async throws -> Response {
        let token = tokens["refresh_token"]?.string ?? ""
        return try await self.send(
            "token",
            [("grant_type", "refresh_token"), ("refresh_token", token)] + more,
            as: id,
            lines
        )
    }

    /// The response to a form with further header lines.
    func send(_ name: String, _ fields: [(String, String)], as id: String, _ lines: String) async throws -> Response {
        var form = Form(fields.map { Form.Field($0.0, $0.1) } + [Form.Field("client_id", id)])
        if id != "notes" { form.append("client_secret", ClientFixture.secret(of: id)) }
        return try await self.browser.open(
            "\(gate)/oauth2/\(name)",
            method: "POST",
            body: form.encoded,
            "Content-Type: application/x-www-form-urlencoded\r\n\(lines)"
        )
    }

    func isActive(_ token: JSON?, of id: String = "relay") async throws -> Bool {
        try await self.post("introspect", [("token", token?.string ?? "")], as: id).json["active"] == true
    }

    func userinfo(_ token: JSON?, _ lines: String? = nil) async throws -> Response {
        let line = lines ?? "Authorization: Bearer \(token?.string ?? "")\r\n"
        return try await self.browser.open("\(gate)/oauth2/userinfo", line)
    }
}

/// Q-28: how clients get tokens.
@Suite struct TokenGrantTests {
    private func error(_ response: Response) -> String? { response.json["error"]?.string }

    // MARK: All of them

    @Test(arguments: ["token", "introspect", "revoke", "par", "device_authorization"])
    func `another body than a form is invalid_request, in JSON for pages of any origin`(name: String) async throws {
        let fixture = try ClientFixture()
        for type in ["text/plain", "application/json"] {
            let response = try await fixture.browser.open(
                "\(gate)/oauth2/\(name)",
                method: "POST",
                body: "client_id=notes",
                "Content-Type: \(type)\r\n"
            )
            #expect(response.status == 400 && self.error(response) == "invalid_request")
            let fields = response.head.headerFields
            #expect(fields[.cacheControl] == "no-store" && fields[.accessControlAllowOrigin] == "*")
            #expect(fields[.contentType] == "application/json" && fields[.wwwAuthenticate] == nil)
            #expect(response.json["incident"]?.string == response.rejection?.incident)
            #expect(response.rejection?.reason == .clientRejected)
        }
    }

    @Test(
        arguments: [
            ([], "invalid_request"), ([("grant_type", "password")], "unsupported_grant_type"),
            ([("grant_type", "authorization_code")], "invalid_request"),
            ([("grant_type", "refresh_token")], "invalid_request"),
            ([("grant_type", GrantType.deviceCode.rawValue)], "invalid_request"),
            ([("grant_type", "refresh_token"), ("refresh_token", "x")], "invalid_grant"),
            (
                [("grant_type", "authorization_code"), ("code", "x"), ("code_verifier", ClientFixture.verifier)],
                "invalid_grant"
            ),
            ([("grant_type", GrantType.deviceCode.rawValue), ("device_code", "x")], "invalid_grant"),
        ] as [([(String, String)], String)]
    )
    func `a request that is not complete or of none gets no token`(
        fields: [(String, String)],
        error: String
    ) async throws {
        let response = try await ClientFixture().post("token", fields)
        #expect(response.status == 400 && self.error(response) == error)
    }

    @Test(arguments: GrantType.allCases)
    func `a client uses only its own grants`(type: GrantType) async throws {
        let fixture = try ClientFixture(client: { $0.grants.remove(type) })
        #expect(try await self.error(fixture.post("token", [("grant_type", type.rawValue)])) == "unauthorized_client")
        let other = try ClientFixture(client: { $0.grants = [type] })
        #expect(try await self.error(other.post("token", [("grant_type", type.rawValue)])) == "invalid_request")
    }

    @Test func `a store that is down is 503, and the client may come back`() async throws {
        let fixture = try ClientFixture()
        let tokens = try await fixture.tokens()
        fixture.gateway.store.isDown = true
        let response = try await fixture.refresh(tokens)
        #expect(response.status == 503 && self.error(response) == "temporarily_unavailable")
        #expect(
            response.head.headerFields[.retryAfter] == "2" && response.rejection?.reason == .sessionStoreUnavailable
        )
        let info = try await fixture.userinfo(tokens["access_token"])
        #expect(info.status == 503 && self.error(info) == "temporarily_unavailable")
        fixture.gateway.store.isDown = false
        #expect(try await fixture.refresh(tokens).status == 200)
    }

    // MARK: Codes

    @Test func `RFC 6749 §4.1.4: a code gets tokens for what was granted`() async throws {
        let lines = LogLines()
        let fixture = try ClientFixture(log: RequestLog(logger: lines.logger))
        let response = try await fixture.redeem(try await fixture.code { $0.nonce = "n" }.code)
        #expect(response.status == 200 && response.head.headerFields[.cacheControl] == "no-store")
        #expect(response.head.headerFields[.accessControlAllowOrigin] == "*")
        let tokens = response.json
        #expect(tokens["token_type"] == "Bearer" && tokens["expires_in"] == 600 && tokens["scope"] == "openid email")
        let access = try ClientFixture.claims(tokens["access_token"])
        #expect(access["aud"] == [.string(ClientFixture.shop), .string(ClientFixture.userinfo)])
        #expect(access["client_id"] == "notes" && access["sub"] == "staff:ada" && access["cnf"] == nil)
        let identity = try ClientFixture.claims(tokens["id_token"])
        #expect(identity["nonce"] == "n" && identity["aud"] == "notes" && identity["email"] == "ada@example.org")
        #expect(lines.all.contains { $0.message == "client signed in" && $0.values["client"] == "notes" })
        let plain = try await fixture.redeem(try await fixture.code { $0.scopes = ["email"] }.code).json
        #expect(plain["id_token"] == nil && plain["access_token"] != nil)
    }

    @Test func `a client that may not refresh gets no refresh token`() async throws {
        let fixture = try ClientFixture(client: { $0.grants = [.authorizationCode] })
        let tokens = try await fixture.redeem(try await fixture.code().code).json
        #expect(tokens["access_token"] != nil && tokens["refresh_token"] == nil)
    }

    @Test func `RFC 6749 §4.1.2: a code that comes twice ends what it has led to`() async throws {
        let fixture = try ClientFixture()
        let code = try await fixture.code(for: "relay").code
        let tokens = try await fixture.redeem(code, as: "relay").json
        #expect(try await fixture.isActive(tokens["access_token"]))
        fixture.gateway.clock.advance(by: 1)
        #expect(try await self.error(fixture.redeem(code, as: "relay")) == "invalid_grant")
        #expect(try await !fixture.isActive(tokens["access_token"]))
        #expect(try await self.error(fixture.refresh(tokens, as: "relay")) == "invalid_grant")
    }

    @Test func `a code is for its client, its session, a minute, and its verifier`() async throws {
        let fixture = try ClientFixture()
        #expect(try await self.error(fixture.redeem(try await fixture.code().code, as: "relay")) == "invalid_grant")
        let (code, session) = try await fixture.code()
        _ = try await fixture.gateway.runtime.sessions.end(session.ticket)
        #expect(try await self.error(fixture.redeem(code)) == "invalid_grant")
        let late = try await fixture.code().code
        fixture.gateway.clock.advance(by: 60)
        #expect(try await self.error(fixture.redeem(late)) == "invalid_grant")
        let other = try await fixture.code { $0.challenge = String(repeating: "A", count: 43) }.code
        #expect(try await self.error(fixture.redeem(other)) == "invalid_grant")
        let moved = try await fixture.code().code
        #expect(
            try await self.error(fixture.redeem(moved, [("redirect_uri", "https://evil.example/")])) == "invalid_grant"
        )
    }

    @Test func `tokens that cannot be given leave no session of the client`() async throws {
        let fixture = try ClientFixture(app: { $0.route.access = .entries([]) })
        let code = try await fixture.code { $0.audiences = [ClientFixture.shop] }.code
        #expect(try await self.error(fixture.redeem(code)) == "invalid_target")
        #expect(fixture.gateway.store.calls.suffix(2).contains("remove"))
    }

    @Test(arguments: ["denied", "signIn", "passkey", "app"])
    func `the rules of the client are asked before tokens are given`(rule: String) async throws {
        let fixture = try ClientFixture(client: { client in
            var entry = AccessEntry(at: RulePlace(line: 1))
            switch rule {
            case "denied": entry.email = EmailAddress("eve@example.org")
            case "signIn": entry.request = [.authenticated(within: .seconds(60))]
            case "passkey": entry.request = [.passkey(within: nil)]
            default: client.route.publicRules = [PublicRule(method: nil, path: "/")]
            }
            client.route.access = .entries([entry])
        })
        let response = try await fixture.redeem(try await fixture.code().code)
        #expect(self.error(response) == (rule == "app" ? "server_error" : "invalid_grant"))
        #expect(response.status == (rule == "app" ? 500 : 400))
    }

    // MARK: Refresh tokens

    @Test func `RFC 6749 §6: a refresh may ask for less, and the next one has all again`() async throws {
        let fixture = try ClientFixture()
        let tokens = try await fixture.tokens()
        let less = try await fixture.refresh(tokens, [("scope", "email"), ("resource", ClientFixture.desk)])
        #expect(less.json["scope"] == "email" && less.json["id_token"] == nil)
        #expect(try ClientFixture.claims(less.json["access_token"])["aud"] == .string(ClientFixture.desk))
        let all = try await fixture.refresh(less.json).json
        #expect(all["scope"] == "openid email")
        #expect(try ClientFixture.claims(all["access_token"])["aud"]?.array?.count == 3)
        for (field, value, error) in [
            ("scope", "groups", "invalid_scope"), ("scope", "", "invalid_scope"),
            ("resource", "https://evil.example", "invalid_target"),
        ] {
            #expect(try await self.error(fixture.refresh(all, [(field, value)])) == error)
        }
        #expect(try await fixture.refresh(all).status == 200, "a refresh that was rejected uses up no token")
    }

    @Test func `a refresh that is rejected uses up no token, also when the grace for a lost response is over`()
        async throws
    {
        let fixture = try ClientFixture()
        let (key, now) = (ProofKey(), fixture.gateway.clock.now)
        let code = try await fixture.code(bound: key.thumbprint).code
        let tokens = try await fixture.redeem(code, [], try key.line("POST", tokenURL, at: now)).json
        let other = try ProofKey().line("POST", tokenURL, at: now)
        #expect(try await self.error(fixture.refresh(tokens, [], other)) == "invalid_grant")
        let own = try key.line("POST", tokenURL, at: now)
        #expect(try await self.error(fixture.refresh(tokens, [("scope", "groups")], own)) == "invalid_scope")
        let grace = SessionManager.rotationGrace.wholeSeconds
        fixture.gateway.clock.advance(by: grace + 1)
        let later = try key.line("POST", tokenURL, at: fixture.gateway.clock.now)
        #expect(try await fixture.refresh(tokens, [], later).status == 200)
    }

    @Test func `RFC 9700 §4.14.2: a token that was used before ends the sign-in of the client`() async throws {
        let lines = LogLines()
        let fixture = try ClientFixture(log: RequestLog(logger: lines.logger))
        let first = try await fixture.tokens(of: "relay")
        let second = try await fixture.refresh(first, as: "relay").json
        #expect(try await fixture.refresh(first, as: "relay").json["refresh_token"] == second["refresh_token"])
        let third = try await fixture.refresh(second, as: "relay").json
        #expect(try await self.error(fixture.refresh(first, as: "relay")) == "invalid_grant")
        #expect(lines.all.contains { $0.message == "refresh token reused" && $0.values["client"] == "relay" })
        #expect(try await self.error(fixture.refresh(third, as: "relay")) == "invalid_grant")
        #expect(try await !fixture.isActive(third["access_token"]))
    }

    @Test func `a refresh token is for its client`() async throws {
        let fixture = try ClientFixture()
        let tokens = try await fixture.tokens(of: "relay")
        for id in ["store", "notes"] {
            #expect(try await self.error(fixture.refresh(tokens, as: id)) == "invalid_grant")
        }
        #expect(try await fixture.refresh(tokens, as: "relay").status == 200)
    }

    // Q-06
    @Test func `Q-06: an app that was removed from the client is in no token of earlier grants`() async throws {
        let fixture = try ClientFixture()
        let tokens = try await fixture.tokens()
        let later = try ClientFixture(sharing: fixture, client: { $0.audiences = ["shop"] })
        #expect(try await self.error(later.refresh(tokens, [("resource", ClientFixture.desk)])) == "invalid_target")
        let next = try await later.refresh(tokens).json
        let audiences: JSON = [.string(ClientFixture.shop), .string(ClientFixture.userinfo)]
        #expect(try ClientFixture.claims(next["access_token"])["aud"] == audiences)
        let none = try ClientFixture(sharing: fixture, client: { $0.audiences = [] })
        let left = try await none.refresh(next).json
        #expect(try ClientFixture.claims(left["access_token"])["aud"] == .string(ClientFixture.userinfo))
    }

    @Test func `apps that the user may not enter by now are left out, and with none there is no token`() async throws {
        let fixture = try ClientFixture()
        let tokens = try await fixture.tokens(for: [ClientFixture.shop, ClientFixture.desk])
        let one = try ClientFixture(
            sharing: fixture,
            app: { if $0.route.app == "desk" { $0.route.access = .entries([]) } }
        )
        let next = try await one.refresh(tokens).json
        #expect(try ClientFixture.claims(next["access_token"])["aud"] == .string(ClientFixture.shop))
        let none = try ClientFixture(sharing: fixture, app: { $0.route.access = .entries([]) })
        #expect(try await self.error(none.refresh(next)) == "invalid_target")
        #expect(try await fixture.refresh(next).status == 200, "later the user may be admitted again")
    }

    @Test(arguments: [(119, true), (120, false)] as [(Int64, Bool)])
    func `a sign-in that no app of the token accepts any more is refreshed no more`(
        age: Int64,
        isGood: Bool
    ) async throws {
        let fixture = try ClientFixture()
        let tokens = try await fixture.tokens(for: [ClientFixture.shop, ClientFixture.desk])
        let both = try ClientFixture(
            sharing: fixture,
            app: { $0.sessionLimits = SessionLimits(lifetime: .seconds(120)) }
        )
        let one = try ClientFixture(
            sharing: fixture,
            app: { if $0.route.app == "desk" { $0.sessionLimits = SessionLimits(lifetime: .seconds(120)) } }
        )
        fixture.gateway.clock.advance(by: age)
        #expect(try await self.error(both.refresh(tokens)) == (isGood ? nil : "invalid_grant"))
        #expect(try await one.refresh(tokens).status == 200)
    }

    @Test func `a sign-out ends what clients have got in the session`() async throws {
        let fixture = try ClientFixture()
        let tokens = try await fixture.tokens(of: "relay")
        _ = try await fixture.gateway.runtime.sessions.endAll(of: .staff())
        #expect(try await self.error(fixture.refresh(tokens, as: "relay")) == "invalid_grant")
        #expect(try await !fixture.isActive(tokens["access_token"]))
        #expect(try await fixture.userinfo(tokens["access_token"]).status == 401)
    }

    // MARK: Keys of clients

    @Test func `RFC 9449 §5: tokens are bound to the key that a client proves`() async throws {
        let fixture = try ClientFixture()
        let (key, other) = (ProofKey(), ProofKey())
        let now = fixture.gateway.clock.now
        let code = try await fixture.code(bound: key.thumbprint).code
        #expect(try await self.error(fixture.redeem(code)) == "invalid_grant")
        let wrong = try other.line("POST", tokenURL, at: now)
        #expect(try await self.error(fixture.redeem(code, [], wrong)) == "invalid_grant")
        let tokens = try await fixture.redeem(code, [], try key.line("POST", tokenURL, at: now)).json
        #expect(tokens["token_type"] == "DPoP")
        #expect(try ClientFixture.claims(tokens["access_token"])["cnf"]?["jkt"] == .string(key.thumbprint))
        #expect(try await self.error(fixture.refresh(tokens)) == "invalid_dpop_proof")
        #expect(try await self.error(fixture.refresh(tokens, [], wrong)) == "invalid_grant")
        for line in [
            try key.line("GET", tokenURL, at: now), try key.line("POST", "\(gate)/oauth2/par", at: now),
            try key.line("POST", tokenURL, at: now) + (try key.line("POST", tokenURL, at: now)), "DPoP: x\r\n",
        ] {
            #expect(try await self.error(fixture.refresh(tokens, [], line)) == "invalid_dpop_proof")
        }
        #expect(try await fixture.refresh(tokens, [], try key.line("POST", tokenURL, at: now)).status == 200)
    }

    @Test func `RFC 9449 §5: refresh tokens of a client with a secret are bound to no key`() async throws {
        let fixture = try ClientFixture()
        let now = fixture.gateway.clock.now
        let line = try ProofKey().line("POST", tokenURL, at: now)
        let tokens = try await fixture.redeem(try await fixture.code(for: "relay").code, as: "relay", [], line).json
        #expect(tokens["token_type"] == "DPoP")
        #expect(try await fixture.refresh(tokens, as: "relay").json["token_type"] == "Bearer")
    }

    @Test func `a client that must prove a key gets no token without`() async throws {
        let fixture = try ClientFixture(client: { $0.requiresDPoP = true })
        #expect(try await self.error(fixture.redeem(try await fixture.code().code)) == "invalid_dpop_proof")
        let line = try ProofKey().line("POST", tokenURL, at: fixture.gateway.clock.now)
        #expect(try await fixture.redeem(try await fixture.code().code, [], line).status == 200)
    }

    // MARK: Devices

    private func begin(_ fixture: ClientFixture, _ more: [(String, String)] = []) async throws -> JSON {
        try await fixture.post("device_authorization", [("scope", "openid")] + more).json
    }

    private func poll(
        _ device: JSON,
        _ fixture: ClientFixture,
        as id: String = "notes",
        _ lines: String = ""
    ) async throws -> Response {
        let fields = [
            ("grant_type", GrantType.deviceCode.rawValue), ("device_code", device["device_code"]?.string ?? ""),
        ]
        return try await fixture.send("token", fields, as: id, lines)
    }

    private func decide(_ device: JSON, _ fixture: ClientFixture, isAllowed: Bool = true) async throws -> IssuedSession
    {
        let session = try await fixture.gateway.session(of: .staff())
        let code = try #require(device["user_code"]?.string.flatMap { UserCode($0) })
        let ticket = isAllowed ? session.ticket : nil
        let sessions = fixture.gateway.runtime.sessions
        #expect(try await sessions.decideDevice(code, by: ticket, now: fixture.gateway.clock.now) != nil)
        return session
    }

    @Test func `RFC 8628 §3.2: a device learns its codes, where to go, and how often to ask`() async throws {
        let fixture = try ClientFixture()
        let device = try await self.begin(fixture)
        let code = try #require(device["user_code"]?.string)
        #expect(device["verification_uri"] == .string("\(gate)/oauth2/device"))
        #expect(device["verification_uri_complete"] == .string("\(gate)/oauth2/device?user_code=\(code)"))
        #expect(device["expires_in"] == 600 && device["interval"] == 5)
        let closed = try ClientFixture(client: { $0.grants = [.refreshToken] })
        let response = try await closed.post("device_authorization", [])
        #expect(response.status == 400 && self.error(response) == "unauthorized_client")
        #expect(try await self.begin(fixture, [("resource", "https://evil.example")])["error"] == "invalid_target")
    }

    @Test func `RFC 8628 §3.5: a device waits for the user, and has to slow down`() async throws {
        let fixture = try ClientFixture()
        let device = try await self.begin(fixture)
        #expect(try await self.error(self.poll(device, fixture)) == "authorization_pending")
        #expect(try await self.error(self.poll(device, fixture)) == "slow_down")
        let other = try await self.begin(fixture)
        #expect(try await self.error(self.poll(other, fixture)) == "authorization_pending")
        _ = try await self.decide(device, fixture)
        let tokens = try await self.poll(device, fixture)
        #expect(tokens.status == 200 && tokens.json["scope"] == "openid" && tokens.json["id_token"] != nil)
        #expect(try await self.error(self.poll(device, fixture)) == "invalid_grant")
    }

    @Test func `a device code is for its client and ten minutes, and what the user rejects gets nothing`() async throws
    {
        let fixture = try ClientFixture()
        let device = try await self.begin(fixture)
        _ = try await self.decide(device, fixture)
        #expect(try await self.error(self.poll(device, fixture, as: "relay")) == "invalid_grant")
        fixture.gateway.clock.advance(by: 599)
        #expect(try await self.poll(device, fixture).status == 200)
        let late = try await self.begin(fixture)
        _ = try await self.decide(late, fixture)
        fixture.gateway.clock.advance(by: 600)
        #expect(try await self.error(self.poll(late, fixture)) == "expired_token")
        let rejected = try await self.begin(fixture)
        _ = try await self.decide(rejected, fixture, isAllowed: false)
        #expect(try await self.error(self.poll(rejected, fixture)) == "access_denied")
        let ended = try await self.begin(fixture)
        let session = try await self.decide(ended, fixture)
        _ = try await fixture.gateway.runtime.sessions.end(session.ticket)
        #expect(try await self.error(self.poll(ended, fixture)) == "expired_token")
    }

    @Test func `the tokens of a device are bound to the key that it proves`() async throws {
        let fixture = try ClientFixture()
        let device = try await self.begin(fixture)
        _ = try await self.decide(device, fixture)
        let key = ProofKey()
        let line = try key.line("POST", tokenURL, at: fixture.gateway.clock.now)
        let tokens = try await self.poll(device, fixture, as: "notes", line).json
        #expect(tokens["token_type"] == "DPoP")
        #expect(try ClientFixture.claims(tokens["access_token"])["cnf"]?["jkt"] == .string(key.thumbprint))
        #expect(try await self.error(fixture.refresh(tokens)) == "invalid_dpop_proof")
    }

    @Test func `thirty devices of a network begin in a minute, at all gateways together`() async throws {
        let fixture = try ClientFixture()
        fixture.browser.client = IPAddress("192.0.2.1")
        for _ in 0..<DeviceLimiter.beginsPerClient { #expect(try await self.begin(fixture)["user_code"] != nil) }
        let later = try ClientFixture(sharing: fixture)
        later.browser.client = IPAddress("192.0.2.1")
        for gateway in [fixture, later] {
            let response = try await gateway.post("device_authorization", [])
            #expect(response.status == 503 && self.error(response) == "temporarily_unavailable")
        }
        later.browser.client = IPAddress("198.51.100.1")
        #expect(try await self.begin(later)["user_code"] != nil)
    }

    @Test func `a gateway counts the devices of a network that begin by its own clock as well`() async throws {
        let fixture = try ClientFixture()
        fixture.browser.client = IPAddress("192.0.2.1")
        // More than the limit, since a slow machine earns some; the count of all gateways begins again with each minute.
        var admitted = 0
        while try await self.begin(fixture)["user_code"] != nil, admitted < 10 * DeviceLimiter.beginsPerClient {
            admitted += 1
            fixture.gateway.clock.advance(by: 60)
        }
        #expect((DeviceLimiter.beginsPerClient..<(10 * DeviceLimiter.beginsPerClient)).contains(admitted))
    }

    // MARK: Pushed requests and registrations

    @Test func `RFC 9126 §2.2: a pushed request gets a reference, a wrong one the error that it would get`()
        async throws
    {
        let fixture = try ClientFixture()
        let fields = [
            ("response_type", "code"), ("redirect_uri", ClientFixture.redirectURI),
            ("code_challenge", ClientFixture.challenge), ("code_challenge_method", "S256"),
        ]
        let response = try await fixture.post("par", fields)
        #expect(response.status == 201 && response.json["expires_in"] == 90)
        #expect(response.json["request_uri"]?.string?.hasPrefix("urn:ietf:params:oauth:request_uri:") == true)
        #expect(try await self.error(fixture.post("par", Array(fields.dropFirst()))) == "invalid_request")
        let key = ProofKey()
        let line = try key.line("POST", "\(gate)/oauth2/par", at: fixture.gateway.clock.now)
        let other = [("dpop_jkt", ProofKey().thumbprint)]
        #expect(try await self.error(fixture.send("par", fields + other, as: "notes", line)) == "invalid_dpop_proof")
        #expect(try await fixture.send("par", fields + [("dpop_jkt", key.thumbprint)], as: "notes", line).status == 201)
    }

    private func open() throws -> ClientFixture {
        var open = OpenClients()
        open.dynamic = true
        return try ClientFixture(open: open)
    }

    private func register(
        _ fixture: ClientFixture,
        _ body: String,
        _ type: String = "application/json"
    ) async throws -> Response {
        try await fixture.browser.open(
            "\(gate)/oauth2/register",
            method: "POST",
            body: body,
            "Content-Type: \(type)\r\n"
        )
    }

    private static let metadata =
        #"{"redirect_uris":["https://app.example.net/cb"],"client_name":"Tool","token_endpoint_auth_method":"client_secret_basic"}"#

    @Test func `RFC 7591 §3.2.1: a client that registers itself has no secret, whatever it asks for`() async throws {
        let fixture = try self.open()
        let response = try await self.register(fixture, Self.metadata)
        #expect(response.status == 201 && response.head.headerFields[.cacheControl] == "no-store")
        let json = response.json
        #expect(json["token_endpoint_auth_method"] == "none" && json["client_secret"] == nil)
        #expect(json["grant_types"] == ["authorization_code", "refresh_token"] && json["response_types"] == ["code"])
        #expect(json["redirect_uris"] == ["https://app.example.net/cb"] && json["client_name"] == "Tool")
        #expect(json["client_id_issued_at"] == .int(fixture.gateway.clock.now.seconds))
        for (body, type, error) in [
            (Self.metadata, "text/plain", "invalid_client_metadata"),
            ("[]", "application/json", "invalid_client_metadata"),
            (#"{"redirect_uris":["http://app.example.net/cb"]}"#, "application/json", "invalid_redirect_uri"),
        ] {
            let wrong = try await self.register(fixture, body, type)
            #expect(wrong.status == 400 && self.error(wrong) == error)
        }
    }

    @Test func `a network registers as many clients as it may sign in, at all gateways together`() async throws {
        let fixture = try self.open()
        fixture.browser.client = IPAddress("192.0.2.1")
        for _ in 0..<fixture.gateway.runtime.limits.signIns.perMinute {
            #expect(try await self.register(fixture, Self.metadata).status == 201)
        }
        var open = OpenClients()
        open.dynamic = true
        let later = try ClientFixture(sharing: fixture, open: open)
        later.browser.client = IPAddress("192.0.2.1")
        for gateway in [fixture, later] {
            let response = try await self.register(gateway, Self.metadata)
            #expect(response.status == 429 && response.code == "signin.too_often")
        }
        later.browser.client = IPAddress("198.51.100.1")
        #expect(try await self.register(later, Self.metadata).status == 201)
    }

    @Test func `a gateway counts the registrations of a network by its own clock as well`() async throws {
        let fixture = try self.open()
        fixture.browser.client = IPAddress("192.0.2.1")
        let limit = fixture.gateway.runtime.limits.signIns.perMinute
        var admitted = 0
        while try await self.register(fixture, Self.metadata).status == 201, admitted < 10 * limit {
            admitted += 1
            fixture.gateway.clock.advance(by: 60)
        }
        #expect((limit..<(10 * limit)).contains(admitted))
    }
}
