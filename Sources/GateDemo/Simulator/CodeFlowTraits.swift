// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What makes one provider of the authorization code flow different from the next.
///
/// `CodeFlowSimulator` has no other knowledge of providers.
struct CodeFlowTraits: Sendable {
    /// The endpoints, each as a path; nil for what a provider does not have.
    struct Paths: Sendable {
        var discovery: String?
        let authorize: String
        let token: String
        var keys: String?
        var userinfo: String?
        /// RFC 9126.
        var pushed: String?
    }

    /// The provider's name, for its pages.
    let title: String
    /// The colour of its pages.
    let accent: String
    let people: [DemoUser]
    var paths: Paths
    /// What discovery, ID tokens and callbacks name.
    var issuer: String
    var authorization = AuthorizationTraits()
    var token = TokenTraits()
    /// Nil for plain OAuth 2.0.
    var idToken: IDTokenTraits?
    /// What is to be had for an access token, by path.
    var resources: [String: Resource] = [:]
    /// How errors of the resources are written.
    var resourceProblem = OAuthErrorFormat.standard
    /// Members of the discovery document beside those that follow from the rest; null removes one.
    var metadata: [String: JSON] = [:]
    /// Takes out of a path what may differ, such as a version of the API.
    var canonicalPath: @Sendable (String) -> String = { $0 }
    /// An answer before all others to requests that no browser makes.
    var refusal: @Sendable (DemoRequest) -> DemoResponse? = { _ in nil }
}

/// How a provider behaves towards browsers.
struct AuthorizationTraits: Sendable {
    /// What becomes of a code challenge.
    enum Challenge: Sendable {
        /// Optional, and held against the verifier.
        case checked
        /// Demanded.
        case required
        /// A verifier breaks the exchange.
        case unwanted
    }

    var challenge = Challenge.checked
    var responseModes = ["query"]
    /// Whether the request has to be pushed first; RFC 9126 §4.
    var requiresPushed = false
    /// Whether callbacks carry `iss`; RFC 9207 §2.
    var sendsIssuer = false
    /// What callbacks carry beside `state`, `iss` and `code`.
    var extras: @Sendable (DemoGrant) -> [Form.Field] = { _ in [] }
    /// What callbacks carry when the person says no.
    var denial = [
        Form.Field("error", "access_denied"), Form.Field("error_description", "The user denied the request."),
    ]
    /// What callbacks end with, for a browser to keep.
    var fragment = ""
    /// What the provider has against a request, told on a page of its own.
    var objection: @Sendable (Form) -> OAuthError? = { _ in nil }
}

/// How a provider behaves at its token endpoint.
struct TokenTraits: Sendable {
    var proofs = [ClientAuthenticationMethod.basic, .post]
    /// Names the team that signs secrets, for `ClientAuthenticationMethod.signedSecret`.
    var team = ""
    /// What codes begin with.
    var codePrefix = ""
    /// What access tokens begin with.
    var tokenPrefix = ""
    var tokenType: JSON = "Bearer"
    /// How long access tokens live, as the answer says it; nil for an answer that does not.
    var lifetime: JSON? = 3600
    /// Between the scopes of the answer; nil for an answer without scopes.
    var scopeSeparator: String? = " "
    /// What the answer has beside the usual members.
    var extras: @Sendable (Instant) -> [String: JSON] = { _ in [:] }
    /// Whether the answer is a form instead of JSON.
    var answersForm = false
    /// What becomes of every code, if none is to be taken.
    var outage: OAuthError?
    var problem = OAuthErrorFormat.standard
}

/// What the ID tokens of a provider are like.
struct IDTokenTraits: Sendable {
    var key: SigningKey
    /// The members of a person that are claims; nil for all.
    var names: Set<String>?
    var lifetime: Int64 = 3600
    var echoesNonce = true
    var hashesAccessToken = true
    /// Claims of the moment, which win over the others.
    var extras: @Sendable (DemoGrant, Instant) -> [String: JSON] = { _, _ in [:] }
    /// Members of a JWK that this provider leaves out.
    var unpublished: Set<String> = []
    /// Keys that are published before the one that signs.
    var otherKeys: [JSON] = []
    var keyFields = [(name: "Cache-Control", value: "public, max-age=3600")]
}
