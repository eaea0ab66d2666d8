// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import GateCore
import GateSessionStores
import GateSessions
import GateTestSupport
import Synchronization
import Testing

@Suite struct SQLiteStoreTests {
    private let folder: TemporaryFolder
    private let secret = Secret([UInt8](repeating: 7, count: 32))
    private var path: String { "\(self.folder.path)/state/sessions.db" }

    init() throws {
        self.folder = try TemporaryFolder()
    }

    private func manager(_ store: any SessionStore, secret: Secret? = nil) -> SessionManager {
        SessionManager(
            store: store,
            sealer: Sealer([secret ?? self.secret]),
            lifetimes: SessionLifetimes(idle: .seconds(3600), absolute: .seconds(36_000)),
            feed: RevocationFeed()
        )
    }

    private func signIn(_ store: any SessionStore) async throws -> IssuedSession {
        var ada = Profile(provider: "google", issuer: "https://accounts.google.com", subject: "104729384756102938475")
        ada.email = "ada.lovelace@example.com"
        ada.emailVerified = true
        return try await self.manager(store).issue(SignIn(profile: ada), host: "gate.example.com", now: noon)
    }

    @Test func `a session survives a restart`() async throws {
        let before = try SQLiteStore(path: self.path, patience: ages)
        let issued = try await self.signIn(before)
        #expect(try await before.spend([1], until: noon.plus(60)))
        await before.close()
        let after = try SQLiteStore(path: self.path, patience: ages)
        let found = try await self.manager(after).session(for: issued.ticket, host: "gate.example.com", now: noon)
        #expect(found == issued.session)
        #expect(try await !after.spend([1], until: noon.plus(60)))
    }

    @Test func `a killed process loses no stored session`() async throws {
        let running = try SQLiteStore(path: self.path, patience: ages)
        let issued = try await self.signIn(running)
        let copy = try self.copiedFiles()
        let found = try await self.manager(try SQLiteStore(path: copy, patience: ages))
            .session(for: issued.ticket, host: "gate.example.com", now: noon)
        #expect(found == issued.session)
    }

    @Test func `a copied database opens nothing without the gateway's secret or without the ticket`() async throws {
        let running = try SQLiteStore(path: self.path, patience: ages)
        let issued = try await self.signIn(running)
        let copy = try SQLiteStore(path: try self.copiedFiles(), patience: ages)
        let host = "gate.example.com"
        let stranger = self.manager(copy, secret: Secret([UInt8](repeating: 8, count: 32)))
        #expect(try await stranger.session(for: issued.ticket, host: host, now: noon) == nil)
        let record = try #require(try await copy.record(for: issued.ticket.storeKey))
        let sealer = Sealer([self.secret])
        let purpose = "session/\(Base64URL.encode(record.key))"
        #expect(sealer.open(record.sealed, for: purpose) == nil)
        #expect(sealer.open(record.sealed, for: purpose, part: record.key) == nil)
        #expect(Ticket(Base64URL.encode(record.key).utf8)?.storeKey != record.key)
    }

    @Test func `the files contain no readable data`() async throws {
        let store = try SQLiteStore(path: self.path, patience: ages)
        let issued = try await self.signIn(store)
        _ = try await self.manager(store).spend(SingleUse("attempt", "attempt-id-in-clear", until: noon.plus(60)))
        let folder = "\(self.folder.path)/state"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(names.contains("sessions.db-wal"))
        let ticket = try #require(Base64URL.decode(issued.ticket.text)).prefix(32)
        let hidden = [
            "ada.lovelace", "example.com", "google", "104729384756102938475", "attempt-id-in-clear",
            issued.ticket.text, issued.session.id, issued.session.family,
        ]
        for name in names {
            let content = try Data(contentsOf: URL(filePath: "\(folder)/\(name)"))
            for text in hidden.map({ Data($0.utf8) }) + [Data(ticket)] {
                #expect(content.firstRange(of: text) == nil)
            }
        }
    }

    @Test func `folder and files are accessible to the owner only`() async throws {
        let store = try SQLiteStore(path: self.path, patience: ages)
        _ = try await self.signIn(store)
        #expect(try self.folder.mode("state") == 0o700)
        for name in ["sessions.db", "sessions.db-wal", "sessions.db-shm"] {
            #expect(try self.folder.mode("state/\(name)") == 0o600)
        }
    }

