// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Remembers what has happened, so that it is logged once.
final class FirstOccurrences: Sendable {
    private let limit: Int
    private let known = Mutex<Set<String>>([])

    /// Remembers up to `limit` texts; any further one does not count as new.
    init(limit: Int) {
        self.limit = limit
    }

    /// Adds a text.
    ///
    /// - Returns: Whether it is new.
    func add(_ text: String) -> Bool {
        self.known.withLock { $0.count < self.limit && $0.insert(text).inserted }
    }
}
