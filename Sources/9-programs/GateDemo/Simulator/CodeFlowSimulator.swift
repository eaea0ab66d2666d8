// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A simulated provider: one simulator of the code flow, or one for each of its tenants.
struct ProviderSimulator: Sendable {
    private let simulators: [CodeFlowSimulator]
    private let notFound: DemoResponse

    init(_ traits: [CodeFlowTraits], context: SimulatorContext) {
        self.simulators = traits.map { CodeFlowSimulator($0, context: context) }
        self.notFound = traits.first?.notFound ?? .text("Not found\n", status: 404)
    }

    /// Responds to a request of a browser; nil for any other request.
    ///
    /// Reached over https and over the plain port that browsers are sent to.
    func page(for request: DemoRequest) -> DemoResponse? {
        for simulator in self.simulators {
            if let page = simulator.page(for: request) { return page }
        }
        return nil
    }

    /// Responds to any other request, which arrives over https only.
    func response(to request: DemoRequest) -> DemoResponse {
        for simulator in self.simulators {
            if let response = simulator.response(to: request) { return response }
        }
        return self.notFound
    }
}

/// A provider of the authorization code flow that its traits describe; OpenID Connect if it has ID tokens.
struct CodeFlowSimulator: Sendable {
    private let traits: CodeFlowTraits
    private let context: SimulatorContext
    private let pushed: PushedRequests
    private let authenticator: ClientAuthenticator

    init(_ traits: CodeFlowTraits, context: SimulatorContext) {
        self.traits = traits
        self.context = context
        self.pushed = PushedRequests(clock: context.clock)
        self.authenticator = ClientAuthenticator(
            client: context.client,
            accepted: traits.token.authentication,
            team: traits.token.team,
            audiences: [traits.issuer, context.urls.base + traits.paths.token],
            clock: context.clock,
        )
    }

    /// Responds at the endpoints for browsers; nil elsewhere.
    func page(for request: DemoRequest) -> DemoResponse? {
        guard ["GET", "POST"].contains(request.method) else { return nil }
        return switch self.traits.canonicalPath(request.path) {
        case self.traits.paths.authorize: self.authorize(request)
        case self.traits.paths.endSession: self.endSession(request)
        default: nil
        }
    }

    /// Responds at all other endpoints; nil if the provider does not have the path.
    func response(to request: DemoRequest) -> DemoResponse? {
        let path = self.traits.canonicalPath(request.path)
        if let response = self.traits.precheck(request) { return response }
        let paths = self.traits.paths
        return switch (request.method, path) {
        case ("GET", paths.discovery): .json(.object(self.discovery), fields: self.traits.metadataFields)
        case ("GET", paths.keys): self.traits.idToken.map { self.keySet($0) }
        case ("POST", paths.token): self.redeem(request)
        case ("POST", paths.pushed): self.push(request)
        case ("GET", let path), ("POST", let path): self.traits.resources[path].map { self.respond(request, with: $0) }
        default: nil
        }
    }

    /// RFC 6750 §2; APIs older than that take the token in the query.
    private func respond(_ request: DemoRequest, with resource: ProtectedResource) -> DemoResponse {
        let token = request.bearer ?? request.query["access_token"]
        guard let token, let grant = self.context.grants.grant(of: token) else {
            let error = OAuthError("invalid_token", "The access token is missing or has expired.", status: 401)
            return (resource.errors ?? self.traits.resourceErrors).response(error)
        }
        return resource.response(ResourceRequest(request: request, token: token, grant: grant))
    }

    // MARK: authorization endpoint

