// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateImport

/// What the routes and policies of Pomerium become.
@Suite struct PomeriumImportTests {
    /// In the shape of https://www.pomerium.com/docs/reference/routes.
    private func imported(_ routes: String, more: String = "") throws -> Imported {
        let head = """
            authenticate_service_url: https://gate.example.com
            idp_provider: oidc
            idp_provider_url: https://id.example.com
            idp_client_id: gateway
            idp_client_secret: hunter2
            shared_secret: topsecret
            cookie_expire: 8h
            routes:

            """
        return try Imported(more + head + routes, publicURL: nil)
    }

    private func route(_ more: String, from: String = "https://app.example.com") -> String {
        "  - from: \(from)\n    to: http://127.0.0.1:8080\n"
            + more.split(separator: "\n").map { "    \($0)\n" }.joined()
    }

    // D-01
    @Test(arguments: [
        ("", "", false), ("", "pass_identity_headers: true", true), ("pass_identity_headers: true\n", "", true),
        ("pass_identity_headers: true\n", "pass_identity_headers: false", false),
    ])
    func `routes that pass the identity on get the assertion and the claims under the names of Pomerium`(
        global: String,
        own: String,
        passes: Bool
    ) throws {
        let claims = "jwt_claims_headers: [email, preferred_username, groups, user, hd]\n"
        let imported = try self.imported(
            self.route("allow_any_authenticated_user: true\n\(own)"),
            more: claims + global
        )
        #expect(imported.errors == [])
        let headers = [
            "X-Pomerium-Jwt-Assertion: assertion", "X-Pomerium-Claim-Email: email", "X-Pomerium-Claim-Groups: groups",
            "X-Pomerium-Claim-Preferred-Username: preferred_username", "X-Pomerium-Claim-User: subject",
            "X-Pomerium-Claim-Hd: claims.hd", "- \"userinfo:/hd\"",
        ]
        for header in headers { #expect(imported.lines.contains(header) == passes, "\(header)") }
        #expect(imported.hasNote("a claim that a user lacks has no header", line: 1))
        #expect(imported.hasNote("X-Pomerium-Jwt-Assertion is the assertion of the gateway") == passes)
    }

    // D-01
    @Test func `claims may have headers of their own`() throws {
        let more =
            "pass_identity_headers: true\njwt_claims_headers: { X-Mail: email, X-Forwarded-Email: email, X_Odd: name, X-Sub: sub, X-Raw: 'a[0]' }\n"
        let imported = try self.imported(self.route("allow_any_authenticated_user: true"), more: more)
        #expect(imported.errors == [])
        #expect(imported.lines.contains("X-Mail: email") && !imported.lines.contains("X-Forwarded-Email: email"))
        #expect(imported.lines.contains("X-Sub: subject"))
        for (name, reason) in [("X_Odd", "it may hold letters"), ("X-Raw", "there is no field for the claim")] {
            #expect(imported.hasNote("the header '\(name)' is not carried over: \(reason)", line: 2))
        }
        #expect(!imported.hasNote("'X-Forwarded-Email'"))
    }

    // M-02
    @Test(arguments: [
        ("claim/department: eng", ["department": ClaimValue.text("eng")], true),
        ("claim/department: eng", ["department": .list(["ops", "eng"])], true),
        ("claim/department: eng", ["department": .text("ops")], false), ("claim/department: eng", [:], false),
        ("claim/org.unit: 'x y'", ["org_unit": .text("x y")], true),
        ("claim/https://example.com/team: a", ["https_example_com_team": .text("a")], true),
        // A number there is no text.
        ("claim/level: 7", ["level": .number("7")], false), ("claim/level: '7'", ["level": .number("7")], false),
        ("claim/admin: true", ["admin": .flag(true)], false),
        ("claim/department: { is: eng }", ["department": .text("eng")], false),
    ])
    func `a claim is a criterion as far as no other user meets it`(
        criterion: String,
        claims: [String: ClaimValue],
        admits: Bool
    ) throws {
        let imported = try self.imported(self.route("policy: [{ allow: { or: [{ \(criterion) }] } }]"))
        #expect(imported.errors == [])
        var user = self.ann
        user.claims = claims
        #expect(imported.admits(user, "/x", host: self.host) == admits)
    }

    // M-02
    @Test(arguments: [
        ("deny: { or: [{ claim/level: 7 }] }", false), ("deny: { or: [{ claim/level: 8 }] }", true),
        ("allow: { not: [{ claim/level: 7 }] }", false),
        // Fewer users would be denied than with Pomerium.
        ("deny: { not: [{ claim/level: 7 }] }", false), ("deny: { not: [{ claim/department: eng }] }", true),
    ])
    func `a claim that is denied denies at least the users of Pomerium`(clause: String, admits: Bool) throws {
        let allowed = clause.hasPrefix("allow") ? "" : "allow_any_authenticated_user: true\n"
        let imported = try self.imported(self.route("\(allowed)policy: [{ \(clause) }]"))
        #expect(imported.errors == [])
        var user = self.ann
        user.claims = ["level": .number("7"), "department": .text("eng")]
        #expect(imported.admits(user, "/x", host: self.host) == admits)
        #expect(!imported.admits(self.ann, "/x", host: self.host), "an unknown claim lets no user pass")
    }

    @Test(
        arguments: [
            ("prefix: /x\nprefix_rewrite: /y", ["from: /x", "to: /y"]),
            ("prefix: /x/\nprefix_rewrite: /y/", ["from: /x", "to: /y"]),
            ("prefix_rewrite: /y/", ["from: /", "to: /y"]), ("prefix: /x\nprefix_rewrite: /", ["strip_prefix: true"]),
            ("prefix: /x\nprefix_rewrite: /x", []),
        ] as [(String, [String])]
    )
    func `the prefix of a route is replaced as Pomerium does`(more: String, lines: [String]) throws {
        let imported = try self.imported(self.route("allow_any_authenticated_user: true\n\(more)"))
        #expect(imported.errors == [])
        #expect(imported.admits(self.ann, "/x/a", host: self.host))
        for line in lines { #expect(imported.lines.contains(line), "\(imported.result.yaml)") }
        #expect(imported.lines.contains { $0.hasPrefix("rewrite") } == lines.contains { $0.hasPrefix("from") })
    }

    @Test func `the path of a target takes the place of the prefix`() throws {
        let route = self.route("prefix: /x\nallow_any_authenticated_user: true").replacing(
            "http://127.0.0.1:8080",
            with: "http://127.0.0.1:8080/base"
        )
        let imported = try self.imported(route)
        #expect(imported.errors == [])
        #expect(imported.admits(self.ann, "/x/a", host: self.host))
        #expect(imported.lines.contains("from: /x") && imported.lines.contains("to: /base"), "\(imported.result.yaml)")
    }

    // I-03
    @Test func `a prefix that ends within a segment takes longer segments from later routes`() throws {
        let admins = "prefix: /admin\nallowed_groups: [admins]"
        let imported = try self.imported(
            self.route(admins) + self.route("prefix: /admin-api\nallow_any_authenticated_user: true")
                + self.route("allow_any_authenticated_user: true")
        )
        #expect(imported.errors == [])
        for path in ["/admin", "/admin/x", "/admin-api", "/admin-api/x", "/administrator"] {
            #expect(!imported.admits(self.ann, path, host: self.host), "\(path)")
        }
        #expect(imported.admits(self.ann, "/adm", host: self.host))
        #expect(imported.admits(self.member("admins"), "/admin/x", host: self.host))
        #expect(imported.hasNote("'/adminx' belongs to no app, or is denied"))
        // A later route without a sign-in cannot deny anything.
        let open = try self.imported(self.route(admins) + self.route("allow_public_unauthenticated_access: true"))
        #expect(open.errors == [] && !open.isPublic("/administrator", host: self.host))
    }

    // I-03
    @Test(arguments: ["/", "^/", "/api", "^/api$", "/api/", "^/api/"])
    func `an expression matches whole paths only`(expression: String) throws {
        let imported = try self.imported(
            self.route("regex: '\(expression)'\nallow_any_authenticated_user: true")
        )
        #expect(imported.errors.allSatisfy { $0.contains("the file needs 'apps'") })
        for path in ["/x", "/api/x"] { #expect(!imported.admits(self.ann, path, host: self.host), "\(path)") }
    }

    // I-03
    @Test func `a prefix with a slash at its end does not match the path without it`() throws {
        let imported = try self.imported(
            self.route("prefix: /a/\nallow_any_authenticated_user: true\ncors_allow_preflight: true")
        )
        #expect(imported.errors == [])
        #expect(imported.admits(self.ann, "/a/x", host: self.host) && !imported.admits(self.ann, "/a", host: self.host))
        #expect(imported.isPublic("/a/x", host: self.host, method: "OPTIONS"))
        #expect(!imported.isPublic("/a", host: self.host, method: "OPTIONS"))
    }

    // I-03
    @Test func `a wildcard before a host takes its requests`() throws {
        let elsewhere = try Imported(
            "idp_provider: oidc\nidp_provider_url: https://id.example.com\nidp_client_id: g\nroutes:\n"
                + self.route("prefix: /a\nallowed_groups: [admins]", from: "https://*.example.com")
                + self.route("allow_any_authenticated_user: true"),
            publicURL: "https://gate.example.org"
        )
        #expect(
            !elsewhere.admits(self.ann, "/a/x", host: self.host) && elsewhere.admits(self.ann, "/x", host: self.host)
        )
    }

    // I-03
    @Test(arguments: ["allow_public_unauthenticated_access", "cors_allow_preflight"])
    func `a path needs a sign-in if users are denied`(flag: String) throws {
        let imported = try self.imported(
            self.route("\(flag): true\npolicy:\n  - deny: { or: [{ email: eve@example.net }] }")
        )
        #expect(!imported.isPublic("/", host: self.host, method: "OPTIONS"))
    }

    // I-03
    @Test(arguments: ["downstream_mtls: { ca_file: /x }", "client_ca_file: /x", "brand_new: 1"])
    func `a global option that may narrow access denies all apps`(option: String) throws {
        let text =
            "\(option)\nidp_provider: oidc\nidp_provider_url: https://id.example.com\nidp_client_id: g\nroutes:\n"
        let imported = try Imported(
            text + self.route("allow_any_authenticated_user: true")
                + self.route("allow_public_unauthenticated_access: true", from: "https://b.example.com")
        )
        #expect(imported.errors == [])
        #expect(!imported.admits(self.ann, host: self.host) && !imported.isPublic("/", host: "b.example.com"))
        #expect(imported.hasNote("may narrow access", line: 1))
    }

    // I-05
    @Test func `an app that all may open is not reported as denied`() throws {
        let imported = try self.imported(self.route("allow_public_unauthenticated_access: true"))
        #expect(imported.isPublic("/x", host: self.host) && imported.result.deniedApps == 0)
        #expect(!imported.result.notes.contains { $0.message.contains("denied to all users") })
    }

    private let host = "app.example.com"
    private let ann = Profile.user("oidc")
    private let eve = Profile.user("oidc", email: "eve@example.net")
    private func member(_ group: String) -> Profile { .user("oidc", groups: [group]) }

    @Test func `routes, the provider and the sessions are carried over, the secrets are not`() throws {
        let imported = try self.imported(
            self.route("policy:\n  - allow:\n      or:\n        - domain: { is: example.com }")
        )
        #expect(imported.errors == [])
        for secret in ["hunter2", "topsecret"] { #expect(!imported.result.yaml.contains(secret)) }
        #expect(imported.hasNote("'idp_client_secret' is not copied", line: 5))
        for line in [
            "host: app.example.com", "lifetime: \"8h\"", "websocket: false", "upstream_host: \"127.0.0.1:8080\"",
        ] {
            #expect(imported.lines.contains(line), "\(line)")
        }
        #expect(imported.admits(self.ann, host: self.host) && !imported.admits(self.eve, host: self.host))
    }

    @Test func `allow is one of several rules, and deny wins`() throws {
        let policy = """
            policy:
              - allow: { or: [{ email: { is: eve@example.net } }, { groups: { has: sre } }] }
              - allow: { and: [{ domain: { is: example.com } }, { "claim/groups": wiki }] }
              - deny: { or: [{ groups: { has: guests } }, { email: bob@example.com }] }
            """
        let imported = try self.imported(self.route(policy))
        #expect(imported.errors == [])
        for user in [self.eve, self.member("sre"), self.member("wiki")] {
            #expect(imported.admits(user, host: self.host))
        }
        var guest = self.member("sre")
        guest.groups = ["guests", "sre"]
        for user in [self.ann, guest, .user("oidc", email: "bob@example.com", groups: ["sre"])] {
            #expect(!imported.admits(user, host: self.host))
        }
    }

    @Test(arguments: [
        "", "policy:\n  - allow: { not: [{ domain: example.com }] }",
        "policy:\n  - allow: { and: [{ email: ann@example.com }, { device: { is: x } }] }",
        "policy:\n  - allow: { or: [{ domain: { starts_with: example } }] }",
        "policy:\n  - allow: { or: [authenticated_user: true], and: [{ reject: true }] }",
        "allow_any_authenticated_user: true\npolicy:\n  - deny: { not: [{ groups: { has: x } }] }",
        "allow_any_authenticated_user: true\npolicy:\n  - deny: { or: [{ source_ip: 10.0.0.0/8 }] }",
        "allow_any_authenticated_user: true\npolicy:\n  - deny: { and: [{ source_ip: 10.0.0.0/8 }] }",
        "allow_any_authenticated_user: true\npolicy:\n  - audit: { or: [] }",
        "allow_any_authenticated_user: true\nbrand_new: true",
        "allow_any_authenticated_user: true\npath: /exact", "allow_any_authenticated_user: true\nregex: ^/a[0-9]$",
        "allow_any_authenticated_user: true\nprefix: /x\nprefix_rewrite: /y/",
        "allow_any_authenticated_user: true\nprefix_rewrite: /y",
        "allow_any_authenticated_user: true\nprefix: /x\nprefix_rewrite: /y;z",
        "allow_any_authenticated_user: true\nprefix: /x\nregex_rewrite_pattern: ^/x\nregex_rewrite_substitution: /y",
        "policy:\n  - allow: { or: [{ email: \"${env:HOME}\" }] }",
    ])
    func `a policy that cannot be carried over denies all users`(more: String) throws {
        let imported = try self.imported(
            self.route(more) + self.route("allow_any_authenticated_user: true", from: "https://other.example.com")
        )
        #expect(imported.errors == [])
        #expect(imported.admits(self.ann, host: "other.example.com"))
        for path in ["/", "/x", "/exact", "/a1"] {
            #expect(!imported.admits(self.ann, path, host: self.host) && !imported.isPublic(path, host: self.host))
        }
    }

    @Test func `a negation admits users whom no criterion matches, and denies those whom one does not`() throws {
        let allow = "policy:\n  - allow: { nor: [{ groups: { has: guests } }, { email: eve@example.net }] }"
        let deny = "allow_any_authenticated_user: true\npolicy:\n  - deny: { not: [{ groups: { has: sre } }] }"
        let imported = try self.imported(
            self.route(allow) + self.route(deny, from: "https://other.example.com")
                + self.route(allow.replacing("nor:", with: "not:"), from: "https://third.example.com")
        )
        #expect(imported.errors == [])
        for host in [self.host, "third.example.com"] {
            #expect(imported.admits(self.ann, host: host) && !imported.admits(self.eve, host: host))
            #expect(!imported.admits(self.member("guests"), host: host))
            #expect(!imported.admits(.user("oidc", email: nil), host: host), "an unknown email address may be eve's")
        }
        #expect(imported.admits(self.member("sre"), host: "other.example.com"))
        #expect(!imported.admits(self.ann, host: "other.example.com"))
    }

    @Test func `networks, methods and several groups are conditions of one entry`() throws {
        let policy = """
            policy:
              - allow:
                  and:
                    - groups: { has: sre }
                    - groups: { has: leads }
                    - source_ip: 10.0.0.0/8
                    - http_method: { in: [GET, HEAD] }
            """
        let imported = try self.imported(self.route(policy))
        #expect(imported.errors == [])
        let lead = Profile.user("oidc", groups: ["leads", "sre"])
        #expect(imported.admits(lead, host: self.host, method: "HEAD", from: "10.1.1.1"))
        #expect(!imported.admits(self.member("sre"), host: self.host, from: "10.1.1.1"))
        #expect(!imported.admits(lead, host: self.host, method: "POST", from: "10.1.1.1"))
        #expect(!imported.admits(lead, host: self.host, from: "11.1.1.1"))
        #expect(imported.hasNote("list the load balancers before the gateway in 'trusted_proxies'"))
    }

    @Test func `alternatives of a criterion within deny and and are denied each`() throws {
        let policy = """
            allow_any_authenticated_user: true
            policy:
              - deny: { and: [{ domain: example.com }, { email: { in: [ann@example.com, bob@example.com] } }] }
            """
        let imported = try self.imported(self.route(policy))
        #expect(imported.errors == [])
        #expect(!imported.admits(self.ann, host: self.host))
        #expect(!imported.admits(.user("oidc", email: "bob@example.com"), host: self.host))
        #expect(imported.admits(.user("oidc", email: "cy@example.com"), host: self.host))
    }

    @Test(arguments: [
        ("deny: { or: [{ source_ip: 10.0.0.0/8 }] }", "write 'network'"),
        ("allow: { not: [{ source_ip: 10.0.0.0/8 }] }", "write 'network'"),
        ("allow: { or: [{ time_of_day: { after: '9:00' } }] }", "write 'time' in an entry"),
        ("allow: { or: [{ user: { is: x } }] }", "write 'user: PROVIDER:ID' in an entry"),
        ("allow: { and: [{ http_path: { is: /x } }] }", "write 'path' in an entry"),
    ])
    func `a note names the key for what is not carried over, and no user is admitted`(rule: String, key: String) throws
    {
        let imported = try self.imported(self.route("policy:\n  - \(rule)"))
        #expect(imported.errors == [])
        #expect(imported.hasNote(key))
        #expect(!imported.admits(self.ann, host: self.host, from: "10.0.0.1"))
        #expect(!imported.admits(self.ann, host: self.host, from: "11.0.0.1"))
    }

    @Test func `a deny with a criterion that cannot be expressed denies more users`() throws {
        let policy =
            "allow_any_authenticated_user: true\npolicy:\n  - deny: { and: [{ groups: { has: guests } }, { source_ip: 10.0.0.0/8 }] }"
        let imported = try self.imported(self.route(policy))
        #expect(imported.admits(self.ann, host: self.host) && !imported.admits(self.member("guests"), host: self.host))
    }

    @Test func `the older keys for users and domains, public routes and preflights`() throws {
        let imported = try self.imported(
            self.route("allowed_users: [eve@example.net]\nallowed_domains: [example.com]\ncors_allow_preflight: true")
                + self.route(
                    "allow_public_unauthenticated_access: true\nprefix: /open/",
                    from: "https://pub.example.com"
                )
        )
        #expect(imported.errors == [])
        #expect(imported.admits(self.ann, host: self.host) && imported.admits(self.eve, host: self.host))
        #expect(
            imported.isPublic("/x", host: self.host, method: "OPTIONS") && !imported.isPublic("/x", host: self.host)
        )
        #expect(imported.isPublic("/open/x", host: "pub.example.com"))
        #expect(!imported.admits(self.ann, "/open", host: "pub.example.com"))
    }

    @Test(arguments: ["google", "github", "apple", "azure", "okta"])
    func `a rule on groups is valid with each provider`(source: String) throws {
        let imported = try Imported(
            """
            idp_provider: \(source)
            idp_provider_url: https://login.example.com/8eae0000-2b34-4da1-9baa-8bc8c9d6a490/v2.0
            idp_client_id: id
            routes:
              - from: https://app.example.com
                to: http://127.0.0.1:8080
                policy: [{ allow: { or: [{ groups: { has: x } }] } }, { deny: { or: [{ groups: { has: y } }] } }]
            """
        )
        // Only the keys that Apple needs and Pomerium does not have are missing.
        #expect(imported.errors.isEmpty || source == "apple")
        #expect(!imported.errors.contains { $0.contains("never match") })
    }

    @Test func `the first route that matches is used`() throws {
        let imported = try self.imported(
            self.route("policy:\n  - allow: { or: [{ groups: { has: sre } }] }")
                + self.route("allow_any_authenticated_user: true\nprefix: /late/")
                + self.route("allow_any_authenticated_user: true\nprefix: /first/", from: "https://two.example.com")
                + self.route("policy:\n  - allow: { or: [{ groups: { has: sre } }] }", from: "https://two.example.com")
        )
        #expect(imported.errors == [])
        #expect(!imported.admits(self.ann, "/late/x", host: self.host))
        #expect(
            imported.admits(self.ann, "/first/x", host: "two.example.com")
                && !imported.admits(self.ann, host: "two.example.com")
        )
    }
}
