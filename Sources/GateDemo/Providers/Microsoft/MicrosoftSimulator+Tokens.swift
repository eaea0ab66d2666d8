// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension MicrosoftSimulator {
    /// Redeems a code. [D]
    func token(_ request: DemoRequest) -> DemoResponse {
        let form = request.form
        let credentials = RequestCredentials(request, form: form)
        guard request.field("origin") == nil else {
            return self.problem("invalid_request", 9_002_326, "Cross-origin token redemption is not permitted here.")
        }
        guard credentials.id == self.stage.client.id else {
            return self.problem("unauthorized_client", 700_016, "Application was not found in the directory.")
        }
        guard credentials.match(self.stage.client) else {
            return self.problem("invalid_client", 7_000_215, "Invalid client secret provided.", status: 401)
        }
        guard form["grant_type"] == "authorization_code" else {
            return self.problem("unsupported_grant_type", 70_003, "The app requested an unsupported grant type.")
        }
        guard let grant = form["code"].flatMap({ self.stage.grants.take($0) }), form["redirect_uri"] == grant.redirect
        else {
            let text = "The provided authorization code or refresh token has expired."
            return self.problem("invalid_grant", 70_008, text)
        }
        guard grant.accepts(verifier: form["code_verifier"]) else {
            return self.problem("invalid_grant", 501_481, "The Code_Verifier does not match the code_challenge.")
        }
        return self.tokens(for: grant)
    }

    private func tokens(for grant: DemoGrant) -> DemoResponse {
        let access = "EwB4A8l6\(self.stage.random.token(300))"
        self.stage.grants.insert(grant, for: access)
        let claims = self.claims(for: grant)
        let signer = self.keys.signer(isConsumer: claims["tid"]?.string == Self.consumers)
        guard let token = try? self.stage.key.token(.object(claims), header: ["kid": .string(signer)]) else {
            return self.problem("server_error", 90_033, "A transient error has occurred.", status: 500)
        }
        // A number in version 2.0 [D], a text in version 1.0 and B2C [O].
        let life: JSON = self.stage.has(MicrosoftQuirk.textExpiry) ? "3600" : 4021
        return .json([
            "token_type": "Bearer", "scope": .string(grant.scopes.joined(separator: " ") + " User.Read"),
            "expires_in": life, "ext_expires_in": life, "access_token": .string(access), "id_token": .string(token),
        ])
    }

    /// The names come from userinfo only, unless the app asks for them as optional claims; no `at_hash`. [D]
    private func claims(for grant: DemoGrant) -> [String: JSON] {
        let now = self.stage.clock.now.seconds
        var claims = grant.person.record.filter { !["given_name", "family_name"].contains($0.key) }
        if self.stage.has(MicrosoftQuirk.otherTenant) { claims["tid"] = .string(Self.foreign) }
        if self.stage.has(MicrosoftQuirk.badTenant) { claims["tid"] = .string("../\(Self.tenant)") }
        if self.stage.has(MicrosoftQuirk.noMail) { claims["email"] = nil }
        if [MicrosoftQuirk.overage, MicrosoftQuirk.overageUnresolved].contains(where: self.stage.has) {
            self.replaceGroups(in: &claims)
        }
        claims["ver"] = "2.0"
        claims["iss"] = .string("\(self.base)/\(claims["tid"]?.string ?? Self.tenant)/v2.0")
        claims["aud"] = .string(self.stage.client.id)
        claims["iat"] = .int(now)
        claims["nbf"] = .int(now)
        claims["exp"] = .int(now + 3900)
        claims["nonce"] = grant.nonce.map { .string($0) }
        claims["uti"] = .string(self.stage.random.token(16))
        return claims
    }

    /// Over 200 groups the token names an address instead. [D]
    ///
    /// The real one is at `graph.windows.net`, which is retired [K]; here it is one that can be watched. Nobody must
    /// call it: whoever makes a token would choose where the gateway sends its access token.
    private func replaceGroups(in claims: inout [String: JSON]) {
        let object = claims["oid"]?.string ?? ""
        let address = "\(self.base)/graph.windows.net/\(Self.tenant)/users/\(object)/getMemberObjects"
        claims["groups"] = nil
        claims["_claim_names"] = ["groups": "src1"]
        claims["_claim_sources"] = ["src1": ["endpoint": .string(address)]]
    }

    private func problem(_ error: String, _ number: Int64, _ text: String, status: Int = 400) -> DemoResponse {
        let trace = Self.trace
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
