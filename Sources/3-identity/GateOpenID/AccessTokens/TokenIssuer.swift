// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProviders
internal import Synchronization

/// An issuer whose tokens machines bring: verifies a token, and reads the profile of its user.
///
/// It keeps the keys of the issuer and nothing about tokens.
package final class TokenIssuer: Sendable {
    /// A token that is valid, and for whom.
    package struct Verified: Sendable {
        /// The user.
        package let profile: Profile
        /// From when on it must not be accepted any more, with the leeway of clocks; nil if the issuer does not report it.
        package let expires: Instant?
        /// When it expires by the clock of the issuer.
        package let end: Instant?
    }

    /// How many tokens may wait to be described: less than what the connections to the issuer let wait.
    private static let maxPending = 256

    /// The issuer as the file has it.
    package let settings: IssuerSettings
    /// Its name in the file.
    package var id: String { self.settings.id }
    /// How long the result of a verification is used.
    package var cache: Duration { self.settings.cache }
    private let definition: ProviderDefinition
    private let rules: AccessTokenRules
    private let call: ProviderCall
    private let clock: WallClock
    /// What JWTs are verified with; nil for an issuer that describes its tokens.
    private let keys: TokenKeys?
    private let client: ClientCredentials
    /// The descriptions of tokens that are on their way, by the hash of the token: many requests with one token are one call.
    private let pending = Mutex<[[UInt8]: Task<Result<Verified, Failure>, Never>]>([:])

    /// An issuer of the configuration.
    ///
    /// - Parameters:
    ///   - settings: The issuer.
    ///   - transport: The HTTP client for calls to it.
    ///   - clock: The wall clock.
    ///   - random: The source of random bytes.
    ///   - report: Called with each failed fetch of metadata or keys.
    /// - Throws: A failure whose detail names the setting that cannot be used.
    package init(
        _ settings: IssuerSettings,
        transport: any ProviderTransport,
        clock: WallClock,
        random: RandomBytes,
        report: @escaping @Sendable (Failure) -> Void = { _ in }
    ) throws(Failure) {
        let definition = try ProviderDefinition(settings.provider)
        self.settings = settings
        self.definition = definition
        self.rules = AccessTokenRules(settings: settings, definition: definition)
        self.clock = clock
        self.client = try ClientCredentials(settings.provider, method: .secretBasic, clock: clock, random: random)
        let call = ProviderCall(provider: settings.id, transport: transport)
        self.call = call
        guard case .keys(let address) = settings.verification else {
            self.keys = nil
            return
        }
        let document = CachedDocument<KeySet>(
            clock: clock,
            staleness: definition.keysMaxStale,
            report: report
        ) { (earlier) throws(Failure) in
            let source =
                if let address { address } else { try await TokenIssuer.keyAddress(of: definition, by: call) }
            return try await KeySet.fetched(from: source, of: definition, by: call, after: earlier, clock: clock)
        }
        self.keys = .published(KeyCache(document, clock: clock))
    }

    /// The URL of the keys in the metadata of an issuer, which need not have the endpoints of a sign-in.
    ///
    /// OpenID Connect Discovery §4.3, RFC 8414 §3.3.
    private static func keyAddress(
        of definition: ProviderDefinition,
        by call: ProviderCall
    ) async throws(Failure) -> WebURL {
        guard case .openID(let address) = definition.signIn else {
            throw Failure(.openIDMetadata, "no metadata of this issuer")
        }
        let document = try await call.document(at: address, limit: 262_144).json
        guard let issuer = document["issuer"]?.string, definition.issuer.admits(discovered: issuer) else {
            let found = document["issuer"]?.string.map { ReceivedText.quoted($0) } ?? "none"
            throw Failure(.openIDDiscoveryIssuerMismatch, "discovery names the issuer \(found)")
        }
        return try EndpointReader(document, of: issuer).required("jwks_uri")
    }

    /// The `iss` of a text that is a JWT by its form, not verified; nil for any other text.
    package static func claimedIssuer(of token: String) -> String? {
        let parts = token.utf8.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, token.utf8.count <= UnverifiedIDToken.maxSize,
            let bytes = Base64URL.decode(Array(parts[1])[...]), let claims = try? JSON(parsing: bytes, depth: 32)
        else { return nil }
        return claims["iss"]?.string
    }

    /// Verifies a token.
    ///
    /// - Throws: `token.rejected` with the rule that it breaks, or why it could not be verified.
    package func verify(_ token: String) async throws(Failure) -> Verified {
        if let keys {
            return try await self.verify(token, with: keys)
        }
        guard case .introspection(let endpoint) = self.settings.verification else {
            throw self.rejection("it cannot be verified")
        }
        let key = ContentDigest.sha256(of: token.utf8)
        let task = try self.pending.withLock { (pending) throws(Failure) in
            if let task = pending[key] { return task }
            guard pending.count < TokenIssuer.maxPending else {
                throw Failure(.providerBusy, "\(TokenIssuer.maxPending) tokens wait for issuers.\(self.settings.id)")
            }
            let task = Task<Result<Verified, Failure>, Never> {
                let result: Result<Verified, Failure>
                do throws(Failure) {
                    result = .success(try await self.introspect(token, at: endpoint))
                } catch {
                    result = .failure(error)
                }
                self.pending.withLock { $0[key] = nil }
                return result
            }
            pending[key] = task
            return task
        }
        return try await task.value.get()
    }

    /// The rules come before the signature: anonymous clients can send tokens, and a signature can cause a fetch of keys.
    private func verify(_ token: String, with keys: TokenKeys) async throws(Failure) -> Verified {
        let algorithms = AlgorithmRule(forTokensOf: self.definition)
        let purpose = UnverifiedIDToken.Purpose.accessToken(type: self.settings.tokenType)
        switch UnverifiedIDToken.parsed(token, algorithms, as: purpose) {
        case .failure(let rejection): throw self.rejection(rejection)
        case .success(let parsed):
            let found =
                PurposeRule().rejection(of: parsed, at: self.clock.now)
                ?? self.rules.rejection(of: parsed.claims, isSigned: true, at: self.clock.now)
            if let found { throw self.rejection(found) }
            do throws(Failure) {
                try await keys.verify(parsed, of: self.definition.issuer)
            } catch {
                guard TokenIssuer.isAboutToken(error) else { throw error }
                throw self.rejection("\(error.code): \(error.detail)")
            }
            return try self.verified(parsed.claims)
        }
    }

    private static func isAboutToken(_ failure: Failure) -> Bool {
        switch failure.reason {
        case .idTokenKeyUnknown, .idTokenKeyIssuer, .idTokenSignature: true
        default: false
        }
    }

    /// Has the issuer describe a token.
    ///
    /// RFC 7662 §2.
    private func introspect(_ token: String, at endpoint: WebURL) async throws(Failure) -> Verified {
        var form = Form([Form.Field("token", token), Form.Field("token_type_hint", "access_token")])
        let authorization = try self.client.authenticate(&form, by: .basic)
        let response = try await self.call.post(
            form,
            to: endpoint,
            authorization: authorization,
            endpoint: .introspection
        )
        guard response.status != 401, response.status != 403 else {
            let help = "see 'client_id' and 'client_secret' of issuers.\(self.settings.id)"
            throw Failure(.openIDClientRefused, "\(endpoint.path) responded \(response.status); \(help)")
        }
        guard response.status == 200, response.isJSON else {
            let detail = "\(endpoint.path) responded \(response.status), expected 200 with JSON"
            throw Failure(.providerUnavailable, detail, retryAfter: response.retryAfter)
        }
        guard let claims = try? JSON(parsing: response.body, depth: 32) else {
            throw Failure(.providerMalformedJSON, "\(endpoint.path) responded with malformed JSON")
        }
        guard claims["active"]?.bool == true else { throw self.rejection("the issuer reports that it is not active") }
        if let found = self.rules.rejection(of: claims, isSigned: false, at: self.clock.now) {
            throw self.rejection(found)
        }
        return try self.verified(claims)
    }

    private func verified(_ claims: JSON) throws(Failure) -> Verified {
        let mapped: MappedProfile
        do throws(Failure) {
            mapped = try self.definition.profile(from: ProviderPayloads(idToken: claims))
        } catch {
            throw self.rejection(error.detail)
        }
        var profile = mapped.profile
        // How long ago a user authenticated does not show who brings the token now.
        profile.authTime = nil
        let end = claims["exp"]?.numericDate
        return Verified(profile: profile, expires: end?.advanced(by: self.definition.clockLeeway), end: end)
    }

    private func rejection(_ rejection: TokenRejection) -> Failure {
        self.rejection("\(rejection.reason.code): \(rejection.detail) (\(rejection.source))")
    }

    private func rejection(_ detail: String) -> Failure {
        Failure(.tokenRejected, "issuers.\(self.settings.id): \(detail)")
    }
}
