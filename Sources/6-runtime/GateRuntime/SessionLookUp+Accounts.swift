// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
package import GateCore
internal import GateOperations
internal import GateSessions

extension RuntimeConfiguration {
    /// Whether a user key is that of a local account that is disabled, or does not exist any more.
    package func isDisabled(_ key: String) async throws(Failure) -> Bool {
        for provider in self.providers.all {
            guard let accounts = provider.accounts, key.hasPrefix("\(provider.id):") else { continue }
            let account = try await accounts.store.account(String(key.dropFirst(provider.id.count + 1)))
            return account?.isDisabled ?? true
        }
        return false
    }
}

extension SessionLookUp {
    /// Ends a session that is due for a re-check if apps know its user by a local account that was disabled.
    func endsWithFirstAccount(_ session: Session) async throws(Failure) -> Bool {
        guard let key = session.profile.connectedKey, try await self.runtime.isDisabled(key) else { return false }
        await self.end(
            session,
            because: Failure(.accountDisabled, "\(key), with which the account is connected, is disabled")
        )
        return true
    }

    private func end(_ session: Session, because failure: Failure) async {
        self.runtime.services.metrics.rechecked(session.provider, result: "ended")
        self.runtime.services.metrics.ended(.recheck)
        self.runtime.services.log.sessionEnded(session.profile.user, session: session.id, by: failure)
        try? await self.runtime.sessions.endFamily(session.familyKey)
    }

    /// Confirms a session of a local account: the account still exists and is enabled, and its profile is read again.
    func recheck(
        _ stored: StoredSession,
        with accounts: LocalAccounts
    ) async throws(Failure) -> RecheckOutcome {
        let session = stored.session
        let account = try await accounts.store.account(session.profile.subject)
        guard let account, !account.isDisabled, !account.hasChangedPassword(since: session.created) else {
            let detail =
                account?.isDisabled == false ? "the password was changed" : "the account was disabled or removed"
            await self.end(session, because: Failure(.accountCredentials, detail))
            return .ended
        }
        self.runtime.services.metrics.rechecked(accounts.provider, result: "confirmed")
        var change = SignIn(profile: account.profile(at: accounts.provider))
        change.profile.authTime = session.profile.authTime
        self.runtime.dropUnneeded(of: &change)
        let confirmed = self.policy.confirmation(at: self.runtime.services.clock.now, isPartial: false, pause: .zero)
        return await self.store(change, in: stored, confirmed: confirmed)
    }
}
