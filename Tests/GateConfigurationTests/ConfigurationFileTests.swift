// SPDX-License-Identifier: Apache-2.0

import GateCore
import GatePolicy
import GateProviders
import GateProxy
import GateSessions
import Testing

@testable import GateConfiguration

@Suite struct ConfigurationFileTests {
    @Test func `the smallest useful file has every default`() throws {
        let configuration = try Fixture.configuration(Fixture.smallest())
        let gateway = configuration.gateway
        #expect(gateway.publicURL == Origin(scheme: "https", host: "gate.example.com"))
        #expect(gateway.listeners.map(\.address.description) == ["127.0.0.1:8080"])
        #expect(gateway.listeners.map(\.certificates) == [[]])
        #expect(gateway.operations.description == "127.0.0.1:9901")
        #expect(gateway.stateFolder == "./state")
        #expect(gateway.trustedProxies == [])
        #expect(gateway.secrets == nil)
        #expect(configuration.sessions.store == .sqlite(path: "./state/sessions.db"))
        #expect(configuration.sessions.lifetimes.idle == .seconds(43_200))
        #expect(configuration.sessions.lifetimes.absolute == .seconds(604_800))
        #expect(configuration.assertion == AssertionSettings(keysFolder: "./state/keys"))
        #expect(configuration.assertion.lifetime == .seconds(120))
        let app = try #require(configuration.apps.first)
        #expect(app.route.app == "wiki")
        #expect(app.route.origins.first == gateway.publicURL)
        #expect(app.route.path == "/")
        #expect(app.route.providers == ["staff"])
        #expect(app.route.access == .signedIn)
        #expect(app.upstream?.targets.map(\.description) == ["http://127.0.0.1:9000"])
        #expect(app.headers == [])
    }

    @Test func `the state folder of systemd is used, the first if there are several`() throws {
        var environment = Fixture.environment
        environment["STATE_DIRECTORY"] = "/var/lib/gatehouse:/var/lib/other"
        let configuration = try Fixture.configuration(Fixture.smallest(), environment: environment)
        #expect(configuration.gateway.stateFolder == "/var/lib/gatehouse")
        #expect(configuration.assertion.keysFolder == "/var/lib/gatehouse/keys")
        let own = try Fixture.configuration(Fixture.smallest(gateway: "  state: /srv/gate"), environment: environment)
        #expect(own.sessions.store == .sqlite(path: "/srv/gate/sessions.db"))
    }

    @Test func `certificates are taken from the folder of the file and are files to watch`() throws {
        let text = Fixture.smallest(
            gateway:
                "  listeners: [{ address: 0.0.0.0:443, tls: [{ certificate: tls/good.pem, "
                + "private_key: /etc/gatehouse/tls/good.key }] }]"
        )
        let result = Fixture.parse(text)
        let files = CertificateFiles(
            certificate: "/etc/gatehouse/tls/good.pem",
            privateKey: "/etc/gatehouse/tls/good.key"
        )
        #expect(result.configuration?.gateway.listeners.first?.certificates == [files])
        #expect(result.files == [files.certificate, files.privateKey])
    }

