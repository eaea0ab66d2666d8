// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The port for what a store keeps beside sessions: users, accounts, passkeys, not-before times, limits.
package protocol EntryStore: Sendable {
    /// Adds or replaces entries; after a failure some of them may be written.
    func put(_ entries: [StoreEntry]) async throws(Failure)

    /// Adds an entry, or replaces the one that was read, unless another gateway was first.
    ///
    /// - Parameters:
    ///   - current: The entry as ``entry(_:_:at:)`` returned it; nil if absent.
    ///   - entry: The new entry, of the same kind and key.
    ///   - now: The time; an entry that has expired does not count.
    /// - Returns: Whether the entry was written; false if the store has another one than `current`.
    /// - Throws: If the store is unavailable; then the entry may be written nevertheless.
    func replace(_ current: StoreEntry?, by entry: StoreEntry, at now: Instant) async throws(Failure) -> Bool

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
}

/// A value in a store that is not a session, found by its kind and key.
package struct StoreEntry: Sendable, Hashable {
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

    package var kind: Kind
    /// A hash, 32 bytes.
    package var key: [UInt8]
    /// The value, sealed with the gateway secret if it names a user; at most 64 KiB.
    package var value: [UInt8]
    /// When the store may remove it.
    package var expires: Instant

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

    package init(items: [Item], next: [UInt8]?) {
        self.items = items
        self.next = next
    }
}
