// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateSessions

/// The store of gateways whose cookies are whole sessions: it keeps no session, only the single-use values that this
/// process has seen, and who has signed in.
///
/// Whatever would need the sessions fails with `session.not_kept`, so that nothing seems to be listed or ended that is not.
package final class CookieStore: SessionStore {
    /// At most so many single-use values, and as many users.
    private let spent = MemoryStore(capacity: 100_000)

    /// A store without sessions.
    package init() {}

    /// It keeps none.
    package var keepsSessions: Bool { false }

    /// There is no record.
    package func record(for key: [UInt8]) async throws(Failure) -> SessionRecord? { nil }

    /// Fails.
    package func insert(_ record: SessionRecord) async throws(Failure) { throw CookieStore.failure("added") }

    /// Fails, and spends nothing.
    package func insert(
        _ record: SessionRecord,
        spending id: [UInt8],
        until: Instant,
        reading kind: StoreEntry.Kind,
        _ key: [UInt8],
        at now: Instant
    ) async throws(Failure) -> StoreInsertion {
        throw CookieStore.failure("added")
    }

    /// Does nothing: a use is in the next cookie.
    package func noteUse(_ key: [UInt8], at instant: Instant) {}

    /// Does nothing, since there is no record.
    package func remove(_ key: [UInt8]) async throws(Failure) {}

    /// Fails.
    package func removeFamily(_ family: [UInt8]) async throws(Failure) { throw CookieStore.failure("ended") }

    /// Fails.
    package func replace(
        _ key: [UInt8],
        ifSealed sealed: [UInt8],
        by replacement: [UInt8],
        card: [UInt8]
    ) async throws(Failure) -> Bool {
        throw CookieStore.failure("changed")
    }

    /// Fails.
    package func families(labeled label: [UInt8]) async throws(Failure) -> Set<[UInt8]> {
        throw CookieStore.failure("found by their user")
    }

    /// Does nothing, since no other gateway uses it.
    package func reportChange(ofFamily family: [UInt8]) async throws(Failure) {}

    /// The store keeps no sessions, so no sign-in either.
    package func signIns(labeled label: [UInt8], limit: Int) async throws(Failure) -> [StoredSignIn] { [] }

    /// Fails.
    package func records(from cursor: [UInt8], limit: Int) async throws(Failure) -> StorePage<SessionRecord> {
        throw CookieStore.failure("listed")
    }

    /// Takes a lock among the requests of this process.
    package func lock(
        _ id: [UInt8],
        owner: [UInt8],
        at now: Instant,
        for time: Duration
    ) async throws(Failure) -> Bool {
        try await self.spent.lock(id, owner: owner, at: now, for: time)
    }

    /// Ends a lock.
    package func unlock(_ id: [UInt8], owner: [UInt8]) async throws(Failure) {
        try await self.spent.unlock(id, owner: owner)
    }

    /// Does nothing, since there is no record.
    package func trimFamily(_ family: [UInt8], to limit: Int, keeping kept: Set<[UInt8]>) async throws(Failure) {}

    /// Fails, as ``put(_:)`` does.
    package func replace(_ current: StoreEntry?, by entry: StoreEntry, at now: Instant) async throws(Failure) -> Bool {
        throw CookieStore.failure("revoked")
    }

    /// Keeps users in this process; fails for all else: a gateway that forgets it, or another one, would not know it.
    package func put(_ entries: [StoreEntry]) async throws(Failure) {
        guard entries.allSatisfy({ $0.kind == .user }) else { throw CookieStore.failure("revoked") }
        try await self.spent.put(entries)
    }

    /// A user whom this process has seen; there is no other entry.
    package func entry(
        _ kind: StoreEntry.Kind,
        _ key: [UInt8],
        at now: Instant
    ) async throws(Failure) -> StoreEntry? {
        kind == .user ? try await self.spent.entry(kind, key, at: now) : nil
    }

    /// The users of some keys whom this process has seen; there is no other entry.
    package func entries(
        _ kind: StoreEntry.Kind,
        under keys: [[UInt8]],
        at now: Instant
    ) async throws(Failure) -> [StoreEntry] {
        kind == .user ? try await self.spent.entries(kind, under: keys, at: now) : []
    }

    /// The users whom this process has seen; fails for all else.
    package func entries(
        _ kind: StoreEntry.Kind,
        from cursor: [UInt8],
        limit: Int,
        at now: Instant
    ) async throws(Failure) -> StorePage<StoreEntry> {
        guard kind == .user else { throw CookieStore.failure("listed") }
        return try await self.spent.entries(kind, from: cursor, limit: limit, at: now)
    }

    /// Removes expired single-use values; there are no sessions.
    package func removeExpired(at now: Instant, idle: Duration) async throws(Failure) -> Int {
        try await self.spent.removeExpired(at: now, idle: idle)
    }

    /// Records the use of an id in this process; throws when too many are remembered.
    package func spend(_ id: [UInt8], until: Instant) async throws(Failure) -> Bool {
        try await self.spent.spend(id, until: until)
    }

    /// Fails.
    package func count(at now: Instant, within lifetimes: SessionLifetimes) async throws(Failure) -> Int {
        throw CookieStore.failure("counted")
    }

    /// There is no file.
    package func fileFailure() -> StoreFileFailure? { nil }

    /// Forgets everything.
    package func close() async { await self.spent.close() }

    private static func failure(_ what: String) -> Failure {
        Failure(.sessionNotKept, "sessions cannot be \(what) with 'sessions.store: cookie:', which keeps none")
    }
}
