// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateConfiguration
import GateCore
import GateFixtures
import GatePolicy
import GateSessions
import GateTestSupport
import Testing

@testable import GateIngress
@testable import GateRuntime

/// What exchanged tokens come from, and with what they end; RFC 8693.
@Suite struct TokenExchangeEndpointTests {
    private func isActive(_ token: String, of id: String, at fixture: ClientFixture) async throws -> Bool {
        try await fixture.post("introspect", [("token", token)], as: id).json["active"]?.bool == true
    }

    /// What userinfo responds to a token.
    private func userinfo(_ token: String, at fixture: ClientFixture) async throws -> Int {
        let address = "https://\(GatewayFixture.gate)/oauth2/userinfo"
        return try await fixture.browser.open(address, "Authorization: Bearer \(token)\r\n").status
    }

    // E-01
    @Test func `a token that was exchanged twice ends with the grant that it came from`() async throws {
        let fixture = try ClientFixture()
        let tokens = try await fixture.chain()
        #expect(try await fixture.verdict(on: tokens.third) == "forwarded to desk")
        #expect(try await self.isActive(tokens.third, of: "store", at: fixture))
        #expect(try await self.userinfo(tokens.third, at: fixture) == 200)
        #expect(try await fixture.post("revoke", [("token", tokens.first)]).status == 200)
        fixture.gateway.loop.sessions.adopt { _ in false }
        for token in [tokens.first, tokens.second, tokens.third] {
            #expect(try await fixture.verdict(on: token) == "refused token.rejected")
            #expect(try await self.userinfo(token, at: fixture) == 401)
        }
        #expect(try await !self.isActive(tokens.third, of: "store", at: fixture))
        #expect(try await fixture.exchange(tokens.third, by: "relay").status == 400)
    }

    // E-01
    @Test func `the token of the middle of a chain ends what comes after it only`() async throws {
        let fixture = try ClientFixture()
        let tokens = try await fixture.chain()
        #expect(try await fixture.post("revoke", [("token", tokens.second)], as: "relay").status == 200)
        #expect(try await fixture.verdict(on: tokens.first) == "forwarded to desk")
        #expect(try await fixture.verdict(on: tokens.second) == "refused token.rejected")
        #expect(try await fixture.verdict(on: tokens.third) == "refused token.rejected")
    }

    // E-01
    @Test(arguments: ["notes", "relay"])
    func `a client that is removed from the file ends what its tokens were exchanged for`(gone: String) async throws {
        let fixture = try ClientFixture()
        let token = try await fixture.chain().third
        let later = try ClientFixture(without: [gone], sharing: fixture)
        #expect(try await later.verdict(on: token) == "refused token.rejected")
        #expect(try await !self.isActive(token, of: "store", at: later))
        #expect(try await self.userinfo(token, at: later) == 401)
        #expect(try await later.exchange(token, by: "store").status == 400)
        // As before with the file as before.
        #expect(try await fixture.verdict(on: token) == "forwarded to desk")
    }

    // E-01
    @Test(arguments: ["notes", "relay", "store"])
    func `each client of a chain has to admit the user`(strict: String) async throws {
        let fixture = try ClientFixture()
        let token = try await fixture.chain().third
        let later = try ClientFixture(
            sharing: fixture,
            client: { client in
                guard client.id == strict else { return }
                client.route.providers = ["guests"]
            }
        )
        #expect(try await later.verdict(on: token).hasPrefix("refused"))
        #expect(try await !self.isActive(token, of: "store", at: later))
    }

    // E-01
    @Test(arguments: ["notes", "relay", "store"])
    func `the lifetime of each client of a chain ends the token`(short: String) async throws {
        let fixture = try ClientFixture()
        let token = try await fixture.chain().third
        let later = try ClientFixture(
            sharing: fixture,
            client: { client in
                if client.id == short { client.lifetime = .seconds(120) }
            }
        )
        fixture.gateway.clock.advance(by: 119)
        #expect(try await later.verdict(on: token) == "forwarded to desk")
        fixture.gateway.clock.advance(by: 1)
        #expect(try await later.verdict(on: token) == "refused token.rejected")
        #expect(try await !self.isActive(token, of: "store", at: later))
    }

    //
    @Test(arguments: [1, 60, 599] as [Int64])
    func `RFC 8693 §2.2.1: no exchanged token outlives its subject`(left: Int64) async throws {
        let fixture = try ClientFixture(client: { $0.accessTokenLifetime = .seconds($0.id == "notes" ? 600 : 3600) })
        let subject = try #require(try await fixture.tokens()["access_token"]?.string)
        fixture.gateway.clock.advance(by: 600 - left)
        let members = try await fixture.exchange(subject, by: "relay").json
        #expect(members["expires_in"]?.integer == left)
        let token = try #require(members["access_token"]?.string)
        #expect(try await fixture.verdict(on: token) == "forwarded to desk")
        fixture.gateway.clock.advance(by: left)
        #expect(try await fixture.verdict(on: token) == "refused token.rejected")
        #expect(try await fixture.exchange(subject, by: "relay").status == 400)
    }
}
