// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateConfiguration
import GateCore
import GatePolicy
import GateProviders
import Testing

/// M-01 and M-02: the fields and claims that apps, rules and clients name in the file.
@Suite struct ClaimSettingsTests {
    private static func text(
        claims: String = "{ department: \"id_token:/department\" }",
        app: String,
        rest: String = ""
    ) -> String {
        """
        gateway:
          public_url: https://gate.example.com
        providers:
          staff:
            type: oidc
            issuer: https://id.example.com
            client_id: gatehouse
            client_secret: ${env:CLIENT_SECRET}
            claims: \(claims)
          guests:
            type: oidc
            issuer: https://guests.example.com
            client_id: gatehouse
            client_secret: ${env:CLIENT_SECRET}
        apps:
          wiki:
            upstream: http://127.0.0.1:9000
        \(app)
        \(rest)
        """
    }

    private func messages(claims: String = "{ department: \"id_token:/department\" }", _ app: String) -> [String] {
        Fixture.parse(Self.text(claims: claims, app: app)).diagnostics.map { "\($0.severity.rawValue): \($0.message)" }
    }

    private func configuration(_ app: String, rest: String = "") throws -> Configuration {
        let result = Fixture.parse(Self.text(app: app, rest: rest))
        return try #require(result.configuration, "\(result.diagnostics.map(\.rendered))")
    }