    /// The sign-in page and its outcome.
    ///
    /// RFC 6749 §4.1.1. Nothing leads back to the app before client and redirect URI have passed their checks.
    private func authorize(_ request: DemoRequest) -> DemoResponse {
        let traits = self.traits.authorization
        let page = DemoSignInPage(provider: self.traits.title, accent: self.traits.accent, users: self.traits.users)
        let sent = page.authorization(of: request)
        let form = sent["request_uri"].flatMap { self.pushed.request($0) } ?? sent
        for check in AuthorizationCheck.allCases where !self.passes(check, form: form, sent: sent) {
            let error = traits.errors[check] ?? check.error
            guard traits.checksWithPage.contains(check) else { return self.callback(error: error, form) }
            return page.errorPage(error)
        }
        if let error = traits.extraCheck(form) { return page.errorPage(error) }
        switch page.choice(of: request) {
        case .none: return page.page(for: request)
        case .denied: return self.callback(error: traits.denial, form)
        case .user(let user):
            sent["request_uri"].map { self.pushed.remove($0) }
            return self.grant(user, form)
        }
    }

    /// Whether an authorization request passes a check; `sent` is what the browser carried.
    private func passes(_ check: AuthorizationCheck, form: Form, sent: Form) -> Bool {
        let traits = self.traits.authorization
        let client = self.context.client
        guard !traits.skippedChecks.contains(check) else { return true }
        switch check {
        case .client: return sent["client_id"] == client.id && form["client_id"] == client.id
        case .requestURI: return sent["request_uri"] == nil || form != sent
        case .pushed: return !traits.requiresPushed || sent["request_uri"] != nil
        case .redirect: return traits.redirect(form["redirect_uri"], client.callback) != nil
        case .responseType: return form["response_type"] == "code"
        case .scope: return form["scope"] != nil
        case .responseMode: return traits.responseModes.contains(form["response_mode"] ?? "query")
        case .prompt: return form["prompt"] != "none"
        case .challengePresent: return traits.challenge != .required || form["code_challenge"] != nil
        case .challenge:
            // RFC 7636 §4.4.1.
            guard let challenge = form["code_challenge"] else { return true }
            return form["code_challenge_method"] == "S256" && challenge.utf8.count == 43
        }
    }

    private func grant(_ user: DemoUser, _ form: Form) -> DemoResponse {
        let traits = self.traits.authorization
        let code = self.traits.token.code(self.context.random)
        let redirect = traits.redirect(form["redirect_uri"], self.context.client.callback)
        let grant = DemoGrant(
            user: user,
            redirect: redirect ?? self.context.client.callback,
            scopes: traits.granted((form["scope"] ?? "").split { $0 == " " || $0 == "," }.map(String.init)),
            nonce: form["nonce"],
            challenge: form["code_challenge_method"] == "S256" ? form["code_challenge"] : nil,
            expires: self.context.clock.now.advanced(by: .seconds(600)),
            request: form,
        )
        self.context.grants.insert(grant, for: code)
        return self.callback(traits.extras(grant) + [Form.Field("code", code)], form, to: grant.redirect)
    }

    private func callback(error: OAuthError, _ form: Form) -> DemoResponse {
        self.callback(self.traits.authorization.errorFields(error), form, to: self.context.client.callback)
    }

    /// Returns to the app by redirect, or by a form that the user submits.
    ///
    /// OAuth 2.0 Form Post Response Mode §2; without a script, as the demo's pages have none.
    private func callback(_ fields: [Form.Field], _ form: Form, to redirect: String) -> DemoResponse {
        let traits = self.traits.authorization
        var fields = [Form.Field("state", form["state"] ?? "")] + fields
        if traits.sendsIssuer { fields.append(Form.Field("iss", self.traits.issuer)) }
        fields = self.context.changedCallback(fields)
        let query = Form(fields).encoded
        guard form["response_mode"] == "form_post" else {
            let spaced = traits.writesSpaceAsPlus ? query.replacing("%20", with: "+") : query
            return .redirect(to: "\(redirect)?\(spaced)\(traits.fragment)")
        }
        let inputs = fields.map { field -> Markup in
            "<input type=\"hidden\" name=\"\(field.name)\" value=\"\(field.value)\">"
        }
        let content: Markup = """
            <h1>Continue to the app</h1>
            <form method="post" action="\(redirect)">
            \(Markup(inputs))
            <button type="submit">Continue</button>
            </form>
            """
        return .page("Continue", accent: self.traits.accent, content)
    }

