// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateSessions
import Synchronization

/// Noon on some day.
let noon = Instant(seconds: 1_800_000_000)
let gateSecret = Secret([UInt8](repeating: 7, count: 32))

extension Instant {
    func plus(_ seconds: Int64) -> Instant { Instant(seconds: self.seconds + seconds) }
}

extension RandomBytes {
    /// Bytes that differ from call to call and are the same in every run.
    static func counting() -> RandomBytes {
        let counter = Counter()
        return RandomBytes { count in
            let call = counter.next()
            return (0..<count).map { UInt8(truncatingIfNeeded: call &* 31 &+ $0) }
        }
    }
}

private final class Counter: Sendable {
    private let value = Mutex(0)

    func next() -> Int {
        self.value.withLock { value in
            value += 1
            return value
        }
    }
}

/// A store in a dictionary that fails on demand.
final class ScriptedStore: SessionStore {
    struct State {
        var records: [[UInt8]: SessionRecord] = [:]
        var spent: Set<[UInt8]> = []
        var entries: [StoreEntry.Kind: [[UInt8]: StoreEntry]] = [:]
        var entriesFail = false
        /// Whether an entry is read in the step that inserts a record.
        var readsWithInsertion = false
        var locks: [[UInt8]: (owner: [UInt8], end: Instant)] = [:]
        /// How many families are removed at once, the maximum so far, and how many removals have ended.
        var removals = (now: 0, most: 0, ended: 0)
        /// The reads of entries by kind: the register of users reads its own in the background.
        var entryReads: [StoreEntry.Kind: Int] = [:]
        var touches = 0
        var readsFail = false
        var writesFail = false
        var insertsFail = false
        /// What happens after the next insertion.
        var afterInsert: (@Sendable (inout State) -> Void)?
        /// What another gateway does just before the next entry is written.
        var beforeEntry: (@Sendable (inout State, _ key: [UInt8]) -> Void)?

        mutating func willWrite(_ entry: StoreEntry) {
            let meanwhile = self.beforeEntry
            self.beforeEntry = nil
            meanwhile?(&self, entry.key)
        }
    }

    let state = Mutex(State())
    let keepsSessions: Bool

    init(keepsSessions: Bool = true) {
        self.keepsSessions = keepsSessions
    }

    func record(for key: [UInt8]) async throws(Failure) -> SessionRecord? {
        try self.state.withLock { (state) throws(Failure) in
            guard !state.readsFail else { throw self.outage }
            return state.records[key]
        }
    }

    func insert(_ record: SessionRecord) async throws(Failure) {
        guard !self.state.withLock({ $0.insertsFail }) else { throw self.outage }
        try self.write { state in
            state.records[record.key] = record
            state.afterInsert?(&state)
        }
    }

    func noteUse(_ key: [UInt8], at instant: Instant) {
        self.state.withLock { state in
            state.touches += 1
            state.records[key]?.lastSeen = instant
        }
    }

    func remove(_ key: [UInt8]) async throws(Failure) {
        try self.write { $0.records[key] = nil }
    }

    func removeFamily(_ family: [UInt8]) async throws(Failure) {
        self.state.withLock { state in
            state.removals.now += 1
            state.removals.most = max(state.removals.most, state.removals.now)
        }
        await Task.yield()
        self.state.withLock { state in
            state.removals.now -= 1
            state.removals.ended += 1
        }
        try self.write { $0.records = $0.records.filter { $0.value.family != family } }
    }

    func trimFamily(_ family: [UInt8], to limit: Int, keeping kept: Set<[UInt8]>) async throws(Failure) {
        try self.write { state in
            let own = state.records.values.filter { $0.family == family }
            let removable = own.filter { !kept.contains($0.key) }.sorted { $0.lastSeen < $1.lastSeen }
            for record in removable.prefix(max(0, own.count - limit)) {
                state.records[record.key] = nil
            }
        }
    }

    func removeExpired(at now: Instant, idle: Duration) async throws(Failure) -> Int { 0 }

    func spend(_ id: [UInt8], until: Instant) async throws(Failure) -> Bool {
        try self.state.withLock { (state) throws(Failure) in
            guard !state.writesFail else { throw self.outage }
            return state.spent.insert(id).inserted
        }
    }

    func insert(
        _ record: SessionRecord,
        spending id: [UInt8],
        until: Instant,
        reading kind: StoreEntry.Kind,
        _ key: [UInt8],
        at now: Instant
    ) async throws(Failure) -> StoreInsertion {
        guard try await self.spend(id, until: until) else { return .spent }
        try await self.insert(record)
        return self.state.withLock { state in
            guard state.readsWithInsertion else { return .added }
            return .addedReading(state.entries[kind]?[key].flatMap { now < $0.expires ? $0 : nil })
        }
    }

    func replace(
        _ key: [UInt8],
        ifSealed sealed: [UInt8],
        by replacement: [UInt8],
        card: [UInt8]
    ) async throws(Failure) -> Bool {
        try self.write { state in
            guard state.records[key]?.sealed == sealed else { return false }
            state.records[key]?.sealed = replacement
            state.records[key]?.card = card
            return true
        }
    }

    func families(labeled label: [UInt8]) async throws(Failure) -> Set<[UInt8]> {
        try self.read { Set($0.records.values.filter { $0.labels.contains(label) }.map(\.family)) }
    }

    func signIns(labeled label: [UInt8], limit: Int) async throws(Failure) -> [StoredSignIn] {
        let found = try self.read { $0.records.values.filter { $0.labels.contains(label) }.map(StoredSignIn.init) }
        return Array(StoredSignIn.of(found).sorted { $0.created < $1.created }.prefix(limit))
    }

