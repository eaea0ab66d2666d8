// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// GitHub's OAuth App flow: no ID token, form answers unless JSON is asked for, errors with status 200.
///
/// Marks say how a fact is known: [D] documented at https://docs.github.com/apps/oauth-apps, [O] observed in recorded
/// traffic, [K] known but not verified.
struct GitHubSimulator: ProviderSimulator {
    static let documentation = "https://docs.github.com/apps/oauth-apps/"

    let stage: SimulatorContext

    /// What the callback names since 2026. [O]
    var issuer: String { self.stage.address.base + "/login/oauth" }

    func page(for request: DemoRequest) -> DemoResponse? {
        switch (request.method, request.path) {
        case ("GET", "/login/oauth/authorize"), ("POST", "/login/oauth/authorize"): self.authorize(request)
        default: nil
        }
    }

    /// The API is at the address that Enterprise Server has it at. [D]
    func response(to request: DemoRequest) -> DemoResponse {
        switch (request.method, request.path) {
        case ("POST", "/login/oauth/access_token"): self.accessToken(request)
        case ("GET", "/api/v3/user"): self.api(request) { .json(.object($0.person.record)) }
        case ("GET", "/api/v3/user/emails"): self.api(request) { self.emails(of: $0) }
        case ("GET", "/api/v3/user/orgs"): self.api(request) { self.list("organizations", of: $0, request) }
        case ("GET", "/api/v3/user/teams"): self.api(request) { self.list("teams", of: $0, request) }
        case ("GET", "/.well-known/oauth-authorization-server/login/oauth"): .json(self.metadata)
        default: Self.message("Not Found", status: 404)
        }
    }

    /// OAuth metadata, not OpenID: no keys, at the path-inserted address only. [O]
    private var metadata: JSON {
        [
            "issuer": .string(self.issuer),
            "authorization_endpoint": .string(self.issuer + "/authorize"),
            "token_endpoint": .string(self.issuer + "/access_token"),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
        ]
    }

    /// An error of the API; the status in the body is a string. [O]
    static func message(_ text: String, status: Int) -> DemoResponse {
        let body: JSON = [
            "message": .string(text), "documentation_url": "https://docs.github.com/rest",
            "status": .string(String(status)),
        ]
        return .json(body, status: status)
    }
}