    /// Shows that the user has signed out, or returns to the app if it named a URL of its own.
    ///
    /// OpenID Connect RP-Initiated Logout 1.0 §3.
    private func endSession(_ request: DemoRequest) -> DemoResponse {
        let origin = WebURL(self.context.client.callback)?.origin
        let target = request.query["post_logout_redirect_uri"].flatMap { WebURL($0) }
        guard let target, target.origin == origin else {
            return .page("Signed out", accent: self.traits.accent, "<h1>You signed out of your account</h1>")
        }
        guard let state = request.query["state"] else { return .redirect(to: "\(target)") }
        let query = Form([Form.Field("state", state)]).encoded
        return .redirect(to: "\(target)\(target.query == nil ? "?" : "&")\(query)")
    }

    // MARK: token endpoint

    /// RFC 6749 §4.1.3.
    private func redeem(_ request: DemoRequest) -> DemoResponse {
        let traits = self.traits.token
        let response =
            switch self.redemption(of: request) {
            case .failure(let error): traits.errorFormat.response(error)
            case .success(let grant): self.tokens(for: grant, isRefresh: request.form["refresh_token"] != nil)
            }
        return traits.encoding(request).encoded(response)
    }

    /// RFC 9126 §2.
    private func push(_ request: DemoRequest) -> DemoResponse {
        let form = request.form
        if let failure = self.authenticator.failure(of: request, form) {
            return self.traits.token.errorFormat.response(failure.error)
        }
        guard form["client_id"] == self.context.client.id, form["request_uri"] == nil else {
            let error = OAuthError("invalid_request", "This request cannot be pushed.")
            return self.traits.token.errorFormat.response(error)
        }
        let credentials = ["client_secret", "client_assertion", "client_assertion_type"]
        let kept = Form(form.fields.filter { !credentials.contains($0.name) })
        let name = self.pushed.insert(kept, self.context.random)
        return .json(["request_uri": .string(name), "expires_in": .int(PushedRequests.lifetime)], status: 201)
    }

    private func redemption(of request: DemoRequest) -> Result<DemoGrant, OAuthError> {
        let traits = self.traits.token
        let form = request.form
        func failure(_ check: TokenCheck) -> Result<DemoGrant, OAuthError> {
            .failure(traits.errors[check] ?? check.error)
        }
        if let error = traits.extraCheck(request) { return .failure(error) }
        if let failure = self.authenticator.failure(of: request, form) {
            return .failure(traits.errors[failure.check] ?? failure.error)
        }
        if let outage = traits.outage { return .failure(outage) }
        if form["grant_type"] == "refresh_token" {
            let token = form["refresh_token"].map { "refresh \($0)" } ?? ""
            let grants = self.context.grants
            let grant = traits.refresh == .rotates ? grants.take(token) : grants.grant(of: token)
            return grant.map { .success($0) } ?? failure(.refreshToken)
        }
        guard traits.skippedChecks.contains(.grantType) || form["grant_type"] == "authorization_code" else {
            return failure(.grantType)
        }
        let isUnwanted = self.traits.authorization.challenge == .unwanted
        guard !isUnwanted || form["code_verifier"] == nil else { return failure(.unwantedVerifier) }
        guard let grant = form["code"].flatMap({ self.context.grants.take($0) }) else { return failure(.code) }
        guard form["redirect_uri"] == grant.redirect || form["redirect_uri"] == nil && traits.redirectIsOptional else {
            return failure(.redirect)
        }
        guard isUnwanted || grant.accepts(verifier: form["code_verifier"]) else { return failure(.verifier) }
        return .success(grant)
    }

