// SPDX-License-Identifier: Apache-2.0

package import NIOCore
internal import Synchronization

/// Measures the lag of an event loop: how late a tick every 100 ms is.
///
/// The loop ticks; any thread may read.
package final class LoopLagProbe: Sendable {
    /// How often the loop ticks.
    package static let interval = TimeAmount.milliseconds(100)
    /// The lag from which a tick is logged.
    package static let alarming = TimeAmount.milliseconds(100)
    /// The lag from which the gateway counts as overloaded.
    package static let overloadLag = TimeAmount.milliseconds(500)
    private static let kept = 100

    private struct Ticks {
        var lags: [Int64] = []
        var next = 0
        var due = NIODeadline.distantFuture
        var alarms = 0
    }

    private let ticks = Mutex(Ticks())
    private let inFlight = Atomic<Int>(0)

    /// Without a tick yet.
    package init() {}

    /// Expects the first tick; called on the loop.
    package func begin(at now: NIODeadline) {
        self.ticks.withLock { $0.due = now + LoopLagProbe.interval }
    }

    /// Requests of the loop that were in flight at the last tick.
    package var requests: Int { self.inFlight.load(ordering: .relaxed) }

    /// Notes a tick; called on the loop.
    ///
    /// - Parameters:
    ///   - now: When it came.
    ///   - requests: How many requests of the loop are in flight.
    /// - Returns: How late it was.
    @discardableResult
    package func tick(at now: NIODeadline, requests: Int = 0) -> TimeAmount {
        self.inFlight.store(requests, ordering: .relaxed)
        return self.ticks.withLock { ticks in
            let lag = max(0, (now - ticks.due).nanoseconds)
            ticks.due = now + LoopLagProbe.interval
            if ticks.lags.count < LoopLagProbe.kept {
                ticks.lags.append(lag)
            } else {
                ticks.lags[ticks.next] = lag
            }
            ticks.next = (ticks.next + 1) % LoopLagProbe.kept
            if lag > LoopLagProbe.alarming.nanoseconds { ticks.alarms += 1 }
            return .nanoseconds(lag)
        }
    }

    /// How long ago the loop ticked last; zero before it has begun.
    package func sinceTick(at now: NIODeadline) -> TimeAmount {
        let due = self.ticks.withLock(\.due)
        guard due != .distantFuture else { return .zero }
        return max(.zero, now - due + LoopLagProbe.interval)
    }

    /// How often a tick was alarmingly late.
    package var alarms: Int { self.ticks.withLock { $0.alarms } }

    /// How late the last hundred ticks were, the worst of them aside; more if the tick that is due has not come.
    package func lag(at now: NIODeadline) -> TimeAmount {
        self.ticks.withLock { ticks in
            let sorted = ticks.lags.sorted()
            let known = sorted.isEmpty ? 0 : sorted[max(0, sorted.count * 99 / 100 - 1)]
            // A loop that hangs does not tick: what is due counts once it is later than a turn that is merely long.
            let overdue = ticks.due == .distantFuture ? 0 : (now - ticks.due).nanoseconds
            return .nanoseconds(overdue > LoopLagProbe.overloadLag.nanoseconds ? max(known, overdue) : known)
        }
    }
}
