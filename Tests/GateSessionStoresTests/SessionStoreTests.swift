// SPDX-License-Identifier: Apache-2.0

import GateCore
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
    /// SQLite with the counters around it, as the gateway uses each store.
    case metered

    /// How long after its end a session is removed at the latest, in seconds: the clocks of gateways may differ.
    var delay: Int64 { self == .redis ? RedisStore.clockMargin.wholeSeconds : 0 }
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
func count(_ store: any SessionStore) async throws -> Int {
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
        let other = record(1, family: 9, sealed: [9])
        let failure = await #expect(throws: Failure.self) { try await store.store.insert(other) }
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
    func `an entry that is read with an insertion is the one that is there`(kind: StoreKind) async throws {
        let open = try await OpenStore(kind)
        let store = open.store
        let entry = StoreEntry(kind: .signOut, key: record(101).key, value: [1], expires: noon.plus(60))
        let old = StoreEntry(kind: .signOut, key: record(102).key, value: [2], expires: noon.plus(-60))
        try await store.put([entry, old])
        // Redis alone does not read it in the step that adds the session, before which no sign-out can come.
        func expected(_ entry: StoreEntry?) -> StoreInsertion { kind == .redis ? .added : .addedReading(entry) }
        let keys: [(UInt8, [UInt8], StoreEntry?)] = [
            (1, entry.key, entry), (2, old.key, nil), (3, record(103).key, nil),
        ]
        for (number, key, found) in keys {
            let id = [number]
            let until = noon.plus(600)
            let inserted = try await store.insert(
                record(number),
                spending: id,
                until: until,
                reading: .signOut,
                key,
                at: noon
            )
            #expect(inserted == expected(found))
            #expect(try await store.record(for: record(number).key) == record(number))
            let again = try await store.insert(record(9), spending: id, until: until, reading: .signOut, key, at: noon)
            #expect(again == .spent)
            #expect(try await open.store.record(for: record(9).key) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a session that cannot be inserted spends no id`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.store.insert(record(1))
        let other = record(1, sealed: [9])
        let failure = await #expect(throws: Failure.self) {
            _ = try await store.store.insert(other, spending: [7], until: noon.plus(600))
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
    func `the sign-ins of a label have the times of their records, and only the oldest are read`(
        kind: StoreKind
    ) async throws {
        let store = try await OpenStore(kind)
        let label = [UInt8](repeating: 5, count: 32)
        for number: UInt8 in 1...6 {
            // Two records each in the families 1 to 3, of which the third is the oldest.
            var one = record(number, family: (number + 1) / 2)
            one.created = noon.plus(one.family[0] == 3 ? -60 : 100 * Int64(one.family[0]))
            one.expires = one.created.advanced(by: .seconds(1000))
            one.lastSeen = noon.plus(Int64(number))
            one.labels = [label]
            try await store.store.insert(one)
        }
        var other = record(9, family: 9)
        other.labels = [[UInt8](repeating: 6, count: 32)]
        try await store.store.insert(other)
        func found(_ limit: Int) async throws -> [UInt8: StoredSignIn] {
            let all = try await store.store.signIns(labeled: label, limit: limit)
            return Dictionary(all.map { ($0.family[0], $0) }) { first, _ in first }
        }
        let all = try await found(10)
        #expect(Set(all.keys) == [1, 2, 3])
        #expect(all[1]?.created == noon.plus(100) && all[1]?.lastSeen == noon.plus(2))
        #expect(all[3]?.created == noon.plus(-60) && all[3]?.expires == noon.plus(940))
        for signIn in all.values {
            let record = try await store.store.record(for: signIn.key)
            #expect(record?.family == signIn.family)
        }
        #expect(try await Set(found(2).keys) == [1, 3])
        try await store.store.removeFamily([UInt8](repeating: 3, count: 32))
        #expect(try await Set(found(2).keys) == [1, 2])
        #expect(try await store.store.signIns(labeled: [], limit: 10).isEmpty)
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
    func `a family is trimmed to those that were used last, others stay`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        for number in 1...6 as ClosedRange<UInt8> {
            try await store.store.insert(record(number, family: 1))
            store.store.noteUse(record(number).key, at: noon.plus(10 + Int64(number)))
        }
        try await store.store.insert(record(9, family: 9))
        store.store.noteUse(record(2).key, at: noon.plus(20))
        let family = record(1, family: 1).family
        try await store.store.trimFamily(family, to: 6, keeping: [])
        #expect(try await count(store.store) == 7)
        try await store.store.trimFamily(family, to: 3, keeping: [record(1).key])
        var live: [UInt8] = []
        for number in 1...9 as ClosedRange<UInt8> where try await store.store.record(for: record(number).key) != nil {
            live.append(number)
        }
        #expect(live == [1, 2, 6, 9])
        try await store.store.trimFamily(family, to: 1, keeping: [record(1).key, record(2).key])
        #expect(try await store.store.record(for: record(6).key) == nil)
        #expect(try await count(store.store) == 3)
        try await store.store.removeFamily(family)
        #expect(try await count(store.store) == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `expired sessions are removed`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.store.insert(record(1))
        var longer = record(2)
        longer.expires = noon.plus(1001)
        try await store.store.insert(longer)
        let idle = Duration.seconds(5000)
        #expect(try await store.store.removeExpired(at: noon.plus(999 + kind.delay), idle: idle) == 0)
        #expect(try await store.store.removeExpired(at: noon.plus(1000 + kind.delay), idle: idle) == 1)
        #expect(try await store.store.record(for: record(1).key) == nil)
        #expect(try await store.store.record(for: record(2).key) == longer)
    }

    @Test(arguments: StoreKind.allCases)
    func `sessions unused for the idle time are removed`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.store.insert(record(1))
        try await store.store.insert(record(2))
        store.store.noteUse(record(2).key, at: noon.plus(60))
        #expect(try await store.store.removeExpired(at: noon.plus(100 + kind.delay), idle: .seconds(100)) == 0)
        #expect(try await store.store.removeExpired(at: noon.plus(101 + kind.delay), idle: .seconds(100)) == 1)
        #expect(try await store.store.record(for: record(1).key) == nil)
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

/// Labels, replacements, pages, locks and entries.
@Suite struct SessionStoreIndexTests {
    private func label(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private func labeled(_ number: UInt8, family: UInt8, _ labels: UInt8...) -> SessionRecord {
        var record = record(number, family: family)
        record.labels = labels.map { self.label($0) }
        record.card = [number, 0, 1]
        return record
    }

    private func family(_ number: UInt8) -> [UInt8] { record(0, family: number).family }

    private func entry(_ number: UInt8, _ kind: StoreEntry.Kind = .user) -> StoreEntry {
        StoreEntry(kind: kind, key: self.label(number), value: [number, 0, 10, 13], expires: noon.plus(600))
    }

    @Test(arguments: StoreKind.allCases)
    func `entries are read together by their keys, without others and expired ones`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.store.put([self.entry(1), self.entry(2), self.entry(3)])
        let keys = [3, 9, 1].map { self.label($0) }
        let found = try await store.store.entries(.user, under: keys, at: noon)
        #expect(Set(found) == [self.entry(1), self.entry(3)])
        #expect(try await store.store.entries(.user, under: [], at: noon) == [])
        #expect(try await store.store.entries(.user, under: keys, at: noon.plus(600)) == [])
    }

    @Test(arguments: StoreKind.allCases)
    func `labels and card are part of a record`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let full = self.labeled(1, family: 1, 101, 102, 103, 104)
        try await store.store.insert(full)
        #expect(try await store.store.insert(self.labeled(2, family: 2, 101), spending: [7], until: noon.plus(60)))
        try await store.store.insert(record(3))
        #expect(try await store.store.record(for: full.key) == full)
        #expect(try await store.store.record(for: record(2).key) == self.labeled(2, family: 2, 101))
        #expect(try await store.store.record(for: record(3).key) == record(3))
    }

    @Test(arguments: StoreKind.allCases)
    func `families are found by each label, once, until their records end`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.store.insert(self.labeled(1, family: 1, 101, 102, 103, 104))
        try await store.store.insert(self.labeled(2, family: 1, 101))
        try await store.store.insert(self.labeled(3, family: 3, 101))
        try await store.store.insert(record(4, family: 4))
        #expect(try await store.store.families(labeled: self.label(101)) == [self.family(1), self.family(3)])
        for number: UInt8 in 102...104 {
            #expect(try await store.store.families(labeled: self.label(number)) == [self.family(1)])
        }
        #expect(try await store.store.families(labeled: self.label(105)) == [])
        try await store.store.removeFamily(self.family(1))
        #expect(try await store.store.families(labeled: self.label(101)) == [self.family(3)])
        #expect(try await store.store.families(labeled: self.label(104)) == [])
        try await store.store.remove(record(3).key)
        #expect(try await store.store.families(labeled: self.label(101)) == [])
    }

    @Test(arguments: StoreKind.allCases)
    func `all families of a label are found, however many`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        for number in 0..<2100 {
            var one = self.labeled(1, family: 1, 101)
            one.key = Array("\(number)".utf8)
            one.family = Array("\(number)".utf8)
            try await store.store.insert(one)
        }
        #expect(try await store.store.families(labeled: self.label(101)).count == 2100)
    }

    @Test(arguments: StoreKind.allCases)
    func `a record is replaced by the first of two gateways that read it`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let before = self.labeled(1, family: 1, 101)
        try await store.store.insert(before)
        #expect(try await store.store.replace(before.key, ifSealed: before.sealed, by: [5, 0], card: [6]))
        #expect(try await store.store.replace(before.key, ifSealed: before.sealed, by: [7], card: [8]) == false)
        var after = before
        (after.sealed, after.card) = ([5, 0], [6])
        #expect(try await store.store.record(for: before.key) == after)
        #expect(try await store.store.families(labeled: self.label(101)) == [self.family(1)])
    }

    @Test(arguments: StoreKind.allCases)
    func `a removed record is not replaced, and does not come back`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        for number: UInt8 in 1...2 { try await store.store.insert(record(number, family: number)) }
        try await store.store.remove(record(1).key)
        try await store.store.removeFamily(self.family(2))
        for number: UInt8 in 1...3 {
            let old = record(number)
            #expect(try await store.store.replace(old.key, ifSealed: old.sealed, by: [9], card: []) == false)
            #expect(try await store.store.record(for: old.key) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a change can be reported`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.store.reportChange(ofFamily: self.family(1))
    }

    @Test(arguments: StoreKind.allCases)
    func `each record is in one page, also when others end meanwhile`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let records = (1...25).map { (number: UInt8) in
            var one = self.labeled(number, family: number, 100 + number)
            one.expires = noon.plus(1000 + Int64(number / 10))
            return one
        }
        for one in records { try await store.store.insert(one) }
        store.store.noteUse(record(25).key, at: noon.plus(60))
        var found: [SessionRecord] = []
        var pages = 0
        var cursor: [UInt8]? = []
        while let from = cursor {
            let page = try await store.store.records(from: from, limit: 10)
            #expect(page.items.count <= 10)
            // The last one of the page is where the next one begins.
            if pages == 0, let last = page.items.last { try await store.store.remove(last.key) }
            found += page.items
            pages += 1
            cursor = page.next
        }
        #expect(pages == 3)
        var expected = records
        expected[24].lastSeen = noon.plus(60)
        #expect(found.count == 25 && Set(found) == Set(expected))
    }

    @Test(arguments: StoreKind.allCases)
    func `an empty store has one empty page`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let records = try await store.store.records(from: [], limit: 10)
        #expect(records.items.isEmpty && records.next == nil)
        let entries = try await store.store.entries(.user, from: [], limit: 10, at: noon)
        #expect(entries.items.isEmpty && entries.next == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `a lock is taken once`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let successes = try await withThrowingTaskGroup(of: Bool.self) { group in
            for owner: UInt8 in 0..<50 {
                group.addTask { try await store.store.lock([7], owner: [owner], at: noon, for: .seconds(60)) }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(successes == 1)
        #expect(try await store.store.lock([8], owner: [1], at: noon, for: .seconds(60)))
        #expect(try await store.store.lock([7], owner: [99], at: noon.plus(59), for: .seconds(60)) == false)
    }

    @Test(arguments: StoreKind.allCases)
    func `a lock is ended by its owner only`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        #expect(try await store.store.lock([7], owner: [1], at: noon, for: .seconds(60)))
        #expect(try await store.store.lock([7], owner: [1], at: noon, for: .seconds(60)), "it has the lock")
        try await store.store.unlock([7], owner: [2])
        #expect(try await store.store.lock([7], owner: [3], at: noon, for: .seconds(60)) == false)
        try await store.store.unlock([7], owner: [1])
        #expect(try await store.store.lock([7], owner: [3], at: noon, for: .seconds(60)))
        try await store.store.unlock([7], owner: [1])
        #expect(try await store.store.lock([7], owner: [4], at: noon, for: .seconds(60)) == false)
        try await store.store.unlock([8], owner: [1])
    }

    @Test(arguments: StoreKind.allCases)
    func `a lock ends by itself`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let time = kind == .redis ? Duration.milliseconds(1) : .seconds(60)
        #expect(try await store.store.lock([7], owner: [1], at: noon, for: time))
        // Redis measures the time itself.
        var isTaken = try await store.store.lock([7], owner: [2], at: noon.plus(60), for: .seconds(60))
        while kind == .redis, !isTaken {
            isTaken = try await store.store.lock([7], owner: [2], at: noon.plus(60), for: .seconds(60))
        }
        #expect(isTaken)
        // The first owner does not know that its time is over.
        try await store.store.unlock([7], owner: [1])
        #expect(try await store.store.lock([7], owner: [3], at: noon.plus(61), for: .seconds(60)) == false)
    }

    @Test(arguments: StoreKind.allCases)
    func `an entry is found by its kind and key until it expires`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.store.put(self.entry(1))
        var other = self.entry(1, .notBefore)
        other.value = [UInt8](repeating: 200, count: 65_536)
        try await store.store.put(other)
        #expect(try await store.store.entry(.user, self.label(1), at: noon) == self.entry(1))
        #expect(try await store.store.entry(.notBefore, self.label(1), at: noon) == other)
        #expect(try await store.store.entry(.user, self.label(2), at: noon) == nil)
        #expect(try await store.store.entry(.user, self.label(1), at: noon.plus(599)) == self.entry(1))
        #expect(try await store.store.entry(.user, self.label(1), at: noon.plus(600)) == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `entries that are put together are all there, and replace earlier ones`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.store.put(self.entry(2))
        let entries = (UInt8(1)...3).map { number in
            var entry = self.entry(number)
            entry.value = [number, number]
            return entry
        }
        try await store.store.put(entries)
        #expect(Set(try await store.store.entries(.user, from: [], limit: 10, at: noon).items) == Set(entries))
    }

    @Test(arguments: StoreKind.allCases)
    func `an entry is replaced, and may last longer or less long`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        for seconds: Int64 in [600, 900, 300] {
            var entry = self.entry(1)
            (entry.value, entry.expires) = ([UInt8(seconds / 100)], noon.plus(seconds))
            try await store.store.put(entry)
            #expect(try await store.store.entry(.user, entry.key, at: noon.plus(seconds - 1)) == entry)
            #expect(try await store.store.entry(.user, entry.key, at: noon.plus(seconds)) == nil)
        }
        #expect(try await store.store.entries(.user, from: [], limit: 10, at: noon).items.count == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `an entry is replaced by the first of two gateways that read it`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        var changed = self.entry(1)
        (changed.value, changed.expires) = ([9], noon.plus(900))
        #expect(try await store.store.replace(changed, by: self.entry(1), at: noon) == false, "no entry exists")
        #expect(try await store.store.entry(.user, changed.key, at: noon) == nil)
        #expect(try await store.store.replace(nil, by: self.entry(1), at: noon))
        #expect(try await store.store.replace(nil, by: changed, at: noon) == false)
        #expect(try await store.store.replace(self.entry(1), by: changed, at: noon))
        #expect(try await store.store.replace(self.entry(1), by: self.entry(1), at: noon) == false)
        #expect(try await store.store.entry(.user, changed.key, at: noon.plus(899)) == changed)
        // One that has expired does not count, even where it still exists.
        #expect(try await store.store.replace(nil, by: self.entry(1), at: noon.plus(899)) == false)
        var later = self.entry(1)
        later.expires = noon.plus(1800)
        #expect(try await store.store.replace(nil, by: later, at: noon.plus(900)))
        #expect(try await store.store.entries(.user, from: [], limit: 10, at: noon).items == [later])
    }

    @Test(arguments: StoreKind.allCases)
    func `an entry without an end stays until it is replaced by one that has ended`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let later = noon.plus(100 * 366 * 86_400)
        let keys = (UInt8(1)...3).map { self.label($0) }
        let entries = keys.map { StoreEntry(kind: .account, key: $0, value: [$0[0]], expires: StoreEntry.never) }
        for entry in entries { #expect(try await store.store.replace(nil, by: entry, at: noon)) }
        var other = entries[0]
        other.value = [9]
        #expect(try await store.store.replace(nil, by: other, at: later) == false)
        _ = try await store.store.removeExpired(at: later, idle: .seconds(1))
        #expect(Set(try await store.store.entries(.account, from: [], limit: 10, at: later).items) == Set(entries))
        let pages = try await store.store.entries(.account, from: [], limit: 2, at: later)
        let rest = try await store.store.entries(.account, from: try #require(pages.next), limit: 2, at: later)
        #expect(pages.items.count == 2 && rest.items.count == 1 && rest.next == nil)
        var changed = entries[1]
        changed.value = [8]
        #expect(try await store.store.replace(entries[1], by: changed, at: noon))
        let removed = StoreEntry(kind: .account, key: keys[0], value: [], expires: noon)
        #expect(try await store.store.replace(entries[1], by: removed, at: noon) == false)
        #expect(try await store.store.replace(entries[0], by: removed, at: noon))
        #expect(try await store.store.entry(.account, keys[0], at: noon) == nil)
        let left = Set(try await store.store.entries(.account, from: [], limit: 10, at: later).items)
        #expect(left == [changed, entries[2]])
        #expect(try await store.store.replace(nil, by: entries[0], at: noon), "the key is free again")
        #expect(try await store.store.entries(.account, from: [], limit: 10, at: later).items.count == 3)
    }

    @Test(arguments: StoreKind.allCases)
    func `of fifty concurrent replacements of an entry one succeeds`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        for current in [nil, self.entry(1)] {
            let written = try await withThrowingTaskGroup(of: StoreEntry?.self) { group in
                for number: UInt8 in 0..<50 {
                    var new = self.entry(1)
                    new.value = [number, current == nil ? 1 : 2]
                    let entry = new
                    group.addTask { try await store.store.replace(current, by: entry, at: noon) ? entry : nil }
                }
                return try await group.reduce(into: [StoreEntry]()) { if let entry = $1 { $0.append(entry) } }
            }
            #expect(written.count == 1)
            #expect(try await store.store.entry(.user, self.label(1), at: noon) == written.first)
            try await store.store.put(self.entry(1))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `each live entry of a kind is in one page`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        for number: UInt8 in 1...25 { try await store.store.put(self.entry(number)) }
        try await store.store.put(self.entry(100, .notBefore))
        var over = self.entry(26)
        over.expires = noon.plus(1)
        try await store.store.put(over)
        var found: [StoreEntry] = []
        var cursor: [UInt8]? = []
        while let from = cursor {
            let page = try await store.store.entries(.user, from: from, limit: 10, at: noon.plus(1))
            #expect(page.items.count <= 10)
            found += page.items
            cursor = page.next
        }
        #expect(found.count == 25 && Set(found) == Set((1...25).map { self.entry($0) }))
    }

    @Test(arguments: [StoreKind.memory, .sqlite])
    func `the sweep removes what has expired with its labels`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.store.insert(self.labeled(1, family: 1, 101))
        try await store.store.put(self.entry(1))
        #expect(try await store.store.lock([7], owner: [1], at: noon, for: .seconds(60)))
        #expect(try await store.store.removeExpired(at: noon.plus(1000), idle: .seconds(5000)) == 1)
        #expect(try await store.store.families(labeled: self.label(101)) == [])
        #expect(try await store.store.entry(.user, self.label(1), at: noon) == nil)
        #expect(try await store.store.lock([7], owner: [2], at: noon, for: .seconds(60)))
    }
}
