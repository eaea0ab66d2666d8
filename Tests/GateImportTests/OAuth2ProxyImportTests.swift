// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateImport

/// What a configuration of oauth2-proxy becomes: the same access or less, and a note for each difference.
@Suite struct OAuth2ProxyImportTests {
    private static let base = """
        client_id = "id"
        client_secret = "hunter2"
        upstreams = ["http://127.0.0.1:8080/"]
        redirect_url = "https://gate.example.com/oauth2/callback"

        """

    private func imported(_ more: String) throws -> Imported { try Imported(Self.base + more, publicURL: nil) }

    // In the shape of contrib/oauth2-proxy.cfg.example of oauth2-proxy.
    @Test func `a whole configuration for Google is valid, without its secrets`() throws {
        let imported = try self.imported(
            """
            provider = "google"
            http_address = "0.0.0.0:4180"
            reverse_proxy = true
            email_domains = ["example.com"]
            cookie_secret = "OQINaROshtE9TcZkNAm-5Zs2Pv3xaWytBmc5W7sPX7w="
            cookie_expire = "12h"
            cookie_refresh = "30m"
            session_store_type = "redis"
            redis_connection_url = "redis://:topsecret@redis.internal:6379/2"
            pass_access_token = true
            skip_auth_routes = ["GET=^/healthz$", "^/static/"]
            """
        )
        #expect(imported.errors == [])
        for secret in ["hunter2", "OQINaROsh", "topsecret"] {
            #expect(!imported.result.yaml.contains(secret))
            #expect(!imported.result.notes.contains { $0.message.contains(secret) })
        }
        #expect(imported.lines.contains("client_secret: \"${env:GOOGLE_CLIENT_SECRET}\""))
        #expect(imported.hasNote("'client_secret' is not copied", line: 2))
        #expect(imported.lines.contains("store: \"${env:GATEHOUSE_REDIS_URL}\""))
        #expect(imported.lines.contains("lifetime: \"12h\"") || imported.lines.contains("lifetime: 12h"))
        #expect(imported.hasNote("apps get the access token as 'Authorization: Bearer', not as X-Forwarded-", line: 14))
        #expect(imported.lines.contains("authorization: access_token"))
        #expect(imported.hasNote("'reverse_proxy' trusts every client", line: 7))
        #expect(imported.admits(.user("google")))
        #expect(!imported.admits(.user("google", email: "eve@example.net")))
        #expect(imported.isPublic("/healthz") && imported.isPublic("/static/a.css"))
        #expect(!imported.isPublic("/healthz", method: "POST") && !imported.isPublic("/healthz/x"))
    }

    @Test func `another prefix is carried over, with the callback below it (N-03)`() throws {
        let imported = try self.imported("proxy_prefix = \"/gate\"\nemail_domains = [\"*\"]\n")
        #expect(imported.errors == [] && imported.lines.contains("endpoint_prefix: /gate"), "\(imported.lines)")
        #expect(imported.hasNote("register the callback 'https://gate.example.com/gate/callback/", line: 4))
    }

    @Test func `a prefix that the gateway cannot have is reported`() throws {
        let imported = try self.imported("proxy_prefix = \"/gate%20x\"\nemail_domains = [\"*\"]\n")
        #expect(imported.errors == [] && !imported.lines.contains { $0.contains("endpoint_prefix") })
        #expect(imported.hasNote("'proxy_prefix' is not a path that 'endpoint_prefix' can have", line: 5))
    }

    @Test func `the ID token in Authorization is carried over, and goes before the access token`() throws {
        let imported = try self.imported(
            """
            provider = "google"
            email_domains = ["example.com"]
            pass_authorization_header = true
            pass_access_token = true
            """
        )
        #expect(imported.errors == [])
        #expect(imported.lines.filter { $0.hasPrefix("authorization:") } == ["authorization: id_token"])
        #expect(imported.hasNote("'pass_access_token' is not carried over: 'authorization' is the ID token"))
        let without = try self.imported(
            "provider = \"google\"\nemail_domains = [\"example.com\"]\npass_authorization_header = false\n"
        )
        #expect(!without.lines.contains { $0.hasPrefix("authorization:") })
    }

