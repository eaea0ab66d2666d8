// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProviders

/// The gateway's side of the code flow with one provider.
///
/// RFC 6749 §4.1, OpenID Connect Core §3.1.
///
/// It keeps the provider's metadata and keys and nothing about people: an attempt lives in its browser's cookie.
/// Every endpoint is taken from this provider's own definition or metadata, so no answer of another provider can lead
/// a code or a token anywhere else. RFC 9700 §4.4.
package final class RelyingParty: Sendable {
    /// How the provider behaves.
    package let definition: ProviderDefinition
    /// The callback address as the provider knows it.
    package let redirectURI: String
    /// The id that the provider knows us by.
    package var clientID: String { self.client.clientID }
    let client: ClientCredentials
    let clientAuthentication: ClientAuthenticationChoice
    let clock: WallClock
    let random: RandomBytes
    let spent: UsedAttempts
    let call: ProviderCall
    let discovery: CachedDocument<ProviderMetadata>?
    /// What ID tokens are verified with; nil for a provider that has none.
    let keys: TokenKeys?
    private let keyCache: KeyCache?
    /// The sign-ins that call the provider, and those that wait for a connection to it.
    let queue: SignInQueue
    let report: @Sendable (Failure) -> Void
    /// Those authorization requests that are being sent ahead, on half of the connections at most: strangers, who can ask
    /// for as many as they like, do not hold up those who come back signed in.
    let pushes: ConcurrencyLimiter

    /// The code flow with one provider.
    ///
    /// - Parameters:
    ///   - definition: How the provider behaves.
    ///   - settings: Our id, and our secret or key at the provider.
    ///   - redirectURI: The callback address, one per provider.
    ///   - transport: The way to the provider.
    ///   - clock: The time.
    ///   - random: What states, nonces and verifiers are made of.
    ///   - spent: The attempts that were used; shared with what a reload builds.
    ///   - report: Called with each failed fetch of metadata or keys and once for a sign-in without all its groups,
    ///     also where no visitor notices.
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
        let choice = ClientAuthenticationChoice(wanted: wanted, hasSecret: client.secret.count > 0, key: client.key)
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
        let discovery = RelyingParty.discovery(definition, choice, call, clock, report)
        self.discovery = discovery
        let cache: KeyCache? =
            definition.usesSecretForTokens
            ? nil
            : discovery.map { KeyCache(RelyingParty.keySet(definition, $0, call, clock, report), clock: clock) }
        self.keyCache = cache
        let secret = discovery == nil ? nil : TokenKeys.secret(client.secret)
        self.keys = definition.usesSecretForTokens ? secret : cache.map(TokenKeys.published)
    }

    /// How long ago the provider's keys were fetched, and whether they are used although they are not fresh; nil if there
    /// are none to use.
    package var keyAge: (age: Duration, isStale: Bool)? { self.keyCache?.age }

    /// How many sign-ins wait for a connection to the provider.
    package var waitingSignIns: Int { self.queue.waitingCount }

    /// Fetches metadata and keys unless fresh ones are there, for a check before anybody signs in.
    package func prepare() async throws(Failure) {
        _ = try await self.metadata()
        try await self.prepareKeys()
    }

    /// Fetches the keys unless usable ones are there.
    func prepareKeys() async throws(Failure) {
        try await self.keyCache?.prepare()
    }

    /// The endpoints that sign-ins call: the token endpoint first, userinfo only if the profile reads it.
    ///
    /// Of metadata that are fresh or, unless they are there, fetched.
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
            let answer = try await call.document(at: address, limit: 262_144)
            return (try ProviderMetadata(answer.json, of: definition, choice), answer.lifetime)
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
            let answer = try await call.document(at: address, limit: 524_288)
            let now = clock.now
            let keys = try KeySet(answer.json, at: now)
                .merged(with: earlier, retention: definition.keyRetention, at: now)
            return (keys, answer.lifetime)
        }
    }
}
