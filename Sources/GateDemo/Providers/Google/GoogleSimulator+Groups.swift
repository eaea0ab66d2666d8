// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension GoogleSimulator {
    private static let scope = "https://www.googleapis.com/auth/cloud-identity.groups.readonly"
    private static let pageSize = 2

    /// Cloud Identity's search for the groups of a person, two to a page.
    ///
    /// There are no groups in Google's tokens [O]. Only people of a Workspace have any, and `searchTransitiveGroups`
    /// finds those that a group is in as well. https://cloud.google.com/identity/docs/reference/rest/v1
    func groups(_ request: DemoRequest, transitive: Bool) -> DemoResponse {
        guard let grant = self.stage.grants.grant(of: request.bearer) else {
            return Self.apiProblem(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
        }
        guard grant.scopes.contains(Self.scope) else {
            return Self.apiProblem(403, "PERMISSION_DENIED", "Request had insufficient authentication scopes.")
        }
        guard let email = grant.person.record["email"]?.string, self.record(of: grant.person)["hd"] != nil,
            request.query["query"]?.hasPrefix("member_key_id == '\(email)'") == true
        else { return Self.apiProblem(403, "PERMISSION_DENIED", "Error(2028): Permission denied for resource.") }
        let all = grant.person.more[transitive ? "transitive" : "direct"]?.array ?? []
        let start = request.query["pageToken"].flatMap { Int($0.dropFirst(5)) } ?? 0
        guard start >= 0, start <= all.count else {
            return Self.apiProblem(400, "INVALID_ARGUMENT", "Request contains an invalid argument.")
        }
        guard start == 0 || !self.stage.has(GoogleQuirk.failingPage) else {
            return Self.apiProblem(503, "UNAVAILABLE", "The service is currently unavailable.")
        }
        let end = min(start + Self.pageSize, all.count)
        var answer: [String: JSON] = ["memberships": .array(all[start..<end].map { Self.membership($0) })]
        if end < all.count { answer["nextPageToken"] = .string("page-\(end)") }
        return .json(.object(answer))
    }

    private static func membership(_ name: JSON) -> JSON {
        let key = name.string ?? ""
        return [
            "group": .string("groups/0\(key.utf8.count)demo\(key.prefix { $0 != "@" })"), "groupKey": ["id": name],
            "displayName": .string(key.prefix { $0 != "@" }.uppercased()),
            "labels": ["cloudidentity.googleapis.com/groups.discussion_forum": ""],
        ]
    }

    /// An error of Google's APIs is an object, not a word. [D]
    private static func apiProblem(_ status: Int, _ name: String, _ text: String) -> DemoResponse {
        let error: JSON = ["code": .int(Int64(status)), "message": .string(text), "status": .string(name)]
        return .json(["error": error], status: status)
    }
}
