// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension CodeFlowSimulator {
    /// RFC 6749 §4.1.3.
    func redeem(_ request: DemoRequest) -> DemoResponse {
        switch self.redemption(of: request) {
        case .failure(let problem): self.traits.token.problem.response(problem)
        case .success(let grant): self.tokens(for: grant)
        }
    }

    /// RFC 9126 §2.
    func push(_ request: DemoRequest) -> DemoResponse {
        let form = request.form
        if let problem = self.door.problem(request, form) { return self.traits.token.problem.response(problem) }
        guard form["client_id"] == self.stage.client.id, form["request_uri"] == nil else {
            return self.traits.token.problem.response(OAuthError("invalid_request", "This cannot be pushed."))
        }
        let proof = ["client_secret", "client_assertion", "client_assertion_type"]
        let name = self.pushed.insert(Form(form.fields.filter { !proof.contains($0.name) }), self.stage.random)
        return .json(["request_uri": .string(name), "expires_in": .int(PushedRequests.lifetime)], status: 201)
    }

    private enum Redemption {
        case success(DemoGrant)
        case failure(OAuthError)
    }

    private func redemption(of request: DemoRequest) -> Redemption {
        let form = request.form
        if let problem = self.door.problem(request, form) ?? self.traits.token.outage { return .failure(problem) }
        guard form["grant_type"] == "authorization_code" else {
            return .failure(OAuthError("unsupported_grant_type", "Only codes are redeemed here."))
        }
        guard self.traits.authorization.challenge != .unwanted || form["code_verifier"] == nil else {
            return .failure(OAuthError("invalid_request", "The parameter code_verifier is not permitted."))
        }
        guard let grant = form["code"].flatMap({ self.stage.grants.take($0) }) else {
            return .failure(OAuthError("invalid_grant", "Invalid authorization code"))
        }
        guard form["redirect_uri"] == grant.redirect else {
            return .failure(OAuthError("invalid_grant", "The redirect address is another than before."))
        }
        let isOpen = self.traits.authorization.challenge == .unwanted
        guard isOpen || grant.accepts(verifier: form["code_verifier"]) else {
            return .failure(OAuthError("invalid_grant", "The code verifier does not fit."))
        }
        return .success(grant)
    }

    /// RFC 6749 §5.1.
    private func tokens(for grant: DemoGrant) -> DemoResponse {
        let traits = self.traits.token
        let access = traits.tokenPrefix + self.stage.random.token(48)
        self.stage.grants.insert(grant, for: access)
        var members = traits.extras(self.stage.clock.now)
        members["access_token"] = .string(access)
        members["token_type"] = traits.tokenType
        members["expires_in"] = traits.lifetime
        members["scope"] = traits.scopeSeparator.map { .string(grant.scopes.joined(separator: $0)) }
        if let idToken = self.traits.idToken, grant.scopes.contains("openid") {
            guard let token = try? self.token(idToken, for: grant, access: access) else {
                return traits.problem.response(OAuthError("server_error", "No token was signed.", status: 500))
            }
            members["id_token"] = .string(token)
        }
        return traits.answersForm ? Self.form(members) : .json(.object(members))
    }

    /// OpenID Connect Core §2.
    private func token(_ traits: IDTokenTraits, for grant: DemoGrant, access: String) throws -> String {
        let now = self.stage.clock.now
        var claims = grant.members(traits.names)
        claims["iss"] = .string(self.traits.issuer)
        claims["aud"] = .string(self.stage.client.id)
        claims["iat"] = .int(now.seconds)
        claims["exp"] = .int(now.seconds + traits.lifetime)
        if traits.echoesNonce { claims["nonce"] = grant.nonce.map { .string($0) } }
        if traits.hashesAccessToken { claims["at_hash"] = .string(traits.key.hash(ofAccessToken: access)) }
        claims.merge(traits.extras(grant, now)) { $1 }
        return try traits.key.token(.object(claims))
    }

    private static func form(_ members: [String: JSON]) -> DemoResponse {
        let fields = members.sorted { $0.key < $1.key }.map { Form.Field($0.key, $0.value.string ?? $0.value.text) }
        let type = (name: "Content-Type", value: "application/x-www-form-urlencoded")
        return DemoResponse(status: 200, fields: [type], body: Array(Form(fields).encoded.utf8))
    }
}
