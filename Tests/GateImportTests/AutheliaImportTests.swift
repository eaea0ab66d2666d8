// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateSessions
import Testing

@testable import GateImport

/// What the access rules of Authelia become: the first that matches decides, and none gets weaker.
@Suite struct AutheliaImportTests {
    /// In the shape of https://www.authelia.com/configuration/security/access-control/.
    private func imported(_ rules: String, standard: String = "deny") throws -> Imported {
        let head = """
            session:
              secret: hunter2
              cookies:
                - { domain: example.com, authelia_url: "https://auth.example.com", inactivity: 10m, expiration: 2h }
            access_control:
              default_policy: \(standard)
              rules:

            """
        let url = "https://gate.example.org"
        return try Imported(head + rules.split(separator: "\n").map { "    \($0)\n" }.joined(), publicURL: url)
    }

    private let host = "app.example.com"
    private let one = Profile.user("authelia")
    private let two = Profile.user("authelia-two-factor")
    private func one(_ group: String...) -> Profile { .user("authelia", groups: group) }
    private func two(_ group: String...) -> Profile { .user("authelia-two-factor", groups: group) }

    // D-01
    @Test func `apps get the headers of Authelia`() throws {
        let imported = try self.imported(
            "- { domain: app.example.com, policy: one_factor, resources: ['^/a([/?].*)?$'] }"
        )
        #expect(imported.errors == [])
        for line in [
            "Remote-User: preferred_username", "Remote-Groups: groups", "Remote-Name: name", "Remote-Email: email",
        ] {
            #expect(imported.lines.count { $0 == line } == 2, "\(line)")
        }
    }

