// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension GoogleSimulator {
    /// A Workspace account, one without family name, and a consumer account at another provider's address.
    static let people: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "Ada Example",
            note: "ada@example.org, Workspace account of example.org",
            record: [
                "sub": "104729384756102938475", "name": "Ada Example", "given_name": "Ada", "family_name": "Example",
                "picture": "https://lh3.googleusercontent.com/a/ada=s96-c", "email": "ada@example.org",
                "email_verified": true, "hd": "example.org",
            ],
            more: [
                "direct": ["engineering@example.org", "all@example.org", "lunch@example.org"],
                "transitive": [
                    "engineering@example.org", "all@example.org", "lunch@example.org", "products@example.org",
                    "company@example.org",
                ],
            ],
        ),
        DemoUser(
            id: "grace",
            name: "Grace",
            note: "grace@example.org, Workspace account without a family name",
            record: [
                "sub": "117293847561029384756", "name": "Grace", "given_name": "Grace", "email": "grace@example.org",
                "email_verified": true, "hd": "example.org",
            ],
        ),
        DemoUser(
            id: "katherine",
            name: "Katherine Sample",
            note: "katherine@example.net, consumer account outside any Workspace",
            record: [
                "sub": "100000000000000000042", "name": "Katherine Sample", "given_name": "Katherine",
                "family_name": "Sample", "email": "katherine@example.net", "email_verified": true,
            ],
        ),
    ]
}
