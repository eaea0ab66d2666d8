// SPDX-License-Identifier: Apache-2.0

package import GateCore

extension SessionManager {
    /// Spends a hand-over code and begins the session of the app's host; nil if the session at the gate has ended.
    ///
    /// - Parameters:
    ///   - claim: The code, proved to be at the right origin in the right browser.
    ///   - gate: The host of the gate's own cookie.
    ///   - now: The time.
    /// - Returns: The session of the app's host with its ticket.
    /// - Throws: `handover.spent` for a code that was used before, or the failure of the store.
    package func redeem(
        _ claim: HandoverClaim,
        gate: String,
        now: Instant
    ) async throws(Failure) -> IssuedSession? {
        let code = claim.code
        guard try await self.spend(SingleUse("handover", code.id, until: code.expires)) else {
            throw Failure(.malformedRequest, "handover.spent", "the code was used before")
        }
        return try await self.issue(from: claim.ticket, of: gate, to: code.origin.host, now: now)
    }
}
