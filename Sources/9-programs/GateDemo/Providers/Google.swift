// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// Google as it behaves in 2026.
///
/// Always so, as with the real one: a code with `/` in it, callback parameters that no client asked for, `iss` in
/// callbacks that discovery does not announce, key sets whose members change their order, a refresh token only after
/// `access_type=offline` and a consent.
///
/// Marks give the source of a fact: [D] documented at https://developers.google.com/identity/openid-connect, [O] observed
/// in recorded traffic, [K] known but not verified.
enum GoogleSimulator {
    static let provider = SimulatedProvider(
        "google",
        clientID: "123456789012-demo.apps.googleusercontent.com",
        quirks: GoogleQuirk.all,
        lines: { context in
            var lines = ["base_url: \(context.urls.base)"]
            if context.has(GoogleQuirk.oneDomain) { lines.append("hosted_domains: [ example.org ]") }
            if context.has(GoogleQuirk.offline) {
                lines.append("authorization_parameters: { access_type: offline, prompt: consent }")
            }
            if context.has(GoogleQuirk.transitiveGroups) {
                lines.append("groups: [ transitive ]")
            } else if context.has(GoogleQuirk.groups) || context.has(GoogleQuirk.failingPage) {
                lines.append("groups: [ direct ]")
            }
            return lines
        },
        traits: Self.traits
    )

