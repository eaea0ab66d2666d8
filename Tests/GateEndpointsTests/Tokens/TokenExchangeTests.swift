// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateConfiguration
import GateCore
import GateFixtures
import GatePolicy
import GateSessions
import GateTestSupport
import Testing

@testable import GateRuntime

/// Which tokens are exchanged for which; RFC 8693.
@Suite struct TokenExchangeTests {
    //
    @Test func `a token for another service does not outlive its subject`() async throws {
        let fixture = try ClientFixture(client: { client in
            guard client.id == "relay" else { return }
            client.accessTokenLifetime = .seconds(3600)
            client.tokenAudiences = ["sts.example.com"]
        })
        let subject = try #require(try await fixture.tokens()["access_token"]?.string)
        fixture.gateway.clock.advance(by: 570)
        let members = try await fixture.exchange(subject, by: "relay", [("audience", "sts.example.com")]).json
        #expect(members["expires_in"]?.integer == 30)
    }

    //
    @Test func `of several apps that are named the user has to be admitted to each`() async throws {
        let fixture = try ClientFixture(app: { app in
            if app.route.app == "desk" { app.route.access = .entries([]) }
        })
        let subject = try #require(try await fixture.tokens()["access_token"]?.string)
        let both = [("audience", "shop"), ("audience", "desk")]
        for named in [both, both.reversed(), [("audience", "desk")], [("resource", ClientFixture.desk)]] {
            let response = try await fixture.exchange(subject, by: "relay", named)
            #expect(response.status == 400 && response.json["error"] == "invalid_target", "\(named)")
        }
        #expect(try await fixture.exchange(subject, by: "relay", [("audience", "shop")]).status == 200)
    }
}
