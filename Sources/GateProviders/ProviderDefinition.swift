// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// How one provider behaves, as data: the code flow and the profile mapping have no other knowledge of providers.
package struct ProviderDefinition: Sendable {
    /// The name in the configuration.
    package let id: String
    /// What the button says.
    package let buttonText: String
    /// How the person is signed in.
    package let signIn: SignInProtocol
    /// Where the browser is sent instead of to the authorization endpoint that the provider names; nil for that one.
    package let authorizationEndpoint: WebURL?
    /// Which issuers are believed.
    package let issuer: IssuerRule
    /// Whether a callback must name its issuer, whatever the metadata say; nil if they decide.
    package let requiresCallbackIssuer: Bool?
    /// The scopes to ask for.
    package let scopes: [String]
    /// How the gateway proves who it is.
    package let clientAuthentication: ClientAuthentication
    /// When a challenge is sent.
    package let pkce: PKCERule
    /// What holds for the nonce.
    package let nonce: NonceRule
    /// How the provider sends the browser back.
    package let responseMode: ResponseMode
    /// Whether the authorization request is sent ahead, RFC 9126.
    package let pushesAuthorization: Bool
    /// What is added to the authorization request.
    package let authorizationParameters: [Form.Field]
    /// What makes the provider offer another account than the one it knows; nil if nothing does.
    package let accountChoice: Form.Field?
    /// The algorithms that ID tokens may be signed with.
    package let signatureAlgorithms: Set<SignatureAlgorithm>
    /// The audiences that an ID token may name beside us.
    package let trustedAudiences: Set<String>
    /// How long an ID token may live; an older one is refused anyway, since it must have been issued just now.
    package let idTokenLifetime: Duration
    /// How long keys are used that could not be fetched again, beyond their freshness.
    package let keysMaxStale: Duration
    /// How many connections to the provider there may be.
    package let maxConnections: Int
    /// How far the provider's clock and ours may differ; RFC 7519 §4.1.4 allows "some small leeway".
    package let clockLeeway: Duration
    /// How long a key is still believed after it was last seen in the provider's key set.
    package let keyRetention: Duration
    /// The calls that may be made with the access token; which ones are needed, ``wantedCalls(for:made:)`` says.
    package let apiCalls: [APICall]
    /// The fields that each of ``apiCalls`` and ``lookups`` carries.
    package let apiHeaders: [Form.Field]
    /// What each of them carries besides the token.
    package let apiProof: APIProof
    /// How groups are looked up that no answer lists.
    package let lookups: [GroupLookup]
    /// How payloads become a profile.
    package let mapping: ProfileMapping
    private let admission: [AdmissionRule]

    /// How many connections there may be unless the file says otherwise.
    package static let standardConnections = 16
    /// How long ID tokens live, and keys are used that cannot be fetched, unless the file says otherwise.
    package static let standardLifetime = Duration.seconds(86_400)

    /// Whether ID tokens are verified with the client secret instead of with published keys.
    package var usesSecretForTokens: Bool { self.signatureAlgorithms.contains(where: \.isSymmetric) }

    /// Whether the type knows for which email addresses the provider is the authority.
    package var knowsEmailAuthority: Bool { self.mapping.knowsEmailAuthority }

    /// Whether who somebody is depends on the userinfo response.
    package var readsUserinfoForSubject: Bool {
        self.mapping.steps(.subject).flatMap(\.sources).contains { $0.document == .userinfo }
    }

    /// Whether any field of the profile reads the userinfo answer.
    package var readsUserinfo: Bool {
        self.mapping.sources.contains { $0.document == .userinfo }
    }

    /// The definition for what the configuration says about one provider.
    ///
    /// - Throws: A failure whose detail names the setting that is missing or cannot be used.
    package init(_ settings: ProviderSettings) throws(Failure) {
        let entry = try settings.type.entry(settings)
        let overrides = try ProfileMapping.overrides(settings.profile)
        try ProviderDefinition.check(overrides, entry)
        self.id = settings.id
        self.buttonText = settings.name ?? entry.buttonText
        self.signIn = entry.signIn
        self.authorizationEndpoint = try settings.authorizationEndpoint.map { (address) throws(Failure) in
            try CatalogEntry.checked(address)
        }
        self.issuer = entry.issuer
        self.requiresCallbackIssuer = settings.requiresIssuer
        self.scopes = ProviderDefinition.scopes(settings.scopes ?? entry.scopes, for: entry.signIn)
        self.clientAuthentication = settings.clientAuthentication ?? entry.clientAuthentication
        self.pkce = settings.pkce ?? entry.pkce
        self.nonce = settings.nonce ?? entry.nonce
        self.responseMode = settings.responseMode ?? entry.responseMode
        self.pushesAuthorization = settings.pushesAuthorization
        self.authorizationParameters = ProviderDefinition.parameters(settings, entry)
        self.accountChoice = entry.accountChoice
        self.signatureAlgorithms = settings.signatureAlgorithms.map { Set($0) } ?? entry.signatureAlgorithms
        try ProviderDefinition.check(algorithmsOf: settings)
        self.trustedAudiences = Set(settings.trustedAudiences)
        self.idTokenLifetime = settings.idTokenLifetime ?? ProviderDefinition.standardLifetime
        self.keysMaxStale = settings.keysMaxStale ?? ProviderDefinition.standardLifetime
        self.maxConnections = settings.maxConnections ?? ProviderDefinition.standardConnections
        self.clockLeeway = settings.clockLeeway ?? .seconds(60)
        self.keyRetention = entry.keyRetention
        self.mapping = ProfileMapping(
            provider: settings.id,
            issuer: entry.issuer,
            chains: entry.chains,
            trust: entry.trust,
            overrides: overrides
        )
        self.apiHeaders = entry.apiHeaders
        self.apiProof = entry.apiProof
        self.apiCalls = try ProviderDefinition.calls(for: self.mapping, at: entry)
        self.lookups = self.mapping.readsLookups ? entry.lookups : []
        self.admission = entry.admission
    }

    /// The profile of the person whom these payloads describe, if this provider's rules admit them.
    package func profile(from payloads: ProviderPayloads) throws(Failure) -> MappedProfile {
        for rule in self.admission where !rule.admits(payloads) { throw rule.refusal }
        return try self.mapping.profile(from: payloads)
    }

    /// The calls that some field needs now; what was made before is not made again.
    package func wantedCalls(for payloads: ProviderPayloads, made: Set<String>) -> [APICall] {
        let wanted = self.mapping.wantedCalls(for: payloads, made: made)
        return self.apiCalls.filter { wanted.contains($0.path) }
    }

    private static func scopes(_ scopes: [String], for signIn: SignInProtocol) -> [String] {
        guard case .openID = signIn, !scopes.contains("openid") else { return scopes }
        return ["openid"] + scopes
    }

    /// Refuses what could never tell who somebody is, or where nothing could ever be.
    private static func check(
        _ overrides: [ProfileField: [ClaimSource]],
        _ entry: CatalogEntry
    ) throws(Failure) {
        guard overrides[.subject].map({ !$0.isEmpty }) ?? (entry.chains[.subject] != nil) else {
            let detail = "profile: 'subject' must say where the person's id is, such as api:/user#/id"
            throw Failure(.providerDefinition, detail)
        }
        guard !(overrides[.subject] ?? []).contains(where: { $0.document == .constant }) else {
            let detail = "profile: 'subject' cannot be a constant, or everybody would be the same person"
            throw Failure(.providerDefinition, detail)
        }
        guard case .oauth2 = entry.signIn else { return }
        guard !overrides.values.joined().contains(where: { [.idToken, .userinfo].contains($0.document) }) else {
            let detail = "profile: this provider has no ID token and no userinfo, only api: sources"
            throw Failure(.providerDefinition, detail)
        }
    }

    private static func check(algorithmsOf settings: ProviderSettings) throws(Failure) {
        let list = settings.signatureAlgorithms ?? []
        guard let fault = SignatureAlgorithm.fault(in: list, of: settings.type, secret: settings.clientSecret) else {
            return
        }
        throw Failure(.providerDefinition, "id_token_algorithms: \(fault)")
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

/// One call to a provider's API with the person's access token.
package struct APICall: Sendable, Hashable {
    /// The path as the sources of the mapping name it.
    package let path: String
    /// The whole address.
    package let address: WebURL
    /// Whether a sign-in fails when the provider refuses the call; else the fields stay empty.
    package let isRequired: Bool
}
