// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateProviders

/// The identity of a user, the trust in an email address, and the tenants whose users may sign in.
@Suite struct IdentityRuleTests {
    private func profile(_ settings: ProviderSettings, _ payloads: ProviderPayloads) throws(Failure) -> Profile {
        try ProviderDefinition(settings).profile(from: payloads).profile
    }

    @Test(
        arguments: [
            (JSON.number("9007199254740993"), "9007199254740993"),
            (.number("104729384756102938475"), "104729384756102938475"),
            (.string("104729384756102938475"), "104729384756102938475"), (.number("0"), "0"), (.string("007"), "007"),
            (.number("1e3"), nil), (.number("1.0"), nil), (.number("-1"), nil), (.bool(true), nil), (.null, nil),
            (.array(["1"]), nil), (.object([:]), nil), (.string(""), nil),
        ] as [(JSON, String?)]
    )
    func `a number becomes its digits and nothing else becomes an id`(id: JSON, subject: String?) throws {
        let payloads = ProviderPayloads(api: ["/user": ["id": id]])
        guard let subject else {
            #expect(throws: Failure.self) { try self.profile(settings(.github), payloads) }
            return
        }
        #expect(try self.profile(settings(.github), payloads).subject == subject)
    }

    @Test func `only one tenant may be trusted with addresses that nothing marks`() throws {
        let unmarked = ProviderPayloads(idToken: Payloads.microsoft.with(["xms_edov": nil]))
        let tenants: [(String?, Bool)] = [
            (nil, false), ("common", false), ("organizations", false), ("Organizations", false), ("consumers", false),
            ("8eae0000-2b34-4da1-9baa-8bc8c9d6a490", true), ("contoso.example", true),
        ]
        for (tenant, verified) in tenants {
            var microsoft = settings(.microsoft)
            microsoft.tenant = tenant
            #expect(try !self.profile(microsoft, unmarked).emailVerified)
            microsoft.trustsEmail = true
            let profile = try self.profile(microsoft, unmarked)
            #expect(profile.emailVerified == verified, "\(tenant ?? "none")")
            // Who trusts the administrators of a tenant trusts them to be the authority.
            #expect(profile.emailAuthoritative == verified, "\(tenant ?? "none")")
        }
    }

    @Test func `trust in a tenant does not reach an address that the file took from elsewhere`() throws {
        var microsoft = settings(.microsoft)
        microsoft.tenant = "8eae0000-2b34-4da1-9baa-8bc8c9d6a490"
        microsoft.trustsEmail = true
        microsoft.profile = ["email": ["id_token:/preferred_username"]]
        let profile = try self.profile(microsoft, ProviderPayloads(idToken: Payloads.microsoft))
        #expect(profile.email == "ada@contoso.example" && !profile.emailVerified)
    }

    @Test func `a list of tenants is the issuer rule, in lower case`() throws {
        var microsoft = settings(.microsoft)
        microsoft.tenants = ["8EAE0000-2B34-4DA1-9BAA-8BC8C9D6A490"]
        let template = "https://login.microsoftonline.com/{tenantid}/v2.0"
        let rule = try ProviderDefinition(microsoft).issuer
        #expect(rule == .tenanted(template: template, .among(["8eae0000-2b34-4da1-9baa-8bc8c9d6a490"])))
        #expect(rule.admits(discovered: template))
        let stranger = "11112222-3333-4444-5555-666677778888"
        let claims: JSON = ["iss": .string(template.replacing("{tenantid}", with: stranger)), "tid": .string(stranger)]
        #expect(rule.verdict(on: claims, discovered: template) == .tenantRefused)
        #expect(rule.verdict(on: Payloads.microsoft, discovered: template) != .tenantRefused)
    }

