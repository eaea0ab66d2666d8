// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import Testing

/// Diagnostics of values that are probably mistakes, and of files that others can read or change.
@Suite struct UnintendedValuesTests {
    private func gateway(_ lines: String) -> [String] { Fixture.remarks(Fixture.smallest(gateway: lines)) }

    @Test func `Z-06: a byte order mark is ignored`() throws {
        let text = "\u{FEFF}" + Fixture.smallest()
        #expect(try Fixture.configuration(text) == Fixture.configuration(Fixture.smallest()))
        let broken = Fixture.parse("\u{FEFF}gateway: 1\n").diagnostics.map(\.rendered)
        #expect(broken.last?.hasPrefix("providers.yaml:1:10: error: ") == true)
        #expect(broken.last?.hasSuffix("\n    gateway: 1\n             ^") == true)
    }

    @Test func `Z-06: a byte order mark in a file with a secret is not part of the secret`() throws {
        let files = FileAccess { _, _ in .bytes([0xEF, 0xBB, 0xBF] + Array("0123456789abcdef0123456789abcdef".utf8)) }
        let result = Configuration.parse(
            bytes: Array(Fixture.smallest(gateway: "  secret: ${file:/run/secrets/marked}").utf8),
            name: "providers.yaml",
            folder: "/etc/gatehouse",
            environment: Fixture.environment,
            files: files
        )
        #expect(result.configuration?.gateway.secrets == [Secret(text: "0123456789abcdef0123456789abcdef")])
    }

    @Test(arguments: [
        ("/wiki/.*", ".*"), ("^/wiki/", "^"), ("/wiki/(?:a|b)/", "(?"), ("/wiki/[a-z]/", "["), ("/wiki/a|b", "|"),
        ("/wiki/x.+", ".+"), ("/wiki/x$", "$"), ("/wiki/{id}", "{"), ("~/wiki/", "~"), ("/wiki/\\\\d", "\\"),
    ])
    func `Z-07: a regular expression is not a path`(path: String, sign: String) {
        let help = "a path is matched as it is written, and one that ends in '/' includes all paths below it"
        let why = "has a '\(sign)', as regular expressions have, which are not supported; \(help)"
        let messages = Fixture.messages(Fixture.smallest(app: "    public: [\"\(path)\"]"))
        #expect(messages.count == 1 && messages.first?.hasSuffix(why) == true, "\(messages)")
    }

    @Test(arguments: ["/wiki/$metadata", "/Products(1)", "/a+b/", "/@scope/", "GET /x:y"])
    func `Z-07: what paths of real apps contain is not taken for a regular expression`(path: String) throws {
        _ = try Fixture.app("    public: [\"\(path)\"]")
    }