    /// RFC 6749 §5.1.
    private func tokens(for grant: DemoGrant, isRefresh: Bool) -> DemoResponse {
        let traits = self.traits.token
        let access = traits.accessToken(self.context.random)
        let lifetime = (traits.lifetime?.integer).map { Duration.seconds($0) } ?? TokenTraits.lastingLifetime
        self.context.grants.insert(grant, for: access, lifetime: lifetime)
        var members = traits.extras(grant, self.context.clock.now)
        if isRefresh, traits.refresh == .keeps { members["refresh_token"] = nil }
        if let token = members["refresh_token"]?.string {
            let name = "refresh \(token)"
            self.context.grants.insert(grant, for: name, lifetime: TokenTraits.lastingLifetime)
        }
        members["access_token"] = .string(access)
        members["token_type"] = traits.tokenType
        members["expires_in"] = traits.lifetime
        members["scope"] = traits.scope(grant.scopes).map { .string($0) }
        if let idToken = self.traits.idToken, grant.scopes.contains("openid") {
            guard let token = try? self.token(idToken, for: grant, access: access) else {
                return traits.errorFormat.response(OAuthError("server_error", "No token was signed.", status: 500))
            }
            members["id_token"] = .string(token)
        }
        return .json(.object(members))
    }

    /// OpenID Connect Core §2.
    private func token(_ traits: IDTokenTraits, for grant: DemoGrant, access: String) throws -> String {
        let now = self.context.clock.now
        var claims = grant.members(traits.names)
        claims["iss"] = .string(self.traits.issuer)
        claims["aud"] = .string(self.context.client.id)
        claims["iat"] = .int(now.seconds)
        claims["exp"] = .int(now.seconds + traits.lifetime)
        if traits.echoesNonce { claims["nonce"] = grant.nonce.map { .string($0) } }
        claims = claims.merging(traits.extras(grant, now)) { $1 }.filter { $0.value != .null }
        let key = traits.rotation?.signer(of: claims) ?? traits.key
        if traits.hashesAccessToken { claims["at_hash"] = .string(key.hash(ofAccessToken: access)) }
        return try key.token(.object(claims))
    }

    // MARK: documents

    /// OpenID Connect Discovery §3.
    private var discovery: [String: JSON] {
        let traits = self.traits
        let urls = self.context.urls
        var members: [String: JSON] = [
            "issuer": .string(traits.issuer),
            "authorization_endpoint": .string(urls.pages + traits.paths.authorize),
            "token_endpoint": .string(urls.base + traits.paths.token),
            "response_types_supported": ["code"],
            "response_modes_supported": .array(traits.authorization.responseModes.map { .string($0) }),
            "subject_types_supported": ["public"],
            "scopes_supported": ["openid", "profile", "email"],
            "token_endpoint_auth_methods_supported": .array(traits.token.authentication.map { .string($0.published) }),
        ]
        let others = [
            "jwks_uri": traits.paths.keys.map { urls.base + $0 },
            "userinfo_endpoint": traits.paths.userinfo.map { urls.base + $0 },
            "pushed_authorization_request_endpoint": traits.paths.pushed.map { urls.base + $0 },
            "end_session_endpoint": traits.paths.endSession.map { urls.pages + $0 },
        ]
        for (name, url) in others { members[name] = url.map { .string($0) } }
        if let idToken = traits.idToken {
            members["id_token_signing_alg_values_supported"] = [.string(idToken.key.algorithm)]
        }
        if traits.authorization.challenge != .unwanted { members["code_challenge_methods_supported"] = ["S256"] }
        if traits.authorization.requiresPushed { members["require_pushed_authorization_requests"] = true }
        if traits.authorization.sendsIssuer { members["authorization_response_iss_parameter_supported"] = true }
        if traits.token.authentication.contains(.assertion) {
            members["token_endpoint_auth_signing_alg_values_supported"] = ["ES256"]
        }
        return members.merging(traits.metadata) { $1 }.filter { $0.value != .null }
    }

    /// RFC 7517 §5.
    private func keySet(_ idToken: IDTokenTraits) -> DemoResponse {
        if let rotation = idToken.rotation { return rotation.keySet() }
        let own = idToken.key.published.filter { !idToken.unpublished.contains($0.key) }
        return .json(["keys": .array(idToken.otherKeys + [.object(own)])], fields: idToken.keyFields)
    }
}
