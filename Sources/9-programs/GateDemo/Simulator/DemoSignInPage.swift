// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The page of a simulated provider on which the browser's owner chooses a sample user.
///
/// It has no state on the server: the form carries the authorization request, which is checked again when it comes back.
struct DemoSignInPage {
    let provider: String
    let accent: String
    let users: [DemoUser]

    /// The choice in the form.
    enum Choice {
        case user(DemoUser)
        case denied
        case none
    }

    /// The authorization request: from the query of the first request, or from the form.
    func authorization(of request: DemoRequest) -> Form {
        request.method == "POST" ? Form(encoded: request.form["request"] ?? "") ?? Form() : request.query
    }

    /// The chosen user.
    func choice(of request: DemoRequest) -> Choice {
        guard request.method == "POST", let id = request.form["user"] else { return .none }
        return self.users.first { $0.id == id }.map(Choice.user) ?? .denied
    }

    func page(for request: DemoRequest) -> DemoResponse {
        let authorization = self.authorization(of: request)
        let app = authorization["redirect_uri"].flatMap { WebURL($0)?.origin.authority } ?? "an app"
        let buttons = self.users.map { user -> Markup in
            """
            <button type="submit" name="user" value="\(user.id)">\
            \(user.name) <small>\(user.note)</small></button>
            """
        }
        let content: Markup = """
            <h1>Sign in with \(self.provider)</h1>
            <p>This is a simulation on your own machine. You need no account; choose a user.
            You continue to <strong>\(app)</strong>.</p>
            <form method="post" action="\(request.path)">
            <input type="hidden" name="request" value="\(authorization.encoded)">
            \(Markup(buttons))
            <button type="submit" name="user" value="">Deny <small>Do not sign in</small></button>
            </form>
            """
        return .page("Sign in with \(self.provider)", accent: self.accent, content)
    }

    /// The provider's error page, for requests that must not lead back to the app.
    func errorPage(_ error: OAuthError) -> DemoResponse {
        let content: Markup = """
            <h1>Access blocked: this request is invalid</h1>
            <p>\(error.text)</p>
            <p>Error \(String(error.status)): <code>\(error.error)</code></p>
            """
        return .page("Error", status: error.status, accent: self.accent, content)
    }
}
