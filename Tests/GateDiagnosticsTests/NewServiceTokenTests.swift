// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import GateTestSupport
import Testing

@testable import GateDiagnostics

@Suite struct NewServiceTokenTests {
    private func made(_ name: String = "bot", lifetime: String = "90d", groups: [String] = []) throws -> NewServiceToken
    {
        let now = try #require(Instant(date: "2026-11-23"))
        return try NewServiceToken(
            name: name,
            lifetime: lifetime,
            groups: groups,
            now: now,
            random: .seeded()
        )
    }

    @Test func `the lines for the file have the hash and not the token`() throws {
        let made = try self.made(groups: ["deployers", "a: b"])
        let hash = ServiceToken.text(of: ServiceToken.hash(of: made.token))
        #expect(
            made.yaml == """
                service_tokens:
                  bot:
                    hash: \(hash)
                    expires: 2027-02-21
                    groups: ["deployers","a: b"]
                """
        )
        #expect(ServiceToken.isOne(made.token) && !made.yaml.contains(made.token))
    }

    @Test func `a token without an end has none in the file`() throws {
        #expect(try !self.made(lifetime: "never").yaml.contains("expires"))
    }

    @Test(arguments: [("Bot", "90d"), ("", "90d"), ("bot", "1h"), ("bot", "soon"), ("bot", "3651d")])
    func `what cannot be in the file makes no token`(name: String, lifetime: String) {
        #expect(throws: NewServiceToken.InvalidArgument.self) { try self.made(name, lifetime: lifetime) }
    }
}
