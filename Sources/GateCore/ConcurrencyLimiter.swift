// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Counts what is under way and turns away what is over the bound.
package final class ConcurrencyLimiter: Sendable {
    private let limit: Int
    private let inside = Atomic<Int>(0)

    /// A turnstile that lets `limit` in at a time.
    package init(limit: Int) {
        self.limit = limit
    }

    /// How many are inside.
    package var count: Int { self.inside.load(ordering: .relaxed) }

    /// Whether one more may come in; if so it is counted until ``leave()``.
    package func enter() -> Bool {
        guard self.inside.add(1, ordering: .relaxed).newValue <= self.limit else {
            self.inside.subtract(1, ordering: .relaxed)
            return false
        }
        return true
    }

    /// Takes one off the count.
    package func leave() {
        self.inside.subtract(1, ordering: .relaxed)
    }
}
