// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateCore
import GateFixtures
import GateHTTP
import GatePolicy
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateRuntime

private let gate = "https://gate.example.com"
private let infoURL = "\(gate)/oauth2/userinfo"

/// what tokens are worth at the gateway itself.
@Suite struct TokenUseTests {
    // MARK: Userinfo

    @Test func `OIDC Core §5.3: a token with openid gets the claims of its scopes`() async throws {
        let fixture = try ClientFixture()
        let tokens = try await fixture.tokens()
        let response = try await fixture.userinfo(tokens["access_token"])
        #expect(response.status == 200 && response.json["sub"] == "staff:ada")
        #expect(response.json["email"] == "ada@example.org" && response.json["name"] == nil)
        #expect(response.head.headerFields[.cacheControl] == "no-store")
        #expect(response.head.headerFields[.accessControlAllowOrigin] == "*")
        let less = try await fixture.refresh(tokens, [("scope", "openid")]).json
        #expect(try await fixture.userinfo(less["access_token"]).json["email"] == nil)
        let none = try await fixture.refresh(less, [("scope", "email")]).json
        let rejected = try await fixture.userinfo(none["access_token"])
        #expect(rejected.status == 403 && rejected.json["error"] == "insufficient_scope")
        #expect(
            rejected.head.headerFields[.wwwAuthenticate]?.hasPrefix(
                "Bearer realm=\"gatehouse\", error=\"insufficient_scope\""
            ) == true
        )
    }

    @Test func `RFC 9068 §4: a token for an app alone is not valid at userinfo`() async throws {
        let fixture = try ClientFixture()
        let tokens = try await fixture.tokens(for: [ClientFixture.shop, ClientFixture.userinfo])
        let app = try await fixture.refresh(tokens, [("resource", ClientFixture.shop)]).json
        let response = try await fixture.userinfo(app["access_token"])
        #expect(response.status == 401 && response.json["error"] == "invalid_token")
    }

    @Test(arguments: ["Bearer", "Bearer x", "Basic x", "bearer  x", "DPoP x", "x"])
    func `RFC 6750 §3: an invalid token is 401 with a challenge`(value: String) async throws {
        let response = try await ClientFixture().userinfo(nil, "Authorization: \(value)\r\n")
        #expect(response.status == 401 && response.json["error"] == "invalid_token")
        let challenge = response.head.headerFields[.wwwAuthenticate]
        #expect(
            challenge?.hasPrefix("Bearer realm=\"gatehouse\", error=\"invalid_token\", error_description=\"") == true
        )
    }

    @Test(arguments: [(599, 200), (600, 401)] as [(Int64, Int)])
    func `a token is valid for its lifetime`(seconds: Int64, status: Int) async throws {
        let fixture = try ClientFixture()
        let tokens = try await fixture.tokens()
        fixture.gateway.clock.advance(by: seconds)
        #expect(try await fixture.userinfo(tokens["access_token"]).status == status)
    }

    @Test func `the scheme may be in any letter case, and a changed token is not valid`() async throws {
        let fixture = try ClientFixture()
        let token = try #require(try await fixture.tokens()["access_token"]?.string)
        #expect(try await fixture.userinfo(nil, "Authorization: bEARER \(token)\r\n").status == 200)
        #expect(try await fixture.userinfo(nil, "Authorization: DPoP \(token)\r\n").status == 401)
        #expect(try await fixture.userinfo(nil, "Authorization: Bearer \(token.dropLast(3))AAA\r\n").status == 401)
    }

    @Test func `RFC 9449 §7: a token that is bound to a key comes with a proof of it, made for this request`()
        async throws
    {
        let fixture = try ClientFixture()
        let (key, now) = (ProofKey(), fixture.gateway.clock.now)
        let proof = try key.line("POST", "\(gate)/oauth2/token", at: now)
        let tokens = try await fixture.redeem(try await fixture.code().code, [], proof).json
        let token = try #require(tokens["access_token"]?.string)
        let bound = "Authorization: DPoP \(token)\r\n"
        let good = try key.line("GET", infoURL, beside: token, at: now)
        for (lines, error) in [
            ("Authorization: Bearer \(token)\r\n\(good)", "invalid_token"), (bound, "invalid_dpop_proof"),
            (bound + (try ProofKey().line("GET", infoURL, beside: token, at: now)), "invalid_token"),
            (bound + (try key.line("GET", infoURL, at: now)), "invalid_dpop_proof"),
            (bound + (try key.line("GET", infoURL, beside: "x", at: now)), "invalid_dpop_proof"),
            (bound + (try key.line("POST", infoURL, beside: token, at: now)), "invalid_dpop_proof"),
        ] {
            let response = try await fixture.userinfo(nil, lines)
            #expect(response.status == 401 && response.json["error"]?.string == error, "\(lines.prefix(25))")
            let challenge = response.head.headerFields[.wwwAuthenticate] ?? ""
            #expect(challenge.hasPrefix(lines.contains("DPoP: ") ? "DPoP algs=\"ES256 EdDSA\"" : "Bearer realm="))
        }
        #expect(try await fixture.userinfo(nil, bound + good).status == 200)
        let again = try await fixture.userinfo(nil, bound + good)
        #expect(again.status == 401 && again.json["error"] == "invalid_dpop_proof", "a proof works once")
    }

    @Test func `a token of a client that was removed, or that denies the user by now, is worth nothing`() async throws {
        let fixture = try ClientFixture()
        let token = try await fixture.tokens()["access_token"]
        let gone = try ClientFixture(without: ["notes"], sharing: fixture)
        #expect(try await gone.userinfo(token).status == 401)
        let closed = try ClientFixture(sharing: fixture, client: { $0.route.access = .entries([]) })
        #expect(try await closed.userinfo(token).status == 401)
        #expect(try await !closed.isActive(token))
        #expect(try await fixture.userinfo(token).status == 200)
    }

    // MARK: Introspection

    @Test func `RFC 7662 §2.2: a service learns of its own tokens, and of those for its apps`() async throws {
        let fixture = try ClientFixture(client: { if $0.id == "store" { $0.audiences = ["desk"] } })
        let tokens = try await fixture.tokens(for: [ClientFixture.shop, ClientFixture.userinfo])
        let token = try #require(tokens["access_token"]?.string)
        let facts = try await fixture.post("introspect", [("token", token)], as: "relay").json
        #expect(facts["active"] == true && facts["client_id"] == "notes" && facts["sub"] == "staff:ada")
        #expect(facts["iss"] == .string(gate) && facts["token_type"] == "Bearer" && facts["scope"] == "openid email")
        #expect(facts["aud"] == [.string(ClientFixture.shop), .string(ClientFixture.userinfo)])
        let now = fixture.gateway.clock.now.seconds
        #expect(
            facts["iat"] == .int(now) && facts["exp"] == .int(now + 600) && facts["cnf"] == nil && facts["act"] == nil
        )
        let other = try await fixture.post("introspect", [("token", token)], as: "store").json
        #expect(other == ["active": false], "its app is not one of the token")
        let own = try await fixture.tokens(of: "store", for: [ClientFixture.userinfo])
        #expect(try await fixture.isActive(own["access_token"], of: "store"))
        #expect(try await !fixture.isActive(own["access_token"], of: "relay"))
    }

    @Test func `refresh tokens are shown to their client only`() async throws {
        let fixture = try ClientFixture()
        let tokens = try await fixture.tokens(of: "relay")
        let token = try #require(tokens["refresh_token"]?.string)
        let facts = try await fixture.post("introspect", [("token", token)], as: "relay").json
        #expect(facts["active"] == true && facts["token_type"] == "refresh_token" && facts["client_id"] == "relay")
        #expect(facts["exp"] == nil && facts["sub"] == "staff:ada")
        #expect(try await !fixture.isActive(tokens["refresh_token"], of: "store"))
        let closed = try ClientFixture(sharing: fixture, client: { $0.route.access = .entries([]) })
        #expect(try await !closed.isActive(tokens["refresh_token"]))
    }

    @Test func `clients without a secret ask about no token, and a request has one`() async throws {
        let fixture = try ClientFixture()
        let token = try #require(try await fixture.tokens()["access_token"]?.string)
        let response = try await fixture.post("introspect", [("token", token)])
        #expect(response.status == 400 && response.json["error"] == "unauthorized_client")
        let missing = try await fixture.post("introspect", [], as: "relay")
        #expect(missing.status == 400 && missing.json["error"] == "invalid_request")
        #expect(try await fixture.post("introspect", [("token", "x")], as: "relay").json == ["active": false])
    }

    @Test func `the facts about a bound and an exchanged token name the key and who acts`() async throws {
        let fixture = try ClientFixture()
        let (key, now) = (ProofKey(), fixture.gateway.clock.now)
        let proof = try key.line("POST", "\(gate)/oauth2/token", at: now)
        let bound = try await fixture.redeem(try await fixture.code().code, [], proof).json
        let token = try #require(bound["access_token"]?.string)
        let facts = try await fixture.post("introspect", [("token", token)], as: "relay").json
        #expect(facts["token_type"] == "DPoP" && facts["cnf"]?["jkt"] == .string(key.thumbprint))
        let exchanged = try await fixture.chain().second
        let acted = try await fixture.post("introspect", [("token", exchanged)], as: "relay").json
        #expect(acted["act"]?["sub"] == "relay" && acted["client_id"] == "relay")
    }

    // MARK: Revocation

    @Test(arguments: ["access_token", "refresh_token"])
    func `RFC 7009 §2: a client gives back its own tokens`(name: String) async throws {
        let fixture = try ClientFixture()
        let tokens = try await fixture.tokens(of: "relay")
        let token = try #require(tokens[name]?.string)
        for id in ["store", "notes"] {
            let other = try await fixture.post("revoke", [("token", token)], as: id)
            #expect(other.status == 200 && other.json == [:])
        }
        #expect(try await fixture.isActive(tokens["access_token"]))
        let response = try await fixture.post("revoke", [("token", token)], as: "relay")
        #expect(response.status == 200 && response.json == [:])
        #expect(try await !fixture.isActive(tokens["access_token"]))
        #expect(try await fixture.refresh(tokens, as: "relay").status == 400)
        #expect(try await fixture.post("revoke", [("token", "x")], as: "relay").status == 200)
        #expect(try await fixture.post("revoke", [], as: "relay").json["error"] == "invalid_request")
    }

    @Test func `the session of the user goes on when a client gives its tokens back`() async throws {
        let fixture = try ClientFixture()
        let (code, session) = try await fixture.code()
        let tokens = try await fixture.redeem(code).json
        _ = try await fixture.post("revoke", [("token", tokens["refresh_token"]?.string ?? "")])
        let sessions = fixture.gateway.runtime.sessions
        let now = fixture.gateway.clock.now
        #expect(try await sessions.session(for: session.ticket, host: GatewayFixture.gate, now: now) != nil)
        #expect(try await fixture.refresh(tokens).status == 400)
    }
}
