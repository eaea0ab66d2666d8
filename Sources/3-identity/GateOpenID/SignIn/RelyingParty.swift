// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProviders

/// The gateway's side of the code flow with one provider.
///
/// RFC 6749 §4.1, OpenID Connect Core §3.1.
///
/// It keeps the provider's metadata and keys and nothing about users: an attempt is stored in the cookie of its browser.
/// Every endpoint is taken from this provider's own definition or metadata, so no response of another provider can send
/// a code or a token elsewhere. RFC 9700 §4.4.
package final class RelyingParty: Sendable {
    /// How the provider behaves.
    package let definition: ProviderDefinition
    /// The redirect URI that is registered at the provider.
    package let redirectURI: String
    /// The client id of the gateway at the provider.
    package var clientID: String { self.client.clientID }
    let client: ClientCredentials
    private let clientAuthentication: ClientAuthenticationChoice
    let clock: WallClock
    private let random: RandomBytes
    let spent: UsedAttempts
    let call: ProviderCall
    private let discovery: CachedDocument<ProviderMetadata>?
    /// What ID tokens are verified with; nil for a provider that has none.
    let keys: TokenKeys?
    /// The same keys for logout tokens, with a limit of their own on fetches for unknown keys: anonymous clients can send
    /// such tokens and must not delay sign-ins.
    private let logoutKeys: TokenKeys?
    private let keyCache: KeyCache?
    /// The sign-ins that call the provider, and those that wait for a connection to it.
    let queue: SignInQueue
    let report: @Sendable (Failure) -> Void
    /// Limits pushed authorization requests to half of the connections: anonymous clients can cause any number of them and
    /// must not delay callbacks.
    let pushes: ConcurrencyLimiter
    /// Limits re-checks to half of the connections, so that sign-ins have the other half.
    let rechecks: ConcurrencyLimiter
    /// The revocations of tokens, which no user waits for.
    let revocations: RevocationQueue

    /// The code flow with one provider.
    ///
    /// - Parameters:
    ///   - definition: How the provider behaves.
    ///   - settings: The client id, and the secret or key of the gateway at the provider.
    ///   - redirectURI: The redirect URI, one per provider.
    ///   - transport: The HTTP client for calls to the provider.
    ///   - clock: The wall clock.
    ///   - random: The source of states, nonces and verifiers.
    ///   - spent: The used attempts; shared across reloads.
    ///   - report: Called with each failed fetch of metadata or keys and for each sign-in without all its groups, also where
    ///     the user sees no error.
    /// - Throws: `provider.private_key` if there is a key that cannot be used.
    package init(
        definition: ProviderDefinition,
        settings: ProviderSettings,
        redirectURI: String,
        transport: any ProviderTransport,
        clock: WallClock,
        random: RandomBytes,
        spent: UsedAttempts = UsedAttempts(),
        report: @escaping @Sendable (Failure) -> Void = { _ in }
    ) throws(Failure) {
        self.definition = definition
        self.redirectURI = redirectURI
        let wanted = definition.clientAuthentication
        let client = try ClientCredentials(settings, method: wanted, clock: clock, random: random)
        let choice = ClientAuthenticationChoice(
            wanted: wanted,
            hasSecret: client.secret.count > 0,
            key: client.key,
            hasCertificate: client.hasCertificate,
            hasAssertion: client.assertionFile != nil
        )
        self.client = client
        self.clientAuthentication = choice
        self.report = report
        self.clock = clock
        self.random = random
        self.spent = spent
        let call = ProviderCall(provider: definition.id, transport: transport)
        self.call = call
        self.queue = SignInQueue(slots: definition.maxConnections)
        self.pushes = ConcurrencyLimiter(limit: max(1, definition.maxConnections / 2))
        self.rechecks = ConcurrencyLimiter(limit: max(1, definition.maxConnections / 2))
        self.revocations = RevocationQueue(connections: definition.maxConnections)
        let discovery = RelyingParty.discovery(definition, choice, call, clock, report)
        self.discovery = discovery
        let published =
            definition.usesSecretForTokens
            ? nil : discovery.map { RelyingParty.keySet(definition, $0, call, clock, report) }
        let cache = published.map { KeyCache($0, clock: clock) }
        self.keyCache = cache
        let secret = discovery == nil ? nil : TokenKeys.secret(client.secret)
        self.keys = definition.usesSecretForTokens ? secret : cache.map(TokenKeys.published)
        self.logoutKeys =
            definition.usesSecretForTokens
            ? secret : published.map { TokenKeys.published(KeyCache($0, clock: clock)) }
    }

    /// The age of the provider's keys, and whether they are used beyond their lifetime; nil without keys.
    package var keyAge: (age: Duration, isStale: Bool)? { self.keyCache?.age }

    /// How many sign-ins wait for a connection to the provider.
    package var waitingSignIns: Int { self.queue.waitingCount }

    /// Checks of the provider's documents, for `gatehouse check --online`.
    package var diagnostics: MetadataDiagnostics {
        MetadataDiagnostics(
            definition: self.definition,
            call: self.call,
            clock: self.clock,
            clientAuthentication: self.clientAuthentication
        )
    }

    /// Fetches metadata and keys unless fresh ones are cached, for a check before a user signs in.
    package func prepare() async throws(Failure) {
        _ = try await self.metadata()
        try await self.prepareKeys()
    }

    /// Fetches the keys unless usable ones are cached.
    func prepareKeys() async throws(Failure) {
        try await self.keyCache?.prepare()
    }

    /// The endpoints that sign-ins call: the token endpoint first, userinfo only if the profile reads it.
    ///
    /// Fetches the metadata unless fresh ones are cached.
    package func called() async throws(Failure) -> [WebURL] {
        let metadata = try await self.metadata()
        let userinfo = self.definition.readsUserinfo ? metadata.userinfo : nil
        return [metadata.token] + [metadata.keys, userinfo, metadata.pushedAuthorization].compactMap { $0 }
    }

    /// The provider's endpoints.
    func metadata() async throws(Failure) -> ProviderMetadata {
        switch (self.definition.signIn, self.discovery) {
        case (.oauth2(let endpoints), _):
            return try ProviderMetadata(endpoints, of: self.definition, self.clientAuthentication)
        case (.openID, let discovery?): return try await discovery.current()
        case (.openID, nil): throw Failure(.openIDEndpointsMissing, "no discovery for this provider")
        }
    }
}

