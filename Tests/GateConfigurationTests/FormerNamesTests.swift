// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateHTTP
import GateProviders
import Testing

/// Keys and words that were renamed.
@Suite struct FormerNamesTests {
    @Test(
        arguments: [
            ("answer: { body: x }", "response: { body: x }", "answer", "response"),
            (
                "upstream: { targets: http://a, timeouts: { answer: 2s } }",
                "upstream: { targets: http://a, timeouts: { response: 2s } }", "answer", "response"
            ),
            (
                "upstream: { targets: http://a, eject: { longest: 1m } }",
                "upstream: { targets: http://a, eject: { max_time: 1m } }", "longest", "max_time"
            ),
        ]
    )
    func `a key with its former name means the same, with a warning`(
        former: String,
        current: String,
        oldName: String,
        newName: String
    ) throws {
        let result = Fixture.parse(Fixture.smallest(upstream: former))
        #expect(result.diagnostics.map(\.message) == ["'\(oldName)' is now named '\(newName)'; rename it"])
        #expect(!result.diagnostics.contains { $0.severity == .error })
        #expect(try result.configuration == Fixture.configuration(Fixture.smallest(upstream: current)))
    }

    @Test func `a limit with its former name is the same limit`() throws {
        let result = Fixture.parse(Fixture.smallest(gateway: "  limits: { connections_per_address: 7 }"))
        let message = "'connections_per_address' is now named 'connections_per_client_ip'; rename it"
        #expect(result.diagnostics.map(\.message) == [message])
        #expect(result.configuration?.gateway.limits.connections.perClientIP == 7)
    }

    @Test func `a key under both of its names is a duplicate`() {
        let limits = "  limits: { connections_per_address: 7, connections_per_client_ip: 8 }"
        let messages = Fixture.messages(Fixture.smallest(gateway: limits))
        #expect(messages.contains("'connections_per_client_ip' is here twice; first in line 3"))
    }

    @Test func `a former word of pins means the same, with a warning`() {
        let pins =
            "pins: { sha256: [ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=, "
            + "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=], expires: 2027-06-01, on_expiry: refuse }"
        let result = Fixture.parse(Fixture.smallest(provider: "    tls: { \(pins) }"))
        #expect(result.diagnostics.map(\.message) == ["'refuse' is now named 'reject'; rename it"])
        #expect(result.configuration?.providers.first?.pins?.standard.expired == .reject)
    }
}
