// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What distinguishes one provider of the authorization code flow from the next.
///
/// `CodeFlowSimulator` knows nothing else about a provider.
struct CodeFlowTraits: Sendable {
    /// The endpoints, each as a path; nil for an endpoint that the provider does not have.
    struct Paths: Sendable {
        var discovery: String?
        let authorize: String
        let token: String
        var keys: String?
        var userinfo: String?
        /// RFC 9126.
        var pushed: String?
        /// OpenID Connect RP-Initiated Logout 1.0 §2.
        var endSession: String?
    }

    /// The provider's name, for its pages.
    let title: String
    /// The color of its pages.
    let accent: String
    /// The sample users who can sign in.
    let users: [DemoUser]
    var paths: Paths
    /// The issuer in discovery, ID tokens and callbacks.
    var issuer: String
    var authorization = AuthorizationTraits()
    var token = TokenTraits()
    /// Nil for plain OAuth 2.0.
    var idToken: IDTokenTraits?
    /// The resources that an access token gives access to, by path.
    var resources: [String: ProtectedResource] = [:]
    /// How the resources write errors.
    var resourceErrors = OAuthErrorFormat.standard
    /// Members that the discovery document has besides those that follow from the other traits; null removes one.
    var metadata: [String: JSON] = [:]
    /// Header fields of the discovery document.
    var metadataFields: [(name: String, value: String)] = []
    /// Removes the variable part of a path, such as an API version.
    var canonicalPath: @Sendable (String) -> String = { $0 }
    /// Responds before any other check to a request that no browser makes; nil goes on.
    var precheck: @Sendable (DemoRequest) -> DemoResponse? = { _ in nil }
    /// The response to a path that the provider does not have.
    var notFound = DemoResponse.text("Not found\n", status: 404)
}

/// How a provider treats authorization requests.
struct AuthorizationTraits: Sendable {
    /// How a provider treats a code challenge.
    enum Challenge: Sendable {
        /// Optional, and compared with the verifier.
        case checked
        case required
        /// The token endpoint rejects a verifier.
        case unwanted
    }

    var challenge = Challenge.checked
    var responseModes = ["query"]
    /// Whether every request must be pushed first; RFC 9126 §4.
    var requiresPushed = false
    /// Whether callbacks carry `iss`; RFC 9207 §2.
    var sendsIssuer = false
    /// The checks that this provider does not make.
    var skippedChecks: Set<AuthorizationCheck> = [.scope]
    /// The failed checks that this provider shows to the user; it reports all others to the app.
    var checksWithPage: Set<AuthorizationCheck> = [.client, .requestURI, .pushed, .redirect]
    /// The errors of failed checks, where they differ from the usual ones.
    var errors: [AuthorizationCheck: OAuthError] = [:]
    /// A check that only this provider makes; its error is shown to the user.
    var extraCheck: @Sendable (Form) -> OAuthError? = { _ in nil }
    /// The redirect URI to use, from the requested and the registered one; nil rejects the request.
    var redirect: @Sendable (_ requested: String?, _ registered: String) -> String? = { $0 == $1 ? $1 : nil }
    /// The granted scopes, from the requested ones.
    var granted: @Sendable ([String]) -> [String] = { $0 }
    /// Parameters of a successful callback besides `state`, `iss` and `code`.
    var extras: @Sendable (DemoGrant) -> [Form.Field] = { _ in [] }
    /// The error in the callback after the user has denied the request.
    var denial = OAuthError("access_denied", "The user denied the request.")
    /// The parameters of a callback with an error.
    var errorFields: @Sendable (OAuthError) -> [Form.Field] = { error in
        let text = error.text.isEmpty ? [] : [Form.Field("error_description", error.text)]
        return [Form.Field("error", error.error)] + text
    }
    /// The fragment at the end of callbacks, which browsers keep.
    var fragment = ""
    /// Whether callbacks write a space as `+`.
    var writesSpaceAsPlus = false
}

/// A check of an authorization request, in the order in which they are made.
enum AuthorizationCheck: Sendable, Hashable, CaseIterable {
    case client
    case requestURI
    case pushed
    case redirect
    case responseType
    case scope
    case responseMode
    case prompt
    case challengePresent
    case challenge

    /// The usual error.
    var error: OAuthError {
        switch self {
        case .client: OAuthError("invalid_client", "The client is not registered here.", status: 401)
        case .requestURI: OAuthError("invalid_request_uri", "The pushed request is unknown or has expired.")
        case .pushed: OAuthError("invalid_request", "The authorization request must be pushed.")
        case .redirect: OAuthError("redirect_uri_mismatch", "The redirect URI is not registered for this app.")
        case .responseType: OAuthError("unsupported_response_type", "Only the code flow is supported.")
        case .scope: OAuthError("invalid_scope", "The scope is missing.")
        case .responseMode: OAuthError("invalid_request", "The response mode is not supported.")
        case .prompt: OAuthError("login_required", "The user must sign in.")
        case .challengePresent: OAuthError("invalid_request", "A code challenge is required.")
        case .challenge: OAuthError("invalid_request", "The code challenge must be S256 with 43 characters.")
        }
    }
}

