// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
package import GateClients
package import GateCore
package import GateSessions

/// A request for an authorization code, checked.
///
/// RFC 6749 §4.1.1, RFC 7636 §4.3, OpenID Connect Core §3.1.2.1.
package struct AuthorizationRequest: Sendable {
    package let client: ClientSettings
    /// Where the response goes.
    package let target: AuthorizationTarget
    /// What the client asks for.
    package let terms: AuthorizationCode.Terms
    /// What the client wants the user to see.
    package let prompt: Prompt
    /// How recent the authentication must be; nil if that does not matter.
    package let maxAge: Duration?
    /// The provider that the user is to sign in with; nil for the user's choice.
    package let provider: String?
    /// The user of an ID token of ours that the client expects.
    package let expectedUser: String?
    /// Whether the client names the audiences.
    package let namesAudiences: Bool

    /// What the user sees.
    package struct Prompt: Sendable, Hashable {
        /// Nothing: the request fails rather than that.
        package var none = false
        /// A sign-in, even with a session.
        package var login = false
        /// The consent page.
        package var consent = false
        /// The choice of an account.
        package var selectAccount = false
    }
}

/// Where the response to an authorization request goes.
package struct AuthorizationTarget: Sendable, Hashable {
    package let client: String
    /// Whether the client has no entry in the file, so that anyone may have chosen the redirect URI.
    package let isOpen: Bool
    /// The redirect URI of the client, registered.
    package let redirectURI: String
    /// What the client wants back.
    package let state: String?
    /// The issuer, against mix-up attacks.
    ///
    /// RFC 9207 §2.
    let issuer: String

    /// The URL to which the browser is redirected.
    ///
    /// RFC 6749 §4.1.2.
    private func url(_ fields: [Form.Field]) -> String {
        let state = self.state.map { [Form.Field("state", $0)] } ?? []
        let form = Form(fields + state + [Form.Field("iss", self.issuer)])
        return "\(self.redirectURI)\(self.redirectURI.utf8.contains(UInt8(ascii: "?")) ? "&" : "?")\(form.encoded)"
    }

    package func url(code: String) -> String { self.url([Form.Field("code", code)]) }

    package func url(_ error: OAuthError) -> String {
        self.url([Form.Field("error", error.code.rawValue), Form.Field("error_description", error.detail)])
    }
}

/// What became of an authorization request.
package enum ParsedAuthorizationRequest: Sendable {
    case valid(AuthorizationRequest)
    /// The client gets an error.
    case error(OAuthError, AuthorizationTarget)
    /// Client or redirect URI are not registered, so that only the user may get the response, with this reason.
    case untrusted(String)
}

extension Issuer {
    private static let maxValue = 2048
    /// The scopes of an app, those of OpenID Connect, and some that mean nothing here.
    private static let maxScopes = 64
    /// The parameters that may have any character; comparing others that are not ASCII may take long.
    private static let freeTexts: Set<String> = ["state", "login_hint", "client_secret", "client_name"]
    private static let maxResources = 8

    /// Parses and checks an authorization request.
    package func authorizationRequest(_ form: Form) -> ParsedAuthorizationRequest {
        guard case .value(let id) = form.single("client_id") else {
            return .untrusted("'client_id' is missing or repeated")
        }
        guard id.utf8.allSatisfy({ $0 < 0x80 }), let client = self.client(named: id) else {
            return .untrusted("no client '\(PrintableText.escaped(id, limit: 100))' is configured in 'clients'")
        }
        return self.authorizationRequest(form, of: client)
    }