    @Sendable private static func traits(_ context: SimulatorContext) -> CodeFlowTraits {
        let base = context.urls.base
        var traits = CodeFlowTraits(
            title: "Google",
            accent: "#4285f4",
            users: self.users.map { self.changed($0, context) },
            paths: CodeFlowTraits.Paths(
                discovery: "/.well-known/openid-configuration",
                authorize: "/o/oauth2/v2/auth",
                token: "/token",
                keys: "/oauth2/v3/certs",
                userinfo: "/v1/userinfo",
            ),
            issuer: base,
        )
        traits.authorization = self.authorization(context)
        traits.token = self.token(context)
        var idToken = IDTokenTraits(key: .rs256(context.key))
        idToken.extras = { _, _ in
            let short = JSON.string(base.replacing("https://", with: ""))
            return ["azp": .string(context.client.id)]
                .merging(context.has(GoogleQuirk.shortIssuer) ? ["iss": short] : [:]) { $1 }
        }
        idToken.rotation = GoogleKeys(context)
        traits.idToken = idToken
        traits.resourceErrors = self.userinfoErrors
        traits.resources["/v1/userinfo"] = .userinfo()
        traits.resources["/v1/groups/-/memberships:searchDirectGroups"] = self.groups("direct", context)
        traits.resources["/v1/groups/-/memberships:searchTransitiveGroups"] = self.groups("transitive", context)
        // `authorization_response_iss_parameter_supported` is missing, as in October 2024. [O]
        traits.metadata = [
            "response_types_supported": ["code", "token", "id_token", "code id_token", "none"],
            "response_modes_supported": .null,
            "scopes_supported": ["openid", "email", "profile"],
            "claims_supported": [
                "aud", "email", "email_verified", "exp", "family_name", "given_name", "iat", "iss", "name", "picture",
                "sub",
            ],
            "code_challenge_methods_supported": ["plain", "S256"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
        ]
        traits.metadataFields = [("Cache-Control", "public, max-age=3600")]
        traits.notFound = .text("The requested URL was not found on this server.\n", status: 404)
        return traits
    }

    /// A wrong app or request gets an error page of Google [D]; errors in callbacks have no description. [K]
    private static func authorization(_ context: SimulatorContext) -> AuthorizationTraits {
        let missing = OAuthError("invalid_request", "Required parameter is missing: response_type or scope")
        var traits = AuthorizationTraits()
        traits.skippedChecks = [.challenge]
        traits.checksWithPage.formUnion([.responseType, .scope])
        traits.errors = [
            .client: OAuthError("invalid_client", "The OAuth client was not found.", status: 401),
            .redirect: OAuthError("redirect_uri_mismatch", "The redirect URI is not registered for this app."),
            .responseType: missing, .scope: missing, .prompt: OAuthError("interaction_required"),
        ]
        traits.denial = OAuthError("access_denied")
        // Google writes a space as `+`. [O]
        traits.writesSpaceAsPlus = true
        traits.extras = { grant in
            let scopes = "email profile " + self.scopes(grant.scopes)
            var fields = [Form.Field("scope", scopes), Form.Field("authuser", "0"), Form.Field("prompt", "consent")]
            // Sent since 2026, always with https://. [O]
            if !context.has(GoogleQuirk.noIssuer) { fields.append(Form.Field("iss", context.urls.base)) }
            if let domain = grant.user.record["hd"]?.string { fields.append(Form.Field("hd", domain)) }
            if context.has(GoogleQuirk.moreParameters) {
                fields += [Form.Field("version_info", "CmxfU0VMRg"), Form.Field("something_new", "a b/c&d")]
            }
            return fields
        }
        return traits
    }

    /// The errors are those of the real endpoint. [O]
    private static func token(_ context: SimulatorContext) -> TokenTraits {
        var traits = TokenTraits()
        traits.authentication = [.post, .basic]
        traits.errors = [
            .client: OAuthError("invalid_client", "The OAuth client was not found.", status: 401),
            .authentication: OAuthError("invalid_client", "Unauthorized", status: 401),
            .grantType: OAuthError("unsupported_grant_type", "Invalid grant_type"),
            .code: OAuthError("invalid_grant", "Bad Request"),
            .refreshToken: OAuthError("invalid_grant", "Token has been expired or revoked."),
            .redirect: OAuthError("redirect_uri_mismatch", "Bad Request"),
            .verifier: OAuthError("invalid_grant", "Invalid code verifier."),
        ]
        traits.extraCheck = { request in
            let form = request.form
            let credentials = RequestCredentials(request, form: form)
            if credentials.id == context.client.id, credentials.secret == nil {
                return OAuthError("invalid_request", "client_secret is missing.")
            }
            let isMalformed = form["code"]?.hasPrefix("4/0") == false
            return isMalformed ? OAuthError("invalid_grant", "Malformed auth code.") : nil
        }
        traits.code = { "4/0\($0.token(48))" }
        traits.accessToken = { "ya29.a0\($0.token(96))" }
        traits.lifetime = 3599
        traits.refresh = .keeps
        traits.scope = self.scopes
        traits.extras = { grant, _ in
            // Only for offline access, and only if the user was asked for consent. [D]
            let prompts = (grant.request["prompt"] ?? "").split(separator: " ")
            guard grant.request["access_type"] == "offline", prompts.contains("consent") else { return [:] }
            return ["refresh_token": .string("1//0g\(context.random.token(48))")]
        }
        return traits
    }

    /// Short scope names come back as these. [D]
    @Sendable private static func scopes(_ granted: [String]) -> String {
        let names = [
            "email": "https://www.googleapis.com/auth/userinfo.email",
            "profile": "https://www.googleapis.com/auth/userinfo.profile",
        ]
        return granted.map { names[$0] ?? $0 }.joined(separator: " ")
    }

    /// A user as the ID token and userinfo describe them.
    ///
    /// `hd` is there for Workspace accounts only [D]; an old sample has `email_verified` as a string [D].
    private static func changed(_ user: DemoUser, _ context: SimulatorContext) -> DemoUser {
        user.changed { record in
            if context.has(GoogleQuirk.noDomain) { record["hd"] = nil }
            if context.has(GoogleQuirk.noVerified) { record["email_verified"] = nil }
            if context.has(GoogleQuirk.textVerified) { record["email_verified"] = "true" }
        }
    }

    private static let userinfoErrors = OAuthErrorFormat { error in
        let challenge = "Bearer realm=\"https://accounts.google.com/\", error=\"invalid_token\""
        let body: JSON = ["error": "invalid_request", "error_description": "Invalid Credentials"]
        return .json(body, status: error.status, fields: [("WWW-Authenticate", challenge)])
    }

    // MARK: groups

    private static let groupsScope = "https://www.googleapis.com/auth/cloud-identity.groups.readonly"
    private static let pageSize = 2

    /// Cloud Identity's search for the groups of a user, two to a page.
    ///
    /// Google's tokens have no groups [O]. Only users of a Workspace are in any, and `searchTransitiveGroups` also finds
    /// the groups that contain one of their groups. https://cloud.google.com/identity/docs/reference/rest/v1
    private static func groups(_ kind: String, _ context: SimulatorContext) -> ProtectedResource {
        ProtectedResource(errors: self.groupsErrors) { call in
            guard call.grant.scopes.contains(self.groupsScope) else {
                return self.groupsError(403, "PERMISSION_DENIED", "Request had insufficient authentication scopes.")
            }
            let user = call.grant.user
            guard let email = user.record["email"]?.string, user.record["hd"] != nil,
                call.request.query["query"]?.hasPrefix("member_key_id == '\(email)'") == true
            else {
                return self.groupsError(403, "PERMISSION_DENIED", "Error(2028): Permission denied for resource.")
            }
            let all = user.more[kind]?.array ?? []
            let start = call.request.query["pageToken"].flatMap { Int($0.dropFirst(5)) } ?? 0
            guard start >= 0, start <= all.count else {
                return self.groupsError(400, "INVALID_ARGUMENT", "Request contains an invalid argument.")
            }
            guard start == 0 || !context.has(GoogleQuirk.failingPage) else {
                return self.groupsError(503, "UNAVAILABLE", "The service is currently unavailable.")
            }
            let end = min(start + self.pageSize, all.count)
            var body: [String: JSON] = ["memberships": .array(all[start..<end].map { self.membership($0) })]
            if end < all.count { body["nextPageToken"] = .string("page-\(end)") }
            return .json(.object(body))
        }
    }

    private static func membership(_ name: JSON) -> JSON {
        let key = name.string ?? ""
        return [
            "group": .string("groups/0\(key.utf8.count)demo\(key.prefix { $0 != "@" })"), "groupKey": ["id": name],
            "displayName": .string(key.prefix { $0 != "@" }.uppercased()),
            "labels": ["cloudidentity.googleapis.com/groups.discussion_forum": ""],
        ]
    }

    private static let groupsErrors = OAuthErrorFormat { error in
        groupsError(error.status, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
    }

    /// An error of Google's APIs is an object, not a string. [D]
    private static func groupsError(_ status: Int, _ name: String, _ text: String) -> DemoResponse {
        let error: JSON = ["code": .int(Int64(status)), "message": .string(text), "status": .string(name)]
        return .json(["error": error], status: status)
    }

    /// A Workspace account, one without a family name, and a consumer account with another provider's email address.
    private static let users: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "Ada Example",
            note: "ada@example.org, Workspace account of example.org",
            record: [
                "sub": "104729384756102938475", "name": "Ada Example", "given_name": "Ada", "family_name": "Example",
                "picture": "https://lh3.googleusercontent.com/a/ada=s96-c", "email": "ada@example.org",
                "email_verified": true, "hd": "example.org",
            ],
            more: [
                "direct": ["engineering@example.org", "all@example.org", "lunch@example.org"],
                "transitive": [
                    "engineering@example.org", "all@example.org", "lunch@example.org", "products@example.org",
                    "company@example.org",
                ],
            ],
        ),
        DemoUser(
            id: "grace",
            name: "Grace",
            note: "grace@example.org, Workspace account without a family name",
            record: [
                "sub": "117293847561029384756", "name": "Grace", "given_name": "Grace", "email": "grace@example.org",
                "email_verified": true, "hd": "example.org",
            ],
        ),
        DemoUser(
            id: "katherine",
            name: "Katherine Sample",
            note: "katherine@example.net, consumer account outside any Workspace",
            record: [
                "sub": "100000000000000000042", "name": "Katherine Sample", "given_name": "Katherine",
                "family_name": "Sample", "email": "katherine@example.net", "email_verified": true,
            ],
        ),
    ]
}

