// SPDX-License-Identifier: Apache-2.0

package import GateClients
package import GateCore
package import GateOpenID
internal import GatePolicy
package import GateProviders
internal import GateSessions

/// Who has to verify a token on a route.
package enum MachineVerifier: Sendable {
    /// It is a service token: this one, or none of the file.
    case serviceToken(ServiceTokenSettings?)
    case issuer(TokenIssuer)
    /// Neither: it is the app's own business if there is a session, and nothing else otherwise.
    case none(why: String)
}

/// The tokens that machines may bring: those of issuers, and the service tokens of the file.
package struct MachineTokens: Sendable {
    /// The issuers whose tokens machines bring, by name.
    let issuers: [String: TokenIssuer]
    /// The service tokens, by their hashes.
    private let serviceTokens: [[UInt8]: ServiceTokenSettings]
    /// Whether the file has service tokens; asked for with each request.
    package let hasServiceTokens: Bool
    private let publicOrigin: Origin

    /// The tokens of some issuers and the file; the gateway is the issuer of the latter.
    package init(issuers: [TokenIssuer] = [], serviceTokens: [ServiceTokenSettings] = [], at publicOrigin: Origin) {
        self.issuers = Dictionary(issuers.map { ($0.settings.id, $0) }) { first, _ in first }
        self.serviceTokens = Dictionary(serviceTokens.map { ($0.hash, $0) }) { first, _ in first }
        self.hasServiceTokens = !serviceTokens.isEmpty
        self.publicOrigin = publicOrigin
    }

    /// The issuer of a text that a client exchanges; nil if it is not a token of one of the client's issuers.
    ///
    /// RFC 8693 §2.1: a JWT is of the issuer that its `iss` names, and any other text of the only one that describes its tokens, which must get
    /// none of the gateway's own.
    package func issuer(of token: String, exchangedBy client: ClientSettings) -> TokenIssuer? {
        guard !ServiceToken.isOne(token), !token.hasPrefix(RefreshToken.prefix) else { return nil }
        guard token.utf8.count <= MachineCredential.maxSize, MachineCredential.isToken(token[...]) else { return nil }
        return self.issuer(of: token, among: client.exchangeIssuers.compactMap { self.issuers[$0] })
    }

    /// Whether a text is a JWT that names one of some issuers; it is not verified.
    package func hasIssuer(of credential: MachineCredential, among names: Set<String>) -> Bool {
        guard TokenIssuer.claimedIssuer(of: credential.text) != nil else { return false }
        return self.issuer(of: credential.text, among: names.compactMap { self.issuers[$0] }) != nil
    }

    private func issuer(of token: String, among accepted: [TokenIssuer]) -> TokenIssuer? {
        if let issuer = TokenIssuer.claimedIssuer(of: token) {
            return accepted.first { isIdentical($0.settings.provider.issuer ?? "", issuer) }
        }
        let introspecting = accepted.filter { issuer in
            if case .introspection = issuer.settings.verification { true } else { false }
        }
        return introspecting.count == 1 ? introspecting.first : nil
    }

    /// The issuers of a route that may have verified a token: beside a session only that of its `iss`, or it is the app's own.
    package func issuers(of route: RuntimeRoute, for credential: MachineCredential, hasSession: Bool) -> [TokenIssuer] {
        let accepted = route.route.issuers.compactMap { self.issuers[$0] }
        guard hasSession else { return accepted }
        guard case .issuer(let issuer) = self.verifier(of: credential, on: route, hasSession: true) else { return [] }
        return [issuer]
    }

    /// Who has to verify a token on a route.
    ///
    /// - Parameters:
    ///   - credential: The token.
    ///   - route: The route, which accepts some tokens.
    ///   - hasSession: Whether the request has a session cookie: then a text that is not a JWT of an issuer of the app and no
    ///     service token is the app's own.
    /// - Returns: The verifier.
    package func verifier(
        of credential: MachineCredential,
        on route: RuntimeRoute,
        hasSession: Bool
    ) -> MachineVerifier {
        if ServiceToken.isOne(credential.text) { return .serviceToken(self.serviceTokens[credential.hash]) }
        let isJWT = TokenIssuer.claimedIssuer(of: credential.text) != nil
        let accepted = route.route.issuers.compactMap { self.issuers[$0] }
        guard isJWT || !hasSession, let issuer = self.issuer(of: credential.text, among: accepted) else {
            let jwt = "no issuer of \(route.name) has the 'iss' of the token"
            return .none(why: isJWT ? jwt : "it is neither a service token nor a JWT")
        }
        return .issuer(issuer)
    }

    /// The user of a service token on a route, or why it is not accepted there.
    package func profile(
        of token: ServiceTokenSettings?,
        on route: RuntimeRoute,
        now: Instant
    ) -> Result<Profile, Failure> {
        guard let token else {
            return .failure(Failure(.tokenRejected, "the file has no service token with this hash; was it removed?"))
        }
        guard !token.isExpired(at: now) else {
            return .failure(Failure(.tokenRejected, "the service token '\(token.name)' has expired"))
        }
        guard route.route.serviceTokens.contains(token.name) else {
            let help = "add it to 'machines.service_tokens' of the app if it may"
            return .failure(Failure(.tokenRejected, "\(route.name) does not accept '\(token.name)'; \(help)"))
        }
        return .success(token.profile(issuer: "\(self.publicOrigin)"))
    }
}

extension RuntimeConfiguration {
    /// Verifies a token of an issuer that a client exchanges.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - issuer: Its issuer, by ``MachineTokens/issuer(of:exchangedBy:)``.
    /// - Returns: The user, and when the token expires, if the issuer reports that.
    /// - Throws: `token.rejected`, or why it could not be verified.
    package func user(
        ofToken token: String,
        by issuer: TokenIssuer
    ) async throws(Failure) -> (profile: Profile, end: Instant?) {
        do throws(Failure) {
            let verified = try await issuer.verify(token)
            // What results must not live longer than the token, so the clock of the issuer counts.
            if let end = verified.end, end <= self.services.clock.now {
                throw Failure(.tokenRejected, "issuers.\(issuer.id): exp is \(end.seconds), which is over")
            }
            self.services.metrics.verified(issuer.id, result: .success(verified))
            return (verified.profile, verified.end)
        } catch {
            self.services.metrics.verified(issuer.id, result: .failure(error))
            throw error
        }
    }
}
