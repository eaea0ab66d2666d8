// SPDX-License-Identifier: Apache-2.0

import GateCore
import GatePolicy
import Testing

@Suite struct AccessRuleTests {
    @Test func `a user who meets a condition is admitted`() {
        let entries: [AccessEntry] = [
            .with { $0.provider = "google" }, .with { $0.user = "google:104729384756102938475" },
            .with { $0.email = EmailAddress("ADA@example.COM") }, .with { $0.emailDomain = "example.com" },
            .with { $0.group = "acme/platform" },
            .with {
                $0.provider = "google"
                $0.user = "google:104729384756102938475"
                $0.email = EmailAddress("ada@example.com")
                $0.emailDomain = "example.com"
                $0.group = "staff"
            },
        ]
        for entry in entries {
            #expect(entry.match(.ada) == .yes)
        }
    }

    @Test func `an entry with one unmet condition does not match`() {
        let changes: [(inout AccessEntry) -> Void] = [
            { $0.provider = "github" }, { $0.user = "google:1" }, { $0.user = "github:104729384756102938475" },
            { $0.user = "104729384756102938475" }, { $0.email = EmailAddress("eve@example.com") },
            { $0.emailDomain = "example.org" }, { $0.group = "acme" }, { $0.group = "Staff" },
        ]
        for change in changes {
            let alone = AccessEntry.with(change)
            let together = AccessEntry.with {
                $0.provider = "google"
                $0.emailDomain = "example.com"
                change(&$0)
            }
            #expect(alone.match(.ada) == .no && together.match(.ada) == .no)
        }
    }

    @Test func `X-05: a verified email address does not admit if the provider is not the authority for it`() throws {
        var profile = Profile.ada
        let entries: [AccessEntry] = [
            .with { $0.emailDomain = "example.com" }, .with { $0.email = EmailAddress("ada@example.com") },
            .with {
                $0.emailDomain = "example.com"
                $0.group = "staff"
            },
        ]
        for entry in entries {
            var strict = entry
            strict.authorities = ["google"]
            profile.emailAuthoritative = false
            #expect(entry.match(profile) == .yes && strict.match(profile) == .unknown(.emailAuthority))
            let route = try Route.to(.entries([strict]))
            #expect(route.decision(for: profile) == .denied(.emailNotAuthoritative(at: RulePlace(line: 7))))
            profile.emailAuthoritative = true
            #expect(strict.match(profile) == .yes && route.decision(for: profile) == .admitted(at: RulePlace(line: 7)))
            // A provider whose type does not report it is not required to be the authority.
            strict.authorities = ["microsoft"]
            profile.emailAuthoritative = false
            #expect(strict.match(profile) == .yes)
        }
        let other = AccessEntry.with {
            $0.emailDomain = "example.org"
            $0.authorities = ["google"]
        }
        #expect(other.match(profile) == .no)
    }

    @Test func `X-05: a deny entry matches every verified email address, whichever provider is the authority`() throws {
        var route = try Route.to(.signedIn)
        var profile = Profile.ada
        profile.emailAuthoritative = false
        for authorities in [[], ["google"]] as [Set<String>] {
            route.denied = [
                .with {
                    $0.emailDomain = "example.com"
                    $0.authorities = authorities
                }
            ]
            #expect(route.decision(for: profile) == .denied(.denyEntry(at: RulePlace(line: 7))))
        }
        profile.groupsComplete = false
        route.denied[0].group = "banned"
        #expect(route.decision(for: profile) == .denied(.unknown(.groups, at: RulePlace(line: 7))))
    }

    @Test func `an entry without conditions matches no user`() throws {
        #expect(AccessEntry().match(.ada) == .no)
        #expect(try AccessRule.entries([AccessEntry()]).admission(of: .ada) == nil)
        #expect(try AccessRule.entries([]).admission(of: .ada) == nil)
    }

    @Test(arguments: [true, false])
    func `an unverified or missing email address is unknown, and does not admit`(isThere: Bool) throws {
        var profile = Profile.ada
        profile.emailVerified = false
        if !isThere { profile.email = nil }
        for entry: AccessEntry in [
            .with { $0.email = EmailAddress("ada@example.com") }, .with { $0.emailDomain = "example.com" },
            .with { $0.emailDomain = "evil.example" },
        ] {
            #expect(entry.match(profile) == .unknown(.email))
            #expect(try AccessRule.entries([entry]).admission(of: profile) == nil)
        }
        let elsewhere = AccessEntry.with {
            $0.provider = "github"
            $0.emailDomain = "example.com"
        }
        #expect(elsewhere.match(profile) == .no)
    }

    @Test(arguments: [
        "attacker@evil.com@example.com", "attacker@\u{301}evil.com@example.com", "attacker@evil-example.com",
        "attacker@sub.example.com", "attacker@example.com.evil.com", "attacker@ example.com", "@example.com",
        "attacker@evil.com\n@example.com", "attacker@notexample.com",
    ])
    func `a domain is compared as a whole`(email: String) {
        var profile = Profile.ada
        profile.email = email
        #expect(AccessEntry.with { $0.emailDomain = "example.com" }.match(profile) != .yes)
    }

    @Test func `a user outside the group does not match`() throws {
        var profile = Profile.ada
        profile.groups = []
        let rule = AccessRule.entries([.with { $0.group = "acme/platform" }])
        #expect(try rule.admission(of: profile) == nil)
        #expect(profile.groups.isEmpty)
    }

