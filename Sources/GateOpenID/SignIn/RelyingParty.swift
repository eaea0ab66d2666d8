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
    private let spent: UsedAttempts
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

// MARK: Callback

extension RelyingParty {
    /// Ends an attempt: turns a callback into a signed-in user.
    ///
    /// The order of the checks: the attempt is of this provider and has not expired, `state`, unused attempt, `iss`, the
    /// provider's error, keys, a slot among the sign-ins that call the provider, code, ID token, userinfo and API calls,
    /// groups, profile. A callback without a valid attempt sends nothing to the provider. A sign-in that gets no keys or no
    /// slot in time leaves its attempt unused, so that the same callback can be repeated.
    ///
    /// - Parameters:
    ///   - callback: The query of the callback, or its body if it is a POST.
    ///   - attempt: The attempt from the cookie of the browser.
    ///   - looksUpGroups: Whether a rule needs groups; if not, no calls are made for them.
    ///   - claim: Uses the attempt up at all gateways; called after the last check that may leave it unused.
    ///   - accepted: Called when the callback is known to belong to the attempt, before the provider is asked.
    /// - Returns: The user.
    /// - Throws: The first check that failed.
    package func signIn(
        callback: Form,
        attempt: Attempt,
        looksUpGroups: Bool = true,
        claim: () async throws(Failure) -> Void = {},
        accepted: () -> Void = {}
    ) async throws(Failure) -> SignIn {
        let response = try AuthorizationResponse(callback)
        guard attempt.provider == self.definition.id else {
            throw Failure(.openIDProviderMismatch, "the attempt is with another provider")
        }
        guard self.clock.now < attempt.expiry else {
            throw Failure(
                .openIDAttemptExpired,
                "the user took more than \(Attempt.lifetime.wholeSeconds) seconds at the provider"
            )
        }
        guard constantTimeEquals(response.state.utf8, attempt.state.utf8) else {
            throw Failure(.openIDStateMismatch, "callback does not belong to this browser")
        }
        guard self.spent.insert(attempt, at: self.clock.now) else {
            throw Failure(.openIDAttemptSpent, "this callback was used before")
        }
        accepted()
        let metadata = try await self.metadata()
        try self.check(issuer: response.issuer, metadata)
        switch response.outcome {
        case .error(let error):
            try await self.use(attempt, claim)
            throw response.failure(error)
        case .code(let code):
            let ticket = try await self.ticket(for: attempt)
            defer { self.queue.release(ticket) }
            try await self.use(attempt, claim)
            do throws(Failure) {
                return try await self.signIn(code, response, attempt, metadata, looksUpGroups: looksUpGroups)
            } catch {
                // The token was issued a moment ago: the provider rejects the call, whatever it reports about the token.
                throw error.reason == .providerTokenRejected ? Failure(.providerAPIRefused, error.detail) : error
            }
        }
    }

    /// A slot among the sign-ins that call the provider, after its keys were fetched: no sign-in holds a slot while it waits
    /// for keys, and no code is redeemed for a token that could not be verified.
    private func ticket(for attempt: Attempt) async throws(Failure) -> UInt64 {
        do throws(Failure) {
            try await self.prepareKeys()
            return try await self.queue.enter()
        } catch {
            self.spent.remove(attempt)
            throw error
        }
    }

    /// Uses the attempt up at all gateways: a provider revokes the tokens of a code that is redeemed twice (RFC 6749 §4.1.2).
    private func use(_ attempt: Attempt, _ claim: () async throws(Failure) -> Void) async throws(Failure) {
        do throws(Failure) {
            try await claim()
        } catch {
            if error.reason != .openIDAttemptSpent { self.spent.remove(attempt) }
            throw error
        }
    }

