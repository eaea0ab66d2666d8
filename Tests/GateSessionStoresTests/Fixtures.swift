// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GateProxy
import GateRedis
import GateSessionStores
import GateSessions
import GateTestSupport
import Testing

@testable import GateServer

/// The stores that must all behave alike.
enum StoreKind: CaseIterable {
    case memory
    case sqlite
    case redis
    case cookie
    /// SQLite with the counters around it, as the gateway uses each store.
    case metered
    /// Memory with the switch around it, as tests of other modules use it.
    case switched

    /// Those that keep sessions.
    static let keepingSessions = StoreKind.allCases.filter { $0 != .cookie }

    /// How long after its end a session is removed at the latest, in seconds: the clocks of gateways may differ.
    var delay: Int64 { self == .redis ? RedisStore.clockMargin.wholeSeconds : 0 }
}

/// An empty store with its folder.
struct OpenStore {
    let store: any SessionStore
    var records: any RecordStore { self.store }
    var entries: any EntryStore { self.store }
    var locks: any LockStore { self.store }
    var maintenance: any StoreMaintenance { self.store }
    private let folder: TemporaryFolder
    private let server: RedisServer?

    init(_ kind: StoreKind) async throws {
        self.folder = try TemporaryFolder()
        let server = kind == .redis ? try RedisServer() : nil
        self.server = server
        switch kind {
        case .memory: self.store = MemoryStore()
        case .cookie: self.store = CookieStore()
        case .switched: self.store = SwitchedStore()
        case .sqlite: self.store = try SQLiteStore(path: "\(self.folder.path)/sessions.db", patience: ages)
        case .metered:
            let store = try SQLiteStore(path: "\(self.folder.path)/sessions.db", patience: ages)
            self.store = MeteredStore(store, tracer: nil, availability: StoreAvailability { _ in })
        case .redis:
            var settings = RedisSettings(target: .unix(path: try #require(server).socket))
            (settings.commandTime, settings.connectTime) = (ages, ages)
            self.store = try await RedisStore.open(settings, clock: .fixed(noon))
        }
    }
}

let noon = Instant(seconds: 1_800_000_000)
/// Longer than a busy machine delays a test.
let ages = Duration.seconds(300)

/// The number of live sessions of a store at noon.
func count(_ store: any RecordStore) async throws -> Int {
    let lifetimes = SessionLifetimes(idle: .seconds(3600), absolute: .seconds(36_000))
    return try await store.count(at: noon, within: lifetimes)
}

extension Instant {
    func plus(_ seconds: Int64) -> Instant { Instant(seconds: self.seconds + seconds) }
}

/// A record whose key, family and content follow from two numbers.
func record(_ number: UInt8, family: UInt8 = 0, sealed: [UInt8]? = nil) -> SessionRecord {
    SessionRecord(
        key: [UInt8](repeating: number, count: 32),
        family: [UInt8](repeating: family, count: 32),
        sealed: sealed ?? [number, 0, 0xFF],
        created: noon,
        lastSeen: noon.plus(1),
        expires: noon.plus(1000)
    )
}

func label(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

func family(_ number: UInt8) -> [UInt8] { record(0, family: number).family }

/// A record with labels and a card.
func labeled(_ number: UInt8, family: UInt8, _ labels: UInt8...) -> SessionRecord {
    var record = record(number, family: family)
    record.labels = labels.map { label($0) }
    record.card = [number, 0, 1]
    return record
}

func entry(_ number: UInt8, _ kind: StoreEntry.Kind = .user) -> StoreEntry {
    StoreEntry(kind: kind, key: label(number), value: [number, 0, 10, 13], expires: noon.plus(600))
}

extension RecordStore {
    /// Whether a record was added by the first use of an id, whatever sign-outs there were.
    func insert(_ record: SessionRecord, spending id: [UInt8], until: Instant) async throws(Failure) -> Bool {
        try await self.insert(record, spending: id, until: until, reading: .signOut, [], at: noon) != .spent
    }
}
