// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// The last uses of sessions that are not written yet.
final class UseBuffer: Sendable {
    /// The maximum number of uses; more are dropped, and recorded with the next use of their session.
    static let capacity = 100_000

    private let uses = Mutex<[[UInt8]: Instant]>([:])

    func note(_ key: [UInt8], at instant: Instant) {
        self.uses.withLock { uses in
            guard uses.count < UseBuffer.capacity || uses[key] != nil else { return }
            uses[key] = max(uses[key] ?? instant, instant)
        }
    }

    /// The last noted use of a session.
    func lastUse(of key: [UInt8]) -> Instant? { self.uses.withLock { $0[key] } }

    /// At most `count` uses, which stay in the buffer until they are written.
    func first(_ count: Int) -> [(key: [UInt8], at: Instant)] {
        self.uses.withLock { uses in uses.prefix(count).map { (key: $0.key, at: $0.value) } }
    }

    /// Removes what was written, unless there was a later use meanwhile.
    func remove(_ written: [(key: [UInt8], at: Instant)]) {
        self.uses.withLock { uses in
            for use in written where uses[use.key] == use.at { uses[use.key] = nil }
        }
    }
}
