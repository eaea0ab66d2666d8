// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// One session in a store: hashes, times and a sealed text, nothing that identifies a user.
package struct SessionRecord: Sendable, Hashable {
    /// The hash of the ticket, 32 bytes.
    package var key: [UInt8]
    /// The hash of the family, 32 bytes.
    package var family: [UInt8]
    /// The sealed session.
    package var sealed: [UInt8]
    /// When the user signed in.
    package var created: Instant
    /// When the session was last used, in steps of a minute.
    package var lastSeen: Instant
    /// When the session expires at the latest.
    package var expires: Instant

    /// A record of these parts.
    package init(key: [UInt8], family: [UInt8], sealed: [UInt8], created: Instant, lastSeen: Instant, expires: Instant)
    {
        self.key = key
        self.family = family
        self.sealed = sealed
        self.created = created
        self.lastSeen = lastSeen
        self.expires = expires
    }
}

/// The port for session stores.
///
/// Nil means that there is no such record; a store that is unavailable throws a failure of kind `overloaded`, which
/// must never be treated as the end of a session.
package protocol SessionStore: Sendable {
    /// The record under a key, or nil if there is none.
    func record(for key: [UInt8]) async throws(Failure) -> SessionRecord?

    /// Adds a record under a new key.
    func insert(_ record: SessionRecord) async throws(Failure)

    /// Records that a session was used, if it still exists.
    ///
    /// Never waits: a store may write it later; ``record(for:)`` returns it at once.
    func noteUse(_ key: [UInt8], at instant: Instant)

    /// Removes the record under a key, if there is one.
    func remove(_ key: [UInt8]) async throws(Failure)

    /// Removes all records of a family.
    ///
    /// When this returns, the store returns none of them, even if the removal is not written yet.
    func removeFamily(_ family: [UInt8]) async throws(Failure)

    /// Removes sessions that have expired or were idle for `idle`, and expired spent ids; returns the number of
    /// sessions.
    func removeExpired(at now: Instant, idle: Duration) async throws(Failure) -> Int

    /// Records the use of a single-use id; true for the first caller only.
    ///
    /// The id is kept until `until`, when the single-use value itself has expired.
    func spend(_ id: [UInt8], until: Instant) async throws(Failure) -> Bool

    /// Records the use of an id and adds a record, atomically; false, without a record, if the id was used before.
    func insert(_ record: SessionRecord, spending id: [UInt8], until: Instant) async throws(Failure) -> Bool

    /// The number of live sessions, without expired ones that are not removed yet.
    func count(at now: Instant, within lifetimes: SessionLifetimes) async throws(Failure) -> Int

    /// Throws if the store cannot be read and written now.
    func check() async throws(Failure)

    /// What is wrong with the file of the store; nil if nothing is, or if there is no file.
    ///
    /// May read from a disk.
    func fileFailure() -> StoreFileFailure?

    /// Closes the store; afterwards every call throws.
    func close() async
}

/// What is wrong with the file of a store that is in use.
///
/// The store continues to use the open file; a restart would not find it.
package enum StoreFileFailure: String, Sendable, CaseIterable {
    /// The file was deleted.
    case deleted
    /// The path names another file.
    case replaced
    /// The file is shorter than its header requires.
    case truncated
    /// The content of the file is corrupt.
    case damaged
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

extension SessionStore {
    /// A store without a file has no such failure.
    package func fileFailure() -> StoreFileFailure? { nil }

    /// One step after the other, for stores without transactions: when the second fails, the id stays spent.
    package func insert(
        _ record: SessionRecord,
        spending id: [UInt8],
        until: Instant
    ) async throws(Failure) -> Bool {
        guard try await self.spend(id, until: until) else { return false }
        try await self.insert(record)
        return true
    }
}
