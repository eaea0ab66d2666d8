// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension GitHubSimulator {
    /// A user with a private address, one with an id above 2^53 and no name, and one whose address nobody has verified.
    static let people: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "ada-example",
            note: "Ada Example, private e-mail, found through the e-mail list",
            record: Self.user(login: "ada-example", id: 73_205_511, name: "Ada Example", email: nil),
            more: [
                "emails": [
                    ["email": "old@example.net", "primary": false, "verified": false, "visibility": .null],
                    ["email": "ada@example.org", "primary": true, "verified": true, "visibility": "private"],
                    [
                        "email": "73205511+ada-example@users.noreply.github.com", "primary": false, "verified": true,
                        "visibility": .null,
                    ],
                ],
                "organizations": [Self.organization("example-org", id: 9_001_234)],
                "teams": [Self.team("platform-eng", id: 4_401_122), Self.team("on-call", id: 4_401_123)],
            ],
        ),
        DemoUser(
            id: "grace",
            name: "grace-sample",
            note: "No display name, no public e-mail, id above 2^53",
            record: Self.user(login: "grace-sample", id: 9_007_199_254_740_993, name: nil, email: nil),
            more: [
                "emails": [["email": "grace@example.org", "primary": true, "verified": true, "visibility": .null]]
            ],
        ),
        DemoUser(
            id: "margaret",
            name: "margaret-test",
            note: "Public e-mail that was never verified",
            record: Self.user(
                login: "margaret-test",
                id: 583_231,
                name: "Margaret Test",
                email: "margaret@example.com"
            ),
            more: [
                "emails": [
                    ["email": "margaret@example.com", "primary": true, "verified": false, "visibility": "public"]
                ]
            ],
        ),
    ]

    private static func user(login: String, id: Int64, name: String?, email: String?) -> [String: JSON] {
        let api = "https://api.github.com/users/\(login)"
        return [
            "login": .string(login), "id": .int(id), "node_id": .string("U_demo\(id)"), "gravatar_id": "",
            "avatar_url": .string("https://avatars.githubusercontent.com/u/\(id)?v=4"),
            "url": .string(api), "html_url": .string("https://github.com/\(login)"),
            "followers_url": .string(api + "/followers"),
            "following_url": .string(api + "/following{/other_user}"),
            "organizations_url": .string(api + "/orgs"), "repos_url": .string(api + "/repos"),
            "type": "User", "user_view_type": "private", "site_admin": false,
            "name": name.map { .string($0) } ?? .null, "company": .null, "blog": "", "location": .null,
            "email": email.map { .string($0) } ?? .null, "notification_email": .null, "hireable": .null,
            "bio": .null, "twitter_username": .null, "public_repos": 2, "public_gists": 0, "followers": 20,
            "following": 0, "created_at": "2020-10-19T08:15:30Z", "updated_at": "2026-08-31T17:02:11Z",
        ]
    }
}
