// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The port for the upkeep of a store: the sweep, the state of its file or servers, the end.
package protocol StoreMaintenance: Sendable {
    /// Removes sessions that have expired or were idle for `idle`, and expired spent ids; returns the number of
    /// sessions.
    func removeExpired(at now: Instant, idle: Duration) async throws(Failure) -> Int

    /// What is wrong with the file of the store, or with its servers; nil if nothing is.
    ///
    /// May read from a disk.
    func fileFailure() -> StoreFileFailure?

    /// Closes the store; afterwards every call throws.
    func close() async
}

/// What is wrong with the file of a store that is in use, or with its servers.
///
/// The store continues to use the open file; a restart would not find it.
package enum StoreFileFailure: String, Sendable, CaseIterable {
    case deleted
    /// The path names another file.
    case replaced
    /// The file is shorter than its header requires.
    case truncated
    /// The content of the file is corrupt.
    case damaged
    /// The server is a replica, from which nothing is read.
    case readOnly = "read_only"
    /// A server removes sessions by itself when its memory is full.
    case evicting
}

/// What a store reports in addition to the results of its calls.
package enum StoreEvent: Sendable, Equatable {
    /// A sign-out is in force in memory, but could not be written to the store.
    ///
    /// - Parameters:
    ///   - pending: The number of pending families.
    ///   - isKept: Whether it persists across a restart nevertheless.
    ///   - reason: Why it could not be written.
    case revocationPending(pending: Int, isKept: Bool, reason: String)
    /// All pending sign-outs are written.
    case revocationsWritten
}