// MARK: Start of a sign-in

extension RelyingParty {
    /// Begins an attempt and builds the authorization request.
    ///
    /// - Parameters:
    ///   - returnPath: The URL that the user requested; over 1280 bytes it becomes the front page.
    ///   - replacedTicket: The ticket of the session that this sign-in replaces, at most 256 bytes.
    ///   - offersOtherAccounts: Whether the provider is asked, if it can, to let the user choose another account.
    ///   - silent: The user whose session is re-checked without a page of the provider; nil for a usual sign-in.
    ///   - demand: What the sign-in is asked for; nil if nothing is. The provider learns of it as far as it can.
    ///   - loginHint: The account that a client of the gateway expects; nil if it expects none.
    ///   - browser: What the attempts of the browser have in common; nil if it has none open.
    /// - Returns: The URL of the redirect, and the attempt to seal into the browser's cookie.
    /// - Throws: `provider.unavailable` and similar failures if the metadata cannot be fetched or the provider rejects the
    ///   pushed request.
    package func authorization(
        returnPath: ReturnPath,
        replacedTicket: String?,
        offersOtherAccounts: Bool = false,
        silent: Profile? = nil,
        demand: AuthenticationDemand? = nil,
        loginHint: String? = nil,
        browser: String? = nil
    ) async throws(Failure) -> (location: String, attempt: Attempt) {
        guard (replacedTicket ?? "").utf8.count <= Attempt.maxTicketLength else {
            throw Failure(.openIDSessionTransferTooLong, "the ticket has more than 256 bytes")
        }
        let metadata = try await self.metadata()
        var demand = demand
        if demand?.reauthenticates == true {
            // The browser cannot change what it does not carry: RFC 9126 §1.
            demand?.isEnforced = self.definition.reauthentication != nil && metadata.pushedAuthorization != nil
        }
        let attempt = Attempt(
            provider: self.definition.id,
            returnPath: returnPath,
            replacedTicket: replacedTicket,
            isSilent: silent != nil && self.hasSilentSignIn,
            demand: demand,
            browser: browser,
            now: self.clock.now,
            random: self.random
        )
        var form = self.authorizationForm(for: attempt, offersOtherAccounts: offersOtherAccounts, hint: silent?.email)
        if let loginHint, !attempt.isSilent, self.hasSilentSignIn {
            // OpenID Connect Core §3.1.2.1; what the client of the gateway sent counts more than the configuration.
            form = Form(form.fields.filter { $0.name != "login_hint" } + [Form.Field("login_hint", loginHint)])
        }
        if let maxAge = attempt.demand?.maxAge, case .openID = self.definition.signIn {
            // OpenID Connect Core §3.1.2.1; it counts whatever the configuration has.
            form = Form(form.fields.filter { $0.name != "max_age" })
            form.append("max_age", "\(max(0, maxAge.wholeSeconds))")
        }
        if attempt.demand?.reauthenticates == true, let field = self.definition.reauthentication {
            // OpenID Connect Core §3.1.2.1; it asks for more than another `prompt` does.
            form = Form(form.fields.filter { $0.name != field.name } + [field])
        }
        if let endpoint = metadata.pushedAuthorization {
            guard self.pushes.acquire() else {
                let detail = "half of max_connections send pushed authorization requests already"
                throw Failure(.providerBusy, detail)
            }
            defer { self.pushes.release() }
            form = try await self.push(form, to: endpoint, metadata)
        }
        let endpoint = metadata.authorization
        let own = endpoint.query.map { Form(encoded: $0) ?? form } ?? Form()
        guard form.fields.allSatisfy({ own.single($0.name) == .absent }) else {
            throw Failure(
                .openIDMetadata,
                "authorization_endpoint has a query with parameters of the request itself"
            )
        }
        let query = endpoint.query.map { $0.isEmpty ? form.encoded : "\($0)&\(form.encoded)" } ?? form.encoded
        return ("\(WebURL(origin: endpoint.origin, path: endpoint.path, query: query))", attempt)
    }