private enum GoogleQuirk {
    static let shortIssuer = DemoQuirk(
        "google-short-issuer",
        of: "google",
        "The ID token's iss has no https:// (documented for Google only); the gateway accepts both spellings.",
    )
    static let noDomain = DemoQuirk(
        "google-no-hd",
        of: "google",
        "No account belongs to a Workspace, so hd is absent; the profile has no tenant and the email address is not "
            + "authoritative.",
    )
    static let oneDomain = DemoQuirk(
        "google-hosted-domain",
        of: "google",
        "The gateway's file accepts hosted_domains example.org only; a consumer account is denied, as it has no hd.",
    )
    static let textVerified = DemoQuirk(
        "google-email-verified-text",
        of: "google",
        "email_verified is the string \"true\", as in an old sample of Google; the gateway reads it as true.",
    )
    static let noVerified = DemoQuirk(
        "google-email-verified-absent",
        of: "google",
        "email_verified is absent; the gateway treats the email address as unverified.",
    )
    static let noIssuer = DemoQuirk(
        "google-no-callback-issuer",
        of: "google",
        "The callback has no iss, as before 2026; the gateway accepts it.",
    )
    static let moreParameters = DemoQuirk(
        "google-extra-parameters",
        of: "google",
        "The callback has unknown parameters; the gateway ignores them.",
    )
    static let offline = DemoQuirk(
        "google-offline",
        of: "google",
        "The gateway's file asks for access_type=offline and prompt=consent, so Google also sends a refresh token.",
    )
    static let rollOver = DemoQuirk(
        "google-key-roll-over",
        of: "google",
        "From the second sign-in on a new key signs, and the key sets have two, three and two keys; the gateway fetches "
            + "the key set once more.",
    )
    static let groups = DemoQuirk(
        "google-groups",
        of: "google",
        "The gateway reads the groups of Workspace users from Cloud Identity, page by page.",
    )
    static let transitiveGroups = DemoQuirk(
        "google-groups-transitive",
        of: "google",
        "As google-groups, with the groups that contain a group of the user.",
    )
    static let failingPage = DemoQuirk(
        "google-groups-failing-page",
        of: "google",
        "The second page of groups fails with status 503; the gateway marks the list as incomplete.",
    )

