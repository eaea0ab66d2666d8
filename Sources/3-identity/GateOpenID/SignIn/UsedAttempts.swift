// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

/// Remembers which attempts were used, so that each is used once.
///
/// RFC 9700 §4.7.
///
/// One set for all providers, which is kept across reloads. It holds at most 100,000 ids, each until its attempt expires;
/// beyond that the oldest is dropped, and only the provider's own single use of codes remains.
package final class UsedAttempts: Sendable {
    private static let capacity = 100_000
    private let state = Mutex(State())

    private struct State {
        var ids: Set<String> = []
        var queue: [(id: String, expiry: Instant)] = []
        var first = 0

        mutating func removeExpired(at now: Instant) {
            while self.first < self.queue.count,
                self.queue[self.first].expiry <= now || self.ids.count >= UsedAttempts.capacity
            {
                self.ids.remove(self.queue[self.first].id)
                self.first += 1
            }
            guard self.first > 1024, self.first > self.queue.count / 2 else { return }
            self.queue.removeFirst(self.first)
            self.first = 0
        }
    }

    package init() {}

    /// Marks the attempt as used; false if it was used before.
    package func insert(_ attempt: Attempt, at now: Instant) -> Bool {
        self.state.withLock { state in
            state.removeExpired(at: now)
            guard state.ids.insert(attempt.id).inserted else { return false }
            state.queue.append((attempt.id, attempt.expiry))
            return true
        }
    }

    /// Makes the attempt usable again, because nothing was sent to the provider for it.
    package func remove(_ attempt: Attempt) {
        self.state.withLock { state in
            _ = state.ids.remove(attempt.id)
        }
    }
}
