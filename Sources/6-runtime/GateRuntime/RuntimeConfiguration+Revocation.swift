// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID
internal import GateOperations
package import GateSessions

extension RuntimeConfiguration {
    /// Has the provider revoke the tokens of a session that its user has ended, in the background.
    ///
    /// The sign-out neither waits for it nor depends on it.
    package func revokeTokens(of session: Session) {
        guard let grant = session.grant, let provider = self.providers[session.provider],
            let party = provider.relyingParty
        else { return }
        Task {
            do throws(Failure) {
                guard case .revoked = try await party.revoke(grant) else { return }
                self.services.metrics.tokensRevoked(provider: provider.id, result: "ok")
            } catch {
                self.services.metrics.tokensRevoked(provider: provider.id, result: error.code)
                self.services.log.tokensNotRevoked(error, provider: provider.id, session: session.id)
            }
        }
    }
}
