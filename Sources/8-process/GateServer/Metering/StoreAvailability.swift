// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// Notes whether the session store responds, and reports each change.
///
/// A store of which a part is down succeeds and fails in turn, so there are at least some seconds between two reports; the
/// next operation after them reports what holds then.
final class StoreAvailability: Sendable {
    /// The minimum time between two reports.
    static let minInterval = Duration.seconds(5)

    private struct State {
        var isUp = true
        var reported: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let report: @Sendable (Failure?) -> Void

    /// Calls `report` with the failure when the store stops responding, and with nil when it responds again.
    init(report: @escaping @Sendable (Failure?) -> Void) {
        self.report = report
    }

    /// An operation succeeded, or failed because the store did not respond.
    func note(_ failure: Failure?, at now: ContinuousClock.Instant = .now) {
        let isDue = self.state.withLock { state in
            guard state.isUp != (failure == nil) else { return false }
            if let reported = state.reported, reported.duration(to: now) < StoreAvailability.minInterval {
                return false
            }
            state.isUp = failure == nil
            state.reported = now
            return true
        }
        if isDue { self.report(failure) }
    }
}
