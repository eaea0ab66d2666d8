// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Limits how many operations are in progress at a time.
package final class ConcurrencyLimiter: Sendable {
    private let limit: Int
    private let active = Atomic<Int>(0)

    /// Creates a limiter for `limit` concurrent operations.
    package init(limit: Int) {
        self.limit = limit
    }

    /// How many operations are in progress.
    package var count: Int { self.active.load(ordering: .relaxed) }

    /// Whether one more operation may start; if so it counts until ``release()``.
    package func acquire() -> Bool {
        guard self.active.add(1, ordering: .relaxed).newValue <= self.limit else {
            self.active.subtract(1, ordering: .relaxed)
            return false
        }
        return true
    }

    /// Ends an operation that ``acquire()`` admitted.
    package func release() {
        self.active.subtract(1, ordering: .relaxed)
    }
}
