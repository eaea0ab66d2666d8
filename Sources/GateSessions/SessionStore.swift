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
    /// The hashes under which ``SessionStore/families(labeled:)`` finds it.
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

    /// The sign-in of one record.
    package init(_ record: SessionRecord) {
        self.init(
            family: record.family,
            key: record.key,
            created: record.created,
            lastSeen: record.lastSeen,
            expires: record.expires
        )
    }

    /// A sign-in of these parts.
    package init(family: [UInt8], key: [UInt8], created: Instant, lastSeen: Instant, expires: Instant) {
        self.family = family
        self.key = key
        self.created = created
        self.lastSeen = lastSeen
        self.expires = expires
    }
}

/// A value in a store that is not a session, found by its kind and key.
package struct StoreEntry: Sendable, Hashable {
    /// What an entry is for.
    package enum Kind: String, Sendable, CaseIterable {
        /// A user who has signed in.
        case user
        /// The time before which sessions of a user, or all, are revoked.
        case notBefore = "not_before"
        /// A provider's logout token that was accepted.
        case providerLogout = "provider_logout"
        /// The time of a sign-out that ends sign-ins in progress.
        case signOut = "sign_out"
        /// A sign-in on another device that a client has begun.
        case device
        /// A local account.
        case account
        /// A name of a local account.
        case accountName = "account_name"
        /// The passkeys of a user.
        case passkeys
        /// The accounts that a user has connected.
        case connection
        /// How often something happened in a minute for one client network or user.
        case limit
    }

    /// The end of an entry that does not expire.
    package static let never = Instant.distantFuture

    /// Whether it stays until it is replaced by one that has expired.
    package var isPermanent: Bool { self.expires == StoreEntry.never }

    /// What the entry is for.
    package var kind: Kind
    /// A hash, 32 bytes.
    package var key: [UInt8]
    /// The value, sealed with the gateway secret if it names a user; at most 64 KiB.
    package var value: [UInt8]
    /// When the store may remove it.
    package var expires: Instant

    /// An entry of these parts.
    package init(kind: Kind, key: [UInt8], value: [UInt8], expires: Instant) {
        self.kind = kind
        self.key = key
        self.value = value
        self.expires = expires
    }
}

/// Some items of a store, and where the rest begins.
package struct StorePage<Item: Sendable>: Sendable {
    /// The items, in no particular order.
    package var items: [Item]
    /// Where the next page begins, in the format of the store; nil after the last page.
    package var next: [UInt8]?

    /// A page.
    package init(items: [Item], next: [UInt8]?) {
        self.items = items
        self.next = next
    }
}

/// The port for session stores.
///
/// Nil means that there is no such record; a store that is unavailable throws a failure of kind `overloaded`, which
/// must never be treated as the end of a session. No requirement has a default: a store around another one, such as one that
/// counts the calls, must not fall back to it silently.
package protocol SessionStore: Sendable {
    /// Whether it keeps sessions; one that does not has no records, and fails where one is asked to change or list them.
    var keepsSessions: Bool { get }

    /// The record under a key, or nil if it does not exist.
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

    /// Adds or replaces an entry.
    func put(_ entry: StoreEntry) async throws(Failure)

    /// Adds an entry, or replaces the one that was read, unless another gateway was first.
    ///
    /// - Parameters:
    ///   - current: The entry as ``entry(_:_:at:)`` returned it; nil if absent.
    ///   - entry: The new entry, of the same kind and key.
    ///   - now: The time; an entry that has expired does not count.
    /// - Returns: Whether the entry was written; false if the store has another one than `current`.
    /// - Throws: If the store is unavailable; then the entry may be written nevertheless.
    func replace(_ current: StoreEntry?, by entry: StoreEntry, at now: Instant) async throws(Failure) -> Bool

    /// Adds or replaces some entries; after a failure some of them may be written.
    func put(_ entries: [StoreEntry]) async throws(Failure)

    /// The entry of a kind and key; nil if it does not exist or has expired.
    ///
    /// - Throws: If the store is unavailable, or `session.store_damaged` if the entry cannot be read: a revocation that cannot be
    ///   read must not pass for none.
    func entry(_ kind: StoreEntry.Kind, _ key: [UInt8], at now: Instant) async throws(Failure) -> StoreEntry?

    /// The entries of a kind under some keys, in any order; those that do not exist, have expired or cannot be read are left out.
    func entries(_ kind: StoreEntry.Kind, under keys: [[UInt8]], at now: Instant) async throws(Failure) -> [StoreEntry]

    /// Some entries of a kind: at most `limit`, from `cursor` on; an empty cursor is the start. Those that cannot be read are left
    /// out.
    func entries(
        _ kind: StoreEntry.Kind,
        from cursor: [UInt8],
        limit: Int,
        at now: Instant
    ) async throws(Failure) -> StorePage<StoreEntry>

    /// Removes sessions that have expired or were idle for `idle`, and expired spent ids; returns the number of
    /// sessions.
    func removeExpired(at now: Instant, idle: Duration) async throws(Failure) -> Int

    /// Records the use of a single-use id; true for the first caller only.
    ///
    /// The id is kept until `until`, when the single-use value itself has expired.
    func spend(_ id: [UInt8], until: Instant) async throws(Failure) -> Bool

    /// Records the use of an id and adds a record, atomically; false, without a record, if the id was used before.
    func insert(_ record: SessionRecord, spending id: [UInt8], until: Instant) async throws(Failure) -> Bool

    /// Records the use of an id and adds a record, like ``insert(_:spending:until:)``; a store that can read an entry in the
    /// same step does so, which saves each sign-in a call.
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

    /// The number of live sessions, without expired ones that are not removed yet.
    func count(at now: Instant, within lifetimes: SessionLifetimes) async throws(Failure) -> Int

    /// Throws if the store cannot be read and written now.
    func check() async throws(Failure)

    /// What is wrong with the file of the store, or with its servers; nil if nothing is.
    ///
    /// May read from a disk.
    func fileFailure() -> StoreFileFailure?

    /// Closes the store; afterwards every call throws.
    func close() async
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

/// What is wrong with the file of a store that is in use, or with its servers.
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
