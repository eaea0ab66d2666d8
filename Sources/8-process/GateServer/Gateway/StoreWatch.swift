// SPDX-License-Identifier: Apache-2.0

internal import GateSessions
internal import Synchronization

/// Logs when the file of the session store is deleted, replaced or cut short while the gateway uses it, or when its servers
/// are not what they should be.
final class StoreWatch: Sendable {
    private struct State {
        var failure: StoreFileFailure?
        var logged: ContinuousClock.Instant?
    }

    /// How often a failure that lasts is logged again.
    private static let reminder = Duration.seconds(600)

    private let state = Mutex(State())

    /// What is wrong with a store; logs a change at once, and a failure that lasts every ten minutes.
    func look(at store: any StoreMaintenance, log: ServerLog) -> StoreFileFailure? {
        let failure = store.fileFailure()
        let now = ContinuousClock.now
        let (isDue, before) = self.state.withLock { state in
            let before = state.failure
            state.failure = failure
            let isDue = failure != before || (state.logged.map { $0.duration(to: now) >= StoreWatch.reminder } ?? false)
            if isDue { state.logged = failure == nil ? nil : now }
            return (isDue, before)
        }
        guard isDue else { return failure }
        if let failure { log.storeFailed(failure) } else if before != nil { log.storeRecovered() }
        return failure
    }
}