    @Test func `addresses that GitHub made up count unless the file excludes them`() throws {
        let emails = Payloads.json(
            """
            [{"email":"1+ada@users.noreply.github.com","primary":true,"verified":true},
             {"email":"ada@example.org","primary":false,"verified":true}]
            """
        )
        let payloads = ProviderPayloads(api: ["/user": Payloads.gitHubUser, "/user/emails": emails])
        #expect(try self.profile(settings(.github), payloads).email == "1+ada@users.noreply.github.com")
        var strict = settings(.github)
        strict.rejectsNoreply = true
        #expect(try self.profile(strict, payloads).email == "ada@example.org")
        let only = ProviderPayloads(
            api: ["/user": Payloads.gitHubUser, "/user/emails": .array(Array((emails.array ?? []).prefix(1)))]
        )
        let none = try self.profile(strict, only)
        #expect(none.email == nil && !none.emailVerified)
        strict.baseURL = WebURL("https://git.example.com:8443")
        let own = Payloads.json(#"[{"email":"a@users.noreply.git.example.com","primary":true,"verified":true}]"#)
        let there = ProviderPayloads(api: ["/user": Payloads.gitHubUser, "/user/emails": own])
        #expect(try self.profile(strict, there).email == nil)
    }

    @Test(
        arguments: [
            ("T0R7GR", true), ("T0OTHER", true), ("t0r7gr", false), ("T0R7GRX", false), (nil, false), ("", false),
        ] as [(String?, Bool)]
    )
    func `only the claim names the Slack workspace of a user`(team: String?, admitted: Bool) throws {
        var slack = settings(.slack)
        slack.workspaces = ["T0R7GR", "T0OTHER"]
        let claims = Payloads.slack.with(["https://slack.com/team_id": team.map(JSON.string)])
        let failure = Failure(.providerWorkspace, "the account is in none of the workspaces")
        guard admitted else {
            #expect(throws: failure) { try self.profile(slack, ProviderPayloads(idToken: claims)) }
            return
        }
        #expect(try self.profile(slack, ProviderPayloads(idToken: claims)).tenant == team)
    }

    @Test func `the same member number in two workspaces is two users`() throws {
        let here = try self.profile(settings(.slack), ProviderPayloads(idToken: Payloads.slack))
        let claims = Payloads.slack.with(["https://slack.com/team_id": "T0OTHER"])
        let there = try self.profile(settings(.slack), ProviderPayloads(idToken: claims))
        #expect(here.user == "slack:T0R7GR:U0R7JM" && there.user == "slack:T0OTHER:U0R7JM")
    }

    @Test func `what the browser brought makes a name and nothing else`() throws {
        let lies = Payloads.json(
            """
            {"user": {"name": {"firstName": "Root", "lastName": "\\u202Etoor"}, "email": "boss@example.org",
                      "sub": "1"}, "email": "boss@example.org", "email_verified": "true"}
            """
        )
        let profile = try self.profile(settings(.apple), ProviderPayloads(idToken: Payloads.apple, callback: lies))
        #expect(profile.subject == "001234.0123456789abcdef0123456789abcdef.0905")
        #expect(profile.email == "x7q9k2@privaterelay.appleid.com")
        #expect(profile.givenName == "Root" && profile.familyName == nil)
        #expect(profile.name == "x7q9k2@privaterelay.appleid.com")
    }

    @Test func `a call that failed leaves groups unknown, and an empty list does not`() throws {
        var other = settings(.oauth2)
        other.profile["groups"] = ["api:/groups#/names"]
        let user: JSON = ["id": 1]
        let failed = try self.profile(other, ProviderPayloads(api: ["/user": user]))
        let empty = try self.profile(other, ProviderPayloads(api: ["/user": user, "/groups": ["names": []]]))
        #expect(failed.groups.isEmpty && !failed.groupsComplete)
        #expect(empty.groups.isEmpty && empty.groupsComplete)
    }

    @Test(
        arguments: [
            (#"[{"n":"a"},{"n":"b"}]"#, ["a", "b"], true), (#"[{"n":"a"},{"x":"b"}]"#, ["a"], false),
            (#"[{"n":"a"},{"n":null}]"#, ["a"], false), (#"[{"n":"a"},{"n":{}}]"#, ["a"], false),
            (#"[{"n":"a"},7]"#, ["a"], false), (#"[]"#, [], true), (#"{"n":"a"}"#, [], false),
        ] as [(String, [String], Bool)]
    )
    func `a search that had to leave elements out is not complete`(
        list: String,
        groups: [String],
        isComplete: Bool
    ) throws {
        var staff = settings(.oidc)
        staff.profile = ["groups": ["id_token:/teams[*]/n"]]
        let claims: JSON = ["sub": "1", "teams": Payloads.json(list)]
        let profile = try self.profile(staff, ProviderPayloads(idToken: claims))
        #expect(profile.groups == groups && profile.groupsComplete == isComplete)
    }

    @Test func `a search looks at a thousand elements`() throws {
        var staff = settings(.oidc)
        staff.profile = ["groups": ["id_token:/teams[on]/n"]]
        let teams = (0..<1001).map { JSON.object(["n": .string("g\($0)"), "on": .bool($0 > 998)]) }
        let profile = try self.profile(staff, ProviderPayloads(idToken: ["sub": "1", "teams": .array(teams)]))
        #expect(profile.groups == ["g999"] && !profile.groupsComplete)
    }

    @Test(
        arguments: [
            ("[primary&&verified]", "c@x.example"), ("[verified]", "b@x.example"), ("[type=work]", "d@x.example"),
            ("[rank=2]", "b@x.example"), ("[verified=true]", "c@x.example"), ("[type=other]", nil),
            ("[*]", "a@x.example"),
        ] as [(String, String?)]
    )
    func `a filter picks the first element for which every condition holds`(filter: String, expected: String?) throws {
        var staff = settings(.oidc)
        staff.profile = ["email": ["id_token:/emails\(filter)/value"]]
        let emails = Payloads.json(
            """
            [{"value":"a@x.example","primary":true,"verified":false,"rank":1},
             {"value":"b@x.example","primary":"no","verified":1,"rank":2},
             {"value":"c@x.example","primary":"true","verified":"true"},
             {"value":"d@x.example","type":"work"}]
            """
        )
        let profile = try self.profile(staff, ProviderPayloads(idToken: ["sub": "1", "emails": emails]))
        #expect(profile.email == expected)
    }

    @Test func `a tenant that the file made up vouches for no address`() throws {
        var microsoft = settings(.microsoft)
        microsoft.profile = ["tenant": ["id_token:/extn"]]
        var claims = Payloads.microsoft.with(["extn": .string(IssuerRule.consumerTenant), "xms_edov": false])
        #expect(try !self.profile(microsoft, ProviderPayloads(idToken: claims)).emailVerified)
        var google = settings(.google)
        google.profile = ["tenant": ["id_token:/hd", "const:personal"]]
        claims = Payloads.google.with(["hd": nil, "email": "a@oldcompany.example"])
        #expect(try !self.profile(google, ProviderPayloads(idToken: claims)).emailAuthoritative)
    }

    @Test func `a flag in another response than the email address does not verify it, unless a constant does`() throws {
        var staff = settings(.oidc)
        staff.profile = ["email_verified": ["userinfo:/email_verified"]]
        let claims: JSON = ["sub": "1", "email": "ceo@victim.example", "email_verified": false]
        let userinfo: JSON = ["sub": "1", "email": "mallory@evil.example", "email_verified": true]
        #expect(try !self.profile(staff, ProviderPayloads(idToken: claims, userinfo: userinfo)).emailVerified)
        staff.profile = ["email_verified": ["const:true"]]
        #expect(try self.profile(staff, ProviderPayloads(idToken: claims, userinfo: userinfo)).emailVerified)
    }

    @Test(arguments: [("[primary]/verified", false), ("[verified]/verified", true)])
    func `a flag of another element than the email address does not verify it`(flag: String, isAnother: Bool) throws {
        var staff = settings(.oidc)
        staff.profile = [
            "email": ["id_token:/emails[primary]/value"], "email_verified": ["id_token:/emails\(flag)"],
        ]
        let emails =
            #"[{"value":"a@x.example","verified":true},{"value":"b@x.example","primary":true,"verified":false}]"#
        let claims: JSON = ["sub": "1", "emails": Payloads.json(emails)]
        let profile = try self.profile(staff, ProviderPayloads(idToken: claims))
        #expect(profile.email == "b@x.example" && !profile.emailVerified)
    }

    @Test func `a flag that cannot be read is false, and no later one is asked`() throws {
        var staff = settings(.oidc)
        staff.profile = ["email_verified": ["id_token:/checked", "const:true"]]
        let claims: JSON = ["sub": "1", "email": "a@x.example", "checked": "no"]
        #expect(try !self.profile(staff, ProviderPayloads(idToken: claims)).emailVerified)
    }

    @Test func `trust in the administrators does not override the provider's own no`() throws {
        var microsoft = settings(.microsoft)
        microsoft.tenant = "8eae0000-2b34-4da1-9baa-8bc8c9d6a490"
        microsoft.trustsEmail = true
        let no = ProviderPayloads(idToken: Payloads.microsoft.with(["xms_edov": false]))
        #expect(try !self.profile(microsoft, no).emailVerified)
        let silent = ProviderPayloads(idToken: Payloads.microsoft.with(["xms_edov": nil]))
        #expect(try self.profile(microsoft, silent).emailVerified)
    }

    @Test func `a list in a response of an API may continue on another page`() throws {
        var forge = settings(.github)
        forge.profile = ["groups": ["api:/user/orgs#/items"]]
        let user: JSON = ["id": 1, "login": "ada"]
        for (items, isComplete) in [(#"["a"]"#, false), ("[]", true)] {
            let responses: [String: JSON] = ["/user": user, "/user/orgs": ["items": Payloads.json(items)]]
            #expect(try self.profile(forge, ProviderPayloads(api: responses)).groupsComplete == isComplete)
        }
    }
}