    @Test func `a group that may be missing from an incomplete list is unknown, and does not admit`() throws {
        var profile = Profile.ada
        profile.groupsComplete = false
        #expect(AccessEntry.with { $0.group = "contractors" }.match(profile) == .unknown(.groups))
        #expect(try AccessRule.entries([.with { $0.group = "contractors" }]).admission(of: profile) == nil)
        #expect(AccessEntry.with { $0.group = "staff" }.match(profile) == .yes)
        let elsewhere = AccessEntry.with {
            $0.provider = "github"
            $0.group = "contractors"
        }
        #expect(elsewhere.match(profile) == .no)
    }

    @Test func `a group that was not required when the list was reduced is unknown`() {
        var profile = Profile.ada
        profile.groupsRequested = ["staff", "board"]
        #expect(AccessEntry.with { $0.group = "board" }.match(profile) == .no)
        #expect(AccessEntry.with { $0.group = "contractors" }.match(profile) == .unknown(.keptGroups))
    }

    @Test(arguments: [
        ("example.com", "google", MatchResult.yes), ("other.example", "google", .no), ("staff", "google", .no),
        ("acme", "github", .yes), ("acme/platform", "github", .no), ("platform", "github", .no),
        ("acme", "okta", .unknown(.organization)),
    ])
    func `an organization is the tenant, or a group without a slash where groups are organizations`(
        organization: String,
        provider: String,
        expected: MatchResult
    ) {
        var profile = Profile(provider: provider, issuer: "https://id.example", subject: "1")
        profile.groups = ["acme", "acme/platform", "staff"]
        if provider == "google" { profile.tenant = "example.com" }
        let entry = AccessEntry.with {
            $0.organization = organization
            $0.tenantsFrom = ["google"]
            $0.organizationsFrom = ["github"]
        }
        #expect(entry.match(profile) == expected)
    }

    @Test func `an organization that may be missing from the groups is unknown, unless it is the tenant`() throws {
        var profile = Profile(provider: "github", issuer: "https://id.example", subject: "1")
        let entry = AccessEntry.with {
            $0.organization = "acme"
            $0.organizationsFrom = ["github"]
        }
        #expect(entry.match(profile) == .no)
        profile.groupsRequested = ["other"]
        #expect(entry.match(profile) == .unknown(.keptGroups))
        profile.groupsComplete = false
        #expect(entry.match(profile) == .unknown(.groups))
        var route = try Route.to(.signedIn)
        route.providers = ["github"]
        route.denied = [entry]
        #expect(route.userDecision(for: profile) == .final(.denied(.unknown(.groups, at: entry.place))))
        route.denied = []
        route.access = .entries([entry])
        #expect(route.userDecision(for: profile) == .final(.denied(.notAllowed)))
        profile.tenant = "acme"
        #expect(entry.match(profile) == .yes)
    }

    @Test(arguments: ["acme", "acme/platform"])
    func `K-07 an organization is unknown while the provider may have left out the tenant that it is`(
        organization: String
    ) throws {
        var profile = Profile(provider: "gitlab", issuer: "https://id.example", subject: "1")
        profile.groups = ["staff"]
        let entry = AccessEntry.with {
            $0.organization = organization
            $0.mayHaveTenant = ["gitlab"]
            $0.organizationsFrom = ["gitlab"]
        }
        #expect(entry.match(profile) == .unknown(.organization))
        var route = try Route.to(.signedIn)
        route.providers = ["gitlab"]
        route.denied = [entry]
        #expect(route.userDecision(for: profile) == .final(.denied(.unknown(.organization, at: entry.place))))
        route.denied = []
        route.access = .entries([.with { $0.nested = [.not(entry)] }])
        #expect(route.userDecision(for: profile) == .final(.denied(.notAllowed)))
        var complete = entry
        complete.tenantsFrom = ["gitlab"]
        #expect(complete.match(profile) == .no)
        profile.tenant = "other"
        #expect(entry.match(profile) == .no)
        profile.tenant = organization
        #expect(entry.match(profile) == .yes)
    }

    @Test func `letters that only look the same are another user and another group`() {
        var profile = Profile(provider: "first", issuer: "https://id.example", subject: "zoe\u{308}")
        profile.groups = ["\u{212A}arl"]
        #expect(AccessEntry.with { $0.user = "first:zo\u{EB}" }.match(profile) == .no)
        #expect(AccessEntry.with { $0.user = "first:zoe\u{308}" }.match(profile) == .yes)
        #expect(AccessEntry.with { $0.group = "Karl" }.match(profile) == .no)
        #expect(AccessEntry.with { $0.group = "\u{212A}arl" }.match(profile) == .yes)
    }

    @Test func `the admission has the line of the first matching entry`() throws {
        var first = AccessEntry(at: RulePlace(line: 10))
        first.group = "none"
        var second = AccessEntry(at: RulePlace(line: 20))
        second.group = "staff"
        var third = AccessEntry(at: RulePlace(line: 30))
        third.provider = "google"
        #expect(
            try AccessRule.entries([first, second, third]).admission(of: .ada) == .admitted(at: RulePlace(line: 20))
        )
        #expect(try AccessRule.signedIn.admission(of: .ada) == .admitted(at: nil))
    }
}