    @Test func `a listener on a Unix socket is carried over, for its owner only`() throws {
        let imported = try self.imported("provider = \"google\"\nhttp_address = \"unix:///run/proxy/http.sock\"\n")
        #expect(imported.lines.contains { $0.contains("address: \"unix:/run/proxy/http.sock\"") })
        #expect(imported.hasNote("only this user may connect to the Unix socket", line: 6))
    }

    @Test func `a user needs an accepted email address and one of the groups`() throws {
        let imported = try self.imported(
            """
            provider = "oidc"
            oidc_issuer_url = "https://id.example.com"
            email_domains = ["example.com", "example.org"]
            allowed_groups = ["platform", "sre"]
            """
        )
        #expect(imported.errors == [])
        #expect(imported.admits(.user("oidc", groups: ["sre"])))
        #expect(imported.admits(.user("oidc", email: "bob@example.org", groups: ["platform"])))
        #expect(!imported.admits(.user("oidc")))
        #expect(!imported.admits(.user("oidc", email: "eve@example.net", groups: ["sre"])))
        #expect(!imported.admits(.user("oidc", email: nil, groups: ["sre"])))
    }

    @Test(arguments: [
        ("github_org = \"acme\"", [["acme"]], [["other"], []]),
        ("github_org = \"acme\"\ngithub_team = \"core,ops\"", [["acme/ops"]], [["acme"], ["other/ops"]]),
        ("github_team = \"acme:core\"", [["acme/core"]], [["core"], ["acme"]]),
    ])
    func `organizations and teams of GitHub are groups`(
        options: String,
        admitted: [[String]],
        denied: [[String]]
    ) throws {
        let imported = try self.imported("provider = \"github\"\nemail_domains = \"*\"\n" + options)
        #expect(imported.errors == [])
        for groups in admitted { #expect(imported.admits(.user("github", groups: groups)), "\(groups)") }
        for groups in denied { #expect(!imported.admits(.user("github", groups: groups)), "\(groups)") }
    }

    @Test(arguments: [
        "provider = \"google\"",
        "email_domains = []",
        "email_domains = [\".example.com\"]",
        "email_domains = [\"*\"]\ngithub_repo = \"acme/wiki\"",
        "email_domains = [\"*\"]\nbitbucket_team = \"acme\"",
        "email_domains = [\"*\"]\nallowed_groups = [\"${env:HOME}\"]",
        "email_domains = [\"*\"]\nallowed_projects_only = \"x\"",
        "email_domains = [\"*\"]\ngithub_team = \"no-organization\"",
        "authenticated_emails_file = \"/etc/emails\"",
    ])
    func `a restriction that cannot be carried over denies all users`(options: String) throws {
        let imported = try self.imported(options)
        #expect(imported.errors == [])
        for provider in ["google", "github", "oidc"] {
            for email in ["ann@example.com", "no-user@gatehouse.invalid"] {
                #expect(!imported.admits(.user(provider, email: email, groups: ["acme", "acme/wiki", "x"])))
            }
        }
        #expect(imported.result.notes.contains { $0.severity == .warning && $0.message.contains("denied") })
    }

    @Test(arguments: [
        ("skip_jwt_bearer_tokens = true", "write 'issuers', and 'machines' of the app"),
        ("extra_jwt_issuers = [\"https://id.example.com=api\"]", "write each in 'issuers'"),
        ("bearer_token_login_fallback = true", "an invalid token gets 401"),
        ("trusted_ips = [\"10.0.0.0/8\"]", "write 'public: [{ path: /**, network: … }]'"),
        ("basic_auth_password = \"hunter2\"", "write 'identity: { basic: … }'"),
        ("signature_key = \"sha256:hunter2\"", "'identity: { signature: request }'"),
    ])
    func `a note names the key for what is not carried over, and no client needs less`(
        option: String,
        key: String
    ) throws {
        let imported = try self.imported("email_domains = [\"example.com\"]\n\(option)")
        #expect(imported.errors == [])
        #expect(imported.hasNote(key))
        #expect(!imported.result.yaml.contains("hunter2"))
        #expect(
            !imported.isPublic("/", from: "10.0.0.1") && !imported.admits(.user("google", email: "eve@example.net"))
        )
    }

    // D-01
    @Test(arguments: [
        ("", true), ("pass_user_headers = false", true), ("pass_basic_auth = false", true),
        ("pass_user_headers = false\npass_basic_auth = false", false), ("set_xauthrequest = true", true),
    ])
    func `apps get the standard headers unless oauth2-proxy sends none`(options: String, sendsUser: Bool) throws {
        let imported = try self.imported("email_domains = [\"example.com\"]\n\(options)")
        #expect(imported.errors == [])
        #expect(imported.lines.contains("fields: []") == !sendsUser)
        #expect(imported.hasNote("X-Forwarded-User is the user key") == sendsUser)
    }

    // Q-03
    @Test(arguments: ["other:core", "other:core,acme2:core", "acme:x:core", "other:acme:core"])
    func `a team of another organization than the one that is required is left out`(team: String) throws {
        let imported = try self.imported(
            "provider = \"github\"\nemail_domains = [\"*\"]\ngithub_org = \"acme\"\ngithub_team = \"\(team)\""
        )
        #expect(imported.errors == [])
        for group in ["other/core", "acme/core", "acme2/core", "acme", "other", "x/core"] {
            #expect(!imported.admits(.user("github", groups: [group])), "\(group)")
        }
        #expect(imported.hasNote("has no organization", line: 8))
    }

    // I-02
    @Test func `an expression of skip_auth_regex has no method`() throws {
        let imported = try self.imported(
            "email_domains = [\"*\"]\nskip_auth_regex = [\"GET=^/reports/\", \"^/open/\"]\nskip_auth_routes = [\"POST=^/hook/\"]"
        )
        #expect(!imported.isPublic("/reports/x") && imported.isPublic("/open/x"))
        #expect(imported.isPublic("/hook/x", method: "POST") && !imported.isPublic("/hook/x"))
        #expect(imported.hasNote("'GET=^/reports/' cannot be carried over"))
    }

    // I-02
    @Test(arguments: [
        "", "oidc_groups_claim = \"teams\"\n", "allowed_groups = [\"x\"]\n", "keycloak_groups = [\"x\"]\n",
    ])
    func `a role is a role, and no group of the same name`(more: String) throws {
        let imported = try self.imported(
            "provider = \"keycloak-oidc\"\noidc_issuer_url = \"https://id.example.com/realms/x\"\nemail_domains = [\"*\"]\n"
                + more + "allowed_roles = [\"editor\"]"
        )
        #expect(imported.errors == [])
        #expect(!imported.admits(.user("keycloak", groups: ["editor"])))
        var editor = Profile.user("keycloak")
        editor.roles = ["editor"]
        #expect(imported.admits(editor))
    }

    // I-02
    @Test func `every email address means every one that is verified`() throws {
        let imported = try self.imported("email_domains = [\"*\"]")
        #expect(
            imported.admits(.user("google", email: "any@example.net")) && !imported.admits(.user("google", email: nil))
        )
        let open = try self.imported("email_domains = [\"*\"]\ninsecure_oidc_allow_unverified_email = true")
        #expect(open.admits(.user("google", email: nil)))
    }

