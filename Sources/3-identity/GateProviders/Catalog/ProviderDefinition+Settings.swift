// SPDX-License-Identifier: Apache-2.0

package import GateCore

extension ProviderDefinition {
    /// The definition from the configuration of one provider.
    ///
    /// - Throws: A failure whose detail names the setting that is missing or cannot be used.
    package init(_ settings: ProviderSettings) throws(Failure) {
        let entry = try settings.type.entry(settings)
        let overrides = try ProfileMapping.overrides(settings.profile)
        let claims = try ProfileMapping.claims(settings.claims)
        try ProviderDefinition.check(overrides, claims, entry)
        self.id = settings.id
        self.label = settings.name.map(ProviderLabel.init(name:)) ?? .signIn(with: entry.brand)
        if let address = settings.metadataURL, case .openID = entry.signIn {
            self.signIn = .openID(discovery: try CatalogEntry.checked(address))
        } else {
            self.signIn = entry.signIn
        }
        self.authorizationEndpoint = try settings.authorizationEndpoint.map(CatalogEntry.checked)
        self.ownEndpoints = OwnEndpoints(
            token: try settings.tokenEndpoint.map(CatalogEntry.checked),
            userinfo: try settings.userinfoEndpoint.map(CatalogEntry.checked),
            keys: try settings.keysURL.map(CatalogEntry.checked)
        )
        self.issuer = entry.issuer
        self.requiresCallbackIssuer = settings.requiresIssuer
        self.scopes = ProviderDefinition.scopes(settings.scopes ?? entry.scopes, for: entry.signIn)
        self.clientAuthentication = settings.clientAuthentication ?? entry.clientAuthentication
        self.pkce = settings.pkce ?? entry.pkce
        self.nonce = settings.nonce ?? entry.nonce
        self.responseMode = settings.responseMode ?? entry.responseMode
        self.pushesAuthorization = settings.pushesAuthorization
        self.revokesTokens = settings.revokesTokens ?? entry.revokesTokens
        self.authorizationParameters = ProviderDefinition.parameters(settings, entry)
        self.accountChoice = entry.accountChoice
        self.reauthentication = entry.reauthentication
        self.signatureAlgorithms = settings.signatureAlgorithms.map { Set($0) } ?? entry.signatureAlgorithms
        try ProviderDefinition.check(algorithmsOf: settings)
        self.trustedAudiences = Set(settings.trustedAudiences)
        self.idTokenLifetime = settings.idTokenLifetime ?? ProviderDefinition.standardLifetime
        self.keysMaxStale = settings.keysMaxStale ?? ProviderDefinition.standardLifetime
        self.maxConnections = settings.maxConnections ?? ProviderDefinition.standardConnections
        self.clockLeeway = settings.clockLeeway ?? .seconds(60)
        self.keyRetention = entry.keyRetention
        self.recheckPause = entry.recheckPause
        self.mapping = ProfileMapping(
            provider: settings.id,
            issuer: entry.issuer,
            chains: entry.chains,
            trust: entry.trust,
            overrides: overrides,
            claims: claims,
            usedFields: settings.usedFields
        )
        self.apiHeaders = entry.apiHeaders
        self.apiProof = entry.apiProof
        self.apiCalls = try ProviderDefinition.calls(for: self.mapping, at: entry)
        self.lookups = self.mapping.readsLookups ? entry.lookups : []
        self.admission = entry.admission
    }
}

extension ProviderDefinition {
    private static func scopes(_ scopes: [String], for signIn: SignInProtocol) -> [String] {
        guard case .openID = signIn, !scopes.contains("openid") else { return scopes }
        return ["openid"] + scopes
    }

    /// Rejects settings that leave the subject undefined or constant, or name sources that the provider does not have.
    private static func check(
        _ overrides: [ProfileField: [ClaimSource]],
        _ claims: [String: [ClaimSource]],
        _ entry: CatalogEntry
    ) throws(Failure) {
        guard overrides[.subject].map({ !$0.isEmpty }) ?? (entry.chains[.subject] != nil) else {
            let detail = "profile: 'subject' must name the source of the user's id, such as api:/user#/id"
            throw Failure(.providerDefinition, detail)
        }
        guard !(overrides[.subject] ?? []).contains(where: { $0.document == .constant }) else {
            let detail = "profile: 'subject' cannot be a constant, or all users would be the same one"
            throw Failure(.providerDefinition, detail)
        }
        guard case .oauth2 = entry.signIn else { return }
        let sources = Array(overrides.values.joined()) + claims.values.joined()
        guard !sources.contains(where: { [.idToken, .userinfo].contains($0.document) }) else {
            let detail = "profile, claims: this provider has no ID token and no userinfo, only api: sources"
            throw Failure(.providerDefinition, detail)
        }
    }

    private static func check(algorithmsOf settings: ProviderSettings) throws(Failure) {
        let list = settings.signatureAlgorithms ?? []
        guard let conflict = SignatureAlgorithm.conflict(in: list, of: settings.type, secret: settings.clientSecret)
        else {
            return
        }
        throw Failure(.providerDefinition, "id_token_algorithms: \(conflict)")
    }

    /// The type's own parameters and the operator's, which replace those of the same name.
    private static func parameters(_ settings: ProviderSettings, _ entry: CatalogEntry) -> [Form.Field] {
        let names = Set(settings.authorizationParameters.map(\.name))
        return entry.authorizationParameters.filter { !names.contains($0.name) } + settings.authorizationParameters
    }

    /// One call for each API path that the mapping reads.
    private static func calls(for mapping: ProfileMapping, at entry: CatalogEntry) throws(Failure) -> [APICall] {
        let paths = Set(mapping.sources.compactMap(\.call))
        return try paths.sorted().map { (path) throws(Failure) in
            let query = entry.apiQueries[path].map { "?\($0)" } ?? ""
            guard let base = entry.apiBase else {
                throw Failure(.providerDefinition, "profile: there is no API to call without api_url")
            }
            return APICall(
                path: path,
                address: try CatalogEntry.address("\(base)\(path)\(query)"),
                isRequired: mapping.callsForSubject.contains(path)
            )
        }
    }
}
