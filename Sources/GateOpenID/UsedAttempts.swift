// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

/// Remembers which attempts were used, so that each is used once.
///
/// RFC 9700 §4.7.
///
/// One for all providers, which outlives a reload. It holds at most 100,000 ids, each until its attempt would have
/// ended; beyond that the oldest is forgotten, and only the provider's own single use of codes stands.
package final class UsedAttempts: Sendable {
    private static let capacity = 100_000
    private let memory = Mutex(Memory())

    private struct Memory {
        var ids: Set<String> = []
        var queue: [(id: String, expiry: Instant)] = []
        var first = 0

        mutating func forget(at now: Instant) {
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

    /// An empty memory.
    package init() {}

    /// Whether this is the first use of the attempt; from now on it is spent.
    package func take(_ attempt: Attempt, at now: Instant) -> Bool {
        self.memory.withLock { memory in
            memory.forget(at: now)
            guard memory.ids.insert(attempt.id).inserted else { return false }
            memory.queue.append((attempt.id, attempt.expiry))
            return true
        }
    }

    /// The attempt was not used after all: nothing was sent to the provider for it.
    package func giveBack(_ attempt: Attempt) {
        self.memory.withLock { memory in
            _ = memory.ids.remove(attempt.id)
        }
    }
}