    // I-02
    @Test(arguments: ["brand_new = 1", "whatever = true"])
    func `an unknown option denies every app`(option: String) throws {
        let imported = try self.imported("email_domains = [\"example.com\"]\n\(option)")
        #expect(!imported.admits(.user("google")) && imported.result.deniedApps > 0)
    }

    @Test func `the file of email addresses can be given`() throws {
        let files = [
            ImportFile(
                name: "proxy.cfg",
                bytes: Array((Self.base + "authenticated_emails_file = \"/etc/emails\"\n").utf8)
            ),
            ImportFile(
                name: "emails",
                kind: .emails,
                bytes: Array("# staff\nann@example.com\nbob@example.org,Bob\n".utf8)
            ),
        ]
        let imported = try Imported(files)
        #expect(imported.admits(.user("google")) && imported.admits(.user("google", email: "bob@example.org")))
        #expect(!imported.admits(.user("google", email: "eve@example.com")))
    }

    @Test func `a text that looks like a reference is never written`() throws {
        let imported = try self.imported(
            """
            email_domains = ["example.com"]
            provider_display_name = "${env:HOME}"
            scope = "openid ${file:/etc/passwd}"
            provider = "oidc"
            oidc_issuer_url = "https://id.example.com"
            """
        )
        #expect(!imported.result.yaml.contains("HOME") && !imported.result.yaml.contains("/etc/passwd"))
        #expect(imported.hasNote("'provider_display_name' cannot be written", line: 6))
    }

