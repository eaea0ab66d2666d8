// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOperations
internal import GateSessions
internal import GateTracing
internal import Metrics

/// Counts the operations of a session store and how long they take, and makes spans of those of requests.
///
/// Requests with a cached session need no operation, so looking up a counter for each is cheap enough.
struct MeteredStore: SessionStore {
    /// The operations, as metrics name them.
    private enum Operation: String {
        case record
        case insert
        case remove
        case removeFamily = "remove_family"
        case trimFamily = "trim_family"
        case replace
        case reportChange = "report_change"
        case families
        case signIns = "sign_ins"
        case records
        case lock
        case unlock
        case put
        case replaceEntry = "replace_entry"
        case entry
        case entries
        case removeExpired = "remove_expired"
        case spend
        case count
    }

    private let store: any SessionStore
    private let tracer: Tracer?
    private let availability: StoreAvailability

    init(_ store: any SessionStore, tracer: Tracer?, availability: StoreAvailability) {
        self.store = store
        self.tracer = tracer
        self.availability = availability
    }

    var keepsSessions: Bool { self.store.keepsSessions }

    func noteUse(_ key: [UInt8], at instant: Instant) { self.store.noteUse(key, at: instant) }

    func fileFailure() -> StoreFileFailure? { self.store.fileFailure() }

    func close() async { await self.store.close() }

    private func metered<Value>(
        _ operation: Operation,
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let began = ContinuousClock.now
        let span = self.tracer?.begin("session store \(operation.rawValue)", .inside, beginsTrace: false)
        do throws(Failure) {
            let value = try await body()
            self.ended(operation, since: began, "ok")
            self.note(nil)
            self.end(span, operation, nil)
            return value
        } catch {
            self.ended(operation, since: began, error.code)
            // A store that keeps no sessions fails by design, and one with a value that cannot be read responds.
            let isOutage = error.kind == .overloaded && error.reason != .sessionStoreDamaged
            if self.keepsSessions, isOutage { self.note(error) }
            self.end(span, operation, self.keepsSessions ? error : nil)
            throw error
        }
    }

    private func end(_ active: ActiveSpan?, _ operation: Operation, _ failure: Failure?) {
        guard let tracer, var active else { return }
        active.span.set(.operation, operation.rawValue)
        if let failure { active.span.fail(failure.code) }
        tracer.end(active)
    }

    private func ended(
        _ operation: Operation,
        since began: ContinuousClock.Instant,
        _ result: String
    ) {
        ServerMetrics.storeOperations.counter(operation.rawValue, result).increment()
        ServerMetrics.storeDuration.timer(operation.rawValue).recordNanoseconds(
            began.duration(to: .now).wholeNanoseconds
        )
    }

    private func note(_ failure: Failure?) {
        ServerMetrics.storeUp.gauge().record(failure == nil ? 1 : 0)
        self.availability.note(failure)
    }
}

// MARK: Operations

extension MeteredStore {
    func record(for key: [UInt8]) async throws(Failure) -> SessionRecord? {
        try await self.metered(.record) { () throws(Failure) in try await self.store.record(for: key) }
    }

    func insert(_ record: SessionRecord) async throws(Failure) {
        try await self.metered(.insert) { () throws(Failure) in try await self.store.insert(record) }
    }

    func remove(_ key: [UInt8]) async throws(Failure) {
        try await self.metered(.remove) { () throws(Failure) in try await self.store.remove(key) }
    }

    func removeFamily(_ family: [UInt8]) async throws(Failure) {
        try await self.metered(.removeFamily) { () throws(Failure) in try await self.store.removeFamily(family) }
    }

    func trimFamily(_ family: [UInt8], to limit: Int, keeping kept: Set<[UInt8]>) async throws(Failure) {
        try await self.metered(.trimFamily) { () throws(Failure) in
            try await self.store.trimFamily(family, to: limit, keeping: kept)
        }
    }

