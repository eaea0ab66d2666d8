// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateSessions
import Testing

/// The rules of ``StoreMaintenance``.
@Suite struct StoreMaintenanceTests {
    @Test(arguments: StoreKind.keepingSessions)
    func `expired sessions are removed`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.records.insert(record(1))
        var longer = record(2)
        longer.expires = noon.plus(1001)
        try await store.records.insert(longer)
        let idle = Duration.seconds(5000)
        #expect(try await store.maintenance.removeExpired(at: noon.plus(999 + kind.delay), idle: idle) == 0)
        #expect(try await store.maintenance.removeExpired(at: noon.plus(1000 + kind.delay), idle: idle) == 1)
        #expect(try await store.records.record(for: record(1).key) == nil)
        #expect(try await store.records.record(for: record(2).key) == longer)
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `sessions unused for the idle time are removed`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.records.insert(record(1))
        try await store.records.insert(record(2))
        store.records.noteUse(record(2).key, at: noon.plus(60))
        #expect(try await store.maintenance.removeExpired(at: noon.plus(100 + kind.delay), idle: .seconds(100)) == 0)
        #expect(try await store.maintenance.removeExpired(at: noon.plus(101 + kind.delay), idle: .seconds(100)) == 1)
        #expect(try await store.records.record(for: record(1).key) == nil)
        #expect(try await store.records.record(for: record(2).key) != nil)
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `many expired sessions are removed at once`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        for number in 0..<2500 {
            var expired = record(1)
            expired.key = Array("\(number)".utf8)
            try await store.records.insert(expired)
        }
        #expect(try await store.maintenance.removeExpired(at: noon.plus(2000), idle: .seconds(5000)) == 2500)
        #expect(try await count(store.records) == 0)
    }

    @Test(arguments: [StoreKind.memory, .sqlite, .metered, .switched])
    func `the sweep removes what has expired with its labels`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.records.insert(labeled(1, family: 1, 101))
        try await store.entries.put([entry(1)])
        #expect(try await store.locks.lock([7], owner: [1], at: noon, for: .seconds(60)))
        #expect(try await store.maintenance.removeExpired(at: noon.plus(1000), idle: .seconds(5000)) == 1)
        #expect(try await store.records.families(labeled: label(101)) == [])
        #expect(try await store.entries.entry(.user, label(1), at: noon) == nil)
        #expect(try await store.locks.lock([7], owner: [2], at: noon, for: .seconds(60)))
    }

    @Test(arguments: StoreKind.allCases)
    func `a closed store is an outage`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        await store.maintenance.close()
        let calls: [() async throws -> Void] = [
            { _ = try await store.records.record(for: record(1).key) },
            { _ = try await store.entries.entry(.user, label(1), at: noon) },
            { _ = try await store.locks.spend([1], until: noon) },
            { _ = try await store.locks.lock([1], owner: [1], at: noon, for: .seconds(60)) },
        ]
        for call in kind == .cookie ? calls.dropFirst() : calls[...] {
            let failure = await #expect(throws: Failure.self) { try await call() }
            #expect(failure?.kind == .overloaded)
            #expect(failure?.reason == .sessionStoreUnavailable)
        }
    }
}
