// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import Testing

/// `gateway.forward_auth` and the apps that it is for.
@Suite struct ForwardAuthTests {
    private static let proxies = "  forward_auth: { dialect: nginx, from: [127.0.0.1, 10.1.0.0/16] }"

    private func file(_ app: String, gateway: String = ForwardAuthTests.proxies) -> String {
        Fixture.smallest(gateway: gateway, upstream: app)
    }

    @Test(arguments: ForwardAuthMode.allCases)
    func `an app may exist for a proxy that asks only`(mode: ForwardAuthMode) throws {
        let settings = try Fixture.configuration(self.file("forward_auth: \(mode)"))
        let app = try #require(settings.apps.first)
        #expect(app.action == .forwardAuth(mode) && app.upstream == nil && app.traffic.webSocket != nil)
        let networks = try #require(settings.gateway.forwardAuth)
        #expect(
            networks.dialect == .nginx && networks.from == ["127.0.0.1", "10.1.0.0/16"].compactMap { CIDRRange($0) }
        )
    }

    @Test func `without the key no proxy may ask`() throws {
        #expect(try Fixture.configuration(Fixture.smallest()).gateway.forwardAuth == nil)
        let found = Fixture.remarks(self.file("forward_auth: enforce", gateway: ""))
        #expect(found.count == 1 && found[0].hasPrefix("error: 'forward_auth' has no proxy that may ask about the app"))
    }

    @Test(
        arguments: [
            ("{ dialect: nginx }", "needs 'from'"), ("{ from: [127.0.0.1] }", "needs 'dialect'"),
            ("{ dialect: apache, from: [127.0.0.1] }", "'apache' is not a dialect"),
            ("{ dialect: nginx, from: [0.0.0.0/0] }", "every client could ask"),
            ("{ dialect: nginx, from: [\"::/0\"] }", "every client could ask"),
        ]
    )
    func `who may ask, and how, is written out`(value: String, remark: String) {
        let found = Fixture.remarks(self.file("forward_auth: enforce", gateway: "  forward_auth: \(value)"))
        #expect(found.count == 1 && found[0].contains(remark), "\(found)")
    }

    @Test(
        arguments: [
            "signature: headers", "encoding: plain",
            "basic: { username: a, password: \"${env:GATE_SECRET}\" }",
        ]
    )
    func `identity that the proxy would not pass on is an error`(identity: String) {
        let found = Fixture.remarks(self.file("forward_auth: enforce\n    identity: { \(identity) }"))
        #expect(
            found.count == 1 && found[0].hasPrefix("error: another proxy forwards the requests of this app"),
            "\(found)"
        )
    }

    @Test(
        arguments: ["assertion", "access_token", "id_token"],
        [
            ("nginx", "'proxy_set_header Authorization $gatehouse_authorization;'"),
            ("caddy", "'copy_headers Authorization'"), ("traefik", "'authResponseHeaders'"),
            ("envoy", "'allowed_upstream_headers'"), ("envoy_grpc", nil),
        ] as [(String, String?)]
    )
    func `K-01 a proxy that has to be configured to replace the client's Authorization is warned of, with the line`(
        token: String,
        proxy: (dialect: String, line: String?)
    ) {
        let identity = "identity: { authorization: \(token) }"
        let gateway = "  forward_auth: { dialect: \(proxy.dialect), from: [127.0.0.1] }"
        let found = Fixture.remarks(self.file("forward_auth: enforce\n    \(identity)", gateway: gateway))
        #expect(found.count == (proxy.line == nil ? 0 : 1), "\(found)")
        let risk = "warning: a client's own 'Authorization' reaches the app in place of the gateway's"
        #expect(found.allSatisfy { $0.hasPrefix(risk) && $0.contains(proxy.line ?? "") }, "\(found)")
        // In shadow mode the app gets no identity at all.
        let shadow = Fixture.remarks(self.file("forward_auth: shadow\n    \(identity)", gateway: gateway))
        #expect(!shadow.contains { $0.contains("'Authorization'") }, "\(shadow)")
    }

    @Test func `a proxy reports its own verdict only where that is written out`() throws {
        for (keys, expected) in [("", false), (", shadow_status: true", true)] {
            let gateway = "  forward_auth: { dialect: nginx, from: [127.0.0.1]\(keys) }"
            let settings = try Fixture.configuration(self.file("forward_auth: shadow", gateway: gateway))
            #expect(settings.gateway.forwardAuth?.reportsStatus == expected)
        }
    }

    @Test func `what only the proxy in front could do is warned of`() {
        let app = "forward_auth: enforce\n    max_body: 1MiB\n    headers: { Who: user }\n    websocket: false"
        let found = Fixture.remarks(self.file(app))
        #expect(
            found.count == 1 && found[0].contains("'max_body' has no effect") && found[0].contains("configure it there")
        )
        let both = Fixture.remarks(self.file("forward_auth: enforce\n    upstream: http://127.0.0.1:9000"))
        #expect(both.contains { $0.contains("'upstream' excludes 'forward_auth'") })
    }
}
