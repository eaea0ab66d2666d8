// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
internal import GateIssuer
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import GateTokenEndpoints

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

/// What the form of the consent page brings back: the request that the user has seen, for one session.
///
/// RFC 6749 §10.12.
struct Consent {
    /// What a consent is to; that to one thing is never one to another, whatever its form has.
    enum Kind: String {
        /// A client's request, whose parameters are the client's.
        case client
        /// The sign-in on a device.
        case device
        /// A change of the password or the codes.
        case credentials
        /// The connection of an account.
        case connect
        /// The end of one.
        case disconnect

        fileprivate var purpose: String { "consent/\(self.rawValue)" }
    }

    private static let lifetime = Duration.seconds(600)

    /// The name of the field that has it.
    static let field = "consent"
    /// The field with the user's choice, and its value if that is to sign in.
    static let choice = (name: "choice", allow: "allow", deny: "deny")

    /// The request.
    let form: Form
    private let kind: Kind
    private let family: String
    private let expires: Instant

    /// The consent that a user is asked for.
    init(_ kind: Kind, to form: Form, of session: Session, now: Instant) {
        (self.kind, self.form) = (kind, form)
        self.family = session.signInID
        self.expires = now.advanced(by: Consent.lifetime)
    }

    /// Opens the field; nil unless this gateway has sealed it for that within ten minutes.
    init?(_ kind: Kind, sealed text: String, by sealer: Sealer, now: Instant) {
        guard text.utf8.count <= EndpointRequest.maxBody, let bytes = Base64URL.decode(text),
            let plain = sealer.open(bytes, for: kind.purpose), let json = try? JSON(parsing: plain, depth: 1),
            let form = json["form"]?.string.flatMap({ Form(encoded: $0) }), let family = json["family"]?.string,
            let expires = json["expires"]?.integer, now < Instant(seconds: expires)
        else { return nil }
        (self.kind, self.form) = (kind, form)
        self.family = family
        self.expires = Instant(seconds: expires)
    }

    /// The text of the field.
    func sealed(by sealer: Sealer) -> String {
        let members: JSON = [
            "form": .string(self.form.encoded), "family": .string(self.family), "expires": .int(self.expires.seconds),
        ]
        return Base64URL.encode(sealer.seal(members.encoded, for: self.kind.purpose))
    }

    /// Whether it is of the user who has this session.
    func isOf(_ session: Session) -> Bool { isIdentical(session.signInID, self.family) }
}
