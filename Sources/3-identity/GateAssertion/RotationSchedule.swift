// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// When a new key replaces the one before it, so that each reader knows a key before it is used, and as long as needed.
///
/// It depends on the times of creation only, so all gateways that read the same files come to the same result.
package struct RotationSchedule: Sendable, Hashable {
    /// How long a key is published before it is used.
    package let publishAhead: Duration
    /// How long a key stays valid after the next one is used.
    package let overlap: Duration

    /// What a key is used for.
    package enum Role: String, Sendable {
        /// It is published, and used later.
        case next
        /// It is used.
        case active
        /// What it has signed or sealed is still valid.
        case previous
        /// It is not valid any more.
        case expired
    }

    package init(publishAhead: Duration, overlap: Duration) {
        self.publishAhead = publishAhead
        self.overlap = overlap
    }

    /// The roles of keys; the active key is the newest that was published long enough.
    ///
    /// If there is no such key, the oldest one is active: the first key of a gateway is used immediately.
    ///
    /// - Parameters:
    ///   - created: When the keys were created, latest first.
    ///   - now: The time.
    /// - Returns: The role of each key, one of them active unless there are no keys.
    package func roles(of created: [Instant], at now: Instant) -> [Role] {
        let isKnown = { (time: Instant) in time.advanced(by: self.publishAhead) <= now }
        guard let active = created.firstIndex(where: isKnown) ?? created.indices.last else { return [] }
        return created.indices.map { index in
            if index < active { return .next }
            if index == active { return .active }
            // A key is replaced by its direct successor; later rotations do not extend its life.
            return now < self.activation(of: created[index - 1]).advanced(by: self.overlap) ? .previous : .expired
        }
    }

    /// When a key that was created at a time is used.
    package func activation(of created: Instant) -> Instant { created.advanced(by: self.publishAhead) }
}
