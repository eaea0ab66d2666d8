// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import Testing

/// Which files forget the proxy that terminates TLS (N-04), and which rules are about endpoints (N-03).
@Suite struct ProxiesTests {
    private func remark(_ gateway: String) throws -> String? {
        try #require(Fixture.parse(Fixture.smallest(gateway: gateway)).configuration).gateway.missingProxies
    }

    @Test(arguments: [
        "", "  trusted_proxies: []", "  listeners: [{ address: 127.0.0.1:8080 }]",
        "  listeners: [{ address: 'unix:/run/gatehouse.sock' }]",
        "  listeners: [{ address: 127.0.0.1:80, redirect: https }]",
    ])
    func `without TLS and without a trusted proxy, all clients seem to be one`(gateway: String) throws {
        #expect(try self.remark(gateway)?.contains("'trusted_proxies' is empty") == true)
    }

    @Test(arguments: [
        "  trusted_proxies: [127.0.0.1]",
        "  listeners: [{ address: 0.0.0.0:443, tls: [{ certificate: tls/good.pem, private_key: tls/good.key }] }]",
        "  listeners: [{ address: 127.0.0.1:8080, proxy_protocol: [10.0.0.0/8] }]",
        "  listeners: [{ address: 'unix:/run/gatehouse.sock', trusted: true }]",
    ])
    func `a listener that knows its clients needs no trusted proxy`(gateway: String) throws {
        #expect(try self.remark(gateway) == nil)
    }

    @Test func `plain http on this machine has no proxy`() throws {
        let text = Fixture.smallest().replacing("https://gate.example.com", with: "http://localhost:8080")
        #expect(try #require(Fixture.parse(text).configuration).gateway.missingProxies == nil)
    }

    @Test func `a rule about an endpoint of the gateway is reported`() throws {
        let own = "    host: wiki.example.com\n    public: [/oauth2/userinfo, /oauth2/authorize, /oauth2/sign_in/**]"
        let rules = "    deny: [{ path: /oauth2/token }]\n    public: [/x]"
        let remarks = try [own, rules].map { app in
            try #require(Fixture.parse(Fixture.smallest(app: app)).configuration).ownPathRemarks
        }
        #expect(
            remarks[0].map { $0.contains("/oauth2/userinfo'") || $0.contains("/oauth2/sign_in/**'") } == [true, true]
        )
        #expect(remarks[1].count == 1 && remarks[1][0].contains("'/oauth2/token' is the gateway's own on this host"))
        #expect(
            remarks[1][0].hasSuffix(
                "give the app a host of its own, or move the endpoints with 'gateway.endpoint_prefix'"
            )
        )
    }
}
