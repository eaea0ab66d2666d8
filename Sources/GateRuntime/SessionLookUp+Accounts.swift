// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateCore
internal import GateOperations
internal import GateSessions

extension SessionLookUp {
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
            self.runtime.metrics.rechecked(accounts.provider, result: "ended")
            self.runtime.metrics.ended(.recheck)
            let failure = Failure(.accountCredentials, detail)
            self.runtime.log.sessionEnded(session.profile.user, session: session.id, by: failure)
            try? await self.runtime.sessions.endFamily(session.familyKey)
            return .ended
        }
        self.runtime.metrics.rechecked(accounts.provider, result: "confirmed")
        var change = SignIn(profile: account.profile(at: accounts.provider))
        change.profile.authTime = session.profile.authTime
        self.runtime.keepGroups(of: &change.profile)
        let confirmed = self.policy.confirmation(at: self.runtime.clock.now, isPartial: false, pause: .zero)
        return await self.store(change, in: stored, confirmed: confirmed)
    }
}
