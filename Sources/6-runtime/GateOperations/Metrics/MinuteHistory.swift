// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// How much each minute of the last hour has added to some counters.
///
/// It takes 60 numbers for each counter, whatever the traffic, and reads the counters once a minute, so it costs a request
/// nothing.
package final class MinuteHistory: Sendable {
    /// How many minutes are shown, the one in progress included.
    package static let minutes = 60

    private struct State {
        /// The counters at the end of the last minute.
        var totals: [Int64]
        /// What the minutes that have ended have added, the oldest first.
        var ended: [[Int64]] = []
    }

    private let state: Mutex<State>

    /// A history of counters that have these totals now.
    package init(totals: [Int64]) {
        self.state = Mutex(State(totals: totals))
    }

    /// Ends a minute at whose end the counters have these totals.
    package func endMinute(totals: [Int64]) {
        self.state.withLock { state in
            state.ended.append(MinuteHistory.difference(totals, state.totals))
            if state.ended.count >= MinuteHistory.minutes { state.ended.removeFirst() }
            state.totals = totals
        }
    }

    /// What each minute has added to each counter, the oldest first, the minute in progress last; 0 from before the start.
    ///
    /// - Parameter totals: The totals now.
    /// - Returns: For each counter its 60 numbers.
    package func columns(totals: [Int64]) -> [[Int64]] {
        self.state.withLock { state in
            let minutes = state.ended + [MinuteHistory.difference(totals, state.totals)]
            let missing = [Int64](repeating: 0, count: MinuteHistory.minutes - minutes.count)
            return totals.indices.map { counter in missing + minutes.map { $0[counter] } }
        }
    }

    private static func difference(_ new: [Int64], _ old: [Int64]) -> [Int64] {
        zip(new, old).map { max(0, $0 - $1) }
    }
}
