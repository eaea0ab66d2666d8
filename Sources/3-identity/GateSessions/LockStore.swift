// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The port for what only one may do, among all gateways that share a store: locks, and ids that are used once.
package protocol LockStore: Sendable {
    /// Takes a lock, which ends by itself: true for the first owner, and no other, until `time` has passed.
    ///
    /// - Parameters:
    ///   - id: The lock.
    ///   - owner: Random bytes, new for each attempt to take a lock.
    ///   - now: The time.
    ///   - time: When the lock ends by itself.
    /// - Returns: Whether the owner has the lock.
    /// - Throws: If the store is unavailable; then the owner may have the lock nevertheless.
    func lock(_ id: [UInt8], owner: [UInt8], at now: Instant, for time: Duration) async throws(Failure) -> Bool

    /// Ends a lock before its time, unless another owner has taken it since.
    func unlock(_ id: [UInt8], owner: [UInt8]) async throws(Failure)

    /// Records the use of a single-use id; true for the first caller only.
    ///
    /// The id is kept until `until`, when the single-use value itself has expired.
    func spend(_ id: [UInt8], until: Instant) async throws(Failure) -> Bool
}
