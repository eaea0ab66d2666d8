// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A provider of the authorization code flow that behaves as its traits say; OpenID Connect if it has ID tokens.
struct CodeFlowSimulator: ProviderSimulator {
    let traits: CodeFlowTraits
    let stage: SimulatorContext
    let pushed: PushedRequests
    let door: ClientAuthenticator

    init(_ traits: CodeFlowTraits, on stage: SimulatorContext) {
        self.traits = traits
        self.stage = stage
        self.pushed = PushedRequests(clock: stage.clock)
        self.door = ClientAuthenticator(
            client: stage.client,
            accepted: traits.token.proofs,
            team: traits.token.team,
            audiences: [traits.issuer, stage.address.base + traits.paths.token],
            clock: stage.clock,
        )
    }

    func page(for request: DemoRequest) -> DemoResponse? {
        let isAuthorization = self.traits.canonicalPath(request.path) == self.traits.paths.authorize
        guard isAuthorization, ["GET", "POST"].contains(request.method) else { return nil }
        return self.authorize(request)
    }

    func response(to request: DemoRequest) -> DemoResponse {
        if let refusal = self.traits.refusal(request) { return refusal }
        let path = self.traits.canonicalPath(request.path)
        return switch request.method {
        case "GET": self.document(at: path) ?? self.resource(at: path, for: request)
        case "POST" where path == self.traits.paths.token: self.redeem(request)
        case "POST" where path == self.traits.paths.pushed: self.push(request)
        case "POST": self.resource(at: path, for: request)
        default: .text("Method not allowed\n", status: 405)
        }
    }

    /// RFC 6750 §2; the token in the query is what APIs older than it take.
    private func resource(at path: String, for request: DemoRequest) -> DemoResponse {
        guard let resource = self.traits.resources[path] else { return .text("Not found\n", status: 404) }
        let token = request.bearer ?? request.query["access_token"]
        guard let token, let grant = self.stage.grants.grant(of: token) else {
            let problem = OAuthError("invalid_token", "The access token is missing or has expired.", status: 401)
            return self.traits.resourceProblem.response(problem)
        }
        return resource.response(ResourceRequest(request: request, token: token, grant: grant))
    }
}
