// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension GoogleSimulator {
    /// Redeems a code; the errors are those of the real endpoint. [O]
    func token(_ request: DemoRequest) -> DemoResponse {
        let form = request.form
        let credentials = RequestCredentials(request, form: form)
        guard credentials.id == self.stage.client.id else {
            return Self.problem("invalid_client", "The OAuth client was not found.", status: 401)
        }
        guard credentials.secret != nil else { return Self.problem("invalid_request", "client_secret is missing.") }
        guard credentials.match(self.stage.client) else {
            return Self.problem("invalid_client", "Unauthorized", status: 401)
        }
        guard form["grant_type"] == "authorization_code" else {
            return Self.problem("unsupported_grant_type", "Invalid grant_type")
        }
        guard let code = form["code"], code.hasPrefix("4/0") else {
            return Self.problem("invalid_grant", "Malformed auth code.")
        }
        guard let grant = self.stage.grants.take(code) else { return Self.problem("invalid_grant", "Bad Request") }
        guard form["redirect_uri"] == grant.redirect else {
            return Self.problem("redirect_uri_mismatch", "Bad Request")
        }
        guard grant.accepts(verifier: form["code_verifier"]) else {
            return Self.problem("invalid_grant", "Invalid code verifier.")
        }
        return self.tokens(for: grant)
    }

    private func tokens(for grant: DemoGrant) -> DemoResponse {
        let access = "ya29.a0\(self.stage.random.token(96))"
        self.stage.grants.insert(grant, for: access)
        let claims = self.claims(for: grant, access: access)
        guard let token = try? self.stage.key.token(.object(claims), header: ["kid": .string(self.keys.signer())])
        else { return Self.problem("internal_failure", "Backend Error", status: 500) }
        var answer: [String: JSON] = [
            "access_token": .string(access), "expires_in": 3599, "token_type": "Bearer", "id_token": .string(token),
            "scope": .string(grant.scopes.joined(separator: " ")),
        ]
        // Only for offline access, and only if the person was asked for consent. [D]
        let prompts = (grant.request["prompt"] ?? "").split(separator: " ")
        if grant.request["access_type"] == "offline", prompts.contains("consent") {
            answer["refresh_token"] = .string("1//0g\(self.stage.random.token(48))")
        }
        return .json(.object(answer))
    }

    private func claims(for grant: DemoGrant, access: String) -> [String: JSON] {
        let now = self.stage.clock.now
        let short = self.base.replacing("https://", with: "")
        var claims = self.record(of: grant.person)
        claims["iss"] = .string(self.stage.has(GoogleQuirk.shortIssuer) ? short : self.base)
        claims["azp"] = .string(self.stage.client.id)
        claims["aud"] = .string(self.stage.client.id)
        claims["at_hash"] = .string(accessTokenHash(access))
        claims["nonce"] = grant.nonce.map { .string($0) }
        claims["iat"] = .int(now.seconds)
        claims["exp"] = .int(now.seconds + 3600)
        return claims
    }

    private static func problem(_ error: String, _ text: String, status: Int = 400) -> DemoResponse {
        .json(["error": .string(error), "error_description": .string(text)], status: status)
    }
}
