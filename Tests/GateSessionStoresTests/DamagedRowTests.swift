// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import GateCore
import GateSessionStores
import GateSessions
import GateTestSupport
import Testing

/// B-05: what another process, or a broken disk, has written into the file of the sessions.
@Suite struct DamagedRowTests {
    private let folder: TemporaryFolder
    private let label = [UInt8](repeating: 9, count: 32)
    private var path: String { "\(self.folder.path)/sessions.db" }

    init() throws {
        self.folder = try TemporaryFolder()
    }

    /// Values of each type of SQLite.
    private static let values =
        HostileNumbers.integers.map { "\($0)" } + ["1e300", "-1e300", "0.5", "'abc'", "'12'", "''", "x''", "x'00ff'"]
        + ["randomblob(100000)", "'9223372036854775808'"]

    private func labeled(_ number: UInt8, family: UInt8) -> SessionRecord {
        var labeled = record(number, family: family)
        labeled.labels = [self.label]
        return labeled
    }

    /// A store with three sessions and three entries, and what damages the second of each.
    private func store() async throws -> (store: SQLiteStore, damage: (String, String, String) async throws -> Void) {
        let store = try SQLiteStore(path: self.path, patience: ages)
        for number: UInt8 in 1...3 { try await store.insert(self.labeled(number, family: number)) }
        for number: UInt8 in 1...3 { try await store.put([Self.entry(number)]) }
        let other = try DatabaseQueue(path: self.path)
        try await other.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = OFF") }
        return (
            store,
            { table, column, value in
                try await other.write { database in
                    let update = "UPDATE \(table) SET \(column) = \(value) WHERE key = ?"
                    try database.execute(sql: update, arguments: [Data(record(2).key)])
                }
            }
        )
    }

    private static func entry(_ number: UInt8) -> StoreEntry {
        StoreEntry(kind: .notBefore, key: record(number).key, value: [number], expires: noon.plus(1000))
    }

    @Test(arguments: ["family", "sealed", "created", "seen", "expires", "labels", "card"])
    func `B-05: a session with any value in a column takes nothing from the others`(column: String) async throws {
        let (store, damage) = try await self.store()
        for value in Self.values {
            try await damage("session", column, value)
            try await self.readSessions(of: store)
        }
        try await store.trimFamily(record(2, family: 2).family, to: 0, keeping: [])
        for family in try await store.families(labeled: self.label) { try await store.removeFamily(family) }
        #expect(try await store.record(for: record(1).key) == nil)
        #expect(try await store.record(for: record(3).key) == nil)
        _ = try await store.removeExpired(at: noon, idle: .seconds(3600))
        await store.close()
    }

    private func readSessions(of store: SQLiteStore) async throws {
        let lifetimes = SessionLifetimes(idle: .seconds(3600), absolute: .seconds(36_000))
        if let found = try await store.record(for: record(2).key) {
            _ = lifetimes.remaining(found, at: noon)
            _ = found.labelBytes
        }
        for number: UInt8 in [1, 3] {
            #expect(try await store.record(for: record(number).key) == self.labeled(number, family: number))
        }
        let families = try await store.families(labeled: self.label)
        #expect(families.isSuperset(of: [record(1, family: 1).family, record(3, family: 3).family]))
        let signIns = try await store.signIns(labeled: self.label, limit: 10)
        #expect(Set(signIns.map(\.family)).isSuperset(of: [record(1, family: 1).family, record(3, family: 3).family]))
        var (keys, cursor, pages): (Set<[UInt8]>, [UInt8], Int) = ([], [], 0)
        repeat {
            let page = try await store.records(from: cursor, limit: 1)
            keys.formUnion(page.items.map(\.key))
            (cursor, pages) = (page.next ?? [], pages + 1)
        } while !cursor.isEmpty
        #expect(keys.isSuperset(of: [record(1).key, record(3).key]) && pages == 3)
        _ = try await store.count(at: noon, within: lifetimes)
    }

    @Test(arguments: ["value", "expires"])
    func `B-05: an entry with any value in a column is read, has expired, or is a failure`(column: String) async throws
    {
        let (store, damage) = try await self.store()
        for (number, value) in Self.values.enumerated() {
            try await damage("entry", column, value)
            try await self.readEntries(of: store, UInt8(100 + number))
        }
        _ = try await store.removeExpired(at: noon, idle: .seconds(3600))
        await store.close()
    }

    private func readEntries(of store: SQLiteStore, _ number: UInt8) async throws {
        do throws(Failure) {
            let found = try await store.entry(.notBefore, record(2).key, at: noon)
            #expect(found.map { $0.expires > noon } ?? true)
        } catch {
            #expect(error.reason == .sessionStoreDamaged && store.fileFailure() == .damaged)
        }
        #expect(try await store.entry(.notBefore, record(1).key, at: noon) == Self.entry(1))
        let keys = (UInt8(1)...3).map { record($0).key }
        let found = try await store.entries(.notBefore, under: keys, at: noon)
        #expect(found.contains(Self.entry(1)) && found.contains(Self.entry(3)))
        let page = try await store.entries(.notBefore, from: [], limit: 10, at: noon)
        #expect(page.items.contains(Self.entry(1)) && page.items.contains(Self.entry(3)))
        // A use of an id that reads it keeps its session.
        let inserted = try await store.insert(
            record(number),
            spending: [number],
            until: noon,
            reading: .notBefore,
            record(2).key,
            at: noon
        )
        #expect(inserted != .spent)
        #expect(try await store.record(for: record(number).key) == record(number))
    }
}
