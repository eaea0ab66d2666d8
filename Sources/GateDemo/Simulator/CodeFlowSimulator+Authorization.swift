// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension CodeFlowSimulator {
    /// The sign-in page, and where it leads.
    ///
    /// RFC 6749 §4.1.1. Nothing leads back to the app before client and redirect address are known to be its own.
    func authorize(_ request: DemoRequest) -> DemoResponse {
        let page = DemoSignInPage(provider: self.traits.title, accent: self.traits.accent, people: self.traits.people)
        let sent = page.authorization(of: request)
        let form = sent["request_uri"].flatMap { self.pushed.request($0) } ?? sent
        if let problem = self.objection(to: form, sent: sent) {
            return page.errorPage(problem.error, problem.text, status: problem.status)
        }
        if let problem = self.problem(of: form) {
            let fields = [Form.Field("error", problem.error), Form.Field("error_description", problem.text)]
            return self.callback(fields, form)
        }
        switch page.choice(of: request) {
        case .none: return page.page(for: request)
        case .denied: return self.callback(self.traits.authorization.denial, form)
        case .person(let person):
            sent["request_uri"].map { self.pushed.forget($0) }
            return self.grant(person, form)
        }
    }

    /// What the person is told here.
    private func objection(to form: Form, sent: Form) -> OAuthError? {
        let client = self.stage.client
        guard sent["client_id"] == client.id, form["client_id"] == client.id else {
            return OAuthError("invalid_client", "The client is not registered here.", status: 401)
        }
        guard sent["request_uri"] == nil || form != sent else {
            return OAuthError("invalid_request_uri", "The pushed request is unknown or has expired.")
        }
        guard !self.traits.authorization.requiresPushed || sent["request_uri"] != nil else {
            return OAuthError("invalid_request", "The authorization request has to be pushed.")
        }
        guard form["redirect_uri"] == client.callback else {
            return OAuthError("redirect_uri_mismatch", "The redirect address is not registered for this app.")
        }
        return self.traits.authorization.objection(form)
    }

    /// What the app is told.
    private func problem(of form: Form) -> OAuthError? {
        guard form["response_type"] == "code" else {
            return OAuthError("unsupported_response_type", "Only the code flow is supported.")
        }
        let mode = form["response_mode"] ?? "query"
        guard self.traits.authorization.responseModes.contains(mode) else {
            return OAuthError("invalid_request", "The response mode is not supported.")
        }
        guard form["prompt"] != "none" else { return OAuthError("login_required", "The person has to sign in.") }
        return self.challengeProblem(of: form)
    }

    /// RFC 7636 §4.4.1.
    private func challengeProblem(of form: Form) -> OAuthError? {
        let rule = self.traits.authorization.challenge
        guard let challenge = form["code_challenge"] else {
            return rule == .required ? OAuthError("invalid_request", "A code challenge is required.") : nil
        }
        guard form["code_challenge_method"] == "S256", challenge.utf8.count == 43 else {
            return OAuthError("invalid_request", "The code challenge must be S256 with 43 characters.")
        }
        return nil
    }

    private func grant(_ person: DemoUser, _ form: Form) -> DemoResponse {
        let code = self.traits.token.codePrefix + self.stage.random.token(32)
        let grant = DemoGrant(
            person: person,
            redirect: self.stage.client.callback,
            scopes: (form["scope"] ?? "").split { $0 == " " || $0 == "," }.map(String.init),
            nonce: form["nonce"],
            challenge: form["code_challenge"],
            expires: self.stage.clock.now.advanced(by: .seconds(600)),
        )
        self.stage.grants.insert(grant, for: code)
        return self.callback(self.traits.authorization.extras(grant) + [Form.Field("code", code)], form)
    }

    /// By redirect, or by a form that the person sends on.
    ///
    /// OAuth 2.0 Form Post Response Mode §2; without a script, as the pages of the demo have none.
    private func callback(_ fields: [Form.Field], _ form: Form) -> DemoResponse {
        var fields = [Form.Field("state", form["state"] ?? "")] + fields
        if self.traits.authorization.sendsIssuer { fields.append(Form.Field("iss", self.traits.issuer)) }
        let address = "\(self.stage.client.callback)?\(Form(fields).encoded)"
        guard form["response_mode"] == "form_post" else {
            return .redirect(to: address + self.traits.authorization.fragment)
        }
        // What is wrong with a redirect on demand has to be wrong with a form as well.
        let sent = CallbackQuirk.applied(to: address, of: self.stage).drop { $0 != "?" }.dropFirst()
        let inputs = (Form(encoded: sent)?.fields ?? fields).map { field -> Markup in
            "<input type=\"hidden\" name=\"\(field.name)\" value=\"\(field.value)\">"
        }
        let content: Markup = """
            <h1>Continue to the app</h1>
            <form method="post" action="\(self.stage.client.callback)">
            \(Markup(inputs))
            <button type="submit">Continue</button>
            </form>
            """
        return .page("Continue", accent: self.traits.accent, content)
    }
}