    private func signIn(
        _ code: String,
        _ response: AuthorizationResponse,
        _ attempt: Attempt,
        _ metadata: ProviderMetadata,
        looksUpGroups: Bool
    ) async throws(Failure) -> SignIn {
        let token = try await self.redeem(code, of: attempt, metadata)
        let expected = self.expectation(token, attempt, metadata)
        let idToken = try await self.idToken(token, expected)
        if let issuer = response.issuer, let idToken, !isIdentical(issuer, idToken.issuer) {
            let detail = "callback and ID token name different issuers"
            throw Failure(.openIDDiscoveryIssuerMismatch, detail)
        }
        var payloads = ProviderPayloads(idToken: idToken?.claims, callback: response.extras)
        var notes: [String] = []
        let isNeeded = self.definition.readsUserinfo(after: payloads, groups: looksUpGroups)
        switch try await self.userinfo(token.accessToken, of: idToken, expected, metadata, isNeeded: isNeeded) {
        case .notNeeded: break
        case .claims(let claims): payloads.userinfo = claims
        case .unavailable(let failure):
            payloads.isUserinfoUnavailable = true
            self.report(Failure(.providerUserinfoUnavailable, failure.detail))
            notes.append("Userinfo has no claims (\(failure.detail)): what only userinfo contains is unknown.")
        }
        var user = try await self.user(
            payloads,
            token.accessToken,
            granted: token.scopes,
            looksUpGroups: looksUpGroups
        )
        user.notes = notes + user.notes
        let grant = ProviderGrant(token, extras: response.extras, keeping: nil, at: self.clock.now)
        return SignIn(user, token, idToken, metadata, grant, usesSubjectClaim: self.definition.usesSubjectClaim)
    }

    /// RFC 9207 §2.4; errors are checked as well, because another provider may have sent them.
    private func check(issuer: String?, _ metadata: ProviderMetadata) throws(Failure) {
        guard let issuer else {
            guard !metadata.requiresCallbackIssuer else {
                throw Failure(.openIDIssuerMissing, "the callback has no iss")
            }
            return
        }
        guard self.definition.issuer.admits(callback: issuer, discovered: metadata.issuer) else {
            throw Failure(
                .openIDIssuerMismatch,
                "the callback names \(ReceivedText.quoted(issuer))"
            )
        }
    }

    /// RFC 6749 §4.1.3, RFC 7636 §4.5.
    private func redeem(
        _ code: String,
        of attempt: Attempt,
        _ metadata: ProviderMetadata
    ) async throws(Failure) -> TokenResponse {
        var form = Form()
        form.append("grant_type", "authorization_code")
        form.append("code", code)
        form.append("redirect_uri", self.redirectURI)
        if self.definition.pkce != .off { form.append("code_verifier", attempt.verifier) }
        return try await self.tokens(for: form, metadata)
    }

    /// The response of the token endpoint to a request with client authentication.
    func tokens(for form: Form, _ metadata: ProviderMetadata) async throws(Failure) -> TokenResponse {
        var form = form
        // The audience is the endpoint that receives the assertion, so it is useless elsewhere. RFC 7523 §3.
        let proof = self.proof(metadata, audience: "\(metadata.token)")
        let authorization = try self.client.authenticate(&form, by: proof)
        let response = try await self.call.post(form, to: metadata.token, authorization: authorization)
        return try TokenResponse(
            response,
            advice: self.advice(metadata, sent: form, authorization),
            takesForms: self.keys == nil
        )
    }

    func expectation(
        _ token: TokenResponse,
        _ attempt: Attempt,
        _ metadata: ProviderMetadata
    ) -> IDToken.Expectation {
        IDToken.Expectation(
            definition: self.definition,
            discoveredIssuer: metadata.issuer,
            clientID: self.client.clientID,
            nonce: attempt.nonce,
            accessToken: token.accessToken,
            now: self.clock.now
        )
    }

    /// The verified ID token; nil for a provider that has none.
    func idToken(
        _ token: TokenResponse,
        _ expected: IDToken.Expectation
    ) async throws(Failure) -> IDToken? {
        guard let keys = self.keys else { return nil }
        guard let text = token.idToken else {
            throw Failure(.openIDMissingIDToken, "the response of the token endpoint has no ID token")
        }
        return try await IDToken.verified(text, by: keys, expecting: expected)
    }

    /// The result of the userinfo call.
    enum Userinfo {
        /// The ID token has all that the profile reads, or the provider has no userinfo.
        case notNeeded
        /// It is about the same subject.
        case claims(JSON)
        /// The provider did not respond, or with something else than claims about a user.
        case unavailable(Failure)
    }

    /// The failures after which nothing that the provider sent can be trusted.
    private static let breaches: Set<Failure.Reason> = [
        .openIDUserinfoSubject, .openIDUserinfoToken, .providerTLS, .providerPinMismatch,
    ]

    /// The failures of an endpoint that is down.
    static let outages: Set<Failure.Reason> = [
        .providerUnavailable, .providerTimeout, .providerUnreachable, .providerConnectionLost,
        .providerQueueFull, .providerNoResources,
    ]

