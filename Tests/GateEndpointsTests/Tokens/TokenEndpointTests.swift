// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateCore
import GateFixtures
import GateHTTP
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateRuntime

/// the endpoints that clients call themselves.
@Suite struct TokenEndpointTests {
    private func refresh(_ token: String, at fixture: ClientFixture) async throws -> JSON {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", token)]
        return try await fixture.post("token", fields, as: "relay").json
    }

    private func isActive(_ token: String, at fixture: ClientFixture) async throws -> Bool? {
        try await fixture.post("introspect", [("token", token)], as: "relay").json["active"]?.bool
    }

    //
    @Test func `RFC 7662 §2.2: only the latest refresh token is active`() async throws {
        let fixture = try ClientFixture()
        let first = try #require(try await fixture.tokens(of: "relay")["refresh_token"]?.string)
        #expect(try await self.isActive(first, at: fixture) == true)
        let second = try #require(try await self.refresh(first, at: fixture)["refresh_token"]?.string)
        #expect(try await self.isActive(first, at: fixture) == false)
        #expect(try await self.isActive(second, at: fixture) == true)
        let third = try #require(try await self.refresh(second, at: fixture)["refresh_token"]?.string)
        for (token, isActive) in [(first, false), (second, false), (third, true)] {
            #expect(try await self.isActive(token, at: fixture) == isActive)
        }
        // A used token ends the grant, and so the latest token.
        fixture.gateway.clock.advance(by: 61)
        #expect(try await self.refresh(second, at: fixture)["error"] == "invalid_grant")
        #expect(try await self.isActive(third, at: fixture) == false)
    }

    //
    @Test(arguments: [(0, 600), (400, 300), (699, 1)] as [(Int64, Int64)])
    func `no token outlives the lifetime of its client`(age: Int64, lifetime: Int64) async throws {
        let fixture = try ClientFixture(client: { if $0.id == "relay" { $0.lifetime = .seconds(700) } })
        let first = try await fixture.tokens(of: "relay")
        #expect(first["expires_in"]?.integer == 600)
        fixture.gateway.clock.advance(by: age)
        let next = try await self.refresh(try #require(first["refresh_token"]?.string), at: fixture)
        #expect(next["expires_in"]?.integer == lifetime)
        fixture.gateway.clock.advance(by: 700 - age)
        let late = try await self.refresh(try #require(next["refresh_token"]?.string), at: fixture)
        #expect(late["error"] == "invalid_grant")
    }

    // E-11
    @Test(arguments: ["token", "introspect", "revoke", "par", "device_authorization"])
    func `RFC 9110 §15.5.2: a client that does not prove to be itself is challenged`(endpoint: String) async throws {
        let fixture = try ClientFixture()
        let address = "https://\(GatewayFixture.gate)/oauth2/\(endpoint)"
        for body in ["", "client_id=absent", "client_id=relay", "client_id=relay&client_secret=x"] {
            let type = "Content-Type: application/x-www-form-urlencoded\r\n"
            let response = try await fixture.browser.open(address, method: "POST", body: body, type)
            #expect(response.status == 401 && response.json["error"] == "invalid_client", "\(body)")
            #expect(response.head.headerFields[.wwwAuthenticate] == "Basic realm=\"gatehouse\"")
        }
    }
}
