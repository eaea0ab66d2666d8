// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GatePolicy
internal import GateSessions
import Testing

@Suite struct RulesTests {
    private static let head = """
        gateway:
          public_url: https://gate.example.com
        providers:
          staff: { type: oidc, issuer: https://id.example.com, client_id: x, client_secret: "${env:CLIENT_SECRET}", profile: { roles: "id_token:/roles" } }
          github: { type: github, client_id: x, client_secret: "${env:CLIENT_SECRET}" }

        """

    private func parsed(
        _ text: String,
        after head: String = Self.head,
        files: [String: String] = [:]
    ) -> ConfigurationResult {
        Configuration.parse(
            bytes: Array((head + text).utf8),
            name: "providers.yaml",
            folder: "/etc/gatehouse",
            environment: Fixture.environment,
            files: FileAccess { path, _ in files[path].map { .bytes(Array($0.utf8)) } ?? .missing }
        )
    }

    private func app(_ text: String, files: [String: String] = [:]) throws -> Route {
        let result = self.parsed(text, files: files)
        return try #require(result.configuration, "\(result.diagnostics.map(\.rendered))").apps[0].route
    }

    private func messages(_ entries: String, path: String = "/") -> [String] {
        let text = "apps:\n  wiki:\n    path: \(path)\n    upstream: http://10.0.0.5:80\n\(entries)\n"
        return self.parsed(text).diagnostics.map { diagnostic in
            "\(diagnostic.location.map { "\($0.line) " } ?? "")\(diagnostic.severity.rawValue): \(diagnostic.message)"
        }
    }

    /// A value of each key of an entry that is a condition.
    private static let conditions = [
        "provider": "staff", "user": "\"staff:eve\"", "email": "ann@example.com", "email_domain": "example.com",
        "group": "x", "role": "x", "tenant": "x", "organization": "x", "claim": "{ department: [ops] }",
        "network": "10.0.0.0/8", "method": "GET", "path": "/a/**", "time": "{ hours: \"08:00-18:00\", zone: UTC }",
        "from": "2026-01-01T00:00:00Z", "until": "2098-01-01T00:00:00Z", "authenticated": "within 1h",
        "mcp_method": "ping", "mcp_tool": "rm", "scope": "x",
        "not": "{ group: x }", "any": "[{ group: x }]", "all": "[{ group: x }]",
    ]

    @Test func `no condition is dropped, not even beside a named list`() throws {
        let keys = try #require(EntryDraft.schema["properties"]?.object).keys
        // 'authoritative' changes what 'email' beside it means; 'certificate' needs a listener that asks for one.
        #expect(Set(keys).subtracting(["use", "authoritative", "certificate"]) == Set(Self.conditions.keys))
        let claims = "client_secret: \"${env:CLIENT_SECRET}\", claims: { department: \"id_token:/department\" },"
        let head = Self.head.replacing("client_secret: \"${env:CLIENT_SECRET}\",", with: claims, maxReplacements: 1)
            .replacing("CLIENT_SECRET}\" }", with: "CLIENT_SECRET}\", groups: [organizations] }")
        func entry(_ lines: String) throws -> AccessEntry {
            let result = self.parsed(
                """
                rules:
                  list: [{ email_domain: example.org }]
                apps:
                  wiki:
                    upstream: http://10.0.0.5:80
                    mcp: true
                    scopes: { x: "what it permits" }
                    allow: [{ \(lines) }]
                """,
                after: head
            )
            let configuration = try #require(result.configuration, "\(lines): \(result.diagnostics.map(\.rendered))")
            let route = configuration.apps[0].route
            var entry = try #require(route.access.entries.first)
            entry.place = nil
            return entry
        }
        let list = try entry("use: list")
        for (key, value) in Self.conditions.sorted(by: { $0.key < $1.key }) {
            #expect(try entry("\(key): \(value)") != AccessEntry(), "\(key) is read")
            #expect(try entry("use: list, \(key): \(value)") != list, "\(key) counts beside 'use'")
        }
    }

