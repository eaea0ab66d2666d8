// SPDX-License-Identifier: Apache-2.0

internal import GateSessions
internal import Synchronization

/// Logs when the file of the session store is deleted, replaced or cut short while the gateway uses it.
final class StoreWatch: Sendable {
    private struct State {
        var fault: StoreFileFailure?
        var logged: ContinuousClock.Instant?
    }

    /// How often a fault that lasts is logged again.
    private static let reminder = Duration.seconds(600)

    private let state = Mutex(State())

    /// What has become of the file of a store; logs what is new, and what lasts every ten minutes.
    func look(at store: any SessionStore, log: GatewayLog) -> StoreFileFailure? {
        let fault = store.fileFailure()
        let now = ContinuousClock.now
        let (isDue, before) = self.state.withLock { state in
            let before = state.fault
            state.fault = fault
            let isDue = fault != before || (state.logged.map { $0.duration(to: now) >= StoreWatch.reminder } ?? false)
            if isDue { state.logged = fault == nil ? nil : now }
            return (isDue, before)
        }
        guard isDue else { return fault }
        if let fault { log.storeFault(fault) } else if before != nil { log.storeSound() }
        return fault
    }
}
