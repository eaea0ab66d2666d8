// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension GoogleSimulator {
    /// Short scope names come back as these. [D]
    private static let scopeNames = [
        "email": "https://www.googleapis.com/auth/userinfo.email",
        "profile": "https://www.googleapis.com/auth/userinfo.profile",
    ]

    /// The sign-in page, and where it leads; for an app that is not registered so, an error page of Google's own. [D]
    func authorize(_ request: DemoRequest) -> DemoResponse {
        let page = DemoSignInPage(provider: "Google", accent: "#4285f4", people: Self.people)
        let form = page.authorization(of: request)
        guard form["client_id"] == self.stage.client.id else {
            return page.errorPage("invalid_client", "The OAuth client was not found.", status: 401)
        }
        guard form["redirect_uri"] == self.stage.client.callback else {
            let text = "The redirect URI is not registered for this app."
            return page.errorPage("redirect_uri_mismatch", text, status: 400)
        }
        guard form["response_type"] == "code", form["scope"] != nil else {
            let text = "Required parameter is missing: response_type or scope"
            return page.errorPage("invalid_request", text, status: 400)
        }
        guard form["prompt"] != "none" else { return self.refuse("interaction_required", form) }
        switch page.choice(of: request) {
        case .none: return page.page(for: request)
        case .denied: return self.refuse("access_denied", form)
        case .person(let person): return self.grant(person, form)
        }
    }

    /// Usually without a description. [K]
    private func refuse(_ error: String, _ form: Form) -> DemoResponse {
        self.callback([Form.Field("error", error), Form.Field("state", form["state"] ?? "")])
    }

    private func grant(_ person: DemoUser, _ form: Form) -> DemoResponse {
        let scopes = (form["scope"] ?? "").split(separator: " ").map { Self.scopeNames[String($0)] ?? String($0) }
        let code = "4/0\(self.stage.random.token(48))"
        let isHashed = form["code_challenge_method"] == "S256"
        let grant = DemoGrant(
            person: person,
            redirect: self.stage.client.callback,
            scopes: scopes,
            nonce: form["nonce"],
            challenge: isHashed ? form["code_challenge"] : nil,
            expires: self.stage.clock.now.advanced(by: .seconds(600)),
            request: form,
        )
        self.stage.grants.insert(grant, for: code)
        var fields = [Form.Field("state", form["state"] ?? "")]
        // Sent since 2026, always with https://. [O]
        if !self.stage.has(GoogleQuirk.noIssuer) { fields.append(Form.Field("iss", self.base)) }
        fields += [
            Form.Field("code", code), Form.Field("scope", "email profile " + scopes.joined(separator: " ")),
            Form.Field("authuser", "0"),
        ]
        if let domain = self.record(of: person)["hd"]?.string { fields.append(Form.Field("hd", domain)) }
        fields.append(Form.Field("prompt", "consent"))
        if self.stage.has(GoogleQuirk.moreParameters) {
            fields += [Form.Field("version_info", "CmxfU0VMRg"), Form.Field("something_new", "a b/c&d")]
        }
        return self.callback(fields)
    }

    /// Google writes a space as `+`. [O]
    private func callback(_ fields: [Form.Field]) -> DemoResponse {
        .redirect(to: "\(self.stage.client.callback)?\(Form(fields).encoded.replacing("%20", with: "+"))")
    }
}
