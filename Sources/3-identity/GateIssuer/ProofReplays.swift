// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateSessions
internal import Synchronization

/// The proofs that a process has accepted while they are valid, so that each works once; shared by all event loops.
///
/// RFC 9449 §11.1. Several gateways do not know each other's: a proof is for one URL and, at an app, one token.
package final class ProofReplays: Sendable {
    /// How many are kept at the least until they have expired; more are rejected.
    static let capacity = 131_072
    /// The same for one session of a client, so that a user does not lock out all others.
    static let capacityOfSession = 8192

    /// The table has two halves: each takes the proofs of as much time as one is valid, and is kept as long again.
    private struct Table {
        var young: Set<DPoPProof.ID> = []
        /// How many of these each session has.
        var counts: [Ticket: Int] = [:]
        var old: Set<DPoPProof.ID> = []
        var began = Duration.zero
    }

    private static let window = DPoPProof.maxAge + DPoPProof.maxAhead + .seconds(1)
    private let table = Mutex(Table())
    private let elapsed: @Sendable () -> Duration

    /// A table without proofs.
    package convenience init() {
        let began = ContinuousClock.now
        self.init { began.duration(to: .now) }
    }

    /// A table with its own clock.
    init(elapsed: @escaping @Sendable () -> Duration) {
        self.elapsed = elapsed
    }

    /// Spends a proof.
    ///
    /// - Parameters:
    ///   - proof: The proof, of the key of the access token beside it.
    ///   - token: That token.
    /// - Throws: `invalid_dpop_proof` if it was used before, or if too many are in use.
    package func spend(_ proof: DPoPProof, beside token: AccessToken) throws(OAuthError) {
        try self.spend(proof.id, of: token.ticket)
    }

    func spend(_ id: DPoPProof.ID, of session: Ticket) throws(OAuthError) {
        let now = self.elapsed()
        let why: String? = self.table.withLock { (table) -> String? in
            if now - table.began >= ProofReplays.window {
                table.old = now - table.began < ProofReplays.window * 2 ? table.young : []
                (table.young, table.counts) = ([], [:])
                table.began = now
            }
            guard !table.old.contains(id), !table.young.contains(id) else {
                return "it was used before; make a new one for each request"
            }
            guard table.young.count < ProofReplays.capacity else { return "too many are in use; try again in a minute" }
            let count = table.counts[session, default: 0]
            guard count < ProofReplays.capacityOfSession else {
                return "too many of this sign-in are in use; try again in a minute"
            }
            table.counts[session] = count + 1
            table.young.insert(id)
            return nil
        }
        if let why { throw DPoPProof.invalid(why) }
    }
}
