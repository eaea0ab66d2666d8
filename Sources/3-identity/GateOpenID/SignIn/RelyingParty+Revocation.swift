// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateProviders

/// What became of the tokens of a session that the user has ended.
package enum RevocationResult: Sendable {
    /// The provider has revoked them.
    case revoked
    /// There is no token, or the provider has no endpoint for it, or its definition rules it out.
    case notOffered
}

// MARK: Revocation

extension RelyingParty {
    /// Revokes the tokens of a session that has ended.
    ///
    /// RFC 7009 §2.1. The refresh token, with which the provider also revokes the access tokens of its grant; without one
    /// the access token. It is tried once: what is not revoked ends by its own lifetime.
    ///
    /// - Parameter grant: What the provider granted at the sign-in or at the last re-check.
    /// - Returns: Whether there was something to revoke.
    /// - Throws: Why it is not revoked; no token is in the failure.
    package func revoke(_ grant: ProviderGrant) async throws(Failure) -> RevocationResult {
        guard self.definition.revokesTokens, let token = grant.refreshToken ?? grant.accessToken else {
            return .notOffered
        }
        try await self.revocations.acquire()
        defer { self.revocations.release() }
        let metadata = try await self.metadata()
        guard let endpoint = metadata.revocation else { return .notOffered }
        var form = Form()
        form.append("token", token.withText { $0 })
        form.append("token_type_hint", grant.refreshToken == nil ? "access_token" : "refresh_token")
        // As at the token endpoint; an assertion is for the endpoint that receives it, so it is useless elsewhere.
        let authorization = try self.client.authenticate(&form, by: self.proof(metadata, audience: "\(endpoint)"))
        let response = try await self.call.post(
            form,
            to: endpoint,
            authorization: authorization,
            endpoint: .revocation
        )
        guard response.status != 200 else { return .revoked }
        throw self.revocationFailure(response, advice: self.advice(metadata, sent: form, authorization))
    }

    /// RFC 7009 §2.2.1.
    private func revocationFailure(_ response: ProviderResponse, advice: ClientAdvice) -> Failure {
        let error =
            ProviderErrorResponse(TokenResponse.members(response), hiding: advice.secrets)
            ?? ProviderErrorResponse(refusedBy: response, hiding: advice.secrets)
        let text = error.map { ": \($0)" } ?? ""
        let detail = "the revocation endpoint responded \(response.status)\(text)\(response.retryAfterNote)"
        switch error?.cause(at: response) {
        case .client? where error?.errorCode == "invalid_client" || response.status == 401:
            return Failure(.openIDClientRefused, "\(detail); \(advice.text(for: error?.errorCode ?? ""))")
        case .client?, .code?, .user?: return Failure(.providerRefused, detail)
        case .provider?: return Failure(.providerUnavailable, detail)
        case nil:
            let isDown = response.status >= 500 || response.status == 429
            return Failure(isDown ? .providerUnavailable : .providerRefused, detail)
        }
    }
}

/// The revocations in progress at one provider, and those that wait: the other calls go before them.
struct RevocationQueue: Sendable {
    /// The maximum number in progress or waiting.
    static let maxPending = 256
    private static let interval = Duration.milliseconds(100)
    private static let maxLooks = 100

    private let pending = ConcurrencyLimiter(limit: RevocationQueue.maxPending)
    private let inProgress: ConcurrencyLimiter

    /// A queue in front of a quarter of the connections.
    init(connections: Int) {
        self.inProgress = ConcurrencyLimiter(limit: max(1, connections / 4))
    }

    /// Waits for a turn, for ten seconds at most.
    func acquire() async throws(Failure) {
        guard self.pending.acquire() else { throw RevocationQueue.busy }
        for _ in 0..<RevocationQueue.maxLooks {
            guard !self.inProgress.acquire() else { return }
            try? await Task.sleep(for: RevocationQueue.interval)
        }
        self.pending.release()
        throw RevocationQueue.busy
    }

    /// Ends a turn.
    func release() {
        self.inProgress.release()
        self.pending.release()
    }

    private static var busy: Failure { Failure(.providerBusy, "too many tokens are to be revoked at once") }
}