    static let all = [
        Self.shortIssuer, Self.noDomain, Self.oneDomain, Self.textVerified, Self.noVerified, Self.noIssuer,
        Self.moreParameters, Self.offline, Self.rollOver, Self.groups, Self.transitiveGroups, Self.failingPage,
    ]
}

/// Google's key set: a new key every eight days, two published, three for some hours at the change. [O]
private final class GoogleKeys: KeyRotation {
    private let key: RSASigningKey
    private let rollsOver: Bool
    private let idle: [JSON]
    private let state = Mutex(State())

    private struct State {
        var tokens = 0
        var fetches = 0
    }

    init(_ context: SimulatorContext) {
        self.key = context.key
        self.rollsOver = context.has(GoogleQuirk.rollOver)
        self.idle = [String(context.key.id.reversed()), hexadecimal(context.random.bytes(20))].map { id in
            Self.jwk(id: id, modulus: RSASigningKey.idleModulus(context.random))
        }
    }

    /// With a roll-over, the second token and all later ones are signed with the next key.
    func signer(of claims: [String: JSON]) -> SigningKey {
        let tokens = self.state.withLock { state in
            state.tokens += 1
            return state.tokens
        }
        return .rs256(self.rollsOver && tokens > 1 ? self.next : self.key)
    }

    private var next: RSASigningKey { self.key.named("next") }

    /// Keys and their members in an order that changes from response to response. [O]
    ///
    /// `max-age` counts down with `Age`; the values were seen. [O]
    func keySet() -> DemoResponse {
        let fetches = self.state.withLock { state in
            state.fetches += 1
            return state.fetches
        }
        var generator = SystemRandomNumberGenerator()
        let texts = self.published(at: fetches).shuffled(using: &generator).map { key in
            let members = (key.object ?? [:]).shuffled(using: &generator).map {
                "\(JSON.string($0.key).text): \($0.value.text)"
            }
            return "{ \(members.joined(separator: ", ")) }"
        }
        let fields = [
            (name: "Content-Type", value: "application/json; charset=UTF-8"),
            (name: "Cache-Control", value: "public, max-age=24873, must-revalidate, no-transform"),
            (name: "Age", value: "5059"),
        ]
        let body = "{ \"keys\": [ \(texts.joined(separator: ", ")) ] }"
        return DemoResponse(status: 200, fields: fields, body: Array(body.utf8))
    }

    private func published(at fetch: Int) -> [JSON] {
        let own = Self.jwk(id: self.key.id, modulus: self.key.modulus)
        guard self.rollsOver, fetch > 1 else { return [own, self.idle[0]] }
        let next = Self.jwk(id: self.next.id, modulus: self.key.modulus)
        return fetch == 2 ? [own, next, self.idle[1]] : [next, self.idle[1]]
    }

    private static func jwk(id: String, modulus: String) -> JSON {
        ["kty": "RSA", "alg": "RS256", "use": "sig", "e": "AQAB", "kid": .string(id), "n": .string(modulus)]
    }
}