    @Test(arguments: ["$GATE_SECRET", "%GATE_SECRET%"])
    func `Z-07: a variable of a shell is not expanded, and its name is not shown in place of a secret`(text: String) {
        let result = Fixture.parse(Fixture.smallest(gateway: "  secret: \"\(text)\""))
        let rendered = result.diagnostics.map(\.rendered).joined()
        #expect(result.diagnostics.map(\.message) == ["a variable after '$' is not expanded; write ${env:NAME}"])
        #expect(!rendered.contains("GATE_SECRET"))
        #expect(result.configuration == nil)
        #expect(
            Fixture.remarks(Fixture.smallest(app: "    host: \"\(text)\"")) == [
                "error: a variable after '$' is not expanded; write ${env:NAME}"
            ]
        )
    }

    @Test func `Z-07: trust in every client to claim an IP is rejected`() {
        let help = "list the networks of your proxies, such as 10.0.0.0/8"
        let risk = "every client would be trusted to claim any client IP, scheme and host"
        for network in ["0.0.0.0/0", "::/0"] {
            #expect(self.gateway("  trusted_proxies: [\"\(network)\"]") == ["error: \(risk); \(help)"])
        }
        let large = "warning: a network of this size is unlikely to hold only your own proxies; \(help)"
        #expect(
            self.gateway("  trusted_proxies: [128.0.0.0/1, \"2000::/3\", 10.0.0.0/8, \"fd00::/16\"]") == [large, large]
        )
        #expect(
            self.gateway("  listeners: [{ address: \"127.0.0.1:1\", proxy_protocol: [0.0.0.0/0] }]") == [
                "warning: a PROXY header is trusted from everywhere, so every client that reaches the listener can claim any "
                    + "client IP; list your balancers"
            ]
        )
    }

    @Test(arguments: [
        ("0.0.0.0:9901", "on every interface"), ("[::]:9901", "on every interface"),
        ("203.0.113.7:9901", "on a public address"), ("[2001:db8::1]:9901", "on a public address"),
    ])
    func `Z-07: an operations listener on a public address is a warning`(address: String, reach: String) {
        let remarks = self.gateway("  operations: \"\(address)\"")
        #expect(remarks.count == 1)
        #expect(remarks.first?.hasPrefix("warning: '\(address)' serves metrics and status \(reach)") == true)
    }

    @Test(arguments: ["127.0.0.1:9901", "localhost:9901", "10.1.2.3:9901", "[fd00::1]:9901", "[::1]:9901", "ops:9901"])
    func `Z-07: an operations listener on an internal address is not warned of`(address: String) {
        #expect(self.gateway("  operations: \"\(address)\"").isEmpty)
    }

    @Test(arguments: [
        "http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080", "https://gate.example.com",
        "https://wiki.example.com", "http://10.0.0.9:8443",
    ])
    func `Y-14: an upstream that is the gateway itself is a warning`(upstream: String) {
        let listeners = "  listeners: [{ address: \"0.0.0.0:8080\" }, { address: \"10.0.0.9:8443\" }]"
        let text = Fixture.smallest(
            gateway: listeners,
            upstream: "upstream: \(upstream)",
            app: "    host: wiki.example.com"
        )
        let help = "requests would loop until they are rejected with 508; write the URL of the app"
        #expect(Fixture.remarks(text) == ["warning: '\(upstream)' is this gateway itself, so \(help)"])
    }

    @Test(arguments: [
        "http://127.0.0.1:8081", "http://10.0.0.5:8080", "https://gate.example.com:8443", "unix:/run/8080",
    ])
    func `Y-14: an upstream that is not the gateway is not warned of`(upstream: String) throws {
        let text = Fixture.smallest(
            gateway: "  listeners: [{ address: \"127.0.0.1:8080\" }]",
            upstream: "upstream: \(upstream)"
        )
        _ = try Fixture.configuration(text)
    }

    private func allow(_ user: String, provider: String = "") -> [String] {
        Fixture.remarks(
            """
            gateway: { public_url: https://gate.example.com }
            providers:
              google: { type: google, client_id: a.apps.googleusercontent.com, client_secret: "${env:CLIENT_SECRET}"\(provider) }
            apps:
              wiki: { upstream: http://127.0.0.1:9000, allow: [\(user)] }
            """
        )
    }

    @Test func `Z-07: a user key with an email address matches no user`() {
        let why =
            "'ann@example.com' is not a google id, which is a number; for an email address write 'email: ann@example.com'"
        #expect(self.allow("{ user: \"google:ann@example.com\" }") == ["error: this entry can never match; \(why)"])
        let number = "error: this entry can never match; 'ann' is not a google id, which is a number"
        #expect(self.allow("{ user: \"google:ann\" }") == [number])
        #expect(self.allow("{ user: \"google:104729384756102938475\" }").isEmpty)
    }

    @Test func `Z-07: a mapped subject may have any form`() {
        let mapped = ", profile: { subject: \"id_token:/employee\" }"
        #expect(self.allow("{ user: \"google:E-1\" }", provider: mapped).isEmpty)
    }

    @Test func `Z-07: the hint for groups of Google names the look-up`() {
        let reason = "no groups come from google, unless 'groups: [direct]' in 'google' has them looked up"
        #expect(self.allow("{ group: a@example.com }") == ["error: this entry can never match; \(reason)"])
    }

    @Test(arguments: [
        ("azure", "microsoft"), ("Entra", "microsoft"), ("aad", "microsoft"), ("azure-ad", "microsoft"),
        ("gsuite", "google"),
        ("openid-connect", "oidc"), ("authentik", "oidc"), ("adfs", "oidc"), ("oauth", "oauth2"), ("meta", "facebook"),
    ])
    func `Z-07: the name of a product leads to the type that is meant`(written: String, type: String) {
        let text = Fixture.smallest().replacing("type: oidc", with: "type: \(written)")
        let message = "'\(written)' is not a type of provider; did you mean '\(type)'?"
        #expect(Fixture.messages(text).contains(message))
    }

    @Test func `V-06: a plain listener beside one with TLS redirects, or is a warning`() {
        let tls = "{ address: \"0.0.0.0:443\", tls: [{ certificate: tls/good.pem, private_key: tls/good.key }] }"
        func listeners(_ other: String) -> [String] { self.gateway("  listeners: [\(tls), \(other)]") }
        let help = "add 'redirect: https', or listen on 127.0.0.1"
        #expect(
            listeners("{ address: \"0.0.0.0:80\" }") == [
                "warning: '0.0.0.0:80' serves plain HTTP beside a listener with TLS; \(help)"
            ]
        )
        #expect(listeners("{ address: \"0.0.0.0:80\", redirect: https }").isEmpty)
        #expect(listeners("{ address: \"127.0.0.1:80\" }").isEmpty)
        #expect(self.gateway("  listeners: [{ address: \"0.0.0.0:80\" }]").isEmpty)
    }

    @Test func `V-06: only a plain listener of a gateway with https redirects`() {
        let tls = "tls: [{ certificate: tls/good.pem, private_key: tls/good.key }]"
        #expect(
            self.gateway("  listeners: [{ address: \"0.0.0.0:443\", \(tls), redirect: https }]") == [
                "error: 'redirect' is for a plain listener; remove it, or 'tls'"
            ]
        )
        let plain = Fixture.smallest(gateway: "  listeners: [{ address: \"127.0.0.1:80\", redirect: https }]")
            .replacing("https://gate.example.com", with: "http://localhost:80")
        #expect(
            Fixture.remarks(plain) == [
                "error: a redirect to https needs a 'public_url' with https, not 'http://localhost'"
            ]
        )
    }

    @Test(arguments: [
        ("", Duration.seconds(180 * 86_400)), ("  hsts: 1w", .seconds(604_800)), ("  hsts: 0s", .zero),
        ("  hsts: off", nil),
    ])
    func `X-16: hsts is a time or off`(line: String, time: Duration?) throws {
        #expect(try Fixture.configuration(Fixture.smallest(gateway: line)).gateway.hsts == time)
    }

    //

    private func diagnostics(_ modes: [String: UInt32], owner: UInt32 = 1000, group: UInt32 = 2000) -> [String] {
        let files = FileAccess { _, _ in
            .bytes(Array("-----BEGIN CERTIFICATE----- -----BEGIN PRIVATE KEY----- 0123456789abcdef".utf8))
        } mode: { path in
            modes[path].map { FileMode(bits: $0, owner: owner, group: group) }
        }
        let result = Configuration.parse(
            bytes: Array(
                """
                gateway:
                  public_url: https://gate.example.com
                  secret: ${file:/run/secret}
                  listeners: [{ address: "0.0.0.0:443", tls: [{ certificate: gate.pem, private_key: gate.key }] }]
                providers:
                  staff:
                    type: oidc
                    issuer: https://id.example.com
                    client_id: gatehouse
                    private_key: staff.key
                apps:
                  wiki: { upstream: "http://127.0.0.1:9000", allow: signed_in }
                """.utf8
            ),
            name: "providers.yaml",
            folder: "/etc",
            environment: [:],
            files: files
        )
        return result.diagnostics.map { "\($0.location?.line ?? 0): \($0.message)" }
    }

    @Test func `X-13: a secret or private key that others can read or change is a warning`() {
        let all = self.diagnostics(["/run/secret": 0o644, "/etc/gate.key": 0o666, "/etc/staff.key": 0o660])
        func risk(_ line: Int, _ path: String, _ what: String, _ mode: String, _ who: String) -> String {
            "\(line): '\(path)' holds \(what) and has mode \(mode), so \(who) it; run: chmod 600 '\(path)'"
        }
        #expect(
            all == [
                risk(3, "/run/secret", "a secret", "644", "every user of this host can read"),
                risk(4, "/etc/gate.key", "a private key", "666", "every user of this host can change"),
                risk(10, "/etc/staff.key", "a private key", "660", "its group can change"),
            ]
        )
    }

    @Test func `X-13: a file that only the owner or a private group can read is not warned of`() {
        let modes: [String: UInt32] = ["/run/secret": 0o600, "/etc/gate.key": 0o440, "/etc/staff.key": 0o660]
        #expect(self.diagnostics(modes, owner: 1000, group: 1000).isEmpty)
    }
}
