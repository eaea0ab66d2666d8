// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateConfiguration
import GateCore
import GatePolicy
import Testing

/// `clients` of the file.
@Suite struct ClientsTests {
    /// The smallest useful file with clients of these lines.
    static func file(_ clients: String, rest: String = "") -> String {
        let lines = clients.split(separator: "\n").map { "  \($0)\n" }.joined()
        return Fixture.smallest(rest: "clients:\n\(lines)\(rest)")
    }

    /// A file with one client, whose keys are these.
    static func client(_ keys: String, allow: String = "signed_in") -> String {
        Self.file("notes: { \(keys), allow: \(allow) }")
    }

    private static let native = "type: native, redirect_uris: [\"com.example.notes:/callback\"]"
    private static let link = "type: native, redirect_uris: \"https://notes.example.com/callback\""
    private static let page = "type: single_page, redirect_uris: [\"https://notes.example.com/callback\"]"
    private static let server = "type: confidential, secret: \"${env:GATE_SECRET}\""

    @Test func `a client with required keys only has the safe defaults`() throws {
        let clients = try Fixture.configuration(Self.client(Self.native)).clients
        let client = try #require(clients.first)
        #expect(clients.count == 1)
        #expect(client.id == "notes" && client.name == "notes" && client.kind == .native)
        #expect(client.grants == [.authorizationCode, .refreshToken])
        #expect(client.secrets.isEmpty && client.audiences.isEmpty && client.postLogoutRedirectURIs.isEmpty)
        #expect(!client.asksConsent && !client.requiresDPoP && !client.requiresPushedRequests)
        #expect(client.tokenAudiences.isEmpty && client.tokenSubject == .user)
        #expect(client.accessTokenLifetime == .seconds(600) && client.lifetime == nil)
        #expect(client.passwordProvider == nil)
        #expect(client.backChannelLogoutURI == nil && client.appleApps.isEmpty && client.androidApps.isEmpty)
        #expect(client.route.app == "notes" && client.route.providers == ["staff"] && client.route.access == .signedIn)
        #expect(client.redirectURI("com.example.notes:/callback"))
    }

    @Test func `a file without clients has none`() throws {
        #expect(try Fixture.configuration(Fixture.smallest()).clients.isEmpty)
    }

