// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GatePolicy

/// F-07: rules know the key by which apps know a user whose accounts are connected; it denies, and never admits.
@Suite struct ConnectedAccountRuleTests {
    private static func profile(connected key: String? = "google:1047") -> Profile {
        var profile = Profile(provider: "github", issuer: "https://github.com", subject: "9919")
        profile.connectedKey = key
        return profile
    }

    private static func entry(_ user: String, provider: String? = nil) -> AccessEntry {
        AccessEntry.with {
            $0.user = user
            $0.provider = provider
        }
    }

    @Test(
        arguments: [
            ("google:1047", nil, true), ("google:1047", "google", true), ("google:1047", "github", true),
            ("google:1047", "goog", false), ("google:104", nil, false), ("google:10470", nil, false),
            ("GOOGLE:1047", nil, false),
            ("github:9919", nil, true), ("github:9919", "github", true), ("github:9919", "google", false),
        ] as [(String, String?, Bool)]
    )
    func `a deny entry by either key matches`(user: String, provider: String?, isDenied: Bool) {
        let match = Self.entry(user, provider: provider).match(Self.profile())
        #expect((match == .no) == !isDenied)
    }

    @Test(arguments: [nil, "google", "github"])
    func `an allow entry by the key of the connected account admits no user`(provider: String?) {
        #expect(Self.entry("google:1047", provider: provider).match(Self.profile()) != .yes)
        #expect(Self.entry("github:9919").match(Self.profile()) == .yes)
    }

    @Test func `a user without connected accounts has one key`() {
        #expect(Self.entry("google:1047").match(Self.profile(connected: nil)) == .no)
        #expect(Self.entry("github:9919").match(Self.profile(connected: nil)) == .yes)
    }

    @Test func `the other conditions of the entry count as well`() {
        var profile = Self.profile()
        profile.groups = ["staff"]
        var entry = Self.entry("google:1047")
        entry.group = "contractors"
        #expect(entry.match(profile) == .no)
        entry.group = "staff"
        #expect(entry.match(profile) == .unknown(.connectedAccount))
    }
}