    /// Whether the provider knows `prompt=none`.
    ///
    /// OpenID Connect Core §3.1.2.1.
    private var hasSilentSignIn: Bool {
        guard case .openID = self.definition.signIn else { return false }
        return true
    }

    /// The parameters of RFC 6749 §4.1.1, RFC 7636 §4.3 and OpenID Connect Core §3.1.2.1.
    ///
    /// Parameters from the configuration replace none of them.
    private func authorizationForm(for attempt: Attempt, offersOtherAccounts: Bool, hint: String?) -> Form {
        var form = Form()
        form.append("response_type", "code")
        form.append("client_id", self.client.clientID)
        form.append("redirect_uri", self.redirectURI)
        if !self.definition.scopes.isEmpty {
            form.append("scope", self.definition.scopes.joined(separator: " "))
        }
        form.append("state", attempt.state)
        if case .openID = self.definition.signIn { form.append("nonce", attempt.nonce) }
        if self.definition.pkce != .off {
            form.append("code_challenge", attempt.challenge)
            form.append("code_challenge_method", "S256")
        }
        if self.definition.responseMode == .formPost { form.append("response_mode", "form_post") }
        if offersOtherAccounts, let field = self.definition.accountChoice { form.append(field.name, field.value) }
        if attempt.isSilent {
            form.append("prompt", "none")
            if let hint { form.append("login_hint", hint) }
        }
        for field in self.definition.authorizationParameters where form.single(field.name) == .absent {
            form.append(field.name, field.value)
        }
        return form
    }

    /// Pushes the parameters and returns those for the browser: client id and request URI.
    ///
    /// RFC 9126 §2.1, §4.
    private func push(
        _ form: Form,
        to endpoint: WebURL,
        _ metadata: ProviderMetadata
    ) async throws(Failure) -> Form {
        var pushed = Form(form.fields.filter { $0.name != "client_id" && $0.name != "request_uri" })
        // RFC 9126 §2 permits the issuer as the audience; it was compared with the configuration, an endpoint was not.
        let proof = self.proof(metadata, audience: metadata.issuer)
        let authorization = try self.client.authenticate(&pushed, by: proof)
        if pushed["client_id"] == nil { pushed.append("client_id", self.client.clientID) }
        let response = try await self.call.post(
            pushed,
            to: endpoint,
            authorization: authorization,
            endpoint: .pushedAuthorization
        )
        let pushedRequest = try PushedAuthorization(
            response,
            advice: self.advice(metadata, sent: pushed, authorization)
        )
        var rest = Form()
        rest.append("client_id", self.client.clientID)
        rest.append("request_uri", pushedRequest.requestURI)
        return rest
    }