    @Test func `headers, the assertion, rules and clients name claims`() throws {
        let configuration = try self.configuration(
            """
                allow: [{ claim: { department: [engineering, ops] } }, { claim: { department: sales }, provider: staff }]
                headers: { X-Department: claims.department, X-Picture: picture, X-Login: username }
                identity: { claims: [department], fields: [user, roles, given_name] }
            """,
            rest: """
                clients:
                  notes: { type: native, redirect_uris: ["com.example.notes:/cb"], claims: [department], audiences: [wiki], allow: signed_in }
                """
        )
        let app = configuration.apps[0]
        #expect(
            app.headers == [
                HeaderSetting(name: "X-Department", fact: .claim("department")),
                HeaderSetting(name: "X-Picture", field: .picture),
                HeaderSetting(name: "X-Login", field: .preferredUsername),
                HeaderSetting(name: "X-Forwarded-Roles", field: .roles),
                HeaderSetting(name: "X-Forwarded-Given-Name", field: .givenName),
            ]
        )
        #expect(app.identity.fields == [.user] && app.identity.claims == ["department"])
        #expect(
            app.route.access.entries.map(\.claims) == [
                [ClaimCondition(name: "department", values: ["engineering", "ops"])],
                [ClaimCondition(name: "department", values: ["sales"])],
            ]
        )
        #expect(configuration.clients[0].claims == ["department"])
        #expect(configuration.providers[0].claims == ["department": ["id_token:/department"]])
    }

    @Test(
        arguments: [
            "    allow: [{ claim: { department: ops } }]",
            "    allow: [{ not: { any: [{ claim: { department: ops } }] } }]",
            "    allow: signed_in\n    deny: [{ provider: staff, claim: { department: ops } }]",
            "    allow: signed_in\n    headers: { X-D: claims.department }",
            "    allow: signed_in\n    identity: { claims: [department] }",
        ]
    )
    func `a claim that something uses is read`(app: String) throws {
        let used = try self.configuration(app).withUsedFacts
        #expect(used.usedClaims == ["department"] && used.providers[0].claims.keys.sorted() == ["department"])
    }

    @Test(
        arguments: [
            ("    allow: signed_in\n    headers: { X-Given: given_name }", [ProfileField.givenName]),
            ("    allow: signed_in\n    identity: { fields: [user, picture] }", [.picture]),
            ("    allow: signed_in", []),
        ]
    )
    func `M-01 a field that an app names is worth a call of userinfo`(app: String, fields: [ProfileField]) throws {
        let beside: Set<ProfileField> = [.givenName, .familyName, .picture, .locale]
        let used = try self.configuration(app).withUsedFacts.providers[0].usedFields
        #expect(used.intersection(beside) == Set(fields))
    }

    @Test(arguments: [("true", "true"), ("\"true\"", "true"), ("7", "7"), ("[7, false]", "7 false"), ("1.50", "1.50")])
    func `values of claims need no quotes`(written: String, expected: String) throws {
        let app = try self.configuration("    allow: [{ claim: { department: \(written) } }]").apps[0]
        #expect(app.route.access.entries[0].claims[0].values.joined(separator: " ") == expected)
    }

    @Test func `a claim that nothing uses is not read`() throws {
        let configuration = try self.configuration("    allow: signed_in")
        #expect(configuration.usedClaims.isEmpty && configuration.withUsedFacts.providers[0].claims.isEmpty)
        let client = try self.configuration(
            "    allow: signed_in",
            rest: """
                clients:
                  notes: { type: native, redirect_uris: ["com.example.notes:/cb"], claims: [department], audiences: [wiki], allow: signed_in }
                """
        )
        #expect(client.usedClaims == ["department"])
    }

    @Test(
        arguments: [
            ("    allow: [{ claim: { departmnt: ops } }]", "departmnt", "did you mean 'department'?"),
            (
                "    allow: [{ provider: guests, claim: { department: ops } }]", "department",
                "it is in 'claims' of staff"
            ),
            ("    allow: signed_in\n    headers: { X-D: claims.dept }", "dept", "add it to 'claims' of staff"),
            (
                "    allow: signed_in\n    identity: { claims: [departments] }", "departments",
                "did you mean 'department'?"
            ),
            (
                "    providers: [guests]\n    allow: signed_in\n    headers: { X-D: claims.department }", "department",
                "it is in 'claims' of staff"
            ),
        ]
    )
    func `a claim that no accepted provider defines is an error with what to do`(
        app: String,
        name: String,
        help: String
    ) {
        let messages = self.messages(app)
        #expect(messages.count == 1, "\(messages)")
        #expect(
            messages.first?.hasPrefix("error: ") == true
                && messages.first?.contains("claim '\(name)' comes from") == true
        )
        #expect(messages.first?.hasSuffix(help) == true, "\(messages)")
    }

    @Test func `a deny by a claim warns of a provider that does not define it, since it denies all its users`() {
        let deny = "    allow: signed_in\n    deny: [{ claim: { department: ops } }]"
        #expect(
            self.messages(deny) == [
                "warning: every user of 'guests' is denied, since there is no claim 'department'; define it there, such as with "
                    + "'const:none', or add 'provider: staff' to this entry"
            ]
        )
        #expect(self.messages("    providers: [staff]\n" + deny).isEmpty)
    }

    @Test func `a deny by a claim warns that it denies service tokens`() {
        let app = """
                providers: [staff]
                allow: signed_in
                machines: { service_tokens: [bot] }
                deny: [{ claim: { department: ops } }]
            service_tokens:
              bot: { hash: "sha256:\(String(repeating: "0", count: 64))", expires: 2099-12-31 }
            """
        #expect(
            self.messages(app) == [
                "warning: every service token is denied, since there is no claim 'department'; add 'provider: staff' to this entry"
            ]
        )
    }

    @Test(
        arguments: [
            ("{ Department: \"id_token:/d\" }", "lower-case"), ("{ 1d: \"id_token:/d\" }", "lower-case"),
            ("{ a-b: \"id_token:/d\" }", "lower-case"), ("{ email: \"id_token:/d\" }", "choose another name"),
            ("{ sub: \"id_token:/d\" }", "choose another name"), ("{ d: \"callback:/d\" }", "not signed"),
            ("{ d: \"api:/orgs#[*]/login\" }", "cannot search a list of an API"),
            ("{ d: \"idtoken:/d\" }", "did you mean 'id_token:'?"),
        ]
    )
    func `names and sources of claims are checked`(claims: String, part: String) {
        let messages = self.messages(claims: claims, "    allow: signed_in")
        #expect(messages.count == 1 && messages.first?.contains(part) == true, "\(messages)")
    }

    @Test func `a provider has at most 64 claims`() {
        func claims(_ count: Int) -> String {
            "{ \((0..<count).map { "c\($0): \"id_token:/c\"" }.joined(separator: ", ")) }"
        }
        #expect(self.messages(claims: claims(64), "    allow: signed_in").isEmpty)
        #expect(self.messages(claims: claims(65), "    allow: signed_in") == ["error: more than 64 claims"])
    }

    @Test(arguments: [
        ("claims.", "names no claim"), ("claims.A", "names no claim"), ("pictur", "did you mean 'picture'?"),
    ])
    func `a header of something else is an error`(value: String, part: String) {
        let messages = self.messages("    allow: signed_in\n    headers: { X-D: \"\(value)\" }")
        #expect(messages.count == 1 && messages.first?.contains(part) == true, "\(messages)")
    }

    private func proof(_ lines: String) -> [String] {
        let text = Fixture.smallest().replacing("    client_secret: ${env:CLIENT_SECRET}\n", with: lines)
        return Fixture.parse(text).diagnostics.map { "\($0.severity.rawValue): \($0.message)" }
    }

    @Test func `M-03: a provider may have no secret, or a token in a file`() throws {
        #expect(self.proof("    client_secret: none\n").isEmpty)
        #expect(self.proof("    client_secret: none\n    client_authentication: none\n").isEmpty)
        #expect(self.proof("    client_assertion_file: /run/token\n").isEmpty)
        let text = Fixture.smallest().replacing(
            "client_secret: ${env:CLIENT_SECRET}",
            with: "client_assertion_file: token.jwt"
        )
        #expect(try Fixture.configuration(text).providers[0].clientAssertionFile == "/etc/gatehouse/token.jwt")
    }

    private static let files = "tls: { certificate: tls/good.pem, private_key: tls/good.key }"

    // M-03
    @Test func `a certificate of the gateway's own is proof enough`() throws {
        #expect(self.proof("    \(Self.files)\n").isEmpty)
        for method in ["tls_client_auth", "self_signed_tls_client_auth"] {
            #expect(self.proof("    \(Self.files)\n    client_authentication: \(method)\n").isEmpty)
        }
        let text = Fixture.smallest().replacing("client_secret: ${env:CLIENT_SECRET}", with: Self.files)
        let files = try Fixture.configuration(text).providers[0].shownCertificate
        #expect(
            files
                == CertificateFiles(
                    certificate: "/etc/gatehouse/tls/good.pem",
                    privateKey: "/etc/gatehouse/tls/good.key"
                )
        )
    }

    @Test(arguments: [("linkedin", "takes no PKCE"), ("facebook", "each call to its API is proved with the secret")])
    func `M-03: a type that needs the secret has no public clients`(type: String, part: String) {
        let text = Fixture.smallest().replacing("client_secret: ${env:CLIENT_SECRET}", with: "client_secret: none")
            .replacing("type: oidc\n    issuer: https://id.example.com", with: "type: \(type)")
        let messages = Fixture.parse(text).diagnostics.map { "\($0.severity.rawValue): \($0.message)" }
        #expect(messages.contains { $0.hasPrefix("error: ") && $0.contains(part) }, "\(messages)")
    }

    @Test func `a claim of a client that no provider defines is an error`() {
        let client = """
            clients:
              notes: { type: native, redirect_uris: ["com.example.notes:/cb"], claims: [departmnt], audiences: [wiki], allow: signed_in }
            """
        let result = Fixture.parse(Self.text(app: "    allow: signed_in", rest: client))
        #expect(result.diagnostics.map(\.message).contains { $0.hasSuffix("did you mean 'department'?") })
    }

    private static func client(_ scopes: String) -> String {
        let client = """
            clients:
              notes: { type: native, redirect_uris: ["com.example.notes:/cb"], scopes: \(scopes), audiences: [wiki], allow: signed_in }
            """
        return self.text(app: "    allow: signed_in\n    accept: [token]", rest: client)
    }

    // M-02
    @Test func `a client has scopes that give claims, which are read for it`() throws {
        let text = Self.client("{ hr: [department], \"api:read\": [department] }")
        let configuration = try Fixture.configuration(text)
        #expect(configuration.clients[0].scopes == ["hr": ["department"], "api:read": ["department"]])
        #expect(configuration.usedClaims == ["department"])
    }

    @Test(arguments: [
        ("{ email: [department] }", "OpenID Connect has one of this name"),
        ("{ hr: [departmnt] }", "did you mean 'department'?"),
        ("{ hr: [] }", "the scope 'hr' gives no claim"), ("{ \"a b\": [department] }", "it may have 1 to 64 of"),
        ("{ hr: [department, user] }", "the profile or every token has it"),
    ])
    func `a scope of a client that means nothing is an error`(scopes: String, part: String) {
        let messages = Fixture.parse(Self.client(scopes)).diagnostics.filter { $0.severity == .error }.map(\.message)
        #expect(messages.count == 1 && messages[0].contains(part), "\(messages)")
    }

    @Test(
        arguments: [
            ("    client_secret: none\n    pkce: off\n", "only PKCE protects"),
            (
                "    client_secret: none\n    client_authentication: client_secret_post\n",
                "cannot use 'client_secret_post'"
            ),
            (
                "    client_secret: ${env:CLIENT_SECRET}\n    client_authentication: none\n",
                "write 'client_secret: none'"
            ),
            ("    client_secret: none\n    client_assertion_file: /run/token\n", "is instead of 'client_secret'"),
            (
                "    client_assertion_file: /run/token\n    client_authentication: client_secret_basic\n",
                "there is one way only"
            ),
            ("", "'client_secret: none' for a public client"),
            ("    tls: { certificate: tls/good.pem }\n", "'certificate' needs 'private_key'"),
            ("    tls: { private_key: tls/good.key }\n", "'private_key' needs 'certificate'"),
            ("    client_secret: none\n    \(files)\n", "is for a client without any proof"),
            (
                "    client_secret: ${env:CLIENT_SECRET}\n    client_authentication: tls_client_auth\n",
                "tls_client_auth needs 'tls', such as"
            ),
        ]
    )
    func `M-03: proofs that contradict each other are errors`(lines: String, part: String) {
        let messages = self.proof(lines)
        #expect(messages.contains { $0.hasPrefix("error: ") && $0.contains(part) }, "\(messages)")
    }
}