    @Test func `policies are sign-ins with one factor, with two, public paths and denials`() throws {
        let imported = try self.imported(
            """
            - { domain: public.example.com, policy: bypass }
            - { domain: app.example.com, policy: bypass, resources: ['^/api([/?].*)?$', '^/ping$'] }
            - { domain: app.example.com, policy: one_factor }
            - { domain: [bank.example.com, vault.example.com], policy: two_factor }
            - { domain: "*.example.com", policy: deny }
            """
        )
        #expect(imported.errors == [])
        #expect(imported.isPublic("/", host: "public.example.com"))
        #expect(imported.isPublic("/api/x", host: self.host) && !imported.isPublic("/ping", host: self.host))
        #expect(!imported.isPublic("/ping/x", host: self.host) && !imported.isPublic("/", host: self.host))
        #expect(imported.admits(self.one, host: self.host) && imported.admits(self.two, host: self.host))
        #expect(
            !imported.admits(self.one, host: "bank.example.com") && imported.admits(self.two, host: "vault.example.com")
        )
        #expect(!imported.admits(self.two, host: "other.example.com"))
        #expect(imported.hasNote("'authorization_policy: two_factor'"))
        #expect(imported.lines.contains("idle_timeout: \"10m\"") && imported.lines.contains("lifetime: \"2h\""))
        #expect(!imported.result.yaml.contains("hunter2"))
    }

    // M-02
    @Test func `custom claims of clients are claims of the provider, with their scopes`() throws {
        let imported = try Imported(
            """
            session: { cookies: [{ domain: example.com, authelia_url: "https://auth.example.com" }] }
            access_control: { default_policy: deny, rules: [{ domain: app.example.com, policy: one_factor }] }
            identity_providers:
              oidc:
                claims_policies:
                  staff: { id_token: [hr], custom_claims: { hr: { attribute: department }, x: { name: costCenter, attribute: cc } } }
                scopes: { company: { claims: [hr] }, other: { claims: [email] } }
            """
        )
        #expect(imported.errors == [])
        for line in ["- \"id_token:/hr\"", "- \"userinfo:/costCenter\"", "costcenter:", "- company"] {
            #expect(imported.lines.contains(line), "\(line)")
        }
        #expect(!imported.lines.contains("- other"))
        #expect(imported.hasNote("an app gets one with 'headers: { X-…: claims.costcenter }'", line: 5))
        #expect(imported.hasNote("with the scopes of the provider and the 'claims_policy' of the claims"))
    }

    @Test func `subjects are alternatives, and a list within them has to match as a whole`() throws {
        let imported = try self.imported(
            """
            - { domain: app.example.com, policy: deny, subject: 'group:guests' }
            - { domain: app.example.com, policy: two_factor, subject: ['group:admins', ['group:dev']] }
            - { domain: app.example.com, policy: two_factor, subject: [['group:a', 'group:b'], 'user:john'] }
            """
        )
        #expect(imported.errors == [])
        #expect(
            imported.admits(self.two("admins"), host: self.host) && imported.admits(self.two("dev"), host: self.host)
        )
        for user in [self.one("admins"), self.two("a"), self.two("guests"), self.two] {
            #expect(!imported.admits(user, host: self.host))
        }
        #expect(
            imported.admits(self.two("b", "a"), host: self.host) && !imported.admits(self.two("b"), host: self.host)
        )
        #expect(!imported.admits(self.one("b", "a"), host: self.host))
        #expect(imported.hasNote("users in 'subject' are not carried over", line: 10))
    }

    @Test func `networks and methods are conditions of an entry, which needs a sign-in all the same`() throws {
        let imported = try Imported(
            """
            session: { cookies: [{ domain: example.com, authelia_url: "https://auth.example.com" }] }
            definitions: { network: { office: [192.0.2.0/24, '2001:db8::/32'] } }
            access_control:
              networks: [{ name: vpn, networks: 10.8.0.0/16 }]
              default_policy: deny
              rules:
                - { domain: app.example.com, policy: one_factor, networks: [office, vpn, 198.51.100.7] }
                - { domain: app.example.com, policy: two_factor, methods: [GET, HEAD] }
            """
        )
        #expect(imported.errors == [])
        for client in ["192.0.2.9", "2001:db8::1", "10.8.1.1", "198.51.100.7"] {
            #expect(imported.admits(self.one, host: self.host, method: "POST", from: client), "\(client)")
        }
        #expect(!imported.admits(self.one, host: self.host, from: "198.51.100.8"))
        #expect(!imported.admits(self.one, host: self.host, from: nil), "an unknown IP is in no network")
        #expect(imported.admits(self.two, host: self.host, method: "HEAD", from: "203.0.113.1"))
        #expect(!imported.admits(self.two, host: self.host, method: "POST", from: "203.0.113.1"))
        #expect(!imported.isPublic("/", host: self.host))
        #expect(imported.hasNote("list the load balancers before the gateway in 'trusted_proxies'", line: 7))
    }

    @Test(arguments: ["[10.0.0.1/8]", "[unknown]", "{ a: b }"])
    func `networks that cannot be expressed admit no user`(networks: String) throws {
        let imported = try self.imported("- { domain: app.example.com, policy: one_factor, networks: \(networks) }")
        #expect(imported.errors == [])
        #expect(!imported.admits(self.one, host: self.host, from: "10.0.0.1"))
    }

    @Test func `a denial of methods denies these only, and what it denies is not public afterwards`() throws {
        let imported = try self.imported(
            """
            - { domain: app.example.com, policy: deny, methods: [DELETE], subject: 'group:interns' }
            - { domain: app.example.com, policy: deny, methods: [PUT] }
            - { domain: app.example.com, policy: bypass }
            """
        )
        #expect(imported.errors == [])
        #expect(imported.admits(self.one, host: self.host, method: "DELETE"))
        #expect(!imported.admits(self.one("interns"), host: self.host, method: "DELETE"))
        #expect(imported.admits(self.one("interns"), host: self.host, method: "GET"))
        #expect(!imported.admits(self.one, host: self.host, method: "PUT"))
        for method in ["GET", "PUT", "DELETE"] { #expect(!imported.isPublic("/", host: self.host, method: method)) }
    }

    @Test func `paths for some networks only are not public`() throws {
        let imported = try self.imported("- { domain: app.example.com, policy: bypass, networks: [10.0.0.0/8] }")
        #expect(imported.errors == [])
        #expect(!imported.isPublic("/", host: self.host, from: "10.0.0.1"))
        #expect(imported.hasNote("write 'public: [{ path: …, network: … }]'", line: 8))
    }

    @Test(arguments: [
        "- { domain: app.example.com, policy: two_factor, subject: 'group:admins' }\n- { domain: app.example.com, policy: one_factor }",
        "- { domain: app.example.com, policy: two_factor, networks: [10.0.0.0/8] }\n- { domain: app.example.com, policy: one_factor }",
        "- { domain: app.example.com, policy: two_factor, methods: [POST] }\n- { domain: app.example.com, policy: one_factor }",
        "- { domain: app.example.com, policy: two_factor, resources: ['^/a[0-9]$'] }\n- { domain: app.example.com, policy: bypass }",
        "- { domain_regex: '^app\\..*$', policy: two_factor }\n- { domain: app.example.com, policy: one_factor }",
        "- { domain: '{user}.example.com', policy: two_factor }\n- { domain: app.example.com, policy: one_factor }",
        "- { domain: app.example.com, policy: two_factor, brand_new: x }\n- { domain: app.example.com, policy: one_factor }",
    ])
    func `a rule after a stricter one that cannot be carried over is as strict`(rules: String) throws {
        let imported = try self.imported(rules)
        #expect(imported.errors == [])
        #expect(
            !imported.admits(self.one("admins"), "/a1", host: self.host) && !imported.isPublic("/a1", host: self.host)
        )
        #expect(imported.admits(self.two("admins"), "/a1", host: self.host))
    }

    @Test(arguments: [
        "- { domain: app.example.com, policy: deny, subject: 'user:eve' }\n- { domain: app.example.com, policy: one_factor }",
        "- { domain: app.example.com, policy: deny, networks: [10.0.0.0/8] }\n- { domain: app.example.com, policy: one_factor }",
        "- { domain: app.example.com, policy: deny, resources: ['^/a[0-9]$'] }\n- { domain: app.example.com, policy: one_factor }",
        "- { domain: app.example.com, policy: unknown }\n- { domain: app.example.com, policy: one_factor }",
        "- { domain: app.example.com, policy: deny }\n- { domain: app.example.com, policy: bypass }",
    ])
    func `a denial that cannot be carried over denies all users`(rules: String) throws {
        let imported = try self.imported(rules, standard: "bypass")
        #expect(imported.errors == [])
        #expect(!imported.admits(self.two, "/a1", host: self.host) && !imported.isPublic("/a1", host: self.host))
    }

    @Test func `rules for a subtree hold below it only, and before it the earlier ones`() throws {
        let imported = try self.imported(
            """
            - { domain: app.example.com, policy: two_factor, resources: ['^/admin([/?].*)?$'], subject: 'group:admins' }
            - { domain: app.example.com, policy: deny, resources: ['^/admin([/?].*)?$'] }
            - { domain: app.example.com, policy: bypass, resources: ['^/'] , methods: [OPTIONS] }
            - { domain: app.example.com, policy: one_factor }
            """
        )
        #expect(imported.errors == [])
        #expect(
            imported.admits(self.one, "/x", host: self.host)
                && !imported.admits(self.one("admins"), "/admin/x", host: self.host)
        )
        #expect(imported.admits(self.two("admins"), "/admin/x", host: self.host))
        #expect(imported.isPublic("/x", host: self.host, method: "OPTIONS"))
        #expect(!imported.isPublic("/admin/x", host: self.host, method: "OPTIONS"))
    }

    // I-04
    @Test(arguments: [
        ("30 minutes", "2 hours", "30m", "2h"), ("1 hour and 30 minutes", "1d", "1h30m", "1d"),
        ("90", "3600", "90s", "1h"),
        ("1M", "1 week", "7d", "7d"), ("10m", "1 day 12 hours", "10m", "36h"), ("45 s", "1m", "1m", "1m"),
    ])
    func `durations are read as Authelia reads them`(
        inactivity: String,
        expiration: String,
        idle: String,
        lifetime: String
    ) throws {
        let imported = try Imported(
            "session: { inactivity: \(inactivity), expiration: \(expiration), cookies: [{ authelia_url: 'https://auth.example.com' }] }\naccess_control: { rules: [{ domain: a.example.com, policy: one_factor }] }",
            publicURL: "https://gate.example.org"
        )
        let times = try #require(imported.configuration?.sessions.lifetimes)
        #expect(times.idle == Duration(go: idle) && times.absolute == Duration(go: lifetime))
    }

    // I-04
    @Test func `a duration that cannot be read is reported, and the shortest of several domains counts`() throws {
        let imported = try Imported(
            """
            session:
              cookies:
                - { domain: example.com, authelia_url: "https://auth.example.com", inactivity: soon, expiration: 4h }
                - { domain: example.net, authelia_url: "https://auth.example.net", inactivity: 2m }
            access_control: { rules: [{ domain: app.example.com, policy: one_factor }] }
            """,
            publicURL: "https://gate.example.org"
        )
        let times = try #require(imported.configuration?.sessions.lifetimes)
        #expect(times.idle == .seconds(120) && times.absolute == .seconds(3600))
        #expect(imported.hasNote("'inactivity' is not a duration", line: 3))
    }

    // I-04
    @Test(arguments: ["subject: []", "resources: []", "methods: []", "networks: []", "query: []", "domain_regex: []"])
    func `an empty list has no effect, also in a denial`(part: String) throws {
        let imported = try self.imported(
            "- { domain: app.example.com, policy: deny, \(part) }\n- { domain: app.example.com, policy: one_factor }",
            standard: "bypass"
        )
        #expect(!imported.admits(self.two, "/x", host: self.host) && !imported.isPublic("/x", host: self.host))
    }

    @Test(arguments: ["subject: []", "resources: []", "methods: []", "networks: []", "query: []", "domain_regex: []"])
    func `I-04: an empty list has no effect, also in an admission`(part: String) throws {
        let imported = try self.imported("- { domain: app.example.com, policy: two_factor, \(part) }")
        #expect(imported.errors == [])
        #expect(imported.admits(self.two, "/x", host: self.host))
    }

    @Test(arguments: ["domain: []", "domain_regex: []", "domain: [], domain_regex: []", "resources: ['^/x']"])
    func `I-04: a rule without hosts is one for all hosts`(part: String) throws {
        let imported = try self.imported(
            "- { policy: deny, \(part) }\n- { domain: app.example.com, policy: two_factor }"
        )
        #expect(!imported.admits(self.two, "/x", host: self.host))
    }

    @Test(arguments: ["GET", "get", "Get"])
    func `I-04: methods are read in whatever letters`(method: String) throws {
        let denying = try self.imported(
            "- { domain: app.example.com, policy: deny, methods: [\(method)] }\n- { domain: app.example.com, policy: two_factor }"
        )
        #expect(denying.errors == [] && !denying.admits(self.two, "/x", host: self.host))
        let admitting = try self.imported("- { domain: app.example.com, policy: two_factor, methods: [\(method)] }")
        #expect(admitting.errors == [] && admitting.admits(self.two, "/x", host: self.host))
    }

    //
    @Test(arguments: [
        "methods: [GET], query: [{ key: x }]", "networks: [10.0.0.0/8], query: [[{ key: x }]]",
        "methods: [GET], brand_new: 1",
    ])
    func `a rule with a condition that cannot be carried over is left out with all its others`(parts: String) throws {
        let imported = try self.imported("- { domain: app.example.com, policy: one_factor, \(parts) }")
        #expect(imported.errors == [])
        #expect(!imported.admits(self.two, host: self.host, from: "10.0.0.1"))
        #expect(imported.hasNote("is not carried over; users whom only it admits are denied", line: 8))
    }

    @Test func `a wildcard that includes the host of the sign-in page gets no app`() throws {
        let text =
            "access_control: { rules: [{ domain: '*.example.com', policy: one_factor }, { domain: a.example.com, policy: one_factor }] }"
        let imported = try Imported(text, publicURL: "https://gate.example.com")
        #expect(imported.lines.contains("host: a.example.com") && !imported.result.yaml.contains("*."))
        #expect(imported.hasNote("includes the host of 'public_url'", line: 1))
    }

    @Test func `the portal is not an app, and a host without a server gets a fixed response`() throws {
        let imported = try self.imported("- { domain: [auth.example.com, app.example.com], policy: one_factor }")
        #expect(!imported.result.yaml.contains("host: auth.example.com"))
        #expect(imported.lines.contains("status: 503"))
        #expect(imported.hasNote("replace 'response' of its apps by 'upstream'", line: 8))
    }
}