    /// The userinfo response, fetched only if it is needed; it must be about the same subject.
    ///
    /// An endpoint that is down, rejects the token or responds with anything but claims does not fail the sign-in, because the
    /// ID token identifies the user; what only userinfo has is unknown. A response about another subject, a signature that
    /// is not valid, another server, and a profile that reads the subject from here fail it. OpenID Connect Core §5.3.2.
    func userinfo(
        _ accessToken: String,
        of idToken: IDToken?,
        _ expected: IDToken.Expectation,
        _ metadata: ProviderMetadata,
        isNeeded: Bool
    ) async throws(Failure) -> Userinfo {
        guard isNeeded, let idToken, let keys = self.keys, let endpoint = metadata.userinfo else { return .notNeeded }
        do throws(Failure) {
            let userinfo: JSON
            switch try await self.call.userinfo(at: endpoint, accessToken: accessToken) {
            case .plain(let claims): userinfo = claims
            case .signed(let text): userinfo = try await expected.claims(inUserinfo: text, by: keys)
            }
            guard let subject = userinfo["sub"]?.string else {
                throw Failure(.providerMalformedJSON, "userinfo has no sub, so it is about no user")
            }
            guard isIdentical(subject, idToken.subject) else {
                throw Failure(.openIDUserinfoSubject, "sub of userinfo is another one, expected that of the ID token")
            }
            return .claims(userinfo)
        } catch {
            guard !RelyingParty.breaches.contains(error.reason), !self.definition.readsUserinfoForSubject else {
                throw error
            }
            return .unavailable(error)
        }
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

// MARK: Profile

extension RelyingParty {
    /// The user whom the tokens and the provider's API describe.
    ///
    /// - Parameters:
    ///   - payloads: The claims of the tokens.
    ///   - accessToken: The access token for the calls.
    ///   - scopes: The granted scopes, if the provider reports them.
    ///   - looksUpGroups: Whether groups are looked up.
    /// - Returns: The profile, and notes for the operator.
    /// - Throws: Why there is no profile; `provider.api_refused` if the provider rejects a call that the subject needs.
    func user(
        _ payloads: ProviderPayloads,
        _ accessToken: String,
        granted scopes: [String]?,
        looksUpGroups: Bool
    ) async throws(Failure) -> (mapped: MappedProfile, notes: [String]) {
        let access = APIAccess(self.definition, accessToken: accessToken, secret: self.client.secret)
        var payloads = payloads
        var notes = try await self.fetch(&payloads, access)
        let mapped = try self.definition.profile(from: payloads)
        guard looksUpGroups else { return (mapped, notes) }
        let resolver = GroupResolver(definition: self.definition, call: self.call, access: access)
        guard let found = await resolver.found(for: mapped.profile, payloads, granted: scopes) else {
            return (mapped, notes)
        }
        notes += found.notes
        if !found.names.isComplete {
            let detail = found.notes.first ?? "the provider omitted some"
            self.report(Failure(.providerGroupsIncomplete, detail))
        }
        payloads.lookedUp = found.names
        return (try self.definition.profile(from: payloads), notes)
    }

    /// Makes the API calls that the profile needs, until no response requires another call.
    private func fetch(_ payloads: inout ProviderPayloads, _ access: APIAccess) async throws(Failure) -> [String] {
        var notes: [String] = []
        var made: Set<String> = []
        for _ in self.definition.apiCalls {
            let wanted = self.definition.wantedCalls(for: payloads, made: made)
            guard !wanted.isEmpty else { break }
            for call in wanted {
                made.insert(call.path)
                switch try await self.call.json(of: call, access) {
                case .success(let json): payloads.api[call.path] = json
                case .failure(let failure):
                    guard !call.isRequired else { throw failure }
                    let scopes = self.definition.scopes.joined(separator: " ")
                    notes.append("\(failure.detail). Its fields stay empty: grant the app what it needs (\(scopes)).")
                }
            }
        }
        return notes
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

extension SignIn {
    init(
        _ user: (mapped: MappedProfile, notes: [String]),
        _ token: TokenResponse,
        _ idToken: IDToken?,
        _ metadata: ProviderMetadata,
        _ grant: ProviderGrant,
        usesSubjectClaim: Bool
    ) {
        self.mapped = user.mapped
        self.grant = grant
        self.idToken = idToken?.text
        self.subjectClaim = usesSubjectClaim ? nil : idToken?.subject
        self.providerSession = idToken?.session
        self.endSessionEndpoint = metadata.endSession
        self.grantedScopes = token.scopes
        self.accessTokenLifetime = token.lifetime
        self.idTokenLifetime = idToken?.lifetime
        self.notes = user.notes
    }
}
