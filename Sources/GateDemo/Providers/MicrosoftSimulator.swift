// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// Microsoft Entra ID, version 2.0 endpoints: issuer template, key sets that alternate, no `iss` in the callback.
struct MicrosoftSimulator: Sendable {
    /// The tenant that the demo's work accounts belong to.
    static let tenant = "8eae0000-2b34-4da1-9baa-8bc8c9d6a490"
    /// The tenant of all personal accounts.
    static let consumers = "9188040d-6c67-4c5b-b112-36a304b66dad"

    let address: DemoAddress
    let client: DemoClient
    let key: DemoKey
    let idleModuli: [String]
    let grants: DemoGrants
    let clock: WallClock
    let random: RandomBytes
    let keyFetches: FetchCount

    /// Counts the answers of the key set address, over which the sets alternate.
    final class FetchCount: Sendable {
        private let count = Mutex(0)

        func next() -> Int {
            self.count.withLock { count in
                count &+= 1
                return count
            }
        }
    }

    var base: String { self.address.base }

    /// Answers what browsers ask for; nil for everything else.
    func page(for request: DemoRequest) -> DemoResponse? {
        guard let place = Self.place(of: request) else { return nil }
        return switch (request.method, place.path) {
        case ("GET", "oauth2/v2.0/authorize"), ("POST", "oauth2/v2.0/authorize"):
            self.authorize(request, at: place.tenant)
        case ("GET", "oauth2/v2.0/logout"), ("POST", "oauth2/v2.0/logout"): self.logout(request)
        default: nil
        }
    }

    /// Answers everything else.
    func response(to request: DemoRequest) -> DemoResponse {
        if request.path == "/oidc/userinfo" { return self.userinfo(request) }
        guard let place = Self.place(of: request) else {
            return .text("AADSTS90002: Tenant not found.\n", status: 404)
        }
        return switch (request.method, place.path) {
        case ("GET", "v2.0/.well-known/openid-configuration"): .json(self.discovery(place.tenant))
        case ("GET", "discovery/v2.0/keys"): self.keys
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

    /// Members as in the real document, `code_challenge_methods_supported` missing on purpose.
    private func discovery(_ tenant: String) -> JSON {
        let root = "\(self.base)/\(tenant)"
        let pages = "\(self.address.pages)/\(tenant)"
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

    /// The signing key with one of two others; no `alg`, but an `issuer`.
    private var keys: DemoResponse {
        let idle = self.idleModuli[self.keyFetches.next() % self.idleModuli.count]
        let template = JSON.string("\(self.base)/{tenantid}/v2.0")
        let consumer = JSON.string("\(self.base)/\(Self.consumers)/v2.0")
        let keys = [
            self.jwk(id: String(idle.prefix(27)), modulus: idle, issuer: consumer),
            self.jwk(id: self.keyID, modulus: self.key.modulus, issuer: template),
        ]
        return .json(["keys": .array(keys)], fields: [("Cache-Control", "max-age=86400, private")])
    }

    private func jwk(id: String, modulus: String, issuer: JSON) -> JSON {
        [
            "kty": "RSA", "use": "sig", "kid": .string(id), "x5t": .string(id), "n": .string(modulus), "e": "AQAB",
            "cloud_instance_name": "microsoftonline.com", "issuer": issuer,
        ]
    }

    private var keyID: String { String(self.key.modulus.prefix(27)) }

    // MARK: token and userinfo endpoints

    private func token(_ request: DemoRequest) -> DemoResponse {
        let form = request.form
        let credentials = DemoCredentials(request, form: form)
        guard request.field("origin") == nil else {
            return self.problem("invalid_request", 9_002_326, "Cross-origin token redemption is not permitted here.")
        }
        guard credentials.id == self.client.id else {
            return self.problem("unauthorized_client", 700_016, "Application was not found in the directory.")
        }
        guard credentials.match(self.client) else {
            return self.problem("invalid_client", 7_000_215, "Invalid client secret provided.", status: 401)
        }
        guard form["grant_type"] == "authorization_code" else {
            return self.problem("unsupported_grant_type", 70_003, "The app requested an unsupported grant type.")
        }
        guard let grant = form["code"].flatMap({ self.grants.take($0) }), form["redirect_uri"] == grant.redirect else {
            return self.problem(
                "invalid_grant",
                70_008,
                "The provided authorization code or refresh token has expired."
            )
        }
        guard grant.accepts(verifier: form["code_verifier"]) else {
            return self.problem("invalid_grant", 501_481, "The Code_Verifier does not match the code_challenge.")
        }
        return self.tokens(for: grant)
    }

    private func tokens(for grant: DemoGrant) -> DemoResponse {
        let access = "EwB4A8l6\(self.random.token(300))"
        self.grants.insert(grant, for: access)
        let now = self.clock.now.seconds
        let tenant = grant.person.record["tid"]?.string ?? Self.tenant
        var claims = grant.person.record.filter { !["given_name", "family_name"].contains($0.key) }
        claims["ver"] = "2.0"
        claims["iss"] = .string("\(self.base)/\(tenant)/v2.0")
        claims["aud"] = .string(self.client.id)
        claims["iat"] = .int(now)
        claims["nbf"] = .int(now)
        claims["exp"] = .int(now + 3900)
        claims["nonce"] = grant.nonce.map { .string($0) }
        claims["uti"] = .string(self.random.token(16))
        guard let token = try? self.key.token(.object(claims), header: ["kid": .string(self.keyID)]) else {
            return self.problem("server_error", 90_033, "A transient error has occurred.", status: 500)
        }
        return .json([
            "token_type": "Bearer", "scope": .string(grant.scopes.joined(separator: " ") + " User.Read"),
            "expires_in": 4021, "ext_expires_in": 4021, "access_token": .string(access), "id_token": .string(token),
        ])
    }

    private func userinfo(_ request: DemoRequest) -> DemoResponse {
        guard let grant = self.grants.grant(of: request.bearer) else {
            let text = "Access token is missing or malformed."
            let error: JSON = ["code": "InvalidAuthenticationToken", "message": .string(text), "innerError": [:]]
            return .json(["error": error], status: 401, fields: [("WWW-Authenticate", "Bearer")])
        }
        var members = grant.person.record.filter {
            ["sub", "name", "given_name", "family_name", "email"].contains($0.key)
        }
        members["picture"] = "https://graph.microsoft.com/v1.0/me/photo/$value"
        return .json(.object(members))
    }

    private func problem(_ error: String, _ number: Int64, _ text: String, status: Int = 400) -> DemoResponse {
        let trace = "0000aaaa-11bb-cccc-dd22-eeeeee333333"
        return .json(
            [
                "error": .string(error), "error_codes": [.int(number)], "trace_id": .string(trace),
                "error_description": .string(
                    "AADSTS\(number): \(text)\r\nTrace ID: \(trace)\r\nCorrelation ID: \(trace)"
                ),
                "correlation_id": .string(trace), "error_uri": .string("\(self.base)/error?code=\(number)"),
            ],
            status: status,
        )
    }
}
