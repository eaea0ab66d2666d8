// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Google as it behaves in 2026: `iss` and more in the callback, a code with `/`, key sets in changing order.
struct GoogleSimulator: Sendable {
    let address: DemoAddress
    let client: DemoClient
    let key: DemoKey
    let idleModulus: String
    let grants: DemoGrants
    let clock: WallClock
    let random: RandomBytes

    private static let scopeNames = [
        "email": "https://www.googleapis.com/auth/userinfo.email",
        "profile": "https://www.googleapis.com/auth/userinfo.profile",
    ]

    private var base: String { self.address.base }

    /// Answers what browsers ask for; nil for everything else.
    func page(for request: DemoRequest) -> DemoResponse? {
        switch (request.method, request.path) {
        case ("GET", "/o/oauth2/v2/auth"), ("POST", "/o/oauth2/v2/auth"): self.authorize(request)
        default: nil
        }
    }

    /// Answers everything else.
    func response(to request: DemoRequest) -> DemoResponse {
        switch (request.method, request.path) {
        case ("GET", "/.well-known/openid-configuration"):
            .json(self.discovery, fields: [("Cache-Control", "public, max-age=3600")])
        case ("GET", "/oauth2/v3/certs"): self.keys
        case ("POST", "/token"): self.token(request)
        case ("GET", "/v1/userinfo"), ("POST", "/v1/userinfo"): self.userinfo(request)
        default: .text("The requested URL was not found on this server.\n", status: 404)
        }
    }

