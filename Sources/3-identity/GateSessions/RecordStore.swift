// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The port for the records of sessions.
///
/// Nil means that there is no such record; a store that is unavailable throws a failure of kind `overloaded`, which
/// must never be treated as the end of a session.
package protocol RecordStore: Sendable {
    /// Whether it keeps sessions; one that does not has no records, and fails where one is asked to change or list them.
    var keepsSessions: Bool { get }

    /// The record under a key, or nil if it does not exist.
    func record(for key: [UInt8]) async throws(Failure) -> SessionRecord?

    /// Adds a record under a new key.
    func insert(_ record: SessionRecord) async throws(Failure)

    /// Records the use of an id and adds a record, atomically; neither if the id was used before.
    ///
    /// A store that can read an entry in the same step does so, which saves each sign-in a call.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - id: The single-use id.
    ///   - until: How long the id is kept.
    ///   - kind: The kind of the entry.
    ///   - key: The key of the entry.
    ///   - now: The time; an entry that has expired does not count.
    /// - Returns: What happened. An entry that is not found was not there when the record was added, so the sign-out that
    ///   writes it later finds the record.
    /// - Throws: If the store is unavailable; then the record may be in it nevertheless.
    func insert(
        _ record: SessionRecord,
        spending id: [UInt8],
        until: Instant,
        reading kind: StoreEntry.Kind,
        _ key: [UInt8],
        at now: Instant
    ) async throws(Failure) -> StoreInsertion

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

    /// Removes the records of a family that were unused for longest, so that at most `limit` remain.
    ///
    /// - Parameters:
    ///   - family: The family.
    ///   - limit: The number of records.
    ///   - kept: The keys of records that stay in any case.
    /// - Throws: If the store is unavailable; then some may be removed.
    func trimFamily(_ family: [UInt8], to limit: Int, keeping kept: Set<[UInt8]>) async throws(Failure)

    /// Replaces the sealed session and the card of a record, unless another gateway was first.
    ///
    /// Family, labels and times stay as they are. When this returns true, every gateway's next look-up has the new
    /// record.
    ///
    /// - Parameters:
    ///   - key: The key of the record.
    ///   - sealed: The sealed session that was read.
    ///   - replacement: The new sealed session.
    ///   - card: The new card.
    /// - Returns: Whether the record was replaced; false if it has another sealed session or does not exist.
    /// - Throws: If the store is unavailable; then the record may be replaced nevertheless.
    func replace(
        _ key: [UInt8],
        ifSealed sealed: [UInt8],
        by replacement: [UInt8],
        card: [UInt8]
    ) async throws(Failure) -> Bool

    /// Notifies the other gateways that use the store, if there are any, that the sessions of a family have changed, so that their
    /// caches read them again.
    func reportChange(ofFamily family: [UInt8]) async throws(Failure)

    /// The families of the records that have a label.
    func families(labeled label: [UInt8]) async throws(Failure) -> Set<[UInt8]>

    /// The sign-ins whose records have a label, in no particular order; the oldest where there are more than `limit`.
    func signIns(labeled label: [UInt8], limit: Int) async throws(Failure) -> [StoredSignIn]

    /// Some records: at most `limit`, from `cursor` on; an empty cursor is the start.
    ///
    /// A record that is inserted or removed meanwhile may be missing; any other is in exactly one page.
    func records(from cursor: [UInt8], limit: Int) async throws(Failure) -> StorePage<SessionRecord>

    /// The number of live sessions, without expired ones that are not removed yet.
    func count(at now: Instant, within lifetimes: SessionLifetimes) async throws(Failure) -> Int
}

/// One session in a store: hashes, times and a sealed text, nothing that identifies a user.
package struct SessionRecord: Sendable, Hashable {
    /// The hash of the ticket, 32 bytes.
    package var key: [UInt8]
    /// The hash of the family, 32 bytes.
    package var family: [UInt8]
    package var sealed: [UInt8]
    /// When the user signed in.
    package var created: Instant
    /// When the session was last used, in steps of a minute.
    package var lastSeen: Instant
    /// When the session expires at the latest.
    package var expires: Instant
    /// The hashes under which ``RecordStore/families(labeled:)`` finds it.
    ///
    /// 32 bytes each, at most ``maxLabels``; see ``SessionLabel``.
    package var labels: [[UInt8]] = []
    /// What an operator sees of the session, sealed with the gateway secret only; empty if absent.
    package var card: [UInt8] = []

    /// The labels one after the other, as stores keep them.
    package var labelBytes: [UInt8] {
        precondition(self.labels.count <= Self.maxLabels && self.labels.allSatisfy { $0.count == Self.labelSize })
        return Array(self.labels.joined())
    }

    /// The labels in ``labelBytes``; no more than there may be, whatever a store has.
    package static func labels(in bytes: [UInt8]) -> [[UInt8]] {
        (0..<min(bytes.count / self.labelSize, self.maxLabels)).map {
            Array(bytes[($0 * self.labelSize)..<(($0 + 1) * self.labelSize)])
        }
    }

    /// The size of a label in bytes.
    private static let labelSize = 32

    /// The maximum number of labels.
    package static let maxLabels = 4

    /// A record of these parts, without labels and card.
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

/// A sign-in in a store: a family with the times of its records.
package struct StoredSignIn: Sendable, Hashable {
    /// The hash of the family.
    package var family: [UInt8]
    /// The key of one of its records.
    package var key: [UInt8]
    /// When the user signed in.
    package var created: Instant
    /// When one of its sessions was last used, in steps of a minute.
    package var lastSeen: Instant
    /// When its sessions expire at the latest.
    package var expires: Instant

    /// The sign-ins of some records.
    package static func of(_ records: some Sequence<StoredSignIn>) -> [StoredSignIn] {
        var found: [[UInt8]: StoredSignIn] = [:]
        for record in records {
            let known = found[record.family]
            var next = known ?? record
            next.lastSeen = max(next.lastSeen, record.lastSeen)
            found[record.family] = next
        }
        return Array(found.values)
    }

    package init(_ record: SessionRecord) {
        self.init(
            family: record.family,
            key: record.key,
            created: record.created,
            lastSeen: record.lastSeen,
            expires: record.expires
        )
    }

    package init(family: [UInt8], key: [UInt8], created: Instant, lastSeen: Instant, expires: Instant) {
        self.family = family
        self.key = key
        self.created = created
        self.lastSeen = lastSeen
        self.expires = expires
    }
}

/// The result of adding a record that spends a single-use id.
package enum StoreInsertion: Sendable, Equatable {
    /// The id was used before, so there is no record.
    case spent
    /// The record was added; the entry still has to be read.
    case added
    /// The record was added, and the entry was read; nil if it does not exist or has expired.
    case addedReading(StoreEntry?)
}
