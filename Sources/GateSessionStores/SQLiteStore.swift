// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GRDB
package import GateCore
package import GateSessions

/// Sessions in one file on this machine, for a single gateway.
///
/// Calls wait without holding a thread of the caller: GRDB runs them on queues of its own. A cancelled call throws, and
/// what it wanted to write is not written.
package final class SQLiteStore: SessionStore {
    /// The file.
    package let path: String
    private let pool: DatabasePool

    /// How many expired sessions are removed before others may write in between.
    private static let sweepStep = 1000

    /// Opens the file, and makes it if there is none, readable by its owner alone.
    ///
    /// - Parameters:
    ///   - path: The file; folders that are missing are made.
    ///   - pageLimit: The most pages the file may grow to, as if the disk were full then; nil for no limit of ours.
    /// - Throws: A failure that names the file and says what to do.
    package init(path: String, pageLimit: Int? = nil) throws(Failure) {
        try PrivateFile.makeFolder(PrivateFile.folder(of: path))
        try PrivateFile.makeEmpty(path)
        self.path = path
        self.pool = try SQLiteStore.openPool(path, pageLimit: pageLimit)
    }

    /// The record under a key, or nil.
    package func record(for key: [UInt8]) async throws(Failure) -> SessionRecord? {
        try await self.read { database in
            let query = try database.cachedStatement(sql: "SELECT * FROM session WHERE key = ?")
            return try Row.fetchOne(query, arguments: [Data(key)]).map(SessionRecord.init(row:))
        }
    }

    /// Adds a record.
    package func insert(_ record: SessionRecord) async throws(Failure) {
        try await self.write { database in try SQLiteStore.add(record, to: database) }
    }

    /// Notes the use of an id and adds a record in one transaction.
    package func insert(
        _ record: SessionRecord,
        spending id: [UInt8],
        until: Instant
    ) async throws(Failure) -> Bool {
        try await self.write { database in
            guard try SQLiteStore.spend(id, until: until, in: database) else { return false }
            try SQLiteStore.add(record, to: database)
            return true
        }
    }

    /// Notes a use.
    package func touch(_ key: [UInt8], lastSeen: Instant) async throws(Failure) {
        try await self.write { database in
            let update = try database.cachedStatement(sql: "UPDATE session SET seen = ? WHERE key = ?")
            try update.execute(arguments: [lastSeen.seconds, Data(key)])
        }
    }

    /// Removes a record.
    package func remove(_ key: [UInt8]) async throws(Failure) {
        try await self.write { database in
            try database.cachedStatement(sql: "DELETE FROM session WHERE key = ?").execute(arguments: [Data(key)])
        }
    }

    /// Removes a family.
    package func removeFamily(_ family: [UInt8]) async throws(Failure) {
        try await self.write { database in
            let delete = try database.cachedStatement(sql: "DELETE FROM session WHERE family = ?")
            try delete.execute(arguments: [Data(family)])
        }
    }

    /// Removes what is over, in steps, so that nobody waits long for the file.
    package func removeExpired(at now: Instant, idle: Duration) async throws(Failure) -> Int {
        let oldest = now.advanced(by: .zero - idle)
        var total = 0
        while true {
            let removed = try await self.write { database in
                try SQLiteStore.sweep(database, now: now, oldest: oldest)
            }
            total += removed
            guard removed == SQLiteStore.sweepStep else { return total }
        }
    }

    /// Notes the use of an id.
    package func spend(_ id: [UInt8], until: Instant) async throws(Failure) -> Bool {
        try await self.write { database in try SQLiteStore.spend(id, until: until, in: database) }
    }

    /// How many sessions there are.
    package func count() async throws(Failure) -> Int {
        try await self.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM session") ?? 0 }
    }

    /// Writes something without meaning, since only that shows that the file can be written.
    package func check() async throws(Failure) {
        try await self.write { database in
            try database.execute(sql: "INSERT OR REPLACE INTO spent (id, until) VALUES (x'00', 0)")
            try database.execute(sql: "DELETE FROM spent WHERE id = x'00'")
        }
    }

    /// Closes the file; what was written is in it.
    package func close() async {
        try? self.pool.close()
    }
}

extension SQLiteStore {
    private static func add(_ record: SessionRecord, to database: Database) throws {
        let insert = "INSERT INTO session (key, family, sealed, created, seen, expires) VALUES (?, ?, ?, ?, ?, ?)"
        try database.cachedStatement(sql: insert).execute(arguments: [
            Data(record.key), Data(record.family), Data(record.sealed), record.created.seconds,
            record.lastSeen.seconds, record.expires.seconds,
        ])
    }

    private static func spend(_ id: [UInt8], until: Instant, in database: Database) throws -> Bool {
        let insert = try database.cachedStatement(sql: "INSERT OR IGNORE INTO spent (id, until) VALUES (?, ?)")
        try insert.execute(arguments: [Data(id), until.seconds])
        return database.changesCount == 1
    }

    private static func sweep(_ database: Database, now: Instant, oldest: Instant) throws -> Int {
        let spent = try database.cachedStatement(sql: "DELETE FROM spent WHERE until <= ?")
        try spent.execute(arguments: [now.seconds])
        let over = """
            DELETE FROM session WHERE rowid IN (
                SELECT rowid FROM session WHERE expires <= ? OR seen <= ? LIMIT \(self.sweepStep)
            )
            """
        try database.cachedStatement(sql: over).execute(arguments: [now.seconds, oldest.seconds])
        return database.changesCount
    }

    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(Failure) -> Value {
        do {
            return try await self.pool.read(body)
        } catch {
            throw Failure.unavailable("\(self.path): \(error)")
        }
    }

    private func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(Failure) -> Value {
        do {
            return try await self.pool.write(body)
        } catch {
            throw Failure.unavailable("\(self.path): \(error)")
        }
    }
}

extension SessionRecord {
    fileprivate init(row: Row) {
        self.init(
            key: Array(row["key"] as Data),
            family: Array(row["family"] as Data),
            sealed: Array(row["sealed"] as Data),
            created: Instant(seconds: row["created"]),
            lastSeen: Instant(seconds: row["seen"]),
            expires: Instant(seconds: row["expires"])
        )
    }
}
