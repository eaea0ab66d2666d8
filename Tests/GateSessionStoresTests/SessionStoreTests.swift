// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProxy
import GateRedis
import GateSessionStores
import GateSessions
import GateTestSupport
import Testing

/// The stores that must all behave alike.
enum StoreKind: CaseIterable {
    case memory
    case sqlite
    case redis
}

/// An empty store with its folder.
struct OpenStore {
    let store: any SessionStore
    private let folder: TemporaryFolder
    private let server: RedisServer?

    init(_ kind: StoreKind) async throws {
        self.folder = try TemporaryFolder()
        let server = kind == .redis ? try RedisServer() : nil
        self.server = server
        switch kind {
        case .memory: self.store = MemoryStore()
        case .sqlite: self.store = try SQLiteStore(path: "\(self.folder.path)/sessions.db", patience: ages)
        case .redis:
            var settings = RedisSettings(target: .unix(path: try #require(server).socket))
            (settings.commandTime, settings.connectTime) = (ages, ages)
            self.store = try await RedisStore.open(settings)
        }
    }
}

let noon = Instant(seconds: 1_800_000_000)
/// Longer than a busy machine delays a test.
let ages = Duration.seconds(300)

/// The number of live sessions of a store at noon.
func count(_ store: any SessionStore) async throws -> Int {
    let lifetimes = SessionLifetimes(idle: .seconds(3600), absolute: .seconds(36_000))
    return try await store.count(at: noon, within: lifetimes)
}

extension Instant {
    func plus(_ seconds: Int64) -> Instant { Instant(seconds: self.seconds + seconds) }
}

/// A record whose key, family and content follow from two numbers.
func record(_ number: UInt8, family: UInt8 = 0) -> SessionRecord {
    SessionRecord(
        key: [UInt8](repeating: number, count: 32),
        family: [UInt8](repeating: family, count: 32),
        sealed: [number, 0, 0xFF],
        created: noon,
        lastSeen: noon.plus(1),
        expires: noon.plus(1000)
    )
}

@Suite struct SessionStoreTests {
    @Test(arguments: StoreKind.allCases)
    func `an inserted record is found, and no other`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.store.insert(record(1))
        try await store.store.insert(record(2))
        #expect(try await store.store.record(for: record(1).key) == record(1))
        #expect(try await store.store.record(for: record(3).key) == nil)
        #expect(try await store.store.record(for: []) == nil)
        #expect(try await count(store.store) == 2)
        try await store.store.check()
        #expect(try await count(store.store) == 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `a key is used once`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.store.insert(record(1))
        let failure = await #expect(throws: Failure.self) { try await store.store.insert(record(1, family: 9)) }
        #expect(failure?.kind == .overloaded)
        #expect(try await store.store.record(for: record(1).key) == record(1))
    }

    @Test(arguments: StoreKind.allCases)
    func `of two sessions that spend the same id only the first is inserted`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        #expect(try await store.store.insert(record(1), spending: [7], until: noon.plus(600)))
        #expect(try await store.store.insert(record(2), spending: [7], until: noon.plus(600)) == false)
        #expect(try await store.store.spend([7], until: noon.plus(600)) == false)
        #expect(try await store.store.record(for: record(1).key) == record(1))
        #expect(try await store.store.record(for: record(2).key) == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `a session that cannot be inserted spends no id`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.store.insert(record(1))
        let failure = await #expect(throws: Failure.self) {
            _ = try await store.store.insert(record(1), spending: [7], until: noon.plus(600))
        }
        #expect(failure?.kind == .overloaded)
        #expect(try await store.store.spend([7], until: noon.plus(600)))
    }

    @Test(arguments: StoreKind.allCases)
    func `a use is recorded for one session, and for no removed one`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.store.insert(record(1))
        try await store.store.insert(record(2))
        store.store.noteUse(record(1).key, at: noon.plus(60))
        store.store.noteUse(record(3).key, at: noon.plus(60))
        #expect(try await store.store.record(for: record(1).key)?.lastSeen == noon.plus(60))
        #expect(try await store.store.record(for: record(2).key)?.lastSeen == noon.plus(1))
        #expect(try await count(store.store) == 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `a removed session is not found, and removing it again does nothing`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.store.insert(record(1))
        try await store.store.insert(record(2))
        try await store.store.remove(record(1).key)
        try await store.store.remove(record(1).key)
        #expect(try await store.store.record(for: record(1).key) == nil)
        #expect(try await store.store.record(for: record(2).key) != nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `a family is removed as a whole, others stay`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        for number: UInt8 in 1...4 {
            try await store.store.insert(record(number, family: number % 2))
        }
        try await store.store.removeFamily(record(0, family: 1).family)
        #expect(try await store.store.record(for: record(1).key) == nil)
        #expect(try await store.store.record(for: record(3).key) == nil)
        #expect(try await count(store.store) == 2)
        try await store.store.removeFamily(record(0, family: 1).family)
        #expect(try await count(store.store) == 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `expired sessions are removed`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.store.insert(record(1))
        var longer = record(2)
        longer.expires = noon.plus(1001)
        try await store.store.insert(longer)
        let idle = Duration.seconds(5000)
        #expect(try await store.store.removeExpired(at: noon.plus(999), idle: idle) == 0)
        #expect(try await store.store.removeExpired(at: noon.plus(1000), idle: idle) == 1)
        #expect(try await store.store.record(for: record(2).key) == longer)
    }

    @Test(arguments: StoreKind.allCases)
    func `sessions unused for the idle time are removed`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.store.insert(record(1))
        try await store.store.insert(record(2))
        store.store.noteUse(record(2).key, at: noon.plus(60))
        #expect(try await store.store.removeExpired(at: noon.plus(100), idle: .seconds(100)) == 0)
        #expect(try await store.store.removeExpired(at: noon.plus(101), idle: .seconds(100)) == 1)
        #expect(try await store.store.record(for: record(2).key) != nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `many expired sessions are removed at once`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        for number in 0..<2500 {
            var expired = record(1)
            expired.key = Array("\(number)".utf8)
            try await store.store.insert(expired)
        }
        #expect(try await store.store.removeExpired(at: noon.plus(2000), idle: .seconds(5000)) == 2500)
        #expect(try await count(store.store) == 0)
    }

    @Test(arguments: StoreKind.allCases)
    func `an id is spent once until it has expired`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        #expect(try await store.store.spend([1], until: noon.plus(60)))
        #expect(try await !store.store.spend([1], until: noon.plus(60)))
        #expect(try await store.store.spend([2], until: noon.plus(120)))
        _ = try await store.store.removeExpired(at: noon.plus(60), idle: .seconds(1))
        // Redis keeps an id by its own clock, and for an hour at least.
        #expect(try await store.store.spend([1], until: noon.plus(60)) == (kind != .redis))
        #expect(try await !store.store.spend([2], until: noon.plus(120)))
    }

    @Test(arguments: StoreKind.allCases)
    func `of fifty concurrent spends of the same id one succeeds`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let successes = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 {
                group.addTask { try await store.store.spend([7], until: noon.plus(60)) }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(successes == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `a closed store is an outage`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.store.insert(record(1))
        await store.store.close()
        let failure = await #expect(throws: Failure.self) { try await store.store.record(for: record(1).key) }
        #expect(failure?.kind == .overloaded)
        #expect(failure?.reason == .sessionStoreUnavailable)
        await #expect(throws: Failure.self) { try await store.store.check() }
    }

    @Test func `a full memory store throws and keeps its sessions`() async throws {
        let store = MemoryStore(capacity: 2)
        try await store.insert(record(1))
        try await store.insert(record(2))
        let failure = await #expect(throws: Failure.self) { try await store.insert(record(3)) }
        #expect(failure?.reason == .sessionStoreFull)
        #expect(failure?.kind == .overloaded)
        #expect(try await count(store) == 2)
        try await store.remove(record(1).key)
        try await store.insert(record(3))
    }
}
