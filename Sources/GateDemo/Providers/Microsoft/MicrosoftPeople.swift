// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension MicrosoftSimulator {
    /// The accounts that may sign in at a tenant: work accounts, personal ones, or both.
    static func people(of tenant: String) -> [DemoUser] {
        switch tenant {
        case "common": self.workPeople + self.personalPeople + self.foreignPeople
        case "organizations": self.workPeople + self.foreignPeople
        case "consumers", self.consumers: self.personalPeople
        default: self.workPeople
        }
    }

    private static let workPeople: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "Ada Example",
            note: "ada@contoso.example, work account with a verified domain",
            record: Self.record(object: "444455556666", name: ("Ada", "Example"), user: "ada@contoso.example")
                .merging([
                    "email": "ada@contoso.example", "xms_edov": true,
                    "groups": ["1b2c3d4e-0000-4000-8000-aabbccddeeff", "1b2c3d4e-0000-4000-8000-001122334455"],
                    "roles": ["Gateway.Admin"],
                ]) { $1 },
        ),
        DemoUser(
            id: "grace",
            name: "Grace Sample",
            note: "grace@contoso.example, e-mail that nobody vouches for",
            record: Self.record(object: "777788889999", name: ("Grace", "Sample"), user: "grace@contoso.example")
                .merging(["email": "grace@contoso.example"]) { $1 },
        ),
        DemoUser(
            id: "margaret",
            name: "Margaret Test",
            note: "margaret@example.org, guest of the tenant",
            record: Self.record(
                object: "aaaabbbbcccc",
                name: ("Margaret", "Test"),
                user: "margaret_example.org#EXT#@contoso.onmicrosoft.com",
            ).merging(["email": "margaret@example.org"]) { $1 },
        ),
    ]

    private static let personalPeople: [DemoUser] = [
        DemoUser(
            id: "katherine",
            name: "Katherine Sample",
            note: "katherine@outlook.example, personal account",
            record: Self.record(
                object: "1887fa52aaaa",
                name: ("Katherine", "Sample"),
                user: "katherine@outlook.example"
            )
            .merging(["email": "katherine@outlook.example", "tid": .string(Self.consumers)]) { $1 }
            .merging(["oid": "00000000-0000-0000-48d3-1887fa52aaaa"]) { $1 },
        )
    ]

    /// Somebody who runs a tenant and has written a stranger's address into it; known as nOAuth. [D]
    private static let foreignPeople: [DemoUser] = [
        DemoUser(
            id: "mallory",
            name: "Mallory Sample",
            note: "another tenant, whose administrator claims to be ada@contoso.example",
            record: Self.record(object: "ddddeeeeffff", name: ("Mallory", "Sample"), user: "mallory@evil.example")
                .merging(["email": "ada@contoso.example", "tid": .string(Self.foreign)]) { $1 },
        )
    ]

    private static func record(object: String, name: (given: String, family: String), user: String) -> [String: JSON] {
        [
            "sub": .string("AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSa\(object)"),
            "oid": .string("00000000-1111-2222-3333-\(object)"), "tid": .string(Self.tenant),
            "name": .string("\(name.given) \(name.family)"), "given_name": .string(name.given),
            "family_name": .string(name.family), "preferred_username": .string(user),
        ]
    }
}
