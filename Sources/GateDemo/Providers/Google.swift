// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Google as it behaves in 2026: `iss` and more in the callback, a code with `/`, key sets in changing order.
///
/// Marks say how a fact is known: [D] documented at https://developers.google.com/identity/openid-connect, [O] observed
/// in recorded traffic, [K] known but not verified.
struct GoogleSimulator: ProviderSimulator {
    let stage: SimulatorContext
    let keys: GoogleKeys

    var base: String { self.stage.address.base }

    init(_ stage: SimulatorContext) {
        self.stage = stage
        self.keys = GoogleKeys(stage)
    }

    func page(for request: DemoRequest) -> DemoResponse? {
        switch (request.method, request.path) {
        case ("GET", "/o/oauth2/v2/auth"), ("POST", "/o/oauth2/v2/auth"): self.authorize(request)
        default: nil
        }
    }

    func response(to request: DemoRequest) -> DemoResponse {
        switch (request.method, request.path) {
        case ("GET", "/.well-known/openid-configuration"):
            .json(self.discovery, fields: [("Cache-Control", "public, max-age=3600")])
        case ("GET", "/oauth2/v3/certs"): self.keys.answer
        case ("POST", "/token"): self.token(request)
        case ("GET", "/v1/userinfo"), ("POST", "/v1/userinfo"): self.userinfo(request)
        case ("GET", "/v1/groups/-/memberships:searchDirectGroups"): self.groups(request, transitive: false)
        case ("GET", "/v1/groups/-/memberships:searchTransitiveGroups"): self.groups(request, transitive: true)
        default: .text("The requested URL was not found on this server.\n", status: 404)
        }
    }

    /// The members of October 2024; `authorization_response_iss_parameter_supported` is missing on purpose. [O]
    private var discovery: JSON {
        [
            "issuer": .string(self.base),
            "authorization_endpoint": .string(self.stage.address.pages + "/o/oauth2/v2/auth"),
            "token_endpoint": .string(self.base + "/token"),
            "userinfo_endpoint": .string(self.base + "/v1/userinfo"),
            "jwks_uri": .string(self.base + "/oauth2/v3/certs"),
            "response_types_supported": ["code", "token", "id_token", "code id_token", "none"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["openid", "email", "profile"],
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
            "claims_supported": [
                "aud", "email", "email_verified", "exp", "family_name", "given_name", "iat", "iss", "name", "picture",
                "sub",
            ],
            "code_challenge_methods_supported": ["plain", "S256"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
        ]
    }

    private func userinfo(_ request: DemoRequest) -> DemoResponse {
        guard let grant = self.stage.grants.grant(of: request.bearer) else {
            let challenge = "Bearer realm=\"https://accounts.google.com/\", error=\"invalid_token\""
            let problem: JSON = ["error": "invalid_request", "error_description": "Invalid Credentials"]
            return .json(problem, status: 401, fields: [("WWW-Authenticate", challenge)])
        }
        return .json(.object(self.record(of: grant.person)))
    }

    /// What Google says of a person, in the ID token and from userinfo.
    ///
    /// `hd` is there for Workspace accounts only [D]; an old sample has `email_verified` as text [D].
    func record(of person: DemoUser) -> [String: JSON] {
        var record = person.record
        if self.stage.has(GoogleQuirk.noDomain) { record["hd"] = nil }
        if self.stage.has(GoogleQuirk.noVerified) { record["email_verified"] = nil }
        if self.stage.has(GoogleQuirk.textVerified) { record["email_verified"] = "true" }
        return record
    }
}
