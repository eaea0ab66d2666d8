// SPDX-License-Identifier: Apache-2.0

internal import GateClients
package import GateCore

extension Issuer {
    /// The metadata of the issuer: OpenID Connect Discovery §3 and RFC 8414 §2 in one document.
    ///
    /// - Parameter endpoint: The URL of an endpoint by its name.
    /// - Returns: The document.
    package func metadata(endpoint: (String) -> String) -> JSON {
        let clients = self.clients.values + [self.openClient].compactMap(\.self)
        let grants = Set(clients.flatMap(\.grants)).map(\.rawValue).sorted()
        let methods: JSON = ["none", "client_secret_basic", "client_secret_post"]
        var members: [String: JSON] = [
            "issuer": .string(self.url),
            "authorization_endpoint": .string(endpoint("authorize")),
            "token_endpoint": .string(endpoint("token")),
            "userinfo_endpoint": .string(endpoint("userinfo")),
            "introspection_endpoint": .string(endpoint("introspect")),
            "revocation_endpoint": .string(endpoint("revoke")),
            "pushed_authorization_request_endpoint": .string(endpoint("par")),
            "device_authorization_endpoint": .string(endpoint("device_authorization")),
            "end_session_endpoint": .string(endpoint("end_session")),
            "jwks_uri": .string(endpoint("token-keys.json")),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": .array(grants.map(JSON.string)),
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
            "scopes_supported": .array((Issuer.scopes + self.clientScopes).map(JSON.string)),
            "claims_supported": .array((Issuer.claims + self.clientClaims).map(JSON.string)),
            "token_endpoint_auth_methods_supported": methods,
            "introspection_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
            "revocation_endpoint_auth_methods_supported": methods,
            "code_challenge_methods_supported": ["S256"],
            "dpop_signing_alg_values_supported": .array(DPoPProof.algorithms.map(JSON.string)),
            "prompt_values_supported": ["none", "login", "consent", "select_account"],
            "authorization_response_iss_parameter_supported": true,
            "backchannel_logout_supported": true,
            "backchannel_logout_session_supported": true,
            "claims_parameter_supported": false,
            "request_parameter_supported": false,
            "request_uri_parameter_supported": false,
            "require_pushed_authorization_requests": false,
        ]
        if self.open.byURL { members["client_id_metadata_document_supported"] = true }
        if self.open.dynamic { members["registration_endpoint"] = .string(endpoint("register")) }
        return .object(members)
    }

    /// The scopes that clients have of their own, sorted.
    private var clientScopes: [String] {
        Set(self.clients.values.flatMap(\.scopes.keys)).sorted()
    }

    /// The claims that clients get beyond those of the standard scopes, sorted.
    private var clientClaims: [String] {
        let clients = self.clients.values
        return Set(clients.flatMap(\.claims) + clients.flatMap { $0.scopes.values.joined() })
            .subtracting(Issuer.claims).sorted()
    }

    private static let claims = [
        "sub", "iss", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "sid", "name", "preferred_username",
        "given_name", "family_name", "picture", "locale", "provider", "email", "email_verified", "groups",
    ]
}
