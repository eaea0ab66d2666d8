// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// One session as a store keeps it: hashes, times and a sealed text, nothing that names a person.
package struct SessionRecord: Sendable, Hashable {
    /// The hash of the ticket, 32 bytes.
    package var key: [UInt8]
    /// The hash of the family, 32 bytes.
    package var family: [UInt8]
    /// The sealed session.
    package var sealed: [UInt8]
    /// When the person signed in.
    package var created: Instant
    /// When the session was last used, in steps of a minute.
    package var lastSeen: Instant
    /// When the session ends whatever happens.
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

/// Where sessions are kept.
///
/// "Not there" is an answer; a store that cannot answer throws a failure of kind `overloaded`, which must never be
/// taken for the end of a session.
package protocol SessionStore: Sendable {
    /// The record under a key, or nil if there is none.
    func record(for key: [UInt8]) async throws(Failure) -> SessionRecord?

    /// Adds a record under a key that is not taken yet.
    func insert(_ record: SessionRecord) async throws(Failure)

    /// Notes that a session was used; nothing happens if it is gone.
    ///
    /// Never waits: a store may write it later, and ``record(for:)`` returns it from now on.
    func noteUse(_ key: [UInt8], at instant: Instant)

    /// Removes the record under a key, if there is one.
    func remove(_ key: [UInt8]) async throws(Failure)

    /// Removes all records of a family.
    ///
    /// When this returns, none of them is returned any more, also if it could not be written yet.
    func removeFamily(_ family: [UInt8]) async throws(Failure)

    /// Removes sessions past their end or unused for `idle`, and spent ids past theirs; says how many sessions.
    func removeExpired(at now: Instant, idle: Duration) async throws(Failure) -> Int

    /// Notes that an id of something that works once was used; true only for the first caller ever.
    ///
    /// The id is remembered until `until`, after which the thing itself must have expired.
    func spend(_ id: [UInt8], until: Instant) async throws(Failure) -> Bool

    /// Notes the use of an id and adds a record, in one step; false, and no record, if the id was used before.
    func insert(_ record: SessionRecord, spending id: [UInt8], until: Instant) async throws(Failure) -> Bool

    /// How many sessions are live: those that are over and not removed yet do not count.
    func count(at now: Instant, within lifetimes: SessionLifetimes) async throws(Failure) -> Int

    /// Throws what is wrong if the store cannot be read and written now.
    func check() async throws(Failure)

    /// What has become of the file that the store is kept in; nil if nothing, or if there is no file.
    ///
    /// May read a little from a disk.
    func fault() -> StoreFileFailure?

    /// Ends the use of the store; afterwards everything throws.
    func close() async
}

/// What somebody may do to the file of a store while it is in use.
///
/// The store goes on with what it has; a restart would not find it again.
package enum StoreFileFailure: String, Sendable, CaseIterable {
    /// There is no file at the path any more.
    case deleted
    /// Another file is at the path.
    case replaced
    /// The file is shorter than it has to be.
    case truncated
    /// What is in the file makes no sense.
    case damaged
}

/// What a store reports beside the results of its calls.
package enum StoreEvent: Sendable, Equatable {
    /// A sign-out holds in memory, but could not be written to the store.
    ///
    /// - Parameters:
    ///   - pending: How many families wait.
    ///   - isKept: Whether it outlives a restart all the same.
    ///   - reason: Why it could not be written.
    case revocationPending(pending: Int, isKept: Bool, reason: String)
    /// All sign-outs that waited are written.
    case revocationsWritten
}

extension SessionStore {
    /// A store without a file has no fault of that kind.
    package func fault() -> StoreFileFailure? { nil }

    /// One step after the other, for stores without transactions: when the second fails, the id is spent for nothing.
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
