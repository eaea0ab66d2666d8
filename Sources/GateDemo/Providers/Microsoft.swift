// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Microsoft Entra ID, version 2.0 endpoints: issuer template, key sets that alternate, no `iss` in the callback.
///
/// Marks say how a fact is known: [D] documented at https://learn.microsoft.com/entra/identity-platform, [O] observed in
/// recorded traffic, [K] known but not verified.
struct MicrosoftSimulator: ProviderSimulator {
    /// The tenant that the demo's work accounts belong to.
    static let tenant = "8eae0000-2b34-4da1-9baa-8bc8c9d6a490"
    /// The tenant of all personal accounts. [D]
    static let consumers = "9188040d-6c67-4c5b-b112-36a304b66dad"
    /// A tenant that somebody else has made.
    static let foreign = "0bad0000-5c11-4e0f-8d3a-1f2e3d4c5b6a"
    static let trace = "0000aaaa-11bb-cccc-dd22-eeeeee333333"

    let stage: SimulatorContext
    let keys: MicrosoftKeys

    var base: String { self.stage.address.base }

    init(_ stage: SimulatorContext) {
        self.stage = stage
        self.keys = MicrosoftKeys(stage)
    }

    func page(for request: DemoRequest) -> DemoResponse? {
        guard let place = Self.place(of: request) else { return nil }
        return switch (request.method, place.path) {
        case ("GET", "oauth2/v2.0/authorize"), ("POST", "oauth2/v2.0/authorize"):
            self.authorize(request, at: place.tenant)
        case ("GET", "oauth2/v2.0/logout"), ("POST", "oauth2/v2.0/logout"): self.logout(request)
        default: nil
        }
    }

    func response(to request: DemoRequest) -> DemoResponse {
        if let answer = self.graph(request) { return answer }
        guard let place = Self.place(of: request) else {
            return .text("AADSTS90002: Tenant not found.\n", status: 404)
        }
        return switch (request.method, place.path) {
        case ("GET", "v2.0/.well-known/openid-configuration"): .json(self.discovery(place.tenant))
        case ("GET", "discovery/v2.0/keys"): self.keys.answer
        case ("POST", "oauth2/v2.0/token"): self.token(request)
        default: .text("Not found\n", status: 404)
        }
    }

    /// The tenant that a path begins with, if there is such a one, and the rest of the path.
    private static func place(of request: DemoRequest) -> (tenant: String, path: String)? {
        let parts = request.path.split(separator: "/", maxSplits: 1).map(String.init)
        let tenants = [Self.tenant, Self.consumers, "common", "organizations", "consumers"]
        guard parts.count == 2, tenants.contains(parts[0]) else { return nil }
        return (parts[0], parts[1])
    }

    /// Members as in the real document of October 2024, `code_challenge_methods_supported` missing on purpose. [O]
    private func discovery(_ tenant: String) -> JSON {
        let root = "\(self.base)/\(tenant)"
        let pages = "\(self.stage.address.pages)/\(tenant)"
        let issuer =
            switch tenant {
            case "common", "organizations": "{tenantid}"
            case "consumers": Self.consumers
            default: tenant
            }
        return [
            "token_endpoint": .string(root + "/oauth2/v2.0/token"),
            "token_endpoint_auth_methods_supported": ["client_secret_post", "private_key_jwt", "client_secret_basic"],
            "jwks_uri": .string(root + "/discovery/v2.0/keys"),
            "response_modes_supported": ["query", "fragment", "form_post"],
            "subject_types_supported": ["pairwise"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "response_types_supported": ["code", "id_token", "code id_token", "id_token token"],
            "scopes_supported": ["openid", "profile", "email", "offline_access"],
            "issuer": .string("\(self.base)/\(issuer)/v2.0"),
            "request_uri_parameter_supported": false,
            "userinfo_endpoint": .string(self.base + "/oidc/userinfo"),
            "authorization_endpoint": .string(pages + "/oauth2/v2.0/authorize"),
            "device_authorization_endpoint": .string(root + "/oauth2/v2.0/devicecode"),
            "http_logout_supported": true, "frontchannel_logout_supported": true,
            "end_session_endpoint": .string(pages + "/oauth2/v2.0/logout"),
            "claims_supported": [
                "sub", "iss", "aud", "exp", "iat", "auth_time", "acr", "nonce", "preferred_username", "name", "tid",
                "ver", "at_hash", "c_hash", "email",
            ],
            "kerberos_endpoint": .string(root + "/kerberos"), "tenant_region_scope": .null,
            "cloud_instance_name": "microsoftonline.com", "msgraph_host": "graph.microsoft.com",
        ]
    }
}