    @Test func `an unknown option is reported, without its value`() throws {
        let imported = try self.imported("email_domains = [\"*\"]\nbrand_new = \"a secret\"\ncookie_expires = \"1h\"")
        #expect(imported.hasNote("'brand_new' is unknown", line: 6))
        #expect(imported.hasNote("did you mean 'cookie_expire'?", line: 7))
        #expect(!imported.result.notes.contains { $0.message.contains("a secret") })
    }

    @Test func `upstreams are apps by path, and a path without a slash at its end is denied`() throws {
        let imported = try Imported(
            """
            --provider=google --client-id=a --client-secret=b --email-domain=*
            --upstream=http://127.0.0.1:8080 --upstream=http://127.0.0.1:9090/api/ --upstream=http://127.0.0.1:7070/exact
            --upstream=file:///var/www/#/files/ --pass-host-header=false --proxy-websockets=false --skip-auth-route=^/exact/
            """,
            kind: .flags
        )
        #expect(imported.errors == [])
        let user = Profile.user("google")
        #expect(imported.admits(user) && imported.admits(user, "/api/x"))
        #expect(!imported.admits(user, "/exact") && !imported.admits(user, "/files/x"))
        #expect(!imported.isPublic("/exact/x"))
        #expect(imported.lines.contains("upstream_host: \"127.0.0.1:9090\""))
        #expect(imported.lines.contains("websocket: false"))
    }

