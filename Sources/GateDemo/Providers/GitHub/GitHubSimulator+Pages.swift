// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension GitHubSimulator {
    /// The sign-in page, and where it leads.
    func authorize(_ request: DemoRequest) -> DemoResponse {
        let page = DemoSignInPage(provider: "GitHub", accent: "#24292f", people: Self.people)
        let form = page.authorization(of: request)
        guard form["client_id"] == self.stage.client.id else { return page.errorPage("404", "Not Found", status: 404) }
        guard self.allows(redirect: form["redirect_uri"]) else {
            let text = "The redirect_uri MUST match the registered callback URL for this application."
            return self.refuse("redirect_uri_mismatch", text, form)
        }
        guard Self.isSound(challenge: form["code_challenge"], method: form["code_challenge_method"]) else {
            return page.errorPage("invalid_request", "The code challenge must be S256 with 43 characters.", status: 400)
        }
        switch page.choice(of: request) {
        case .none: return page.page(for: request)
        case .denied:
            return self.refuse("access_denied", "The user has denied your application access.", form)
        case .person(let person): return self.grant(person, form)
        }
    }

    /// An OAuth App's redirect may lie below the registered callback, on its host and port; an App's must equal it. [D]
    private func allows(redirect: String?) -> Bool {
        guard !self.stage.has(GitHubQuirk.wrongHost) else { return false }
        guard let redirect, redirect != self.stage.client.callback else { return true }
        guard !self.stage.has(GitHubQuirk.app), let asked = WebURL(redirect),
            let registered = WebURL(self.stage.client.callback)
        else { return false }
        return asked.origin == registered.origin && asked.path.hasPrefix(registered.path + "/")
    }

    /// S256 only, since July 2025, and not enforced. [D]
    private static func isSound(challenge: String?, method: String?) -> Bool {
        challenge == nil ? method == nil : method == "S256" && challenge?.utf8.count == 43
    }

    /// Errors lead to the registered callback and name the issuer too. [O]
    private func refuse(_ error: String, _ text: String, _ form: Form) -> DemoResponse {
        let address = Self.documentation + "troubleshooting-authorization-request-errors/"
        let fields = [
            Form.Field("error", error), Form.Field("error_description", text), Form.Field("error_uri", address),
        ]
        return .redirect(to: self.address(self.stage.client.callback, fields, form).replacing("%20", with: "+"))
    }

    private func grant(_ person: DemoUser, _ form: Form) -> DemoResponse {
        let code = hexadecimal(self.stage.random.bytes(10))
        let redirect = form["redirect_uri"] ?? self.stage.client.callback
        let scopes = (form["scope"] ?? "").split { $0 == " " || $0 == "," }.map(String.init).sorted()
        let grant = DemoGrant(
            person: person,
            redirect: redirect,
            scopes: self.stage.has(GitHubQuirk.app) ? [] : scopes,
            nonce: nil,
            challenge: form["code_challenge"],
            expires: self.stage.clock.now.advanced(by: .seconds(600)),
        )
        self.stage.grants.insert(grant, for: code)
        return .redirect(to: self.address(redirect, [Form.Field("code", code)], form))
    }

    private func address(_ redirect: String, _ fields: [Form.Field], _ form: Form) -> String {
        let issuer = self.stage.has(GitHubQuirk.noIssuer) ? [] : [Form.Field("iss", self.issuer)]
        let all = fields + issuer + [Form.Field("state", form["state"] ?? "")]
        return "\(redirect)?\(Form(all).encoded)"
    }
}
