// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension GitHubSimulator {
    /// An entry of `/user/orgs`. [D]
    static func organization(_ login: String, id: Int64) -> JSON {
        let api = "https://api.github.com/orgs/\(login)"
        return [
            "login": .string(login), "id": .int(id), "node_id": .string("O_demo\(id)"), "url": .string(api),
            "repos_url": .string(api + "/repos"), "events_url": .string(api + "/events"),
            "members_url": .string(api + "/members{/member}"),
            "avatar_url": .string("https://avatars.githubusercontent.com/u/\(id)?v=4"), "description": .null,
        ]
    }

    /// An entry of `/user/teams`, a team of `example-org`. [D]
    static func team(_ slug: String, id: Int64) -> JSON {
        [
            "id": .int(id), "node_id": .string("T_demo\(id)"), "name": .string(slug.replacing("-", with: " ")),
            "slug": .string(slug), "description": "", "privacy": "closed", "permission": "pull",
            "url": .string("https://api.github.com/organizations/9001234/team/\(id)"),
            "html_url": .string("https://github.com/orgs/example-org/teams/\(slug)"), "type": "organization",
            "members_count": 7, "repos_count": 12, "created_at": "2024-01-05T10:00:00Z",
            "updated_at": "2026-02-01T10:00:00Z", "parent": .null,
            "organization": ["login": "example-org", "id": 9_001_234, "type": "Organization"],
        ]
    }
}