    // In the shape of https://oauth2-proxy.github.io/oauth2-proxy/configuration/alpha-config.
    @Test func `the alpha configuration has the same options under other names`() throws {
        let alpha = """
            upstreamConfig:
              upstreams:
                - { id: api, path: "^/api/(.*)$", rewriteTarget: "/$1", uri: "http://127.0.0.1:9090" }
                - { id: old, path: "^/old/(.*)$", rewriteTarget: "/v1/$1", uri: "http://127.0.0.1:9091" }
                - { id: app, path: /, uri: "http://127.0.0.1:8080", passHostHeader: false, timeout: 1m }
            injectRequestHeaders:
              - { name: X-Auth-Mail, values: [{ claim: email }] }
              - { name: X-Forwarded-User, values: [{ claim: user }] }
              - { name: X-Forwarded-Access-Token, values: [{ claim: access_token }] }
              - { name: X-Fixed, values: [{ value: c2VjcmV0 }] }
              - { name: X-Known, values: [{ fromEnv: KNOWN }] }
            injectResponseHeaders:
              - { name: X-Auth-Request-User, values: [{ claim: user }] }
            server: { BindAddress: "0.0.0.0:4180" }
            providers:
              - id: keycloak
                provider: keycloak-oidc
                clientID: gateway
                clientSecret: "${OIDC_SECRET}"
                allowedGroups: [/staff]
                oidcConfig: { issuerURL: "https://id.example.com/realms/staff", groupsClaim: org.groups }
            """
        let files = [
            ImportFile(name: "proxy.cfg", bytes: Array("email_domains = [\"example.com\"]".utf8)),
            ImportFile(name: "alpha.yaml", kind: .alpha, bytes: Array(alpha.utf8)),
        ]
        let imported = try Imported(files)
        #expect(imported.errors == [])
        #expect(imported.admits(.user("keycloak", groups: ["/staff"]), "/api/x"))
        #expect(!imported.admits(.user("keycloak")))
        for line in [
            "type: keycloak", "client_secret: \"${env:OIDC_SECRET}\"", "X-Auth-Mail: email",
            "X-Known: \"${env:KNOWN}\"",
            "X-Fixed: \"${env:GATEHOUSE_HEADER_X_FIXED}\"", "strip_prefix: true", "upstream_host: \"127.0.0.1:8080\"",
            "from: /old", "to: /v1",
            "- \"id_token:/org/groups\"",
        ] { #expect(imported.lines.contains(line), "\(line)") }
        #expect(!imported.result.yaml.contains("secret\n") && !imported.result.yaml.contains("c2VjcmV0"))
        #expect(
            imported.hasNote(
                "'identity: { authorization: access_token }' of an app sends it as a bearer token",
                line: 9
            )
        )
        #expect(imported.hasNote("identity in responses is for forward-auth", line: 13))
        #expect(imported.hasNote("X-Forwarded-User is the user key"))
    }

