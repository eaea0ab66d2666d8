// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateSessionStores
package import GateSessions
internal import Synchronization

/// A store in memory, or one that keeps no sessions, that can be down, and that notes what is written.
package final class SwitchedStore: SessionStore {
    /// Whether it keeps sessions.
    package let keepsSessions: Bool
    private let memory: any SessionStore
    private let state = Mutex<(isDown: Bool, calls: [String])>((false, []))
    private let failures = Mutex<[String: Int]>([:])
    private let interruptions = Mutex<[String: @Sendable () async -> Void]>([:])

    /// Has something else happen before the next call of that name reaches the store.
    package func interrupt(_ call: String, with work: @escaping @Sendable () async -> Void) {
        self.interruptions.withLock { $0[call] = work }
    }

    /// Has a call of that name fail once, after some that do not.
    package func fail(_ call: String, after count: Int = 0) {
        self.failures.withLock { $0[call] = count }
    }

    private func interruption(of call: String) async {
        await self.interruptions.withLock { $0.removeValue(forKey: call) }?()
    }

    /// An empty store.
    package init(keepsSessions: Bool = true) {
        self.keepsSessions = keepsSessions
        self.memory = keepsSessions ? MemoryStore() : CookieStore()
    }

    package var isDown: Bool {
        get { self.state.withLock { $0.isDown } }
        set { self.state.withLock { $0.isDown = newValue } }
    }

    /// The names of the calls since the start.
    package var calls: [String] { self.state.withLock { $0.calls } }

    private func note(_ call: String) throws(Failure) {
        let isDown = self.state.withLock { state in
            state.calls.append(call)
            return state.isDown
        }
        let fails = self.failures.withLock { failures in
            guard let left = failures[call] else { return false }
            failures[call] = left > 0 ? left - 1 : nil
            return left == 0
        }
        guard !isDown, !fails else { throw Failure(.sessionStoreUnavailable, "the test simulates it") }
    }

    package func record(for key: [UInt8]) async throws(Failure) -> SessionRecord? {
        try self.note("record")
        return try await self.memory.record(for: key)
    }

    package func insert(_ record: SessionRecord) async throws(Failure) {
        try self.note("insert")
        try await self.memory.insert(record)
    }

    package func noteUse(_ key: [UInt8], at instant: Instant) {
        self.memory.noteUse(key, at: instant)
    }

    package func remove(_ key: [UInt8]) async throws(Failure) {
        try self.note("remove")
        try await self.memory.remove(key)
    }

    package func replace(
        _ key: [UInt8],
        ifSealed sealed: [UInt8],
        by replacement: [UInt8],
        card: [UInt8]
    ) async throws(Failure) -> Bool {
        await self.interruption(of: "replace")
        try self.note("replace")
        return try await self.memory.replace(key, ifSealed: sealed, by: replacement, card: card)
    }

    package func removeFamily(_ family: [UInt8]) async throws(Failure) {
        try self.note("removeFamily")
        try await self.memory.removeFamily(family)
    }

    package func trimFamily(_ family: [UInt8], to limit: Int, keeping kept: Set<[UInt8]>) async throws(Failure) {
        try self.note("trimFamily")
        try await self.memory.trimFamily(family, to: limit, keeping: kept)
    }

    package func removeExpired(at now: Instant, idle: Duration) async throws(Failure) -> Int {
        try self.note("removeExpired")
        return try await self.memory.removeExpired(at: now, idle: idle)
    }

    package func spend(_ id: [UInt8], until: Instant) async throws(Failure) -> Bool {
        try self.note("spend")
        return try await self.memory.spend(id, until: until)
    }

    package func count(at now: Instant, within lifetimes: SessionLifetimes) async throws(Failure) -> Int {
        try self.note("count")
        return try await self.memory.count(at: now, within: lifetimes)
    }

    package func insert(
        _ record: SessionRecord,
        spending id: [UInt8],
        until: Instant,
        reading kind: StoreEntry.Kind,
        _ key: [UInt8],
        at now: Instant
    ) async throws(Failure) -> StoreInsertion {
        try self.note("spend")
        try self.note("insert")
        let insertion = try await self.memory.insert(
            record,
            spending: id,
            until: until,
            reading: kind,
            key,
            at: now
        )
        // As a store that reads no entry in that step, so that tests see the read.
        return insertion == .spent ? .spent : .added
    }

    package func reportChange(ofFamily family: [UInt8]) async throws(Failure) {
        try self.note("reportChange")
        try await self.memory.reportChange(ofFamily: family)
    }

    package func families(labeled label: [UInt8]) async throws(Failure) -> Set<[UInt8]> {
        try self.note("families")
        return try await self.memory.families(labeled: label)
    }

    package func signIns(labeled label: [UInt8], limit: Int) async throws(Failure) -> [StoredSignIn] {
        try self.note("signIns")
        return try await self.memory.signIns(labeled: label, limit: limit)
    }

    package func records(from cursor: [UInt8], limit: Int) async throws(Failure) -> StorePage<SessionRecord> {
        try self.note("records")
        return try await self.memory.records(from: cursor, limit: limit)
    }

    package func lock(_ id: [UInt8], owner: [UInt8], at now: Instant, for time: Duration) async throws(Failure) -> Bool
    {
        await self.interruption(of: "lock")
        try self.note("lock")
        return try await self.memory.lock(id, owner: owner, at: now, for: time)
    }

    package func unlock(_ id: [UInt8], owner: [UInt8]) async throws(Failure) {
        try self.note("unlock")
        try await self.memory.unlock(id, owner: owner)
    }

    package func replace(_ current: StoreEntry?, by entry: StoreEntry, at now: Instant) async throws(Failure) -> Bool {
        await self.interruption(of: "replaceEntry")
        try self.note("replaceEntry")
        return try await self.memory.replace(current, by: entry, at: now)
    }

    package func entry(_ kind: StoreEntry.Kind, _ key: [UInt8], at now: Instant) async throws(Failure) -> StoreEntry? {
        await self.interruption(of: "entry")
        try self.note("entry")
        return try await self.memory.entry(kind, key, at: now)
    }

    package func entries(
        _ kind: StoreEntry.Kind,
        from cursor: [UInt8],
        limit: Int,
        at now: Instant
    ) async throws(Failure) -> StorePage<StoreEntry> {
        try self.note("entries")
        return try await self.memory.entries(kind, from: cursor, limit: limit, at: now)
    }

    package func put(_ entries: [StoreEntry]) async throws(Failure) {
        try self.note("put")
        try await self.memory.put(entries)
    }

    package func entries(
        _ kind: StoreEntry.Kind,
        under keys: [[UInt8]],
        at now: Instant
    ) async throws(Failure) -> [StoreEntry] {
        try self.note("entries")
        return try await self.memory.entries(kind, under: keys, at: now)
    }

    package func fileFailure() -> StoreFileFailure? { self.memory.fileFailure() }

    package func close() async { await self.memory.close() }
}

extension Profile {
    /// A user of the staff with a verified address.
    package static func staff(_ subject: String = "ada", email: String = "ada@example.org") -> Profile {
        var profile = Profile(provider: "staff", issuer: "https://id.staff.example", subject: subject)
        profile.email = email
        profile.emailVerified = true
        profile.name = "Ada Lovelace"
        profile.username = "ada"
        profile.groups = ["ops", "wiki"]
        return profile
    }

    /// A guest without an address.
    package static var guest: Profile {
        Profile(provider: "guests", issuer: "https://id.guests.example", subject: "g1")
    }
}

/// A flag that may be set from anywhere.
package final class TestFlag: Sendable {
    private let flag = Mutex(false)

    /// A flag that is not set.
    package init() {}

    /// Whether it is set.
    package var value: Bool {
        get { self.flag.withLock { $0 } }
        set { self.flag.withLock { $0 = newValue } }
    }
}