    @Test func `every condition of an entry is read`() throws {
        let route = try self.app(
            """
            apps:
              wiki:
                upstream: http://10.0.0.5:80
                allow:
                  - role: editor
                    tenant: example.com
                    network: [10.0.0.0/8, "2001:db8::/32"]
                    method: GET
                    path: [/a/**, /b]
                    time: { days: [mon, thu-fri], hours: "22:00-06:00", zone: Europe/Berlin }
                    authenticated: within 1h
                    not: { user: "staff:eve" }
                    any: [{ group: x }, { all: [{ email_domain: example.com }] }]
            """
        )
        let entry = try #require(route.access.entries.first)
        #expect((entry.role, entry.tenant) == ("editor", "example.com"))
        #expect(entry.rolesFrom == ["staff"] && entry.tenantsFrom == [] && entry.place == RulePlace(line: 10))
        #expect(
            entry.request.prefix(3) == [
                .network(["10.0.0.0/8", "2001:db8::/32"].compactMap { CIDRRange($0) }), .method(["GET"]),
                .path([PathPattern("/a/**"), PathPattern("/b")]),
            ]
        )
        #expect(entry.request.last == .authenticated(within: .seconds(3600)))
        #expect(entry.nested.map(\.entries.count) == [1, 2])
        guard case .time(let window) = entry.request[3] else {
            Issue.record("the fourth condition is about the time")
            return
        }
        #expect((window.days, window.start, window.end) == ([0, 3, 4], 1320, 360))
        // 2026-07-06 is a Monday: 20:30 UTC is 22:30 in summer, and in winter 21:30 is.
        #expect(window.contains(Instant(seconds: 1_783_369_800)) && !window.contains(Instant(seconds: 1_783_366_200)))
    }

    @Test func `an ID token goes to no app whose providers issue none, and is missing where some do not`() {
        let alone = self.messages(
            "    allow: signed_in\n    providers: [github]\n    identity: { authorization: id_token }"
        )
        let reason = "github issues no ID tokens; choose 'access_token' or 'assertion'"
        #expect(
            alone.contains { $0.hasSuffix("error: 'authorization: id_token' would never be sent: \(reason)") },
            "\(alone)"
        )
        let both = self.messages("    allow: signed_in\n    identity: { authorization: id_token }")
        let warning = "warning: 'authorization: id_token' is not sent for users of github, which issues no ID tokens"
        #expect(both.contains { $0.hasSuffix(warning) } && !both.contains { $0.contains("error:") }, "\(both)")
        let access = self.messages("    allow: signed_in\n    identity: { authorization: access_token }")
        #expect(!access.contains { $0.contains("authorization") }, "\(access)")
    }

    private static let organizations = """
        gateway:
          public_url: https://gate.example.com
        providers:
          google: { type: google, client_id: x, client_secret: "${env:CLIENT_SECRET}" }
          github: { type: github, client_id: x, client_secret: "${env:CLIENT_SECRET}", groups: [organizations] }
          teams: { type: github, client_id: x, client_secret: "${env:CLIENT_SECRET}", groups: [teams] }
          gitlab: { type: gitlab, client_id: x, client_secret: "${env:CLIENT_SECRET}" }
          mapped: { type: gitlab, client_id: x, client_secret: "${env:CLIENT_SECRET}", profile: { groups: "userinfo:/x" } }
        apps:
          wiki:
            host: wiki.example.com
            upstream: http://10.0.0.5:80

        """

    private func rule(_ line: String) -> ConfigurationResult {
        Configuration.parse(
            bytes: Array("\(Self.organizations)    \(line)\n".utf8),
            name: "providers.yaml",
            folder: "/etc/gatehouse",
            environment: Fixture.environment,
            files: FileAccess { _, _ in .missing }
        )
    }

    @Test func `an organization is a tenant, or a group of the providers whose groups are organizations`() throws {
        let result = self.rule("allow: [{ organization: acme, provider: github }]")
        let entry = try #require(result.configuration?.apps.first?.route.access.entries.first)
        #expect(entry.organization == "acme" && entry.tenantsFrom == ["google"])
        #expect(entry.organizationsFrom == ["github", "gitlab"] && entry.mayHaveTenant == ["google"])
        #expect(result.diagnostics.isEmpty, "\(result.diagnostics.map(\.rendered))")
    }

    @Test func `an organization may be the tenant of a provider beside its groups, where 'profile' maps one`() throws {
        let text = "\(Self.organizations)    allow: [{ organization: acme, provider: gitlab }]\n"
        let mapped = text.replacing(
            "type: gitlab, client_id: x,",
            with: "type: gitlab, client_id: x, profile: { tenant: \"userinfo:/company\" },",
            maxReplacements: 1
        )
        let entry = try #require(try Fixture.configuration(mapped).apps.first?.route.access.entries.first)
        #expect(entry.mayHaveTenant == ["google", "gitlab"] && entry.organizationsFrom == ["github", "gitlab"])
    }

    @Test(arguments: ["2026-12-31T18:00:00+01:00", "\"2026-12-31T17:00:00Z\"", "2026-12-31 17:00:00Z"])
    func `a date is read with and without quotes`(text: String) throws {
        let file = "apps:\n  wiki:\n    upstream: http://10.0.0.5:80\n    allow: [{ until: \(text) }]\n"
        let route = try self.app(file)
        #expect(route.access.entries.first?.request == [.until(Instant(seconds: 1_798_736_400))])
    }

    @Test(arguments: [
        (
            "allow: [{ organization: acme }]",
            "warning: every user who can create an organization at any of google, github, gitlab is allowed; "
                + "name the provider of the organization: 'provider: google'"
        ),
        (
            "allow: [{ organization: acme, provider: teams }]",
            "error: this entry can never match; no organizations come from teams, unless "
                + "'groups: [organizations, teams]' in 'teams' has them looked up"
        ),
        (
            "allow: [{ organization: acme/x, provider: gitlab }]",
            "error: this entry can never match; an organization of gitlab has no '/', write 'group: acme/x'"
        ),
        (
            "allow: signed_in\n    deny: [{ organization: acme }]",
            "warning: every user of teams, mapped is denied, since their organizations are not known; "
                + "if that is not meant, add 'provider: google'"
        ),
    ])
    func `an organization that a provider does not send is reported with what makes it send it`(
        line: String,
        message: String
    ) {
        let found = self.rule(line).diagnostics.map { "\($0.severity.rawValue): \($0.message)" }
        #expect(found.contains(message), "\(found)")
    }

    @Test func `summer time changes the hours of a zone`() throws {
        let route = try self.app(
            """
            apps:
              wiki:
                upstream: http://10.0.0.5:80
                allow: [{ time: { hours: "08:00-09:00", zone: Europe/Berlin } }]
            """
        )
        guard case .time(let window)? = route.access.entries.first?.request.first else {
            Issue.record("the condition is about the time")
            return
        }
        let july = try #require(Instant(year: 2030, month: 7, day: 1))
        let january = try #require(Instant(year: 2030, month: 1, day: 1))
        #expect(window.contains(july.advanced(by: .seconds(6 * 3600))))
        #expect(!window.contains(july.advanced(by: .seconds(7 * 3600))))
        #expect(window.contains(january.advanced(by: .seconds(7 * 3600))))
        #expect(!window.contains(january.advanced(by: .seconds(6 * 3600))))
    }

    @Test(arguments: [
        (
            "allow: [{ organization: acme }]",
            "no organizations come from staff, github, unless 'groups: [organizations]' in 'github' has them looked up"
        ),
        (
            "allow: [{ organization: acme, provider: staff }]",
            "no organizations come from staff, unless 'profile' maps 'tenant'"
        ),
        (
            "allow: [{ until: 2026-12-31 }]",
            "'2026-12-31' has neither a time of day nor a zone; write it such as 2026-12-31T18:00:00+01:00"
        ),
        ("allow: [{ until: \"2026-12-31T18:00:00\" }]", "'2026-12-31T18:00:00' has no zone; write it such as"),
        (
            "deny: [{ from: tomorrow }]",
            "'tomorrow' is not a date and time of whole seconds with its zone; write it such as"
        ),
        (
            "allow: [{ from: 2098-01-02T00:00:00Z, until: 2098-01-02T00:00:00Z }]",
            "'until' (2098-01-02T00:00:00Z) is not after 'from' (2098-01-02T00:00:00Z): the entry would never match"
        ),
        (
            "allow: [{ from: 2098-01-02T00:00:00+02:00, until: 2098-01-01T21:00:00Z }]",
            "'until' (2098-01-01T21:00:00Z) is not after 'from' (2098-01-01T22:00:00Z)"
        ),
        ("allow: [{ authenticated: 1h }]", "'1h' is not a limit such as 'within 1h'"),
        ("allow: [{ time: { hours: \"9-17\", zone: UTC } }]", "'9-17' is not a range of hours such as 08:00-18:00"),
        ("allow: [{ time: { zone: Mars/Base } }]", "'Mars/Base' is not a time zone"),
        ("allow: [{ time: { days: mon } }]", "a time window needs 'zone', such as 'zone: Europe/Berlin'"),
        ("allow: [{ path: admin }]", "'admin' is not a path; it starts with '/', so write '/admin'"),
        ("allow: [{ path: \"/a**\" }]", "'/a**' has '**' beside other characters; it is a whole segment"),
        ("allow: [{ path: \"/Caf\u{E9}/*\" }]", "is '/Caf%C3%A9/*' in requests; write that"),
        ("allow: [{ network: 10.0.0.1/8 }]", "'10.0.0.1/8' has bits set after its prefix"),
        ("allow: [{ use: staf }]", "there is no rule set 'staf'; 'rules' has none"),
        (
            "allow: [{ any: [{ not: { all: [{ any: [{ group: x }] }] } }] }]",
            "more than 3 levels of entries; use 'rules', or write several entries"
        ),
        ("allow: [{ any: [] }]", "the list is empty; it needs at least one entry"),
        ("allow: [{ provider: github, role: x }]", "this entry can never match; no roles come from github"),
    ])
    func `an entry that cannot be used is rejected`(line: String, message: String) {
        let found = self.messages("    \(line)")
        #expect(found.contains { $0.contains("error: ") && $0.contains(message) }, "\(found)")
    }

    @Test(arguments: [
        (
            "    allow:\n      - { email_domain: example.com, provider: staff }\n      - { email: a@example.com, provider: staff }",
            "12 warning: in 'wiki', this entry has no effect, since line 11 admits every user that it matches"
        ),
        (
            "    allow:\n      - { user: \"staff:1\", path: /a/b }\n      - { provider: staff, path: /a/** }",
            "11 warning: in 'wiki', this entry has no effect, since line 12 admits every user that it matches"
        ),
        (
            "    deny:\n      - { provider: github }\n    allow:\n      - { provider: github, method: GET }\n      - { provider: staff }",
            "13 warning: in 'wiki', this entry admits no user, since 'deny' in line 11 matches whenever it does"
        ),
        (
            "    allow: signed_in\n    deny:\n      - { network: 10.0.0.0/8 }\n      - { network: 10.1.0.0/16, method: GET }",
            "13 warning: in 'wiki', this entry has no effect, since line 12 denies every user that it matches"
        ),
        (
            "    allow:\n      - { provider: staff, not: { provider: staff } }",
            "11 warning: in 'wiki', this entry can never match; one of its conditions excludes another"
        ),
        (
            "    allow:\n      - { provider: staff, until: 2026-01-31T18:00:00+01:00 }",
            "11 warning: 'until' has passed (2026-01-31T17:00:00Z), so this entry does not match any more; remove it"
        ),
        (
            "    allow:\n      - { provider: staff, until: 2098-01-01T00:00:00Z }\n      - { provider: staff, until: 2099-01-01T00:00:00Z }",
            "11 warning: in 'wiki', this entry has no effect, since line 12 admits every user that it matches"
        ),
        (
            "    allow:\n      - { until: 2098-01-01T00:00:00Z, all: [{ from: 2099-01-01T00:00:00Z }] }",
            "11 warning: in 'wiki', this entry can never match; one of its conditions excludes another"
        ),
        (
            "    allow:\n      - { path: /admin/** , provider: staff }",
            "11 warning: '/admin/**' is outside of the path '/wiki' of 'wiki', so it can never match"
        ),
        (
            "    allow: signed_in\n    deny:\n      - { path: /wiki/admin }",
            "12 warning: '/wiki/admin' does not deny '/wiki/admin/' and what is below it; '/wiki/admin/**' denies both"
        ),
    ])
    func `the check warns of a rule without effect, at its line and with the other`(entries: String, message: String) {
        let found = self.messages(entries, path: "/wiki")
        #expect(found.contains { $0.hasPrefix(message) }, "\(found)")
    }

    @Test(arguments: [
        "    allow:\n      - { provider: staff, path: /wiki/a }\n      - { provider: staff, method: GET }",
        "    allow:\n      - { provider: staff, from: 2026-01-01T00:00:00Z, until: 2098-01-01T00:00:00Z }\n      - { provider: staff, from: 2098-01-01T00:00:00Z }",
        "    deny:\n      - { provider: staff, method: POST }\n    allow:\n      - { provider: staff }",
        "    allow:\n      - { provider: staff, time: { days: mon, zone: UTC } }\n      - { provider: staff, time: { days: tue, zone: UTC } }",
    ])
    func `rules that all have an effect cause no warning`(entries: String) {
        #expect(self.messages(entries, path: "/wiki").isEmpty)
    }

    @Test func `an entry that asks for less proof of an email address has an effect of its own`() {
        let text = """
            gateway: { public_url: https://gate.example.com }
            providers:
              google: { type: google, client_id: x, client_secret: "${env:CLIENT_SECRET}", hosted_domains: [example.com] }
            apps:
              wiki:
                upstream: http://10.0.0.5:80
                allow:
                  - { email: a@example.com, authoritative: false }
                  - { email_domain: example.com }
            """
        #expect(Fixture.messages(text).isEmpty, "\(Fixture.messages(text))")
    }

    @Test func `a rule set is used by name, alone and beside other conditions`() throws {
        let route = try self.app(
            """
            rules:
              crew:
                - email_domain: example.com
                - user: staff:root
            apps:
              wiki:
                upstream: http://10.0.0.5:80
                allow:
                  - use: crew
                  - use: crew
                    path: /x
                  - { provider: staff, not: { use: crew } }
            """
        )
        let entries = route.access.entries
        #expect(entries.map(\.place?.line) == [8, 9, 15, 17])
        #expect(entries[0].emailDomain == "example.com" && entries[1].user == "staff:root")
        #expect(entries[2].nested.first?.entries.count == 2 && entries[2].request == [.path([PathPattern("/x")])])
        let found = self.parsed("rules: { a: [{ use: b }], b: [{ group: x }], c: [] }\napps: {}").diagnostics
        #expect(found.contains { $0.message.hasPrefix("a rule set cannot use another one") })
        #expect(found.contains { $0.message == "the rule set 'c' is empty; remove it" })
        #expect(found.contains { $0.message == "no app uses the rule set 'b'" })
    }

    @Test func `defaults hold for apps without the key, and their denials for all`() throws {
        let result = self.parsed(
            """
            defaults:
              allow: [{ provider: staff }]
              deny: [{ user: "staff:eve" }]
              groups: named
              lifetime: 8h
            apps:
              wiki: { upstream: http://10.0.0.5:80 }
              shop:
                path: /shop
                upstream: http://10.0.0.6:80
                allow: signed_in
                deny: [{ user: "staff:bob" }]
                groups: all
            """
        )
        let apps = try #require(result.configuration, "\(result.diagnostics.map(\.rendered))").apps
        #expect(apps.map(\.route.access.entries.count) == [1, 0] && apps[1].route.access == .signedIn)
        #expect(apps.map { $0.route.denied.map(\.user) } == [["staff:eve"], ["staff:eve", "staff:bob"]])
        #expect(apps.map(\.route.groups) == [.named, .all])
        #expect(apps.allSatisfy { $0.sessionLimits.lifetime == .seconds(8 * 3600) })
        #expect(apps[0].route.access.entries[0].place == RulePlace(line: 7))
        let unknown = self.parsed(
            "defaults: { upstream: http://10.0.0.5:80 }\napps: { a: { upstream: http://10.0.0.5:80 } }"
        )
        #expect(unknown.diagnostics.contains { $0.message.hasPrefix("unknown key 'upstream' in the defaults") })
        #expect(unknown.diagnostics.contains { $0.message == "an app needs 'allow', such as 'allow: signed_in'" })
    }

    @Test(arguments: [
        "[]", "", "null", "~", "{ user: 'staff:bob' }", "'staff:bob'", "[{ user: 'staff:bob' }, { user: 'staff:eve' }]",
        "*own",
    ])
    func `B-15: a 'deny' of an app never replaces that of the defaults without an error`(own: String) {
        let result = self.parsed(
            """
            defaults:
              allow: signed_in
              deny: [{ user: "staff:eve" }]
            apps:
              base: { upstream: http://10.0.0.4:80, deny: &own [{ user: "staff:ada" }] }
              wiki: { path: /wiki/, upstream: http://10.0.0.5:80, deny: \(own) }
            """
        )
        let denied = result.configuration?.apps.map { $0.route.denied.map(\.user) }
        #expect(
            denied?.allSatisfy { $0.first == "staff:eve" } ?? (result.diagnostics.contains { $0.severity == .error })
        )
    }

    @Test func `included files add rules and apps, and keep their lines`() throws {
        let files = [
            "/etc/gatehouse/rules/crew.yaml": "rules:\n  crew:\n    - provider: staff\n",
            "/etc/gatehouse/shop.yaml":
                "apps:\n  shop: { path: /shop, upstream: 'http://10.0.0.6:80', allow: [{ use: crew }] }\n",
        ]
        let result = self.parsed(
            """
            include: [rules/crew.yaml, shop.yaml]
            apps:
              wiki: { upstream: http://10.0.0.5:80, allow: [{ use: crew }] }
            """,
            files: files
        )
        let apps = try #require(result.configuration, "\(result.diagnostics.map(\.rendered))").apps
        #expect(apps.map(\.route.app) == ["wiki", "shop"])
        let place = RulePlace(file: "rules/crew.yaml", line: 3, isIncluded: true)
        #expect(apps.map { $0.route.access.entries[0].place } == [place, place])
        #expect(result.files == ["/etc/gatehouse/rules/crew.yaml", "/etc/gatehouse/shop.yaml"])
        #expect(result.configuration?.hasRule(onLine: 3, ofIncluded: "rules/crew.yaml", of: "wiki") == true)
        #expect(result.configuration?.hasRule(onLine: 3, ofIncluded: nil, of: "wiki") == false)
    }

    @Test(arguments: [
        ("rules:\n  a: [{ grup: x }]", "part.yaml:2:9: error: unknown key 'grup' in an entry; did you mean 'group'?"),
        ("include: [x.yaml]", "part.yaml:1:1: error: 'include' cannot be here; an included file cannot include others"),
        (
            "gateway: {}",
            "part.yaml:1:1: error: 'gateway' cannot be here; an included file has 'providers', 'issuers', 'service_tokens', 'clients', 'apps' and 'rules' only"
        ),
        ("a: [", "part.yaml:"),
        ("", "part.yaml:1:1: error: the file is empty; it needs 'providers', 'apps' or 'rules'"),
        ("[x]", "part.yaml:1:1: error: expected a mapping of 'providers', 'apps' and 'rules', found a list"),
        (
            "apps:\n  wiki: { upstream: 'http://10.0.0.6:80', allow: signed_in }",
            "part.yaml:2:3: error: 'wiki' is here twice; first in line 8 of providers.yaml"
        ),
    ])
    func `what is wrong in an included file is reported there`(text: String, message: String) {
        let result = self.parsed(
            "include: [part.yaml]\napps:\n  wiki: { upstream: http://10.0.0.5:80, allow: [{ provider: staff }] }",
            files: ["/etc/gatehouse/part.yaml": text]
        )
        #expect(result.diagnostics.contains { $0.rendered.hasPrefix(message) }, "\(result.diagnostics.map(\.rendered))")
    }

    @Test func `a missing file and too many files are errors`() {
        let missing = self.parsed("include: [gone.yaml]\napps: {}").diagnostics
        #expect(missing.contains { $0.message == "there is no file '/etc/gatehouse/gone.yaml'" })
        let many = (0...64).map { "f\($0).yaml" }.joined(separator: ", ")
        #expect(
            self.parsed("include: [\(many)]\napps: {}").diagnostics.contains { $0.message == "more than 64 entries" }
        )
    }

    @Test func `a public rule for a network is read, and others keep their form`() throws {
        let route = try self.app(
            """
            apps:
              wiki:
                upstream: http://10.0.0.5:80
                allow: [{ provider: staff }]
                public: [GET /healthz, "/**/assets/**", { path: /metrics, method: GET, network: 10.0.0.0/8 }]
            """
        )
        #expect(route.publicRules.map(\.path) == ["/healthz", "/**/assets/**", "/metrics"])
        #expect(route.publicRules.map(\.method) == ["GET", nil, "GET"])
        #expect(route.publicRules.map(\.networks.count) == [0, 0, 1] && route.opensToNetworks)
    }
}
