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

    /// Notes when a session was last used; nothing happens if it is gone.
    func touch(_ key: [UInt8], lastSeen: Instant) async throws(Failure)

    /// Removes the record under a key, if there is one.
    func remove(_ key: [UInt8]) async throws(Failure)

    /// Removes all records of a family.
    func removeFamily(_ family: [UInt8]) async throws(Failure)

    /// Removes sessions past their end or unused for `idle`, and spent ids past theirs; says how many sessions.
    func removeExpired(at now: Instant, idle: Duration) async throws(Failure) -> Int

    /// Notes that an id of something that works once was used; true only for the first caller ever.
    ///
    /// The id is remembered until `until`, after which the thing itself must have expired.
    func spend(_ id: [UInt8], until: Instant) async throws(Failure) -> Bool

    /// Notes the use of an id and adds a record, in one step; false, and no record, if the id was used before.
    func insert(_ record: SessionRecord, spending id: [UInt8], until: Instant) async throws(Failure) -> Bool

    /// How many sessions there are, expired ones not yet removed included.
    func count() async throws(Failure) -> Int

    /// Throws what is wrong if the store cannot be read and written now.
    func check() async throws(Failure)

    /// Ends the use of the store; afterwards everything throws.
    func close() async
}

extension SessionStore {
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
