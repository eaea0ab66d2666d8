// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
internal import GateIssuer
internal import GateRuntime
internal import GateSessions

/// What a user has to do before a client gets a code.
enum AuthorizationSteps {
    /// The name of the parameter with the scopes that the user has read, added by the gateway to what the page of consent seals: a reload
    /// meanwhile may have given a word of the request another meaning.
    static let shownName = "gatehouse_scopes"

    /// A request with the scopes that the user reads now.
    static func shown(_ scopes: [String], in form: Form) -> Form {
        Form(self.withoutShown(form).fields + [Form.Field(self.shownName, scopes.joined(separator: " "))])
    }

    private static func withoutShown(_ form: Form) -> Form { Form(form.fields.filter { $0.name != self.shownName }) }

    /// A request without what the gateway has added.
    static func original(_ form: Form) -> Form {
        Form(self.withoutShown(form).fields.filter { $0.name != RequestedSignIn.field })
    }

    /// Where the browser comes back to after a sign-in: the same request with what that sign-in was asked for.
    ///
    /// - Parameters:
    ///   - form: The parameters.
    ///   - signIn: What the sign-in is asked for; nil if nothing is.
    ///   - runtime: Has the path of the endpoint, and seals what is asked for.
    /// - Returns: The path; nil if it is too long.
    static func returnPath(
        _ form: Form,
        after signIn: RequestedSignIn?,
        at runtime: RuntimeConfiguration
    ) -> ReturnPath? {
        let asked = signIn.map { [Form.Field(RequestedSignIn.field, $0.sealed(by: runtime.sealer))] } ?? []
        let fields = self.original(form).fields + asked
        return ReturnPath(requested: "\(runtime.path(.authorize))?\(Form(fields).encoded)")
    }

    /// Whether a session is recent enough for a request without a new sign-in.
    ///
    /// OpenID Connect Core §3.1.2.1: by the time that the provider reports, which the client gets as `auth_time`.
    static func isRecent(_ session: Session, for request: AuthorizationRequest, now: Instant) -> Bool {
        guard !request.prompt.login, !request.prompt.selectAccount else { return false }
        guard let maxAge = request.maxAge else { return true }
        return session.profile.authTime.map { now.since($0) <= maxAge } ?? false
    }

    /// The error after a sign-in that does not prove what was asked for.
    ///
    /// OpenID Connect Core §3.1.2.6.
    static var notAuthenticated: OAuthError {
        OAuthError(.loginRequired, "the provider of the user does not report an authentication as recent as asked for")
    }

    /// Whether the user must be asked: where the client wants that, and where any program on the user's device could call itself
    /// this client.
    ///
    /// RFC 8252 §8.6.
    static func needsConsent(_ request: AuthorizationRequest) -> Bool {
        request.client.asksConsent || request.prompt.consent || !request.target.redirectURI.hasPrefix("https://")
    }
}
