// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The page of a simulated provider on which a person is chosen.
///
/// It keeps nothing on the server: the authorization request travels in the form and is read again, and checked again,
/// when the form comes back.
struct DemoSignInPage {
    let provider: String
    let accent: String
    let people: [DemoUser]

    /// What the form came back with.
    enum Choice {
        case person(DemoUser)
        case denied
        case none
    }

    /// The authorization request: from the query of the first visit, or from the form.
    func authorization(of request: DemoRequest) -> Form {
        request.method == "POST" ? Form(encoded: request.form["request"] ?? "") ?? Form() : request.query
    }

    /// Who was chosen.
    func choice(of request: DemoRequest) -> Choice {
        guard request.method == "POST", let id = request.form["person"] else { return .none }
        return self.people.first { $0.id == id }.map(Choice.person) ?? .denied
    }

    /// The page itself.
    func page(for request: DemoRequest) -> DemoResponse {
        let authorization = self.authorization(of: request)
        let app = authorization["redirect_uri"].flatMap { WebURL($0)?.origin.authority } ?? "an app"
        let buttons = self.people.map { person -> Markup in
            """
            <button type="submit" name="person" value="\(person.id)">\
            \(person.name) <small>\(person.note)</small></button>
            """
        }
        let content: Markup = """
            <h1>Sign in with \(self.provider)</h1>
            <p>This is a simulation on your own machine. No account is needed; choose who you want to be.
            You continue to <strong>\(app)</strong>.</p>
            <form method="post" action="\(request.path)">
            <input type="hidden" name="request" value="\(authorization.encoded)">
            \(Markup(buttons))
            <button type="submit" name="person" value="">Deny <small>Do not sign in</small></button>
            </form>
            """
        return .page("Sign in with \(self.provider)", accent: self.accent, content)
    }

    /// The provider's own error page, for requests that must not lead back to the app.
    func errorPage(_ code: String, _ text: String, status: Int) -> DemoResponse {
        let content: Markup = """
            <h1>Access blocked: this request is invalid</h1>
            <p>\(text)</p>
            <p>Error \(String(status)): <code>\(code)</code></p>
            """
        return .page("Error", status: status, accent: self.accent, content)
    }
}