    @Test func `every key of a client is read`() throws {
        let fingerprint = Array(repeating: "a1", count: 32).joined(separator: ":")
        let text = Self.file(
            """
            Wiki.sync_2-x:
              type: confidential
              name: Wiki sync
              secret: ["${env:GATE_SECRET}", "${file:/run/secrets/good}"]
              redirect_uris: ["https://sync.example.com/cb", "https://sync.example.com:8443/cb?tenant=1"]
              post_logout_redirect_uris: ["https://sync.example.com/bye"]
              backchannel_logout_uri: https://sync.example.com/logout
              grants: [authorization_code, device_code, token_exchange]
              audiences: [wiki]
              providers: [staff]
              allow: [{ email_domain: example.com }, { use: editors }]
              deny: [{ user: "staff:1", network: 10.0.0.0/8 }]
              consent: true
              access_token_lifetime: 1h
              lifetime: 1d
              dpop: true
              require_par: true
              token_audiences: [sts.amazonaws.com, "//iam.googleapis.com/projects/1"]
              subject: email
            phone:
              type: native
              redirect_uris: ["https://notes.example.com/open"]
              allow: signed_in
              apple_apps: [ABCDE12345.com.example.notes]
              android_apps: [{ package: com.example.notes, fingerprints: ["\(fingerprint)"] }]
            """,
            rest: "rules:\n  editors: [{ provider: staff, user: \"staff:2\" }]"
        )
        let clients = try Fixture.configuration(text).clients
        #expect(clients.map(\.id) == ["Wiki.sync_2-x", "phone"])
        let sync = try #require(clients.first)
        #expect(sync.requiresPushedRequests && sync.tokenSubject == .email)
        #expect(sync.tokenAudiences == ["sts.amazonaws.com", "//iam.googleapis.com/projects/1"])
        #expect(sync.name == "Wiki sync" && sync.kind == .confidential && sync.secrets.count == 2)
        #expect(
            sync.redirectURIs.map(\.text) == [
                "https://sync.example.com/cb", "https://sync.example.com:8443/cb?tenant=1",
            ]
        )
        #expect(sync.postLogoutRedirectURI("https://sync.example.com/bye"))
        #expect(sync.backChannelLogoutURI == WebURL("https://sync.example.com/logout"))
        #expect(sync.grants == [.authorizationCode, .deviceCode, .tokenExchange])
        #expect(sync.audiences == ["wiki"] && sync.route.providers == ["staff"])
        #expect(sync.route.access.entries.map(\.user) == [nil, "staff:2"])
        #expect(sync.route.denied.map(\.user) == ["staff:1"])
        #expect(sync.asksConsent && sync.requiresDPoP)
        #expect(sync.accessTokenLifetime == .seconds(3600) && sync.lifetime == .seconds(86_400))
        #expect(clients.last?.appleApps == ["ABCDE12345.com.example.notes"])
        #expect(clients.last?.androidApps.first?.fingerprints == [fingerprint.uppercased()])
    }

    @Test func `default deny: a client without allow admits no user`() {
        let messages = Fixture.messages(Self.file("notes: { \(Self.native) }"))
        #expect(messages == ["a client needs 'allow', such as 'allow: signed_in'"])
    }

    @Test func `the defaults of apps do not apply to clients`() throws {
        let defaults = "defaults: { deny: [{ user: \"staff:1\" }], lifetime: 1h }"
        let client = try #require(
            Fixture.configuration(Self.file("notes: { \(Self.native), allow: signed_in }", rest: defaults)).clients
                .first
        )
        #expect(client.route.denied.isEmpty && client.lifetime == nil)
    }

    @Test func `included files may have clients`() throws {
        let main = Fixture.smallest(rest: "include: [part.yaml]")
        let files = FileAccess { path, _ in
            path == "/etc/gatehouse/part.yaml"
                ? .bytes(Array("clients: { notes: { \(Self.native), allow: signed_in } }".utf8)) : .missing
        }
        let result = Configuration.parse(
            bytes: Array(main.utf8),
            name: "providers.yaml",
            folder: "/etc/gatehouse",
            environment: Fixture.environment,
            files: files
        )
        #expect(result.diagnostics.map(\.rendered) == [])
        #expect(result.configuration?.clients.map(\.id) == ["notes"])
    }

    private static let print = Array(repeating: "AB", count: 32).joined(separator: ":")

    /// What `gatehouse check` prints about a client: its keys, the whole message.
    static let findings: [(keys: String, message: String)] = [
        (
            "\(native), token_audiences: [x]",
            "error: 'token_audiences' are for 'token_exchange'; add it to 'grants', or remove them"
        ),
        (
            "\(native), subject: email",
            "error: 'subject' is that of tokens for 'token_audiences', which the client does not have"
        ),
        (
            "\(native), grants: [authorization_code, token_exchange], token_audiences: [notes]",
            "error: 'notes' is a client of this file, which would take such a token for its own"
        ),
        (
            "\(native), grants: [authorization_code, token_exchange], token_audiences: [\"https://gate.example.com/x\"]",
            "error: 'https://gate.example.com/x' is a URL of this gateway or of an app behind it; write the names of apps into 'audiences'"
        ),
        (
            "\(native), grants: [authorization_code, token_exchange], token_audiences: [\"a b\"]",
            "error: 'a b' is not 1 to 255 printable ASCII characters without spaces"
        ),
        (
            server,
            "error: a client with 'authorization_code' needs 'redirect_uris', such as 'redirect_uris: [https://notes.example.com/callback]'"
        ),
        (
            "type: confidential, redirect_uris: [\"https://n.example/\"]",
            "error: a client of type confidential needs 'secret', such as 'secret: ${env:NOTES_SECRET}', or another 'type' for an app without a server"
        ),
        (
            "\(native), secret: \"${env:GATE_SECRET}\"",
            "error: a client of type native cannot keep a secret, since its users have its code; remove 'secret', or write 'type: confidential' for a server"
        ),
        (
            "\(page), secret: \"${env:GATE_SECRET}\"",
            "error: a client of type single_page cannot keep a secret, since its users have its code; remove 'secret', or write 'type: confidential' for a server"
        ),
        (
            "\(server), secret_2: x, grants: [device_code]",
            "error: unknown key 'secret_2' in a client; did you mean 'secret'?"
        ),
        ("type: native, redirect_uris: []", "error: the list is empty; it needs at least one entry"),
        ("\(link), post_logout_redirect_uris: []", "error: the list is empty; it needs at least one entry"),
        ("\(native), grants: []", "error: 'grants' is an empty list; remove it for the code flow"),
        (
            "type: native, grants: [refresh_token]",
            "error: 'refresh_token' alone gets no tokens, since another grant issues the first one; add 'authorization_code' or 'device_code'"
        ),
        (
            "\(page), grants: [authorization_code, device_code]",
            "error: 'device_code' is for devices without a browser, and a client of type single_page is in one; remove it"
        ),
        (
            "\(native), grants: [device_code]",
            "error: 'redirect_uris' are for 'authorization_code', which the client does not have; remove them, or add 'authorization_code' to 'grants'"
        ),
        (
            "\(native), grants: [client_credentials]",
            "error: 'client_credentials' is not a grant; write one of authorization_code, refresh_token, device_code, token_exchange"
        ),
        (
            "type: native, grants: [\"urn:ietf:params:oauth:grant-type:device_code\"]",
            "error: 'urn:ietf:params:oauth:grant-type:device_code' is not a grant; did you mean 'device_code'?"
        ),
        ("\(native), providers: []", "error: 'providers' is an empty list; remove it to accept all providers"),
        ("\(native), providers: [stuff]", "error: there is no provider 'stuff'; did you mean 'staff'?"),
        ("\(native), audiences: [wikl]", "error: there is no app 'wikl'; did you mean 'wiki'?"),
        ("\(native), audiences: [payroll]", "error: there is no app 'payroll'; the file has wiki"),
        ("\(native), audiences: [wiki, wiki]", "error: 'wiki' is in the list already"),
        ("\(native), access_token_lifetime: 2h", "error: '2h' is out of range; it must be 1m to 1h"),
        ("\(native), access_token_lifetime: 59s", "error: '59s' is out of range; it must be 1m to 1h"),
        (
            "\(native), lifetime: 8d",
            "error: 'lifetime' is longer than the 7d of all sessions; write at most 7d, or raise 'sessions.lifetime'"
        ),
        (
            "type: native, redirect_uris: [\"com.example.notes:/a\", \"com.example.notes:/a\"]",
            "error: 'com.example.notes:/a' is here twice; first in line 17"
        ),
        (
            "type: native, redirect_uris: [\"https://n.example/a\", \"https://n.example/a/\"]",
            "warning: 'https://n.example/a/' differs from that in line 17 only in letter case, a slash at the end or the default port; URIs are compared exactly, so remove the one that the client does not send"
        ),
        (
            "\(page), post_logout_redirect_uris: [\"https://n.example/A\", \"https://n.example/a\"]",
            "warning: 'https://n.example/a' differs from that in line 17 only in letter case, a slash at the end or the default port; URIs are compared exactly, so remove the one that the client does not send"
        ),
        (
            "type: single_page, redirect_uris: [\"com.example.notes:/a\"]",
            "error: 'com.example.notes:/a' has the scheme of a native app, and the client is of type single_page; write an https URI, or 'type: native' for an app on a device"
        ),
        (
            "\(server), redirect_uris: [\"com.example.notes:/a\"]",
            "error: 'com.example.notes:/a' has the scheme of a native app, and the client is of type confidential; write an https URI, or 'type: native' for an app on a device"
        ),
        (
            "type: native, redirect_uris: [\"http://localhost:8400/cb\"]",
            "warning: 'http://localhost:8400/cb' may reach another machine or program, since 'localhost' is resolved as any name; write http://127.0.0.1 or http://[::1] (RFC 8252 §8.3)"
        ),
        (
            "type: single_page, redirect_uris: [\"http://127.0.0.1:8400/cb\"]",
            "warning: 'http://127.0.0.1:8400/cb' is on the machine of the user, where any program can receive the code; use it for development only"
        ),
        (
            "\(page), apple_apps: [ABCDE12345.com.example.notes]",
            "error: 'apple_apps' is for type native only; remove it"
        ),
        (
            "\(native), apple_apps: [ABCDE12345.com.example.notes]",
            "warning: 'apple_apps' has no effect without an https URI in 'redirect_uris'; add the https URI that the app opens"
        ),
        (
            "\(link), apple_apps: [com.example.notes]",
            "error: 'com.example.notes' is not a team id and a bundle id, such as ABCDE12345.com.example.notes"
        ),
        (
            "\(link), android_apps: [{ package: notes, fingerprints: [\"\(print)\"] }]",
            "error: 'notes' is not a package such as com.example.notes"
        ),
        (
            "\(link), android_apps: [{ package: com.example.notes, fingerprints: [] }]",
            "error: 'fingerprints' is an empty list; write at least one"
        ),
        (
            "\(link), android_apps: [{ package: com.example.notes, fingerprints: [\"AB\"] }]",
            "error: 'AB' is not a SHA-256 fingerprint: 32 pairs of hexadecimal digits with colons, as 'keytool -list -v' prints it"
        ),
        (
            "type: public, redirect_uris: [\"com.example.notes:/a\"]",
            "error: 'public' is not a type of client; did you mean 'native'?"
        ),
        (
            "\(server), grants: [device_code], backchannel_logout_uri: \"http://n.example/x\"",
            "error: 'http://n.example/x' is plain http, which is accepted on loopback only; write 'https://…'"
        ),
    ]

    @Test(arguments: findings.map(\.keys))
    func `check names what is wrong with a client, and what to do`(keys: String) throws {
        let finding = try #require(Self.findings.first { $0.keys == keys })
        let remarks = Fixture.remarks(Self.client(keys))
        #expect(remarks == [finding.message])
    }

    @Test(arguments: RedirectURIFailure.allCases, ["redirect_uris", "post_logout_redirect_uris"])
    func `check names why a URI cannot be registered, at its line`(failure: RedirectURIFailure, key: String) throws {
        let examples: [RedirectURIFailure: String] = [
            .tooLong: "https://n.example/" + String(repeating: "a", count: 2048), .character: "https://n.example/a b",
            .backslash: #"https://n.example/a\\b"#, .wildcard: "https://*.n.example/",
            .fragment: "https://n.example/#x",
            .escape: "https://n.example/%2e", .relative: "/callback", .capitals: "https://N.example/",
            .forbiddenScheme: "javascript:alert(1)", .schemeWithoutDomain: "notes:/callback",
            .plainHTTP: "http://n.example/",
            .userName: "https://n@n.example/", .host: "https://n..example/", .trailingDot: "https://n.example./",
            .port: "https://n.example:0/", .dotSegment: "https://n.example/../",
            .responseParameter: "https://n.example/?code=1",
        ]
        let uri = try #require(examples[failure])
        let other = key == "redirect_uris" ? "" : "redirect_uris: [\"https://n.example/cb\"], "
        let text = Self.file(
            "notes:\n  type: native\n  \(other.isEmpty ? "" : "redirect_uris: [\"https://n.example/cb\"]")\n  \(key):\n    - \"\(uri)\"\n  allow: signed_in"
        )
        let result = Fixture.parse(text)
        let errors = result.diagnostics.filter { $0.severity == .error }
        #expect(errors.count == 1, "\(errors.map(\.rendered))")
        #expect(errors.first?.message.hasSuffix(failure.message) == true)
        let line = text.split(separator: "\n", omittingEmptySubsequences: false).firstIndex { $0.contains("- \"") }
        #expect(errors.first?.location?.line == line.map { $0 + 1 })
        #expect(result.configuration == nil)
    }

    @Test(arguments: [
        ("\"https://id.example.com/x\"", "as its client id it may hold A to Z, a to z, 0 to 9, '.', '_', '-'"),
        ("\"a b\"", "as its client id it may hold A to Z, a to z, 0 to 9, '.', '_', '-'"),
        ("\"a:b\"", "as its client id it may hold A to Z, a to z, 0 to 9, '.', '_', '-'"),
        ("n\u{F6}tes", "as its client id it may hold A to Z, a to z, 0 to 9, '.', '_', '-'"),
        ("\"\"", "as its client id it may have 1 to 64 characters"),
        (String(repeating: "a", count: 65), "as its client id it may have 1 to 64 characters"),
    ])
    func `the name of a client is usable as a client id, and never a URL`(name: String, reason: String) {
        let messages = Fixture.messages(Self.file("\(name): { \(Self.native), allow: signed_in }"))
        #expect(
            messages.count == 1 && messages.first?.hasSuffix("cannot be the name of a client; \(reason)") == true,
            "\(messages)"
        )
    }

    @Test func `the name of a client may have 64 characters`() throws {
        let name = String(repeating: "a", count: 64)
        #expect(
            try Fixture.configuration(Self.file("\(name): { \(Self.native), allow: signed_in }")).clients.first?.id
                == name
        )
    }

    @Test(arguments: [
        "path: /admin/**", "method: GET", "not: { path: /admin }", "any: [{ method: [GET] }]", "use: paths",
    ])
    func `entries about paths and methods are errors, since a sign-in has neither`(condition: String) {
        for list in [
            "allow: [{ user: \"staff:1\", \(condition) }]",
            "allow: signed_in, deny: [{ user: \"staff:1\", \(condition) }]",
        ] {
            let text = Self.file("notes: { \(Self.native), \(list) }", rest: "rules: { paths: [{ path: /admin }] }")
            let errors = Fixture.parse(text).diagnostics.filter { $0.severity == .error }.map(\.message)
            #expect(errors.count == 1, "\(errors)")
            #expect(
                errors.first?.contains("is about requests to an app, and a sign-in at the client 'notes' has none")
                    == true
            )
        }
    }

    @Test func `an entry that can never match is an error, as of apps`() {
        let messages = Fixture.messages(Self.client(Self.native, allow: "[{ provider: staff, user: \"other:1\" }]"))
        #expect(messages.contains { $0.hasPrefix("there is no provider 'other'") }, "\(messages)")
        let text = Self.client("\(Self.native), deny: [{ user: \"staff:1\" }]", allow: "[{ user: \"staff:1\" }]")
        let denied = Fixture.remarks(text)
        #expect(
            denied.count == 1 && denied.first?.hasPrefix("warning: in 'notes', this entry admits no user") == true,
            "\(denied)"
        )
    }

    @Test func `a rule set that only a client uses is used`() throws {
        let text = Self.file(
            "notes: { \(Self.native), allow: [{ use: editors }] }",
            rest: "rules: { editors: [{ user: \"staff:1\" }] }"
        )
        #expect(Fixture.remarks(text).isEmpty)
    }

    /// A file with two providers of local accounts, and a client that takes passwords.
    static func passwordFile(_ keys: String, api: String = "session_api: /auth") -> String {
        """
        gateway: { public_url: "https://gate.example.com", \(api) }
        providers:
          google: { type: google, client_id: 1.apps.googleusercontent.com, client_secret: "${env:CLIENT_SECRET}", hosted_domains: [a.example] }
          staff: { type: local }
          guests: { type: local }
        apps: { wiki: { upstream: "http://127.0.0.1:9000", allow: signed_in } }
        clients: { notes: { allow: signed_in, \(keys) } }
        """
    }

    private static let app = "type: native, grants: [refresh_token]"

    @Test func `an app with passwords needs neither a redirect URI nor another grant`() throws {
        let file = Self.passwordFile("\(Self.app), password_provider: staff")
        let client = try #require(try Fixture.configuration(file).clients.first)
        #expect(client.passwordProvider == "staff" && client.grants == [.refreshToken])
    }

    static let passwordFindings: [(keys: String, message: String)] = [
        ("\(app), password_provider: google", "'google' is not a provider of type local; the file has staff, guests"),
        ("\(app), password_provider: staf", "'staf' is not a provider of type local; the file has staff, guests"),
        (
            "\(app), password_provider: staff, providers: [google, guests]",
            "'providers' of the client does not have 'staff'; add it, or remove this"
        ),
        (
            "\(page), password_provider: staff",
            "'password_provider' is for type native, and the client is of type single_page; remove it: a page sends its users to the endpoint 'authorize'"
        ),
        (
            "type: native, grants: [device_code], password_provider: staff",
            "without 'refresh_token' in 'grants' users of 'password_provider' type their password for each token; add it"
        ),
        (
            "\(app), password_provider: staff, consent: true",
            "'consent: true' asks users on a page, and 'password_provider' signs them in without one; remove one of them"
        ),
    ]

    @Test(arguments: passwordFindings)
    func `the passwords of an app are those of local accounts that it accepts`(keys: String, message: String) {
        #expect(Fixture.messages(Self.passwordFile(keys)) == [message])
    }

    @Test func `the passwords of an app go to the session API`() {
        let messages = Fixture.messages(Self.passwordFile("\(Self.app), password_provider: staff", api: ""))
        let reason = "'password_provider' is for the session API, which is off"
        #expect(messages == ["\(reason); write 'session_api: /auth' in 'gateway', or remove this"])
    }

    /// A file with the client `notes` of these keys, the issuers `ci`, `build` and `mirror`, and the apps wiki, which accepts `ci`, and ledger.
    static func issuerFile(_ keys: String) -> String {
        let issuer = "type: jwt, audience: [gate], issuer: https://ci.example.com"
        let app = "upstream: http://127.0.0.1:1, accept: [session, token], allow: signed_in"
        return """
            gateway: { public_url: "https://gate.example.com", secret: "${env:GATE_SECRET}" }
            providers:
              staff: { type: oidc, issuer: https://id.example.com, client_id: gate, client_secret: "${env:GATE_SECRET}" }
            issuers:
              ci: { \(issuer) }
              mirror: { \(issuer) }
              build: { type: jwt, audience: [gate], issuer: https://build.example.com }
              old: { type: introspection, audience: [gate], issuer: https://old.example.com, introspection_endpoint: https://old.example.com/i, client_id: g, client_secret: "${env:GATE_SECRET}" }
              older: { type: introspection, audience: [gate], issuer: https://older.example.com, introspection_endpoint: https://older.example.com/i, client_id: g, client_secret: "${env:GATE_SECRET}" }
            apps:
              wiki: { host: wiki.example.com, \(app), machines: { issuers: [ci] } }
              ledger: { host: ledger.example.com, \(app) }
              plain: { host: plain.example.com, upstream: http://127.0.0.1:1, allow: signed_in, machines: { issuers: [build] } }
            clients:
              notes: { type: native, \(keys) }
            """
    }

    private static let exchanging = "grants: [token_exchange], audiences: [wiki, ledger], allow: signed_in"

    @Test(arguments: ["", ", providers: []"])
    func `the issuers of a client are whose tokens it exchanges`(more: String) throws {
        let text = Self.issuerFile("\(Self.exchanging), exchange_issuers: [ci]\(more)")
        #expect(Fixture.remarks(text) == [])
        let client = try #require(try Fixture.configuration(text).clients.first)
        #expect(client.route.issuers == ["ci"] && client.route.providers == (more.isEmpty ? ["staff"] : []))
    }

    static let issuerFindings: [(keys: String, message: String)] = [
        (
            "redirect_uris: [\"com.example.notes:/callback\"], audiences: [wiki], allow: signed_in, exchange_issuers: [ci]",
            "'exchange_issuers' are for 'token_exchange'; add it to 'grants', or remove them"
        ),
        ("\(exchanging), exchange_issuers: [c]", "there is no issuer 'c'; did you mean 'ci'?"),
        ("\(exchanging), exchange_issuers: [ci, ci]", "'ci' is in the list already"),
        (
            "\(exchanging), exchange_issuers: [ci, mirror], token_audiences: [x]",
            "'mirror' and 'ci' have the same issuer; a client takes one of them; put both audiences into its 'audience'"
        ),
        (
            "\(exchanging), exchange_issuers: [build]",
            "no app would accept what tokens of 'build' are exchanged for; add it to 'machines.exchanged' of an app, and the app to 'audiences' of the client"
        ),
        (
            "grants: [token_exchange], audiences: [ledger], allow: signed_in, exchange_issuers: [ci]",
            "no app would accept what tokens of 'ci' are exchanged for; add it to 'machines.exchanged' of an app, and the app to 'audiences' of the client"
        ),
        (
            "\(exchanging), exchange_issuers: [old, older], token_audiences: [x]",
            "'older' is the second issuer of type introspection, and a token does not show which of them to ask; make a client for each"
        ),
        (
            "\(exchanging), exchange_issuers: [ci], token_audiences: [x], subject: email",
            "'subject: email' gives a machine whose issuer reports the address of a user the user's credentials; make a client of its own for 'exchange_issuers'"
        ),
        (
            "\(exchanging), exchange_issuers: []",
            "'exchange_issuers' is an empty list; remove it"
        ),
        (
            "\(exchanging), providers: []",
            "'providers' is an empty list; remove it to accept all providers"
        ),
        (
            "grants: [device_code, token_exchange], audiences: [wiki], allow: signed_in, exchange_issuers: [ci], providers: []",
            "'providers' is empty, and only tokens of 'exchange_issuers' get the client tokens; write 'grants: [token_exchange]', or remove 'providers'"
        ),
    ]

    @Test func `an issuer of a file is not the gateway itself, and an app exchanges only what it accepts as a token`() {
        func messages(_ change: (String) -> String) -> [String] {
            Fixture.messages(change(Self.issuerFile("\(Self.exchanging), exchange_issuers: [ci]")))
        }
        let own = messages {
            $0.replacing("issuer: https://build.example.com", with: "issuer: https://gate.example.com")
        }
        #expect(
            own == [
                "'build' is this gateway itself, whose tokens end with the sign-in; an app accepts access tokens of the gateway by 'accept: [session, token]'"
            ]
        )
        let plain = messages { $0.replacing("machines: { issuers: [build] }", with: "machines: { exchanged: [ci] }") }
        #expect(
            plain == [
                "'exchanged' is about access tokens, which the app does not accept; write 'accept: [session, token]', or remove this"
            ]
        )
        let twice = messages {
            $0.replacing("machines: { issuers: [ci] }", with: "machines: { issuers: [ci], exchanged: [ci] }")
        }
        #expect(twice == ["'ci' is in the list already"])
        #expect(messages { $0.replacing("machines: { issuers: [ci] }", with: "machines: { exchanged: [ci] }") } == [])
    }

    @Test(arguments: issuerFindings)
    func `check names what is wrong with the issuers of a client`(keys: String, message: String) {
        #expect(Fixture.messages(Self.issuerFile(keys)) == [message])
    }

    @Test func `clients need a store that can revoke`() {
        let text = Self.client(Self.native) + "\nsessions: { store: \"cookie:\" }"
        let errors = Fixture.parse(text).diagnostics.filter { $0.severity == .error }
        #expect(errors.map(\.location?.line) == [17])
        #expect(errors.first?.message.contains("tokens of clients could not be revoked") == true)
    }

    @Test func `two clients with one scheme are a warning, one with it twice is not`() {
        let first =
            "notes: { type: native, redirect_uris: [\"com.example.notes:/a\", \"com.example.notes:/b\"], allow: signed_in }"
        #expect(Fixture.remarks(Self.file(first)).isEmpty)
        let second = "mail: { type: native, redirect_uris: [\"com.example.notes:/c\"], allow: signed_in }"
        let remarks = Fixture.remarks(Self.file("\(first)\n\(second)"))
        #expect(remarks.count == 1)
        #expect(
            remarks.first?.hasPrefix("warning: 'com.example.notes' is the scheme of client 'notes' in line 17 too")
                == true,
            "\(remarks)"
        )
    }

    @Test(arguments: [(32, true), (33, false)])
    func `a client may have tokens for 32 others`(count: Int, isValid: Bool) {
        let names = (0..<count).map { "a\($0)" }.joined(separator: ", ")
        let keys = "\(Self.native), grants: [authorization_code, token_exchange], token_audiences: [\(names)]"
        #expect(Fixture.messages(Self.client(keys)) == (isValid ? [] : ["'token_audiences' has more than 32 entries"]))
    }

    @Test(arguments: [(100, true), (101, false)])
    func `a client may have 100 redirect URIs`(count: Int, isValid: Bool) {
        let uris = (0..<count).map { "\"https://n.example/\($0)\"" }.joined(separator: ", ")
        let messages = Fixture.messages(Self.client("type: native, redirect_uris: [\(uris)]"))
        #expect(messages == (isValid ? [] : ["'redirect_uris' has more than 100 entries"]))
    }

    @Test func `a URI that is here twice is an error after one that looks alike, too`() {
        let uris = ["a", "a/", "a"].map { "\"https://n.example/\($0)\"" }.joined(separator: ", ")
        let remarks = Fixture.remarks(Self.client("type: native, redirect_uris: [\(uris)]"))
        #expect(remarks.map { $0.prefix { $0 != ":" } } == ["warning", "error"])
        #expect(remarks.last == "error: 'https://n.example/a' is here twice; first in line 17")
    }

    @Test func `a sign-in at a client may last as long as a session`() throws {
        let client = try Fixture.configuration(Self.client("\(Self.native), lifetime: 7d")).clients.first
        #expect(client?.lifetime == .seconds(7 * 86_400))
    }

    @Test func `a secret in clear text is a warning, and not shown`() {
        let secret = "fedcba9876543210fedcba9876543210"
        let result = Fixture.parse(Self.client("type: confidential, secret: \(secret), grants: [device_code]"))
        #expect(result.diagnostics.map(\.severity) == [.warning])
        #expect(!result.diagnostics.contains { $0.rendered.contains(secret) })
    }
}
