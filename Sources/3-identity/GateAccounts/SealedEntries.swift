// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateSessions

/// Entries in the store of the sessions, sealed with the gateway secret; most do not expire.
///
/// A change is written only if no other gateway has changed the entry meanwhile. An entry that no secret opens is a failure and
/// never a missing one: what is there must not be replaced.
package struct SealedEntries: Sendable {
    /// How often a change is tried while others change the same entry.
    static let maxTries = 8
    /// The kinds of such entries.
    private static let kinds: [StoreEntry.Kind] = [.account, .accountName, .passkeys, .connection]

    private let store: any EntryStore
    private let sealer: Sealer
    private let clock: WallClock

    package init(in store: any EntryStore, sealer: Sealer, clock: WallClock) {
        (self.store, self.sealer, self.clock) = (store, sealer, clock)
    }

    /// An entry and what is sealed in it.
    struct Opened: Sendable {
        let entry: StoreEntry
        let plain: [UInt8]
    }

    /// An entry; nil if it does not exist.
    ///
    /// - Throws: `account.unreadable` if no secret of the gateway opens it, or if the store is unavailable.
    func entry(_ kind: StoreEntry.Kind, _ key: [UInt8]) async throws(Failure) -> Opened? {
        guard let entry = try await self.store.entry(kind, key, at: self.clock.now) else { return nil }
        guard let plain = self.sealer.open(entry.value, for: SealedEntries.purpose(key)) else {
            throw SealedEntries.unreadable(kind)
        }
        return Opened(entry: entry, plain: plain)
    }

    /// The failure of an entry that cannot be read.
    static func unreadable(_ kind: StoreEntry.Kind) -> Failure {
        let why = "no gateway secret opens it, or a later version of the gateway has written it"
        return Failure(.accountUnreadable, "an entry of the kind '\(kind.rawValue)': \(why)")
    }

    /// Writes an entry in place of the one that was read, nil for none; false if it was changed meanwhile.
    func replace(
        _ known: Opened?,
        _ kind: StoreEntry.Kind,
        _ key: [UInt8],
        by plain: [UInt8],
        until expires: Instant = StoreEntry.never
    ) async throws(Failure) -> Bool {
        let sealed = self.sealer.seal(plain, for: SealedEntries.purpose(key))
        let entry = StoreEntry(kind: kind, key: key, value: sealed, expires: expires)
        return try await self.store.replace(known?.entry, by: entry, at: self.clock.now)
    }

    /// Removes an entry; false if it was changed meanwhile.
    func remove(_ known: Opened) async throws(Failure) -> Bool {
        let now = self.clock.now
        let ended = StoreEntry(kind: known.entry.kind, key: known.entry.key, value: [], expires: now)
        return try await self.store.replace(known.entry, by: ended, at: now)
    }

    /// Removes an entry, whether or not a secret opens it; false if it does not exist.
    func erase(_ kind: StoreEntry.Kind, _ key: [UInt8]) async throws(Failure) -> Bool {
        for _ in 0..<SealedEntries.maxTries {
            let now = self.clock.now
            guard let entry = try await self.store.entry(kind, key, at: now) else { return false }
            if try await self.remove(Opened(entry: entry, plain: [])) { return true }
        }
        throw SealedEntries.busy
    }

    /// Some entries of a kind, from a cursor on, and the number of those that no secret of the gateway opens.
    func page(
        _ kind: StoreEntry.Kind,
        from cursor: [UInt8],
        limit: Int
    ) async throws(Failure) -> (page: StorePage<Opened>, unreadable: Int) {
        let page = try await self.store.entries(kind, from: cursor, limit: limit, at: self.clock.now)
        let opened = page.items.compactMap { entry in
            self.sealer.open(entry.value, for: SealedEntries.purpose(entry.key)).map { Opened(entry: entry, plain: $0) }
        }
        return (StorePage(items: opened, next: page.next), page.items.count - opened.count)
    }

    /// Seals with the present gateway secret what is sealed with an earlier one, so that this can be removed.
    ///
    /// - Returns: The number of entries that were sealed again.
    package func sealAgain() async throws(Failure) -> Int {
        var count = 0
        for kind in SealedEntries.kinds {
            var cursor: [UInt8]? = []
            while let from = cursor {
                let (page, _) = try await self.page(kind, from: from, limit: 200)
                for known in page.items where !self.sealer.sealsWithSecret(of: known.entry.value) {
                    if try await self.replace(known, kind, known.entry.key, by: known.plain, until: known.entry.expires)
                    {
                        count += 1
                    }
                }
                cursor = page.next
            }
        }
        return count
    }

    /// The purpose of seals; it has the key, so that entries cannot be swapped in the store.
    private static func purpose(_ key: [UInt8]) -> String { "account/\(Base64URL.encode(key))" }

    /// The failure of a change that others prevent all the time.
    static var busy: Failure { Failure(.sessionStoreUnavailable, "other requests change the account all the time") }
}