    func replace(
        _ key: [UInt8],
        ifSealed sealed: [UInt8],
        by replacement: [UInt8],
        card: [UInt8]
    ) async throws(Failure) -> Bool {
        try await self.metered(.replace) { () throws(Failure) in
            try await self.store.replace(key, ifSealed: sealed, by: replacement, card: card)
        }
    }

    func reportChange(ofFamily family: [UInt8]) async throws(Failure) {
        try await self.metered(.reportChange) { () throws(Failure) in
            try await self.store.reportChange(ofFamily: family)
        }
    }

    func families(labeled label: [UInt8]) async throws(Failure) -> Set<[UInt8]> {
        try await self.metered(.families) { () throws(Failure) in try await self.store.families(labeled: label) }
    }

    func signIns(labeled label: [UInt8], limit: Int) async throws(Failure) -> [StoredSignIn] {
        try await self.metered(.signIns) { () throws(Failure) in
            try await self.store.signIns(labeled: label, limit: limit)
        }
    }

    func records(from cursor: [UInt8], limit: Int) async throws(Failure) -> StorePage<SessionRecord> {
        try await self.metered(.records) { () throws(Failure) in
            try await self.store.records(from: cursor, limit: limit)
        }
    }

    func lock(_ id: [UInt8], owner: [UInt8], at now: Instant, for time: Duration) async throws(Failure) -> Bool {
        try await self.metered(.lock) { () throws(Failure) in
            try await self.store.lock(id, owner: owner, at: now, for: time)
        }
    }

    func unlock(_ id: [UInt8], owner: [UInt8]) async throws(Failure) {
        try await self.metered(.unlock) { () throws(Failure) in try await self.store.unlock(id, owner: owner) }
    }

    func put(_ entries: [StoreEntry]) async throws(Failure) {
        try await self.metered(.put) { () throws(Failure) in try await self.store.put(entries) }
    }

    func replace(_ current: StoreEntry?, by entry: StoreEntry, at now: Instant) async throws(Failure) -> Bool {
        try await self.metered(.replaceEntry) { () throws(Failure) in
            try await self.store.replace(current, by: entry, at: now)
        }
    }

    func entry(_ kind: StoreEntry.Kind, _ key: [UInt8], at now: Instant) async throws(Failure) -> StoreEntry? {
        try await self.metered(.entry) { () throws(Failure) in try await self.store.entry(kind, key, at: now) }
    }

    func entries(
        _ kind: StoreEntry.Kind,
        under keys: [[UInt8]],
        at now: Instant
    ) async throws(Failure) -> [StoreEntry] {
        try await self.metered(.entries) { () throws(Failure) in
            try await self.store.entries(kind, under: keys, at: now)
        }
    }

    func entries(
        _ kind: StoreEntry.Kind,
        from cursor: [UInt8],
        limit: Int,
        at now: Instant
    ) async throws(Failure) -> StorePage<StoreEntry> {
        try await self.metered(.entries) { () throws(Failure) in
            try await self.store.entries(kind, from: cursor, limit: limit, at: now)
        }
    }

    func removeExpired(at now: Instant, idle: Duration) async throws(Failure) -> Int {
        try await self.metered(.removeExpired) { () throws(Failure) in
            try await self.store.removeExpired(at: now, idle: idle)
        }
    }

    func spend(_ id: [UInt8], until: Instant) async throws(Failure) -> Bool {
        try await self.metered(.spend) { () throws(Failure) in try await self.store.spend(id, until: until) }
    }

    func insert(
        _ record: SessionRecord,
        spending id: [UInt8],
        until: Instant,
        reading kind: StoreEntry.Kind,
        _ key: [UInt8],
        at now: Instant
    ) async throws(Failure) -> StoreInsertion {
        try await self.metered(.insert) { () throws(Failure) in
            try await self.store.insert(record, spending: id, until: until, reading: kind, key, at: now)
        }
    }

    func count(at now: Instant, within lifetimes: SessionLifetimes) async throws(Failure) -> Int {
        try await self.metered(.count) { () throws(Failure) in try await self.store.count(at: now, within: lifetimes) }
    }
}