    func records(from cursor: [UInt8], limit: Int) async throws(Failure) -> StorePage<SessionRecord> {
        try self.read { StorePage(items: Array($0.records.values), next: nil) }
    }

    func lock(_ id: [UInt8], owner: [UInt8], at now: Instant, for time: Duration) async throws(Failure) -> Bool {
        try self.write { state in
            if let held = state.locks[id], now < held.end { return held.owner == owner }
            state.locks[id] = (owner, now.advanced(by: time))
            return true
        }
    }

    func unlock(_ id: [UInt8], owner: [UInt8]) async throws(Failure) {
        try self.write { if $0.locks[id]?.owner == owner { $0.locks[id] = nil } }
    }

    func put(_ entries: [StoreEntry]) async throws(Failure) {
        for entry in entries {
            try self.state.withLock { (state) throws(Failure) in
                guard !state.entriesFail, !state.writesFail else { throw self.outage }
                state.willWrite(entry)
                state.entries[entry.kind, default: [:]][entry.key] = entry
            }
        }
    }

    func replace(_ current: StoreEntry?, by entry: StoreEntry, at now: Instant) async throws(Failure) -> Bool {
        try self.state.withLock { (state) throws(Failure) in
            guard !state.entriesFail, !state.writesFail else { throw self.outage }
            state.willWrite(entry)
            let known = state.entries[entry.kind]?[entry.key].flatMap { now < $0.expires ? $0 : nil }
            guard known == current else { return false }
            state.entries[entry.kind, default: [:]][entry.key] = entry
            return true
        }
    }

    func entry(_ kind: StoreEntry.Kind, _ key: [UInt8], at now: Instant) async throws(Failure) -> StoreEntry? {
        try self.state.withLock { (state) throws(Failure) in
            guard !state.entriesFail, !state.readsFail else { throw self.outage }
            state.entryReads[kind, default: 0] += 1
            return state.entries[kind]?[key].flatMap { now < $0.expires ? $0 : nil }
        }
    }

    func entries(
        _ kind: StoreEntry.Kind,
        from cursor: [UInt8],
        limit: Int,
        at now: Instant
    ) async throws(Failure) -> StorePage<StoreEntry> {
        try self.read { StorePage(items: ($0.entries[kind] ?? [:]).values.filter { now < $0.expires }, next: nil) }
    }

    func entries(
        _ kind: StoreEntry.Kind,
        under keys: [[UInt8]],
        at now: Instant
    ) async throws(Failure) -> [StoreEntry] {
        var found: [StoreEntry] = []
        for key in keys { if let entry = try await self.entry(kind, key, at: now) { found.append(entry) } }
        return found
    }

    func reportChange(ofFamily family: [UInt8]) async throws(Failure) {}

    func fileFailure() -> StoreFileFailure? { nil }

    func count(at now: Instant, within lifetimes: SessionLifetimes) async throws(Failure) -> Int {
        self.state.withLock { $0.records.values.count { lifetimes.remaining($0, at: now) > .zero } }
    }

    func close() async {}

    private var outage: Failure { Failure(.sessionStoreUnavailable, "scripted") }

    private func read<Value: Sendable>(_ body: (State) -> Value) throws(Failure) -> Value {
        try self.state.withLock { (state) throws(Failure) in
            guard !state.readsFail else { throw self.outage }
            return body(state)
        }
    }

    private func write<Value: Sendable>(_ body: (inout State) -> Value) throws(Failure) -> Value {
        try self.state.withLock { (state) throws(Failure) in
            guard !state.writesFail else { throw self.outage }
            return body(&state)
        }
    }
}

/// A manager over a scripted store, idle after one hour, expired after eight.
struct SessionFixture {
    let store: ScriptedStore
    let feed = RevocationFeed()
    let sealer: Sealer
    let manager: SessionManager

    init(secrets: [Secret] = [gateSecret], keepsSessions: Bool = true, minIdleTimeout: Duration? = nil) {
        self.store = ScriptedStore(keepsSessions: keepsSessions)
        self.sealer = Sealer(secrets, random: .counting())
        self.manager = SessionManager(
            store: self.store,
            sealer: self.sealer,
            lifetimes: SessionLifetimes(idle: .seconds(3600), absolute: .seconds(8 * 3600)),
            feed: self.feed,
            minIdleTimeout: minIdleTimeout,
            random: .counting()
        )
    }

    /// Another manager over the same store.
    func manager(
        secrets: [Secret] = [gateSecret],
        absolute: Duration = .seconds(8 * 3600),
        admissions: AdmissionFingerprints? = nil,
        recheck: RecheckPolicy = .never
    ) -> SessionManager {
        SessionManager(
            store: self.store,
            sealer: Sealer(secrets),
            lifetimes: SessionLifetimes(idle: .seconds(3600), absolute: absolute),
            feed: self.feed,
            admissions: admissions,
            recheck: recheck
        )
    }

    func signedIn() async throws -> IssuedSession {
        try await self.manager.issue(SignIn(profile: .ada), host: "gate.example.com", now: noon)
    }
}

extension Profile {
    /// A profile with every field set.
    static var ada: Profile {
        var ada = Profile(provider: "google", issuer: "https://accounts.google.com", subject: "104729384756102938475")
        ada.tenant = "example.com"
        ada.username = "ada"
        ada.name = "Ada Lovelace \u{1F600}"
        ada.givenName = "Ada"
        ada.familyName = "Lovelace"
        ada.email = "ada@example.com"
        ada.emailVerified = true
        ada.emailAuthoritative = true
        ada.picture = "https://example.com/ada.png"
        ada.locale = "en-GB"
        ada.groups = ["acme/platform", "staff"]
        ada.roles = ["admin"]
        ada.groupsComplete = false
        ada.authTime = noon.plus(-5)
        return ada
    }
}
