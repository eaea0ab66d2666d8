// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension MicrosoftSimulator {
    /// The sign-in page of a tenant, and where it leads.
    func authorize(_ request: DemoRequest, at tenant: String) -> DemoResponse {
        let page = DemoSignInPage(provider: "Microsoft", accent: "#0067b8", people: Self.people(of: tenant))
        let form = page.authorization(of: request)
        guard form["client_id"] == self.stage.client.id else {
            return page.errorPage("AADSTS700016", "Application was not found in the directory.", status: 400)
        }
        guard form["redirect_uri"] == self.stage.client.callback else {
            let text = "The redirect URI specified in the request does not match the ones configured."
            return page.errorPage("AADSTS50011", text, status: 400)
        }
        guard form["response_type"] == "code", form["scope"] != nil else {
            return page.errorPage("AADSTS900144", "The request body must contain response_type and scope.", status: 400)
        }
        guard form["prompt"] != "none" else {
            return self.refuse("interaction_required", "AADSTS50058: A silent sign-in request was sent.", form)
        }
        switch page.choice(of: request) {
        case .none: return page.page(for: request)
        case .denied:
            return self.refuse("access_denied", "AADSTS65004: User declined to consent to access the app.", form)
        case .person(let person): return self.grant(person, form)
        }
    }

    /// Tells that the person has signed out, with a way back if the app named one.
    func logout(_ request: DemoRequest) -> DemoResponse {
        let origin = WebURL(self.stage.client.callback)?.origin
        let back = request.query["post_logout_redirect_uri"].flatMap { WebURL($0) }
        guard let back, back.origin == origin else {
            return .page("Signed out", accent: "#0067b8", "<h1>You signed out of your account</h1>")
        }
        var fields = Form()
        if let state = request.query["state"] { fields.append("state", state) }
        return .redirect(
            to: fields.fields.isEmpty ? "\(back)" : "\(back)\(back.query == nil ? "?" : "&")\(fields.encoded)"
        )
    }

    private func refuse(_ error: String, _ text: String, _ form: Form) -> DemoResponse {
        let trace = Self.trace
        let words = "\(text)\r\nTrace ID: \(trace)\r\nCorrelation ID: \(trace)\r\nTimestamp: \(self.stage.clock.now)"
        let fields = [
            Form.Field("error", error), Form.Field("error_subcode", "cancel"), Form.Field("error_description", words),
            Form.Field("error_uri", self.base + "/error?code=65004"), Form.Field("state", form["state"] ?? ""),
        ]
        return self.callback(fields, form)
    }

    private func grant(_ person: DemoUser, _ form: Form) -> DemoResponse {
        let code = "0.AXoA\(self.stage.random.token(750))"
        let isHashed = form["code_challenge_method"] == "S256"
        let grant = DemoGrant(
            person: person,
            redirect: self.stage.client.callback,
            scopes: (form["scope"] ?? "").split(separator: " ").map(String.init).filter { $0 != "offline_access" },
            nonce: form["nonce"],
            challenge: isHashed ? form["code_challenge"] : nil,
            expires: self.stage.clock.now.advanced(by: .seconds(600)),
        )
        self.stage.grants.insert(grant, for: code)
        let session = "4f98aaaa-cc1f-47b9-81b2-66522ea80000"
        let fields = [
            Form.Field("code", code), Form.Field("state", form["state"] ?? ""), Form.Field("session_state", session),
        ]
        return self.callback(fields, form)
    }

    /// By redirect, or by a form that the person sends on, for `response_mode=form_post`.
    private func callback(_ fields: [Form.Field], _ form: Form) -> DemoResponse {
        guard form["response_mode"] == "form_post" else {
            return .redirect(to: "\(self.stage.client.callback)?\(Form(fields).encoded)")
        }
        let inputs = fields.map { field -> Markup in
            "<input type=\"hidden\" name=\"\(field.name)\" value=\"\(field.value)\">"
        }
        let content: Markup = """
            <h1>Continue to the app</h1>
            <form method="post" action="\(self.stage.client.callback)">
            \(Markup(inputs))
            <button type="submit">Continue</button>
            </form>
            """
        return .page("Continue", accent: "#0067b8", content)
    }
}