    @Test func `secrets come from references, the line break at the end of a file cut off`() throws {
        let text = Fixture.smallest(gateway: "  secret: [\"${env:GATE_SECRET}\", \"${file:/run/secrets/good}\"]")
        let secrets = try #require(try Fixture.configuration(text).gateway.secrets)
        #expect(
            secrets == [
                Secret(text: "0123456789abcdef0123456789abcdef"), Secret(text: "0123456789abcdef0123456789abcdef"),
            ]
        )
        #expect(
            try Fixture.configuration(Fixture.smallest(gateway: "  secret: ${file:/run/secrets/full}")).gateway.secrets?
                .first?.count == 65_536
        )
    }

    @Test func `each file that decides a value is named once, to be watched, also when it cannot be read`() {
        let text = Fixture.smallest(
            gateway: "  secret: [\"${file:/run/secrets/good}\", \"${file:/run/secrets/good}\"]",
            provider: "    tls: { ca_file: private/ca.pem }"
        )
        let result = Fixture.parse(text)
        #expect(result.configuration == nil)
        #expect(result.files == ["/run/secrets/good", "/etc/gatehouse/private/ca.pem"])
    }

    @Test func `a provider keeps everything of the file`() throws {
        let text = Fixture.smallest(
            provider: """
                  google:
                    type: google
                    name: Work account
                    client_id: 1234.apps.googleusercontent.com
                    client_secret: ${env:CLIENT_SECRET}
                    base_url: https://127.0.0.1:9400/google
                    authorization_endpoint: http://localhost:9401/auth?a=b
                    hosted_domains: [Example.COM]
                    scopes: [openid, email]
                    tls: { ca_file: tls/good.pem }
                    profile: { name: ["id_token:/a", "const:b"], groups: userinfo:/c }
                """
        )
        let google = try #require(try Fixture.configuration(text).providers.last)
        #expect(google.id == "google")
        #expect(google.type == .google)
        #expect(google.name == "Work account")
        #expect(google.clientSecret == Secret(text: "sample-secret"))
        #expect(google.baseURL?.description == "https://127.0.0.1:9400/google")
        #expect(google.authorizationEndpoint?.description == "http://localhost:9401/auth?a=b")
        #expect(google.hostedDomains == ["example.com"])
        #expect(google.scopes == ["openid", "email"])
        #expect(google.caFile == "/etc/gatehouse/tls/good.pem")
        #expect(google.profile == ["name": ["id_token:/a", "const:b"], "groups": ["userinfo:/c"]])
    }

    @Test func `an app on its own host has the scheme and the port of the public address`() throws {
        let text = """
            gateway: { public_url: "http://localhost:8443" }
            providers:
              staff: { type: oidc, issuer: "http://127.0.0.1:9400", client_id: 5,
                client_secret: "${env:CLIENT_SECRET}" }
            apps:
              notes:
                host: Notes.localhost
                path: /team/
                upstream: unix:/run/notes.sock
                providers: [staff]
                allow: [{ email: Ann@Example.com }, { user: "staff:a:b", group: x }]
                public: ["GET /team/healthz", /team/assets/]
                headers: { X-User: preferred_username, X-Mail: email }
            """
        let app = try #require(try Fixture.configuration(text).apps.first)
        #expect(app.route.origins.first?.description == "http://notes.localhost:8443")
        #expect(app.route.path == "/team")
        #expect(app.route.audience == "http://notes.localhost:8443/team")
        #expect(app.upstream?.targets == [.unix(path: "/run/notes.sock")])
        var ann = AccessEntry(at: RulePlace(line: 11))
        ann.email = EmailAddress("ann@example.com")
        var other = AccessEntry(at: RulePlace(line: 11))
        other.user = "staff:a:b"
        other.group = "x"
        #expect(app.route.access == .entries([ann, other]))
        var rules = [PublicRule(method: "GET", path: "/team/healthz"), PublicRule(method: nil, path: "/team/assets/")]
        for index in rules.indices { rules[index].place = RulePlace(line: 12) }
        #expect(app.route.publicRules == rules)
        #expect(
            app.headers == [
                HeaderSetting(name: "X-User", field: .preferredUsername), HeaderSetting(name: "X-Mail", field: .email),
            ]
        )
    }

    @Test func `the operations listener cannot have the address of a default listener either`() {
        let messages = Fixture.messages(Fixture.smallest(gateway: "  operations: 127.0.0.1:8080"))
        #expect(
            messages == [
                "'127.0.0.1:8080' cannot be the address of a listener and of the operations listener, which is never public"
            ]
        )
    }

    @Test func `sessions can be in memory, and an idle time beyond the lifetime is a warning`() throws {
        let text = Fixture.smallest(rest: "sessions: { store: \"memory:\", idle_timeout: 8d }")
        #expect(try Fixture.configuration(text).sessions.store == .memory)
        let longer = Fixture.smallest(rest: "sessions: { idle_timeout: 8d, lifetime: 7d }")
        #expect(Fixture.messages(longer) == ["'idle_timeout' is longer than 'lifetime', so it never ends a session"])
        #expect(Fixture.parse(longer).configuration != nil)
    }

    @Test func `at most a hundred diagnostics are shown, the rest are counted`() {
        let keys = (0..<150).map { "    zzz\($0): 1\n" }.joined()
        let result = Fixture.parse(Fixture.smallest(app: keys))
        #expect(result.diagnostics.count == 101)
        #expect(result.diagnostics.last?.rendered == "error: 50 more are not shown")
        #expect(result.configuration == nil)
    }

    @Test func `an error inside of an anchor is reported once`() {
        let text = Fixture.smallest(
            app:
                "    headers: &h { X-A: b }\n"
                + "  notes: { host: n.example.com, upstream: \"http://h\", allow: signed_in, headers: *h }"
        )
        #expect(Fixture.messages(text).count == 1)
    }

    @Test func `a value from a reference never shows in a message`() {
        let result = Fixture.parse(
            Fixture.smallest(app: "    host: ${env:EVIL}"),
            environment: [
                "CLIENT_SECRET": "x", "EVIL": "sec ret\u{1B}[0m",
            ]
        )
        #expect(
            result.diagnostics.map(\.message) == [
                "the value of ${env:EVIL} is not a host name such as wiki.example.com"
            ]
        )
    }

    @Test func `a missing file is reported as missing`() {
        let result = Configuration.load(path: "/nonexistent/providers.yaml", environment: [:])
        #expect(
            result.diagnostics.map(\.rendered) == [
                "error: there is no file '/nonexistent/providers.yaml'; choose another with --config"
            ]
        )
        #expect(result.files == ["/nonexistent/providers.yaml"])
    }

    @Test func `ten thousand apps are read, and ten thousand invalid ones are rejected`() {
        let apps = (0..<10_000).map { index in
            "  app\(index):\n    host: app\(index).example.com\n    path: /team\(index % 50)/\n"
                + "    upstream: http://127.0.0.1:9000\n    allow: signed_in\n    providers: [stafff]\n"
        }
        let wrong = Fixture.parse(Fixture.smallest(rest: apps.joined()))
        #expect(wrong.diagnostics.count == 101)
        let right = Fixture.parse(Fixture.smallest(rest: apps.joined().replacing("stafff", with: "staff")))
        #expect(right.diagnostics == [])
        #expect(right.configuration?.apps.count == 10_001)
    }

    @Test(arguments: [("true", true), ("false", false), ("\"true\"", true)])
    func `a switch is true or false, in quotes or not`(text: String, value: Bool) throws {
        let configuration = try Fixture.configuration(Fixture.smallest(app: "    forwarded: \(text)"))
        #expect(configuration.apps.first?.sendsForwarded == value)
    }

    @Test(arguments: ["yes", "on", "1", "True"])
    func `no other word is a switch`(text: String) {
        let messages = Fixture.messages(Fixture.smallest(app: "    forwarded: \(text)"))
        #expect(messages == ["'\(text)' is neither true nor false"])
    }

    @Test(
        arguments: [
            ("pkce: off\n    nonce: if_present", true), ("pkce: off", false), ("nonce: if_present", false),
        ])
    func `a provider without challenge and nonce is warned of`(keys: String, isWarned: Bool) {
        let messages = Fixture.messages(Fixture.smallest(provider: "    \(keys)"))
        #expect(
            messages.contains { $0.hasPrefix("without PKCE and nonce an attacker can use a stolen code") } == isWarned
        )
        #expect(messages.count == (isWarned ? 1 : 0))
    }

    @Test(arguments: ["CLIENT_SECRET", "GATE_SECRET"])
    func `what a reference holds in the place of a key is never shown`(name: String) throws {
        let result = Fixture.parse(Fixture.smallest(provider: "    private_key: ${env:\(name)}"))
        let value = try #require(Fixture.environment[name])
        #expect(
            result.diagnostics.map(\.message) == [
                "the value of ${env:\(name)} holds no PEM text; it starts with '-----BEGIN'"
            ]
        )
        #expect(!result.diagnostics.contains { $0.rendered.contains(value) })
    }

    @Test func `a long text in place of a key is not read as a path and not shown`() {
        let key = String(repeating: "MIGTAgEA", count: 30)
        let result = Fixture.parse(Fixture.smallest(provider: "    private_key: \(key)"))
        #expect(result.diagnostics.map(\.message) == ["this holds no PEM text; it starts with '-----BEGIN'"])
        #expect(!result.diagnostics.contains { $0.rendered.contains(key) })
    }

    @Test(arguments: ["email", "preferred_username", "upn"])
    func `an id that can be reassigned is warned of`(claim: String) {
        let profile = "    profile: { subject: \"id_token:/\(claim)\" }"
        let messages = Fixture.messages(Fixture.smallest(provider: profile))
        #expect(messages.count == 1 && messages.first?.hasPrefix("'\(claim)' can be reassigned") == true)
    }

    @Test func `an entry that denies a group names the providers whose users it denies`() {
        let text = """
            gateway: { public_url: "https://gate.example.com" }
            providers:
              google: { type: google, client_id: a, client_secret: "${env:CLIENT_SECRET}", hosted_domains: [a.example] }
              staff: { type: oidc, issuer: "https://id.example.com", client_id: a, client_secret: "${env:CLIENT_SECRET}" }
            apps: { wiki: { upstream: "http://h", allow: signed_in, deny: [{ group: contractors }] } }
            """
        let messages = Fixture.messages(text)
        #expect(messages.count == 1 && messages.first?.hasPrefix("every user of google is denied") == true)
    }

    @Test func `leeway and algorithms of ID tokens are read, within bounds`() throws {
        let keys = "    clock_leeway: 2m\n    id_token_algorithms: [ES256, EdDSA]"
        let provider = try #require(try Fixture.configuration(Fixture.smallest(provider: keys)).providers.first)
        #expect(provider.clockLeeway == .seconds(120) && provider.signatureAlgorithms == [.es256, .edDSA])
        for (keys, words) in [
            ("clock_leeway: 6m", "'6m' is out of range; it must be 0s to 5m"),
            (
                "id_token_algorithms: []",
                "'id_token_algorithms' is an empty list, so every token would be rejected; remove it"
            ),
            ("id_token_algorithms: [HS1]", "'HS1' is not an algorithm"),
            ("id_token_algorithms: [none]", "'none' is not an algorithm"),
        ] {
            let messages = Fixture.messages(Fixture.smallest(provider: "    \(keys)"))
            #expect(messages.count == 1 && messages.first?.hasPrefix(words) == true, "\(messages)")
        }
    }

    @Test(
        arguments: [
            ("profile: { roles: \"id_token:/https://example.com/roles\" }", "write '~1' for each '/'"),
            ("profile: { email: \"userinfo:/emails[primary & verified]/value\" }", "has an invalid search"),
            ("profile: { email: \"userinfo:/emails[type='work']/value\" }", "has an invalid search"),
            ("tls: { ca_file: tls/text.pem }", "holds no PEM certificate"),
        ])
    func `a mistake that would silently find nothing is rejected`(keys: String, words: String) {
        let messages = Fixture.messages(Fixture.smallest(provider: "    \(keys)"))
        #expect(messages.count == 1 && messages.first?.contains(words) == true, "\(messages)")
    }
}
