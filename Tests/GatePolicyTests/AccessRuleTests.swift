// SPDX-License-Identifier: Apache-2.0

import GateCore
import GatePolicy
import Testing

@Suite struct AccessRuleTests {
    @Test func `every condition that a person meets admits them`() {
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
            #expect(entry.fit(.ada) == .yes)
        }
    }

    @Test func `one condition that fails fails the entry`() {
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
            #expect(alone.fit(.ada) == .no && together.fit(.ada) == .no)
        }
    }

    @Test func `X-05: a verified address of which the provider is not the authority does not admit`() throws {
        var person = Profile.ada
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
            person.emailAuthoritative = false
            #expect(entry.fit(person) == .yes && strict.fit(person) == .unknown(.emailAuthority))
            let route = try Route.to(.entries([strict]))
            #expect(route.decision(about: person) == .refused(.emailNotAuthoritative(line: 7)))
            person.emailAuthoritative = true
            #expect(strict.fit(person) == .yes && route.decision(about: person) == .admitted(Admission(line: 7)))
            // A provider whose type does not tell is asked for no more than before.
            strict.authorities = ["microsoft"]
            person.emailAuthoritative = false
            #expect(strict.fit(person) == .yes)
        }
        let other = AccessEntry.with {
            $0.emailDomain = "example.org"
            $0.authorities = ["google"]
        }
        #expect(other.fit(person) == .no)
    }

    @Test func `X-05: a deny fits every verified address, whoever is the authority`() throws {
        var route = try Route.to(.signedIn)
        var person = Profile.ada
        person.emailAuthoritative = false
        for authorities in [[], ["google"]] as [Set<String>] {
            route.denied = [
                .with {
                    $0.emailDomain = "example.com"
                    $0.authorities = authorities
                }
            ]
            #expect(route.decision(about: person) == .refused(.denied(line: 7)))
        }
        person.groupsComplete = false
        route.denied[0].group = "banned"
        #expect(route.decision(about: person) == .refused(.unknown(.groups, line: 7)))
    }

    @Test func `an entry without conditions fits nobody`() {
        #expect(AccessEntry().fit(.ada) == .no)
        #expect(AccessRule.entries([AccessEntry()]).admission(of: .ada) == nil)
        #expect(AccessRule.entries([]).admission(of: .ada) == nil)
    }

    @Test(arguments: [true, false])
    func `an address that is not verified, or missing, admits nobody and is not called another one`(isThere: Bool) {
        var person = Profile.ada
        person.emailVerified = false
        if !isThere { person.email = nil }
        for entry: AccessEntry in [
            .with { $0.email = EmailAddress("ada@example.com") }, .with { $0.emailDomain = "example.com" },
            .with { $0.emailDomain = "evil.example" },
        ] {
            #expect(entry.fit(person) == .unknown(.email))
            #expect(AccessRule.entries([entry]).admission(of: person) == nil)
        }
        let elsewhere = AccessEntry.with {
            $0.provider = "github"
            $0.emailDomain = "example.com"
        }
        #expect(elsewhere.fit(person) == .no)
    }

    @Test(arguments: [
        "attacker@evil.com@example.com", "attacker@\u{301}evil.com@example.com", "attacker@evil-example.com",
        "attacker@sub.example.com", "attacker@example.com.evil.com", "attacker@ example.com", "@example.com",
        "attacker@evil.com\n@example.com", "attacker@notexample.com",
    ])
    func `a domain is compared as a whole`(email: String) {
        var person = Profile.ada
        person.email = email
        #expect(AccessEntry.with { $0.emailDomain = "example.com" }.fit(person) != .yes)
    }

    @Test func `somebody who is in no required group does not get into it`() {
        var person = Profile.ada
        person.groups = []
        let rule = AccessRule.entries([.with { $0.group = "acme/platform" }])
        #expect(rule.admission(of: person) == nil)
        #expect(person.groups.isEmpty)
    }

    @Test func `a group that may be missing from the list admits nobody and is not called absent`() {
        var person = Profile.ada
        person.groupsComplete = false
        #expect(AccessEntry.with { $0.group = "contractors" }.fit(person) == .unknown(.groups))
        #expect(AccessRule.entries([.with { $0.group = "contractors" }]).admission(of: person) == nil)
        #expect(AccessEntry.with { $0.group = "staff" }.fit(person) == .yes)
        let elsewhere = AccessEntry.with {
            $0.provider = "github"
            $0.group = "contractors"
        }
        #expect(elsewhere.fit(person) == .no)
    }

    @Test func `a group that was not sought when the list was cut is unknown`() {
        var person = Profile.ada
        person.groupsRequested = ["staff", "board"]
        #expect(AccessEntry.with { $0.group = "board" }.fit(person) == .no)
        #expect(AccessEntry.with { $0.group = "contractors" }.fit(person) == .unknown(.keptGroups))
    }

    @Test func `letters that only look the same name another user and another group`() {
        var person = Profile(provider: "first", issuer: "https://id.example", subject: "zoe\u{308}")
        person.groups = ["\u{212A}arl"]
        #expect(AccessEntry.with { $0.user = "first:zo\u{EB}" }.fit(person) == .no)
        #expect(AccessEntry.with { $0.user = "first:zoe\u{308}" }.fit(person) == .yes)
        #expect(AccessEntry.with { $0.group = "Karl" }.fit(person) == .no)
        #expect(AccessEntry.with { $0.group = "\u{212A}arl" }.fit(person) == .yes)
    }

    @Test func `the first entry that fits is the one that is named`() {
        var first = AccessEntry(line: 10)
        first.group = "none"
        var second = AccessEntry(line: 20)
        second.group = "staff"
        var third = AccessEntry(line: 30)
        third.provider = "google"
        #expect(AccessRule.entries([first, second, third]).admission(of: .ada)?.line == 20)
        #expect(AccessRule.signedIn.admission(of: .ada) == Admission(line: nil))
    }
}