    @Test func `a file that is not a database is reported with advice`() throws {
        try FileManager.default.createDirectory(atPath: "\(self.folder.path)/state", withIntermediateDirectories: true)
        try Data(repeating: UInt8(ascii: "x"), count: 8192).write(to: URL(filePath: self.path))
        let failure = #expect(throws: Failure.self) { try SQLiteStore(path: self.path, patience: ages) }
        #expect(failure?.reason == .sessionStoreDamaged)
        #expect(failure?.detail.contains(self.path) == true)
        #expect(failure?.detail.contains("move it away") == true)
        #expect(try Data(contentsOf: URL(filePath: self.path)).count == 8192)
    }

    @Test func `R-06: a database of a newer version is not changed`() async throws {
        let store = try SQLiteStore(path: self.path, patience: ages)
        _ = try await self.signIn(store)
        await store.close()
        let queue = try DatabaseQueue(path: self.path)
        try await queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('9-future')") }
        try queue.close()
        let failure = #expect(throws: Failure.self) { try SQLiteStore(path: self.path, patience: ages) }
        #expect(failure?.reason == .sessionStoreNewer)
    }

    @Test func `labels are found by an index and removed with their session`() async throws {
        let store = try SQLiteStore(path: self.path, patience: ages)
        var labeled = record(2, family: 2)
        labeled.labels = [[UInt8](repeating: 9, count: 32)]
        try await store.insert(record(1))
        try await store.insert(labeled)
        #expect(try await store.families(labeled: labeled.labels[0]) == [labeled.family])
        try await store.remove(labeled.key)
        await store.close()
        let after = try DatabaseQueue(path: self.path)
        #expect(try await after.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM label") } == 0)
        let plan = try await after.read { database in
            try Row.fetchAll(
                database,
                sql: "EXPLAIN QUERY PLAN SELECT DISTINCT family FROM label JOIN session USING (key) WHERE label = x'00'"
            ).map { $0["detail"] as String }
        }
        #expect(!plan.contains { $0.hasPrefix("SCAN") }, "\(plan)")
    }

    @Test func `U-02: a session that ended while the database was locked is not found in any way`() async throws {
        let store = try SQLiteStore(path: self.path, patience: ages)
        var old = record(1, family: 5)
        old.labels = [[UInt8](repeating: 9, count: 32)]
        try await store.insert(old)
        try await self.holding(store) {
            try await store.removeFamily(old.family)
            #expect(try await store.families(labeled: old.labels[0]) == [])
            #expect(try await store.records(from: [], limit: 10).items == [])
        }
        #expect(try await store.replace(old.key, ifSealed: old.sealed, by: [1], card: []) == false)
    }

    @Test func `a folder at the path of the file is reported`() throws {
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        let failure = #expect(throws: Failure.self) { try SQLiteStore(path: self.path, patience: ages) }
        #expect(failure?.detail.contains(self.path) == true)
    }