/// How a provider treats requests to its token endpoint.
struct TokenTraits: Sendable {
    /// What becomes of a refresh token that is redeemed.
    enum RefreshRule: Sendable {
        /// The response has a new one, and the old one is invalid.
        case rotates
        /// The response has a new one, and the old one stays valid.
        case renews
        /// The response has none, and the old one stays valid.
        case keeps
    }

    /// How long tokens are valid that do not expire.
    static let lastingLifetime = Duration.seconds(90 * 86_400)

    var authentication = [ClientAuthenticationMethod.basic, .post]
    /// The team that signs client secrets, for `ClientAuthenticationMethod.signedSecret`.
    var team = ""
    /// The checks that this provider does not make.
    var skippedChecks: Set<TokenCheck> = []
    /// The errors of failed checks, where they differ from the usual ones.
    var errors: [TokenCheck: OAuthError] = [:]
    /// A check that only this provider makes, before all others.
    var extraCheck: @Sendable (DemoRequest) -> OAuthError? = { _ in nil }
    /// Whether a token request without `redirect_uri` passes.
    var redirectIsOptional = false
    /// The error for every code, if the endpoint is to accept none.
    var outage: OAuthError?
    /// How the endpoint writes errors.
    var errorFormat = OAuthErrorFormat.standard
    /// The encoding of responses with status 200.
    var encoding: @Sendable (DemoRequest) -> TokenEncoding = { _ in .json }
    var code: @Sendable (RandomBytes) -> String = { $0.token(32) }
    var accessToken: @Sendable (RandomBytes) -> String = { $0.token(48) }
    var tokenType: JSON = "Bearer"
    /// `expires_in` of the response; nil leaves it out.
    var lifetime: JSON? = 3600
    /// What becomes of a refresh token that is redeemed.
    var refresh = RefreshRule.rotates
    /// `scope` of the response, from the granted scopes; nil leaves it out.
    var scope: @Sendable ([String]) -> String? = { $0.joined(separator: " ") }
    /// Members of the response besides the usual ones.
    var extras: @Sendable (DemoGrant, Instant) -> [String: JSON] = { _, _ in [:] }
}

/// A check of a token request, in the order in which they are made.
enum TokenCheck: Sendable, Hashable {
    case client
    case authentication
    case grantType
    case unwantedVerifier
    case code
    case redirect
    case verifier
    case refreshToken

    /// The usual error.
    var error: OAuthError {
        switch self {
        case .client: OAuthError("invalid_client", "The client is unknown.", status: 401)
        case .authentication: OAuthError("invalid_client", "The client authentication failed.", status: 401)
        case .grantType: OAuthError("unsupported_grant_type", "Only authorization codes are accepted.")
        case .unwantedVerifier: OAuthError("invalid_request", "The parameter code_verifier is not permitted.")
        case .code: OAuthError("invalid_grant", "Invalid authorization code")
        case .refreshToken: OAuthError("invalid_grant", "The refresh token is unknown, used or expired.")
        case .redirect: OAuthError("invalid_grant", "The redirect URI differs from the authorization request.")
        case .verifier: OAuthError("invalid_grant", "The code verifier does not match.")
        }
    }
}

/// The encoding of a token response.
enum TokenEncoding: Sendable {
    case json
    case form
    case xml

    /// The JSON response in this encoding; errors with a status of their own stay JSON.
    func encoded(_ response: DemoResponse) -> DemoResponse {
        guard self != .json, response.status == 200, let members = (try? JSON(parsing: response.body))?.object else {
            return response
        }
        let texts = members.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value.string ?? $0.value.text) }
        guard self == .xml else {
            let body = Form(texts.map { Form.Field($0.name, $0.value) }).encoded
            return Self.response(body, type: "application/x-www-form-urlencoded; charset=utf-8")
        }
        let elements = texts.map { "  <\($0.name)>\(Markup("\($0.value)"))</\($0.name)>\n" }.joined()
        let body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<OAuth>\n\(elements)</OAuth>\n"
        return Self.response(body, type: "application/xml; charset=utf-8")
    }

    private static func response(_ body: String, type: String) -> DemoResponse {
        DemoResponse(status: 200, fields: [("Content-Type", type)], body: Array(body.utf8))
    }
}

/// The ID tokens of a provider and the keys that verify them.
struct IDTokenTraits: Sendable {
    var key: SigningKey
    /// The claims that come from the user's record; nil for all of it.
    var names: Set<String>?
    var lifetime: Int64 = 3600
    var echoesNonce = true
    var hashesAccessToken = true
    /// Claims that replace the others; null removes one.
    var extras: @Sendable (DemoGrant, Instant) -> [String: JSON] = { _, _ in [:] }
    /// Members of a JWK that this provider leaves out.
    var unpublished: Set<String> = []
    /// Keys that are published before the one that signs.
    var otherKeys: [JSON] = []
    var keyFields = [(name: "Cache-Control", value: "public, max-age=3600")]
    /// The key sets of a provider that changes its keys; nil if it only has `key`.
    var rotation: (any KeyRotation)?

    init(key: SigningKey) {
        self.key = key
    }
}

/// The keys of a provider that signs with several.
protocol KeyRotation: Sendable {
    /// The key for the next token.
    func signer(of claims: [String: JSON]) -> SigningKey

    func keySet() -> DemoResponse
}