    /// The same of a client that is known.
    package func authorizationRequest(_ form: Form, of client: ClientSettings) -> ParsedAuthorizationRequest {
        let redirectURI: String
        switch form.single("redirect_uri") {
        case .value(let text):
            guard client.redirectURI(text) else {
                let shown = PrintableText.escaped(text, limit: 200)
                return .untrusted("'\(shown)' is not one of the 'redirect_uris' of the client '\(client.id)'")
            }
            redirectURI = text
        case .absent:
            // The list of an open client may be another one after the user has consented.
            guard !client.isOpen, client.redirectURIs.count == 1, let only = client.redirectURIs.first else {
                return .untrusted("'redirect_uri' is missing, and the client '\(client.id)' has not exactly one")
            }
            redirectURI = only.text
        case .repeated: return .untrusted("'redirect_uri' is repeated")
        }
        let state = form.single("state")
        let target = AuthorizationTarget(
            client: client.id,
            isOpen: client.isOpen,
            redirectURI: redirectURI,
            state: form["state"].flatMap { $0.utf8.count <= Issuer.maxValue ? $0 : nil },
            issuer: self.url
        )
        do throws(OAuthError) {
            if state != .absent, target.state == nil {
                throw OAuthError(.invalidRequest, "'state' is repeated or has over \(Issuer.maxValue) bytes")
            }
            return .valid(try self.checked(form, of: client, target))
        } catch {
            return .error(error, target)
        }
    }

    private func checked(
        _ form: Form,
        of client: ClientSettings,
        _ target: AuthorizationTarget
    ) throws(OAuthError) -> AuthorizationRequest {
        try Issuer.checkNames(of: form)
        if form["request"] != nil { throw OAuthError(.requestNotSupported, "request objects are not supported") }
        if let uri = form["request_uri"] {
            guard PushedRequest.isURI(uri) else {
                throw OAuthError(.requestURINotSupported, "'request_uri' is not one of \(self.endpoints.path("par"))")
            }
            throw OAuthError(.invalidRequestURI, "'request_uri' is not one that this client has pushed")
        }
        if form["registration"] != nil {
            throw OAuthError(.registrationNotSupported, "'registration' is not supported")
        }
        guard client.grants.contains(.authorizationCode) else {
            throw OAuthError(.unauthorizedClient, "the client's 'grants' do not have authorization_code")
        }
        // RFC 6749 §4.1.2.1: a parameter that is missing is another error than one that is not supported.
        guard let type = form["response_type"] else {
            throw OAuthError(.invalidRequest, "'response_type' is missing: it must be 'code'")
        }
        guard type == "code" else { throw OAuthError(.unsupportedResponseType, "'response_type' must be 'code'") }
        guard form["response_mode"] ?? "query" == "query" else {
            throw OAuthError(.invalidRequest, "'response_mode' must be 'query'")
        }
        guard form["code_challenge_method"] == "S256", let challenge = form["code_challenge"],
            let bytes = Base64URL.decode(challenge), bytes.count == 32
        else {
            let help = "switch on PKCE with the method S256 in the client, so that it sends 'code_challenge' (RFC 7636)"
            throw OAuthError(.invalidRequest, "PKCE is required: \(help)")
        }
        var terms = AuthorizationCode.Terms(client: client.id, redirectURI: target.redirectURI, challenge: challenge)
        let named = try self.namedAudiences(in: form, of: client)
        guard !client.isOpen || !named.isEmpty else {
            throw OAuthError(.invalidTarget, "name the app in 'resource' (RFC 8707)")
        }
        terms.scopes = try self.scopes(
            form["scope"],
            at: named.isEmpty ? self.audiences(of: client) : named,
            of: client
        )
        terms.audiences = named.isEmpty ? self.audiences(of: client, for: terms.scopes) : named
        terms.nonce = form["nonce"]
        if let thumbprint = form["dpop_jkt"] {
            guard DPoPProof.isThumbprint(thumbprint) else {
                throw OAuthError(.invalidRequest, "'dpop_jkt' must be a SHA-256 thumbprint in base64url (RFC 9449 §10)")
            }
            terms.keyThumbprint = thumbprint
        }
        return AuthorizationRequest(
            client: client,
            target: target,
            terms: terms,
            prompt: try Issuer.prompt(form["prompt"]),
            maxAge: try Issuer.maxAge(form["max_age"]),
            provider: form["provider"],
            expectedUser: try self.expectedUser(form["id_token_hint"]),
            namesAudiences: !named.isEmpty
        )
    }