    private var discovery: JSON {
        [
            "issuer": .string(self.base),
            "authorization_endpoint": .string(self.address.pages + "/o/oauth2/v2/auth"),
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

    /// Two keys, their members and themselves in an order that changes from answer to answer.
    private var keys: DemoResponse {
        let own = ["kty": "RSA", "alg": "RS256", "use": "sig", "e": "AQAB", "kid": self.key.id, "n": self.key.modulus]
        let next = own.merging(["kid": String(self.key.id.reversed()), "n": self.idleModulus]) { $1 }
        var generator = SystemRandomNumberGenerator()
        let texts = [own, next].shuffled(using: &generator).map { key in
            let members = key.shuffled(using: &generator).map {
                "\(JSON.string($0.key).text): \(JSON.string($0.value).text)"
            }
            return "{ \(members.joined(separator: ", ")) }"
        }
        let fields = [
            (name: "Content-Type", value: "application/json; charset=UTF-8"),
            (name: "Cache-Control", value: "public, max-age=24873, must-revalidate, no-transform"),
            (name: "Age", value: "5059"),
        ]
        return DemoResponse(
            status: 200,
            fields: fields,
            body: Array("{ \"keys\": [ \(texts.joined(separator: ", ")) ] }".utf8)
        )
    }

    // MARK: authorization endpoint

    private func authorize(_ request: DemoRequest) -> DemoResponse {
        let page = DemoSignIn(provider: "Google", accent: "#4285f4", people: Self.people)
        let form = page.authorization(of: request)
        guard form["client_id"] == self.client.id else {
            return page.errorPage("invalid_client", "The OAuth client was not found.", status: 401)
        }
        guard form["redirect_uri"] == self.client.callback else {
            return page.errorPage(
                "redirect_uri_mismatch",
                "The redirect URI is not registered for this app.",
                status: 400
            )
        }
        guard form["response_type"] == "code", form["scope"] != nil else {
            return page.errorPage(
                "invalid_request",
                "Required parameter is missing: response_type or scope",
                status: 400
            )
        }
        guard form["prompt"] != "none" else { return self.refuse("interaction_required", form) }
        switch page.choice(of: request) {
        case .none: return page.page(for: request)
        case .denied: return self.refuse("access_denied", form)
        case .person(let person): return self.grant(person, form)
        }
    }

    private func refuse(_ error: String, _ form: Form) -> DemoResponse {
        self.callback([Form.Field("error", error), Form.Field("state", form["state"] ?? "")])
    }

    private func grant(_ person: DemoPerson, _ form: Form) -> DemoResponse {
        let scopes = (form["scope"] ?? "").split(separator: " ").map { Self.scopeNames[String($0)] ?? String($0) }
        let code = "4/0\(self.random.token(48))"
        let isHashed = form["code_challenge_method"] == "S256"
        let grant = DemoGrant(
            person: person,
            redirect: self.client.callback,
            scopes: scopes,
            nonce: form["nonce"],
            challenge: isHashed ? form["code_challenge"] : nil,
            expires: self.clock.now.advanced(by: .seconds(600)),
        )
        self.grants.insert(grant, for: code)
        var fields = [
            Form.Field("state", form["state"] ?? ""), Form.Field("iss", self.base), Form.Field("code", code),
            Form.Field("scope", "email profile " + scopes.joined(separator: " ")), Form.Field("authuser", "0"),
        ]
        if let domain = person.record["hd"]?.string { fields.append(Form.Field("hd", domain)) }
        fields.append(Form.Field("prompt", "consent"))
        return self.callback(fields)
    }

    /// Google writes a space as `+`.
    private func callback(_ fields: [Form.Field]) -> DemoResponse {
        .redirect(to: "\(self.client.callback)?\(Form(fields).encoded.replacing("%20", with: "+"))")
    }

    // MARK: token and userinfo endpoints

    private func token(_ request: DemoRequest) -> DemoResponse {
        let form = request.form
        let credentials = DemoCredentials(request, form: form)
        guard credentials.id == self.client.id else {
            return Self.problem("invalid_client", "The OAuth client was not found.", status: 401)
        }
        guard credentials.secret != nil else { return Self.problem("invalid_request", "client_secret is missing.") }
        guard credentials.match(self.client) else { return Self.problem("invalid_client", "Unauthorized", status: 401) }
        guard form["grant_type"] == "authorization_code" else {
            return Self.problem("unsupported_grant_type", "Invalid grant_type")
        }
        guard let code = form["code"], code.hasPrefix("4/0") else {
            return Self.problem("invalid_grant", "Malformed auth code.")
        }
        guard let grant = self.grants.take(code) else { return Self.problem("invalid_grant", "Bad Request") }
        guard form["redirect_uri"] == grant.redirect else {
            return Self.problem("redirect_uri_mismatch", "Bad Request")
        }
        guard grant.accepts(verifier: form["code_verifier"]) else {
            return Self.problem("invalid_grant", "Invalid code verifier.")
        }
        return self.tokens(for: grant)
    }

    private func tokens(for grant: DemoGrant) -> DemoResponse {
        let access = "ya29.a0\(self.random.token(96))"
        self.grants.insert(grant, for: access)
        let now = self.clock.now
        var claims = grant.person.record
        claims["iss"] = .string(self.base)
        claims["azp"] = .string(self.client.id)
        claims["aud"] = .string(self.client.id)
        claims["at_hash"] = .string(accessTokenHash(access))
        claims["nonce"] = grant.nonce.map { .string($0) }
        claims["iat"] = .int(now.seconds)
        claims["exp"] = .int(now.seconds + 3600)
        guard let token = try? self.key.token(.object(claims), header: ["kid": .string(self.key.id)]) else {
            return Self.problem("internal_failure", "Backend Error", status: 500)
        }
        return .json([
            "access_token": .string(access), "expires_in": 3599, "token_type": "Bearer", "id_token": .string(token),
            "scope": .string(grant.scopes.joined(separator: " ")),
        ])
    }

    private func userinfo(_ request: DemoRequest) -> DemoResponse {
        guard let grant = self.grants.grant(of: request.bearer) else {
            let challenge = "Bearer realm=\"https://accounts.google.com/\", error=\"invalid_token\""
            let problem: JSON = ["error": "invalid_request", "error_description": "Invalid Credentials"]
            return .json(problem, status: 401, fields: [("WWW-Authenticate", challenge)])
        }
        return .json(.object(grant.person.record))
    }

    private static func problem(_ error: String, _ text: String, status: Int = 400) -> DemoResponse {
        .json(["error": .string(error), "error_description": .string(text)], status: status)
    }
}
