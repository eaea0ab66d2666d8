// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateSessions
internal import Synchronization

/// A session store in memory; a restart ends all sessions.
package final class MemoryStore: SessionStore {
    private struct State {
        var records: [[UInt8]: SessionRecord] = [:]
        var families: [[UInt8]: Set<[UInt8]>] = [:]
        var labels: [[UInt8]: Set<[UInt8]>] = [:]
        var spent: [[UInt8]: Instant] = [:]
        var locks: [[UInt8]: (owner: [UInt8], end: Instant)] = [:]
        var entries: [StoreEntry.Kind: [[UInt8]: StoreEntry]] = [:]
        var isOpen = true

        mutating func insert(_ record: SessionRecord) {
            self.records[record.key] = record
            self.families[record.family, default: []].insert(record.key)
            for label in record.labels {
                self.labels[label, default: []].insert(record.key)
            }
        }

        func entry(_ kind: StoreEntry.Kind, _ key: [UInt8], at now: Instant) -> StoreEntry? {
            self.entries[kind]?[key].flatMap { now < $0.expires ? $0 : nil }
        }

        mutating func remove(_ key: [UInt8]) {
            guard let record = self.records.removeValue(forKey: key) else { return }
            self.families[record.family]?.remove(key)
            if self.families[record.family]?.isEmpty == true {
                self.families[record.family] = nil
            }
            for label in record.labels {
                self.labels[label]?.remove(key)
                if self.labels[label]?.isEmpty == true { self.labels[label] = nil }
            }
        }
    }

    private let state = Mutex(State())
    private let capacity: Int

    /// A store for at most `capacity` sessions, `capacity` spent ids, locks and entries of each kind.
    package init(capacity: Int = 1_000_000) {
        self.capacity = capacity
    }

    package var keepsSessions: Bool { true }

    /// The record under a key, or nil.
    package func record(for key: [UInt8]) async throws(Failure) -> SessionRecord? {
        try self.use { (state) throws(Failure) in state.records[key] }
    }

    /// Adds a record; throws when the store is full.
    package func insert(_ record: SessionRecord) async throws(Failure) {
        try self.use { (state) throws(Failure) in
            try self.checkCapacity(for: record, in: state)
            state.insert(record)
        }
    }

    /// Records the use of an id, adds a record and reads an entry at once; throws when the store is full.
    package func insert(
        _ record: SessionRecord,
        spending id: [UInt8],
        until: Instant,
        reading kind: StoreEntry.Kind,
        _ key: [UInt8],
        at now: Instant
    ) async throws(Failure) -> StoreInsertion {
        try self.use { (state) throws(Failure) in
            guard state.spent[id] == nil else { return .spent }
            try self.checkCapacity(for: record, in: state)
            guard state.spent.count < self.capacity else { throw self.full("used sign-ins") }
            state.spent[id] = until
            state.insert(record)
            return .addedReading(state.entry(kind, key, at: now))
        }
    }

    /// Records a use.
    package func noteUse(_ key: [UInt8], at instant: Instant) {
        self.state.withLock { $0.records[key]?.lastSeen = instant }
    }

    /// Removes a record.
    package func remove(_ key: [UInt8]) async throws(Failure) {
        try self.use { (state) throws(Failure) in state.remove(key) }
    }

    package func removeFamily(_ family: [UInt8]) async throws(Failure) {
        try self.use { (state) throws(Failure) in
            for key in state.families[family] ?? [] {
                state.remove(key)
            }
        }
    }

    /// Removes the records of a family that were unused for longest.
    package func trimFamily(
        _ family: [UInt8],
        to limit: Int,
        keeping kept: Set<[UInt8]>
    ) async throws(Failure) {
        try self.use { (state) throws(Failure) in
            let keys = state.families[family] ?? []
            guard keys.count > limit else { return }
            let records = keys.subtracting(kept).compactMap { state.records[$0] }.sorted { $0.lastSeen < $1.lastSeen }
            for record in records.prefix(keys.count - limit) {
                state.remove(record.key)
            }
        }
    }

    /// Removes expired sessions and ids in one pass over everything.
    package func removeExpired(at now: Instant, idle: Duration) async throws(Failure) -> Int {
        try self.use { (state) throws(Failure) in
            let over = state.records.values.filter { $0.expires <= now || $0.lastSeen.advanced(by: idle) <= now }
            for record in over {
                state.remove(record.key)
            }
            state.spent = state.spent.filter { $0.value > now }
            state.locks = state.locks.filter { $0.value.end > now }
            for kind in StoreEntry.Kind.allCases {
                state.entries[kind] = state.entries[kind]?.filter { $0.value.expires > now }
            }
            return over.count
        }
    }

    /// Records the use of an id; throws when the store is full.
    package func spend(_ id: [UInt8], until: Instant) async throws(Failure) -> Bool {
        try self.use { (state) throws(Failure) in
            guard state.spent[id] == nil else { return false }
            guard state.spent.count < self.capacity else { throw self.full("used sign-ins") }
            state.spent[id] = until
            return true
        }
    }

    /// The number of live sessions, in one pass over everything.
    package func count(at now: Instant, within lifetimes: SessionLifetimes) async throws(Failure) -> Int {
        try self.use { (state) throws(Failure) in
            state.records.values.count { lifetimes.remaining($0, at: now) > .zero }
        }
    }

    /// There is no file.
    package func fileFailure() -> StoreFileFailure? { nil }

    /// Removes everything.
    package func close() async {
        self.state.withLock { state in
            state = State()
            state.isOpen = false
        }
    }

    /// Replaces what is sealed in a record.
    package func replace(
        _ key: [UInt8],
        ifSealed sealed: [UInt8],
        by replacement: [UInt8],
        card: [UInt8]
    ) async throws(Failure) -> Bool {
        try self.use { (state) throws(Failure) in
            guard state.records[key]?.sealed == sealed else { return false }
            state.records[key]?.sealed = replacement
            state.records[key]?.card = card
            return true
        }
    }

    /// Does nothing, since no other gateway uses it.
    package func reportChange(ofFamily family: [UInt8]) async throws(Failure) {}

    /// The families of the records with a label.
    package func families(labeled label: [UInt8]) async throws(Failure) -> Set<[UInt8]> {
        try self.use { (state) throws(Failure) in
            Set((state.labels[label] ?? []).compactMap { state.records[$0]?.family })
        }
    }

    package func signIns(labeled label: [UInt8], limit: Int) async throws(Failure) -> [StoredSignIn] {
        let found = try self.use { (state) throws(Failure) in
            (state.labels[label] ?? []).compactMap { state.records[$0].map(StoredSignIn.init) }
        }
        return Array(StoredSignIn.of(found).sorted { $0.created < $1.created }.prefix(limit))
    }

    /// Some records, by their keys.
    package func records(from cursor: [UInt8], limit: Int) async throws(Failure) -> StorePage<SessionRecord> {
        try self.use { (state) throws(Failure) in MemoryStore.page(of: state.records, from: cursor, limit: limit) }
    }

    /// Takes a lock; throws when the store is full.
    package func lock(
        _ id: [UInt8],
        owner: [UInt8],
        at now: Instant,
        for time: Duration
    ) async throws(Failure) -> Bool {
        try self.use { (state) throws(Failure) in
            if let held = state.locks[id], now < held.end { return held.owner == owner }
            guard state.locks.count < self.capacity else { throw self.full("locks") }
            state.locks[id] = (owner, now.advanced(by: time))
            return true
        }
    }

    /// Ends a lock of this owner.
    package func unlock(_ id: [UInt8], owner: [UInt8]) async throws(Failure) {
        try self.use { (state) throws(Failure) in
            if state.locks[id]?.owner == owner { state.locks[id] = nil }
        }
    }

    /// Adds or replaces some entries; throws when the store is full.
    package func put(_ entries: [StoreEntry]) async throws(Failure) {
        try self.use { (state) throws(Failure) in
            for entry in entries { try self.put(entry, in: &state) }
        }
    }

    /// Adds or replaces an entry unless there is another one than was read; throws when the store is full.
    package func replace(
        _ current: StoreEntry?,
        by entry: StoreEntry,
        at now: Instant
    ) async throws(Failure) -> Bool {
        try self.use { (state) throws(Failure) in
            guard state.entry(entry.kind, entry.key, at: now) == current else { return false }
            try self.put(entry, in: &state)
            return true
        }
    }

    private func put(_ entry: StoreEntry, in state: inout State) throws(Failure) {
        let count = state.entries[entry.kind]?.count ?? 0
        guard count < self.capacity || state.entries[entry.kind]?[entry.key] != nil else {
            throw self.full("entries")
        }
        state.entries[entry.kind, default: [:]][entry.key] = entry
    }

    package func entry(
        _ kind: StoreEntry.Kind,
        _ key: [UInt8],
        at now: Instant
    ) async throws(Failure) -> StoreEntry? {
        try self.use { (state) throws(Failure) in state.entry(kind, key, at: now) }
    }

    package func entries(
        _ kind: StoreEntry.Kind,
        under keys: [[UInt8]],
        at now: Instant
    ) async throws(Failure) -> [StoreEntry] {
        try self.use { (state) throws(Failure) in keys.compactMap { state.entry(kind, $0, at: now) } }
    }

    /// Some entries, by their keys.
    package func entries(
        _ kind: StoreEntry.Kind,
        from cursor: [UInt8],
        limit: Int,
        at now: Instant
    ) async throws(Failure) -> StorePage<StoreEntry> {
        try self.use { (state) throws(Failure) in
            let live = (state.entries[kind] ?? [:]).filter { now < $0.value.expires }
            return MemoryStore.page(of: live, from: cursor, limit: limit)
        }
    }

    /// The values whose keys come after the cursor, which is the last key of the page before.
    private static func page<Item: Sendable>(
        of items: [[UInt8]: Item],
        from cursor: [UInt8],
        limit: Int
    ) -> StorePage<Item> {
        let keys = items.keys.filter { cursor.isEmpty || cursor.lexicographicallyPrecedes($0) }
            .sorted { $0.lexicographicallyPrecedes($1) }
        let some = keys.prefix(limit)
        return StorePage(items: some.compactMap { items[$0] }, next: some.count < keys.count ? some.last : nil)
    }

    private func use<Value: Sendable>(
        _ body: (inout sending State) throws(Failure) -> sending Value
    ) throws(Failure) -> sending Value {
        try self.state.withLock { (state) throws(Failure) in
            guard state.isOpen else { throw Failure.unavailable("the session store is closed") }
            return try body(&state)
        }
    }

    private func checkCapacity(for record: SessionRecord, in state: State) throws(Failure) {
        guard state.records.count < self.capacity else { throw self.full("sessions") }
        guard state.records[record.key] == nil else { throw Failure.unavailable("the key is taken") }
    }

    private func full(_ what: String) -> Failure {
        Failure(.sessionStoreFull, "the memory store is full: \(self.capacity) \(what)")
    }
}

extension Failure {
    /// The store is unavailable, which implies nothing about any session.
    static func unavailable(_ detail: String) -> Failure {
        Failure(.sessionStoreUnavailable, detail)
    }
}