    // M-02
    @Test(arguments: [("claim: ", ""), ("claimSource: { claim: ", " }")])
    func `any claim of the alpha configuration has its header`(before: String, after: String) throws {
        func value(_ claim: String) -> String { "[{ \(before)\(claim)\(after) }]" }
        let alpha = """
            upstreamConfig: { upstreams: [{ id: app, path: /, uri: "http://127.0.0.1:8080" }] }
            injectRequestHeaders:
              - { name: X-Department, values: \(value("department")) }
              - { name: X-Roles, values: \(value("resource_access.app.roles")) }
              - { name: X-User, values: \(value("user")) }
              - { name: X-Unlisted, values: \(value("Department")) }
              - { name: X-Created, values: \(value("created_at")) }
            providers:
              - id: main
                provider: oidc
                clientID: gateway
                clientSecret: "${OIDC_SECRET}"
                additionalClaims: [department, resource_access.app.roles]
                oidcConfig: { issuerURL: "https://id.example.com" }
            """
        let files = [
            ImportFile(name: "proxy.cfg", bytes: Array("email_domains = [\"*\"]".utf8)),
            ImportFile(name: "alpha.yaml", kind: .alpha, bytes: Array(alpha.utf8)),
        ]
        let imported = try Imported(files)
        #expect(imported.errors == [])
        for line in [
            "X-Department: claims.department", "X-Roles: claims.resource_access_app_roles", "X-User: subject",
            "X-Unlisted: claims.department_2", "- \"id_token:/department\"", "- \"userinfo:/Department\"",
            "- \"id_token:/resource_access/app/roles\"",
        ] { #expect(imported.lines.contains(line), "\(line)") }
        let reason = "oauth2-proxy does not send it, since 'Department' is not in 'additionalClaims'"
        #expect(imported.hasNote(reason, line: 6))
        #expect(imported.hasNote("the header 'X-Created' is not carried over: there is no field for", line: 7))
        #expect(imported.hasNote("an object is not sent", line: 3))
        #expect(!imported.hasNote("the user key") && imported.admits(.user("oidc")))
    }

    private func alpha(upstream: String = "", server: String = "", provider: String = "") throws -> Imported {
        let alpha = """
            upstreamConfig:
              upstreams:
                - { id: app, path: /, uri: "http://127.0.0.1:8080"\(upstream) }
            server: { BindAddress: "0.0.0.0:4180"\(server) }
            providers:
              - id: keycloak
                provider: keycloak-oidc
                clientID: gateway
                clientSecret: "${OIDC_SECRET}"
                oidcConfig: { issuerURL: "https://id.example.com/realms/staff"\(provider) }
            """
        return try Imported([
            ImportFile(name: "proxy.cfg", bytes: Array("email_domains = [\"example.com\"]".utf8)),
            ImportFile(name: "alpha.yaml", kind: .alpha, bytes: Array(alpha.utf8)),
        ])
    }

    @Test func `I-02: an unknown key of the alpha configuration denies, wherever it is`() throws {
        #expect(try self.alpha().admits(.user("keycloak")))
        for imported in [
            try self.alpha(upstream: ", brandNew: x"), try self.alpha(server: ", BrandNew: x"),
            try self.alpha(provider: ", brandNew: x"), try self.alpha(provider: ", emailClaim: { a: b }"),
        ] {
            #expect(imported.errors == [] && !imported.admits(.user("keycloak")))
            #expect(imported.result.deniedApps == 1)
        }
    }

    @Test(arguments: [
        ("custom_sign_in_logo", "pages.logo"), ("banner", "pages.texts"), ("footer", "pages.texts"),
        ("custom_templates_dir", "pages.templates"),
    ])
    func `I-05: a note names the key for what the sign-in page has`(
        option: String,
        key: String
    ) throws {
        let imported = try self.imported("email_domains = [\"*\"]\n\(option) = \"x\"")
        #expect(imported.hasNote("'\(key)'", line: 6))
        #expect(!imported.result.notes.contains { $0.message.contains("not supported yet") })
    }

    @Test func `public paths are those of the expression, in each app that serves them`() throws {
        let imported = try self.imported(
            """
            email_domains = ["*"]
            upstreams = ["http://127.0.0.1:8080/", "http://127.0.0.1:9090/api/"]
            skip_auth_routes = ["^/api/open", "POST=^/hook$", "GET!=^/x$", "^/$", "^/api/v[0-9]/"]
            skip_auth_preflight = true
            """
        )
        #expect(imported.errors == [])
        #expect(imported.isPublic("/api/open") && imported.isPublic("/api/open/x") && !imported.isPublic("/api/opened"))
        #expect(imported.isPublic("/hook", method: "POST") && !imported.isPublic("/hook"))
        #expect(imported.isPublic("/any", method: "OPTIONS") && imported.isPublic("/api/any", method: "OPTIONS"))
        for path in ["/", "/any", "/api/v1/x", "/api"] { #expect(!imported.isPublic(path), "\(path)") }
        #expect(imported.hasNote("'GET!=^/x$' cannot be carried over", line: 7))
    }

    @Test func `a single tenant of Entra ID is trusted with email addresses, several are not`() throws {
        let one = try self.imported(
            """
            provider = "entra-id"
            oidc_issuer_url = "https://login.microsoftonline.com/8eae0000-2b34-4da1-9baa-8bc8c9d6a490/v2.0"
            email_domains = ["example.com"]
            """
        )
        #expect(one.errors == [])
        #expect(one.lines.contains("trust_email: true"))
        let many = try self.imported("provider = \"azure\"\nemail_domains = [\"example.com\"]")
        #expect(many.errors == [] && !many.lines.contains("trust_email: true"))
        #expect(many.hasNote("xms_edov"))
    }

    @Test func `the same files lead to the same result`() throws {
        let text =
            "email_domains = [\"b.example\", \"a.example\"]\nallowed_groups = [\"x\", \"y\"]\nprovider = \"oidc\"\noidc_issuer_url = \"https://id.example.com\""
        let first = try self.imported(text)
        for _ in 0..<5 {
            let next = try self.imported(text)
            #expect(next.result.yaml == first.result.yaml && next.result.notes == first.result.notes)
        }
    }
}
