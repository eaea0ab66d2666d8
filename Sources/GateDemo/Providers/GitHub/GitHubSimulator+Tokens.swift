// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension GitHubSimulator {
    /// Redeems a code; credentials are in the body, errors are GitHub's own and come with status 200. [D]
    func accessToken(_ request: DemoRequest) -> DemoResponse {
        let form = request.form
        guard form["client_id"] == self.stage.client.id else { return .json(["error": "Not Found"], status: 404) }
        guard let secret = form["client_secret"], Secret(text: secret) == self.stage.client.secret else {
            let text = "The client_id and/or client_secret passed are incorrect."
            return self.problem("incorrect_client_credentials", text, request)
        }
        guard !self.stage.has(GitHubQuirk.error), let grant = form["code"].flatMap({ self.stage.grants.take($0) }),
            grant.accepts(verifier: form["code_verifier"])
        else {
            return self.problem("bad_verification_code", "The code passed is incorrect or expired.", request)
        }
        guard form["redirect_uri"] == nil || form["redirect_uri"] == grant.redirect else {
            let text = "The redirect_uri MUST match the registered callback URL for this application."
            return self.problem("redirect_uri_mismatch", text, request)
        }
        return self.encoded(self.tokens(for: grant), for: request)
    }

    /// Expiring tokens are documented for GitHub Apps, and for OAuth Apps since 2026. [D]
    private func tokens(for grant: DemoGrant) -> [(String, JSON)] {
        let isApp = self.stage.has(GitHubQuirk.app)
        let token = "\(isApp ? "ghu" : "gho")_\(hexadecimal(self.stage.random.bytes(18)))"
        self.stage.grants.insert(grant, for: token)
        var members: [(String, JSON)] = [
            ("access_token", .string(token)), ("scope", .string(grant.scopes.joined(separator: ","))),
            ("token_type", "bearer"),
        ]
        if isApp || self.stage.has(GitHubQuirk.expiring) {
            let refresh = "ghr_\(hexadecimal(self.stage.random.bytes(38)))"
            members += [
                ("expires_in", 28_800), ("refresh_token", .string(refresh)),
                ("refresh_token_expires_in", isApp ? 15_811_200 : 15_897_600),
            ]
        }
        return members
    }

    private func problem(_ error: String, _ text: String, _ request: DemoRequest) -> DemoResponse {
        let address = "\(Self.documentation)troubleshooting-oauth-app-access-token-request-errors/"
        let members: [(String, JSON)] = [
            ("error", .string(error)), ("error_description", .string(text)), ("error_uri", .string(address)),
        ]
        return self.encoded(members, for: request)
    }

    /// A form, or JSON or XML if the client asks for it; status 200 for errors as well. [D]
    private func encoded(_ members: [(String, JSON)], for request: DemoRequest) -> DemoResponse {
        let accept = request.field("accept") ?? ""
        let texts = members.map { (name: $0.0, value: $0.1.string ?? $0.1.text) }
        if self.stage.has(GitHubQuirk.xml) || accept.contains("application/xml") {
            let elements = texts.map { "  <\($0.name)>\(Markup("\($0.value)"))</\($0.name)>\n" }.joined()
            let body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<OAuth>\n\(elements)</OAuth>\n"
            return Self.answer(body, type: "application/xml; charset=utf-8")
        }
        if !self.stage.has(GitHubQuirk.form), accept.contains("application/json") {
            return .json(.object(Dictionary(members) { $1 }))
        }
        let body = Form(texts.map { Form.Field($0.name, $0.value) }).encoded
        return Self.answer(body, type: "application/x-www-form-urlencoded; charset=utf-8")
    }

    private static func answer(_ body: String, type: String) -> DemoResponse {
        DemoResponse(status: 200, fields: [("Content-Type", type)], body: Array(body.utf8))
    }
}
