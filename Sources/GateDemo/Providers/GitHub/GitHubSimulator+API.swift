// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension GitHubSimulator {
    /// Answers a call of the API whose token is good.
    func api(_ request: DemoRequest, _ answer: (DemoGrant) -> DemoResponse) -> DemoResponse {
        guard request.field("user-agent")?.isEmpty == false else {
            let text =
                "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.\n"
            return .text(text, status: 403)
        }
        guard let grant = self.stage.grants.grant(of: request.bearer) else {
            return Self.message("Bad credentials", status: 401)
        }
        guard !self.stage.has(GitHubQuirk.redirects) else {
            return .redirect(to: "\(self.stage.address.other)/elsewhere")
        }
        var response = answer(grant)
        response.fields += [
            (name: "X-OAuth-Scopes", value: grant.scopes.joined(separator: ", ")),
            (name: "X-Accepted-OAuth-Scopes", value: ""),
            (name: "X-GitHub-Media-Type", value: "github.v3; format=json"),
            (name: "X-RateLimit-Limit", value: "5000"),
            (name: "X-RateLimit-Remaining", value: "4990"),
        ]
        return response
    }

    /// Without the scope there is nothing to be found; a GitHub App without the permission is told so. [K]
    func emails(of grant: DemoGrant) -> DemoResponse {
        guard !self.stage.has(GitHubQuirk.app) else {
            return Self.message("Resource not accessible by integration", status: 403)
        }
        guard grant.scopes.contains("user:email") || grant.scopes.contains("user") else {
            return Self.message("Not Found", status: 404)
        }
        return .json(grant.person.more["emails"] ?? [])
    }

    /// Organizations or teams: 30 to a page, at most 100, the next page in the Link header. [D]
    ///
    /// Without `read:org` teams are refused, and organizations are the public ones only: here, none.
    func list(_ name: String, of grant: DemoGrant, _ request: DemoRequest) -> DemoResponse {
        let isAllowed = grant.scopes.contains("read:org") || self.stage.has(GitHubQuirk.app)
        guard isAllowed || name == "organizations" else {
            return Self.message("You need at least read:org scope", status: 403)
        }
        let all = isAllowed ? self.everything(name, of: grant.person) : []
        let size = min(max(request.query["per_page"].flatMap { Int($0) } ?? 30, 1), 100)
        let page = min(max(request.query["page"].flatMap { Int($0) } ?? 1, 1), 1000)
        guard page == 1 || !self.stage.has(GitHubQuirk.failingPage) else {
            return Self.message("Server Error", status: 502)
        }
        var response = DemoResponse.json(.array(Array(all.dropFirst((page - 1) * size).prefix(size))))
        if page * size < all.count {
            let isForeign = self.stage.has(GitHubQuirk.foreignLink)
            let host = isForeign ? self.stage.address.other : self.stage.address.base
            let last = (all.count + size - 1) / size
            let links = [("next", page + 1), ("last", last)].map { relation, number in
                "<\(host)\(request.path)?per_page=\(size)&page=\(number)>; rel=\"\(relation)\""
            }
            response.fields.append(("Link", links.joined(separator: ", ")))
        }
        // Lists leave out organizations whose SAML session is missing. [O]
        if self.stage.has(GitHubQuirk.partial) {
            response.fields.append(("X-GitHub-SSO", "partial-results; organizations=9001299"))
        }
        return response
    }

    private func everything(_ name: String, of person: DemoUser) -> [JSON] {
        let own = person.more[name]?.array ?? []
        let isLong = [GitHubQuirk.threePages, GitHubQuirk.failingPage, GitHubQuirk.foreignLink]
            .contains(where: self.stage.has)
        guard isLong, !own.isEmpty else { return own }
        return own
            + (1...(250 - own.count)).map { number in
                name == "teams"
                    ? Self.team("team-\(number)", id: 4_500_000 + Int64(number))
                    : Self.organization("org-\(number)", id: 9_100_000 + Int64(number))
            }
    }
}