    @Test func `R-54: a full disk stops writes, not reads`() async throws {
        let store = try SQLiteStore(path: self.path, patience: ages)
        let issued = try await self.signIn(store)
        await store.close()
        let small = try SQLiteStore(path: self.path, pageLimit: 1, patience: ages)
        let failure = await #expect(throws: Failure.self) {
            var large = record(9)
            large.sealed = [UInt8](repeating: 1, count: 1_000_000)
            try await small.insert(large)
        }
        #expect(failure?.kind == .overloaded)
        #expect(failure?.reason == .sessionStoreUnavailable)
        let found = try await self.manager(small).session(for: issued.ticket, host: "gate.example.com", now: noon)
        #expect(found == issued.session)
    }

    /// Another process that writes to the database, or locks it.
    private func holding(_ store: SQLiteStore, _ body: () async throws -> Void) async throws {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: self.path, configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }
        do {
            try await body()
        } catch {
            try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
            throw error
        }
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
    }

    @Test func `U-01: a use counts while another process locks the database, and is written afterwards`() async throws {
        let store = try SQLiteStore(path: self.path, patience: ages)
        let issued = try await self.signIn(store)
        let manager = self.manager(store)
        let host = "gate.example.com"
        try await self.holding(store) {
            for minute in 1...20 {
                let now = noon.plus(Int64(minute) * 120)
                let found = try await manager.session(for: issued.ticket, host: host, now: now)
                #expect(found?.lastSeen == now)
            }
            // A use that is not written yet counts.
            #expect(try await store.record(for: issued.ticket.storeKey)?.lastSeen == noon.plus(2400))
            #expect(try await manager.session(for: issued.ticket, host: host, now: noon.plus(5400)) != nil)
        }
        #expect(try await store.removeExpired(at: noon, idle: .seconds(3600)) == 0)
        let again = try SQLiteStore(path: self.path, patience: ages)
        #expect(try await again.record(for: issued.ticket.storeKey)?.lastSeen == noon.plus(5400))
    }

    @Test func `U-01: pending uses are written when the store is closed`() async throws {
        let store = try SQLiteStore(path: self.path, patience: ages)
        try await store.insert(record(1))
        store.noteUse(record(1).key, at: noon.plus(60))
        store.noteUse(record(2).key, at: noon.plus(60))
        await store.close()
        let again = try SQLiteStore(path: self.path, patience: ages)
        #expect(try await again.record(for: record(1).key)?.lastSeen == noon.plus(60))
        #expect(try await again.record(for: record(2).key) == nil)
    }

    @Test func `U-02: a sign-out is in force although the database cannot be written, also after a kill`() async throws
    {
        let events = StoreEvents()
        let store = try SQLiteStore(path: self.path, patience: ages) { events.note($0) }
        let issued = try await self.signIn(store)
        try await store.insert(record(2, family: 2))
        let host = "gate.example.com"
        try await self.holding(store) {
            let ended = try await self.manager(store).end(issued.ticket)
            #expect(ended == issued.session)
            #expect(try await self.manager(store).session(for: issued.ticket, host: host, now: noon) == nil)
            guard case .revocationPending(1, true, let reason)? = events.all.first else {
                Issue.record("\(events.all)")
                return
            }
            #expect(reason.contains(self.path))
        }
        // As if the process had been killed before the database could be written.
        let copy = try self.copiedFiles()
        #expect(try await SQLiteStore(path: copy, patience: ages).record(for: issued.ticket.storeKey) == nil)
        #expect(try await SQLiteStore(path: copy, patience: ages).record(for: record(2).key) != nil)
        await store.close()
        let after = try SQLiteStore(path: self.path, patience: ages)
        #expect(try await after.record(for: issued.ticket.storeKey) == nil)
        let slots = try Data(contentsOf: URL(filePath: "\(self.path)-revoked"))
        #expect(slots.count == 65_536 && slots.allSatisfy { $0 == 0 })
        #expect(try self.folder.mode("state/sessions.db-revoked") == 0o600)
    }

    @Test func `U-02: a sign-out that a restart would undo is not reported as done`() async throws {
        // A folder in the place of the file that keeps it.
        try FileManager.default.createDirectory(atPath: "\(self.path)-revoked", withIntermediateDirectories: true)
        let events = StoreEvents()
        let store = try SQLiteStore(path: self.path, patience: ages) { events.note($0) }
        try await store.insert(record(1, family: 5))
        try await self.holding(store) { () async throws in
            let failure = await #expect(throws: Failure.self) {
                try await store.removeFamily(record(1, family: 5).family)
            }
            #expect(failure?.reason == .sessionStoreUnavailable)
            // In force as long as the process runs.
            #expect(try await store.record(for: record(1).key) == nil)
        }
        guard case .revocationPending(1, false, _)? = events.all.first else {
            Issue.record("\(events.all)")
            return
        }
        try FileManager.default.removeItem(atPath: "\(self.path)-revoked")
        try await store.removeFamily(record(1, family: 5).family)
    }

    @Test(arguments: [StoreFileFailure.deleted, .replaced, .truncated, .damaged])
    func `U-03: a changed database file is detected`(failure expected: StoreFileFailure) async throws {
        let store = try SQLiteStore(path: self.path, patience: ages)
        _ = try await self.signIn(store)
        #expect(store.fileFailure() == nil)
        let folder = "\(self.folder.path)/state"
        switch expected {
        case .deleted:
            try FileManager.default.removeItem(atPath: self.path)
        case .replaced:
            _ = try SQLiteStore(path: "\(folder)/other.db", patience: ages)
            try FileManager.default.removeItem(atPath: self.path)
            try FileManager.default.moveItem(atPath: "\(folder)/other.db", toPath: self.path)
        case .truncated:
            try #require(FileHandle(forUpdatingAtPath: self.path)).truncate(atOffset: 0)
        case .damaged:
            // The pages that the store reads next are corrupt.
            try Data(repeating: 0x55, count: 40_960).write(to: URL(filePath: "\(folder)/nonsense"))
            let other = try DatabaseQueue(path: self.path)
            try await other.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
            try other.close()
            let file = try #require(FileHandle(forUpdatingAtPath: self.path))
            let length = try file.seekToEnd()
            try file.seek(toOffset: 4096)
            try file.write(contentsOf: Data(repeating: 0x55, count: Int(length) - 4096))
            try file.close()
            let failure = await #expect(throws: Failure.self) {
                for number: UInt8 in 1...9 { _ = try await store.record(for: record(number).key) }
                for number: UInt8 in 1...9 { try await store.insert(record(number)) }
            }
            #expect(failure?.kind == .overloaded)
        case .readOnly, .evicting: Issue.record("a file has no such failure")
        }
        #expect(store.fileFailure() == expected)
    }

    @Test func `Z-02: expired sessions do not count before they are removed`() async throws {
        let store = try SQLiteStore(path: self.path, patience: ages)
        for number: UInt8 in 1...5 { try await store.insert(record(number)) }
        let manager = SessionManager(
            store: store,
            sealer: Sealer([self.secret]),
            lifetimes: SessionLifetimes(idle: .seconds(300), absolute: .seconds(900)),
            feed: RevocationFeed()
        )
        store.noteUse(record(1).key, at: noon.plus(280))
        #expect(try await store.removeExpired(at: noon.plus(280), idle: manager.lifetimes.idle) == 0)
        #expect(try await manager.count(now: noon.plus(300)) == 5)
        #expect(try await manager.count(now: noon.plus(301)) == 1)
        #expect(try await store.removeExpired(at: noon.plus(301), idle: manager.lifetimes.idle) == 4)
        store.noteUse(record(1).key, at: noon.plus(899))
        #expect(try await store.removeExpired(at: noon.plus(899), idle: manager.lifetimes.idle) == 0)
        #expect(try await manager.count(now: noon.plus(999)) == 1)
        #expect(try await manager.count(now: noon.plus(1000)) == 0)
    }

    @Test func `Z-02: the sweep applies the idle time-out of the configuration`() async throws {
        let store = try SQLiteStore(path: self.path, patience: ages)
        var long = record(1)
        long.expires = noon.plus(100 * 86_400)
        try await store.insert(long)
        let manager = SessionManager(
            store: store,
            sealer: Sealer([self.secret]),
            lifetimes: SessionLifetimes(idle: .seconds(60 * 86_400), absolute: .seconds(100 * 86_400)),
            feed: RevocationFeed()
        )
        #expect(try await store.removeExpired(at: noon.plus(59 * 86_400), idle: manager.lifetimes.idle) == 0)
        #expect(try await manager.count(now: noon.plus(59 * 86_400)) == 1)
        #expect(try await store.removeExpired(at: noon.plus(61 * 86_400), idle: manager.lifetimes.idle) == 1)
    }

    @Test func `a failure has the file but none of the data`() async throws {
        let store = try SQLiteStore(path: self.path, patience: ages)
        try await store.insert(record(1))
        let failure = await #expect(throws: Failure.self) { try await store.insert(record(1)) }
        #expect(failure?.detail.contains(self.path) == true)
        #expect(failure?.detail.contains("32 bytes") == false)
        #expect(failure?.detail.contains("010101") == false)
    }

    /// Copies the files as they are now, write-ahead log included, and returns the path of the copy.
    private func copiedFiles() throws -> String {
        let target = "\(self.folder.path)/copy-\(UUID())"
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        // The pending revocations first: a retry removes them only after the database has them.
        for suffix in ["-revoked", "", "-wal"] {
            let copied = "\(target)/sessions.db\(suffix)"
            try FileManager.default.copyItem(atPath: self.path + suffix, toPath: copied)
        }
        return "\(target)/sessions.db"
    }
}

/// What a store reported, in order.
private final class StoreEvents: Sendable {
    private let events = Mutex<[StoreEvent]>([])

    var all: [StoreEvent] { self.events.withLock { $0 } }

    func note(_ event: StoreEvent) { self.events.withLock { $0.append(event) } }
}