    /// The client authentication for one audience.
    func proof(_ metadata: ProviderMetadata, audience: String) -> ClientProof {
        switch metadata.clientAuthentication {
        case .secretPost: .post
        case .secretBasic, .advertised: .basic
        case .privateKeyJWT: .assertion(audience: audience, algorithm: metadata.assertionAlgorithm)
        case .signedSecret: .signedSecret(audience: metadata.issuer)
        case .assertionFile: .assertionFile
        case .certificate, .ownCertificate: .certificate
        case .none: .none
        }
    }

    /// Advice for the operator when the provider rejects the client authentication.
    ///
    /// Secrets that were sent are removed, in case the provider repeats them.
    func advice(_ metadata: ProviderMetadata, sent form: Form, _ authorization: String?) -> ClientAdvice {
        let names: Set = ["code", "code_verifier", "refresh_token", "token", "client_secret", "client_assertion"]
        let credentials = authorization.map { String($0.drop { $0 != " " }.dropFirst()) }
        let sent = form.fields.filter { names.contains($0.name) }.map(\.value) + [credentials].compactMap(\.self)
        return ClientAdvice(
            method: metadata.clientAuthentication,
            redirectURI: self.redirectURI,
            secrets: sent + [self.client.secret.withText { $0 }]
        )
    }
}

// MARK: Logout

extension RelyingParty {
    /// Verifies a logout token that a client posted; anonymous clients can post anything.
    ///
    /// OpenID Connect Back-Channel Logout §2.6.
    ///
    /// - Parameter text: The token as it was received.
    /// - Returns: The verified token.
    /// - Throws: `logout.token` for a token that is rejected, `logout.unverified` if there are no keys to verify it with, or
    ///   not yet.
    package func logoutToken(_ text: String) async throws(Failure) -> LogoutToken {
        guard let keys = self.logoutKeys else {
            throw Failure(.logoutToken, "the provider has no ID tokens, so it has no logout tokens either")
        }
        do throws(Failure) {
            let expected = LogoutToken.Expectation(
                definition: self.definition,
                discoveredIssuer: try await self.metadata().issuer,
                clientID: self.client.clientID,
                now: self.clock.now
            )
            return try await LogoutToken.verified(text, by: keys, expecting: expected)
        } catch {
            let breaksRule = error.reason.entry.section == .idToken || error.reason == .providerTenant
            // The key may be a new one that is fetched only later.
            let isRejected = breaksRule && error.reason != .idTokenKeyUnknown
            throw Failure(isRejected ? .logoutToken : .logoutUnverified, "\(error.code): \(error.detail)")
        }
    }

    /// The origins at the provider that browsers visit, whose pages may frame the response to a front-channel logout.
    ///
    /// OpenID Connect Front-Channel Logout §2. Fetches nothing, because anonymous clients can ask for it: before the first
    /// sign-in it is the origin of the metadata.
    package var pageOrigins: Set<Origin> {
        guard case .openID(let discovery) = self.definition.signIn else { return [] }
        let metadata = self.discovery?.cached
        return Set(
            [discovery.origin, metadata?.authorization.origin, metadata?.endSession?.origin].compactMap(\.self)
        )
    }
}

// MARK: Documents

extension RelyingParty {
    private static func discovery(
        _ definition: ProviderDefinition,
        _ choice: ClientAuthenticationChoice,
        _ call: ProviderCall,
        _ clock: WallClock,
        _ report: @escaping @Sendable (Failure) -> Void
    ) -> CachedDocument<ProviderMetadata>? {
        guard case .openID(let address) = definition.signIn else { return nil }
        return CachedDocument(clock: clock, report: report) { (_) throws(Failure) in
            let document = try await call.document(at: address, limit: 262_144)
            return (try ProviderMetadata(document.json, of: definition, choice), document.lifetime)
        }
    }

    private static func keySet(
        _ definition: ProviderDefinition,
        _ discovery: CachedDocument<ProviderMetadata>,
        _ call: ProviderCall,
        _ clock: WallClock,
        _ report: @escaping @Sendable (Failure) -> Void
    ) -> CachedDocument<KeySet> {
        CachedDocument(clock: clock, staleness: definition.keysMaxStale, report: report) { (earlier) throws(Failure) in
            guard let address = try await discovery.current().keys else {
                throw Failure(.openIDMetadata, "discovery has no jwks_uri")
            }
            return try await KeySet.fetched(from: address, of: definition, by: call, after: earlier, clock: clock)
        }
    }
}