    /// Rejects repeated parameters and long ones; `resource` may be repeated.
    ///
    /// RFC 6749 §3.1, RFC 8707 §2.
    static func checkNames(of form: Form) throws(OAuthError) {
        var names: Set<String> = []
        for field in form.fields where field.name != "resource" && field.name != "audience" {
            guard names.insert(field.name).inserted else {
                throw OAuthError(.invalidRequest, "'\(field.name)' is repeated")
            }
        }
        let foreign = form.fields.first { field in
            !self.freeTexts.contains(field.name) && !field.value.utf8.allSatisfy { $0 < 0x80 }
        }
        if let foreign { throw OAuthError(.invalidRequest, "'\(foreign.name)' has a character that is not ASCII") }
        let long = form.fields.first { field in
            let isToken = ["_hint", "token", "code", "scope"].contains { field.name.hasSuffix($0) }
            return field.value.utf8.count > (isToken ? 4 * self.maxValue : self.maxValue)
        }
        if let long { throw OAuthError(.invalidRequest, "'\(long.name)' is too long") }
    }

    /// The scopes of a request that mean something at some audiences or for the client, each once; others are ignored (OpenID Connect Core §3.1.2.1).
    func scopes(
        _ text: String?,
        at audiences: [String],
        of client: ClientSettings
    ) throws(OAuthError) -> [String] {
        let words = (text ?? "").split(separator: " ").map(String.init)
        guard words.count <= Issuer.maxScopes else {
            throw OAuthError(.invalidScope, "'scope' has over \(Issuer.maxScopes) words")
        }
        let known = Issuer.scopes + client.scopes.keys + audiences.flatMap { self.appScopes[$0] ?? [] }
        var found: [String] = []
        for word in words where known.contains(word) && !found.contains(word) { found.append(word) }
        return found
    }

    /// The audiences that the parameters `resource` name; none without one.
    func namedAudiences(in form: Form, of client: ClientSettings) throws(OAuthError) -> [String] {
        let resources = form.fields.filter { $0.name == "resource" }.map(\.value)
        guard resources.count <= Issuer.maxResources else {
            throw OAuthError(.invalidTarget, "'resource' is repeated over \(Issuer.maxResources) times")
        }
        var found: [String] = []
        for resource in resources {
            guard let audience = self.audience(named: resource, of: client) else {
                let help = "list the app in 'audiences' of the client, and 'token' in 'accept' of the app"
                throw OAuthError(.invalidTarget, "tokens of this client cannot be for '\(resource)': \(help)")
            }
            if !found.contains(where: { isIdentical($0, audience) }) { found.append(audience) }
        }
        return found
    }

    /// OpenID Connect Core §3.1.2.1.
    private static func prompt(_ text: String?) throws(OAuthError) -> AuthorizationRequest.Prompt {
        var prompt = AuthorizationRequest.Prompt()
        let words = (text ?? "").split(separator: " ")
        for word in words {
            switch word {
            case "none": prompt.none = true
            case "login": prompt.login = true
            case "consent": prompt.consent = true
            case "select_account": prompt.selectAccount = true
            default: throw OAuthError(.invalidRequest, "'prompt' has a word that is not supported")
            }
        }
        guard !prompt.none || words.count == 1 else {
            throw OAuthError(.invalidRequest, "'prompt' has 'none' beside another word")
        }
        return prompt
    }

    private static func maxAge(_ text: String?) throws(OAuthError) -> Duration? {
        guard let text else { return nil }
        guard let seconds = Int64(text), seconds >= 0, seconds <= 1 << 32 else {
            throw OAuthError(.invalidRequest, "'max_age' must be a number of seconds")
        }
        return .seconds(seconds)
    }

    /// The user of an ID token of ours, expired or not.
    private func expectedUser(_ hint: String?) throws(OAuthError) -> String? {
        guard let hint else { return nil }
        guard let user = self.signer.claims(of: hint.utf8, as: .idToken)?["sub"]?.string else {
            throw OAuthError(.invalidRequest, "'id_token_hint' is not an ID token of this issuer")
        }
        return user
    }
}
