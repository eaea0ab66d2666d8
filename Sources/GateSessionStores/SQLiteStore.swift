// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GRDB
package import GateCore
package import GateSessions
internal import Synchronization

/// Sessions in one file on this machine, for a single gateway.
///
/// Calls wait without holding a thread of the caller: GRDB runs them on queues of its own. A cancelled call throws, and
/// what it wanted to write is not written. A look-up never waits for a write, and no call waits longer than two seconds for its
/// turn.
package final class SQLiteStore: SessionStore {
    /// The file.
    package let path: String
    private let pool: DatabasePool
    private let uses: LastSeenBuffer
    private let revocations: PendingRevocations
    private let file: DatabaseFile
    private let report: @Sendable (StoreEvent) -> Void
    /// How long a call may wait for those before it; after that it fails at once, so that the queue becomes short again.
    private let patience: Duration
    private let isDamaged = Atomic<Bool>(false)
    private let isRetrying = Atomic<Bool>(false)
    private let isClosed = Atomic<Bool>(false)

    /// How many expired sessions are removed before others may write in between.
    private static let sweepStep = 1000
    /// How long it takes until a sign-out that could not be written is tried again.
    private static let retryPace = Duration.seconds(5)

    /// Opens the file, and makes it if there is none, readable by its owner alone.
    ///
    /// - Parameters:
    ///   - path: The file; folders that are missing are made.
    ///   - pageLimit: The most pages the file may grow to, as if the disk were full then; nil for no limit of ours.
    ///   - patience: How long a call may wait for those before it.
    ///   - report: Called with what an operator should know beside the failures of calls.
    /// - Throws: A failure that names the file and says what to do.
    package init(
        path: String,
        pageLimit: Int? = nil,
        patience: Duration = .seconds(2),
        report: @escaping @Sendable (StoreEvent) -> Void = { _ in }
    ) throws(Failure) {
        try PrivateFile.makeFolder(PrivateFile.folder(of: path))
        try PrivateFile.makeEmpty(path)
        self.path = path
        self.report = report
        self.patience = patience
        self.pool = try SQLiteStore.openPool(path, pageLimit: pageLimit)
        self.uses = LastSeenBuffer(try SQLiteStore.openConnection(path, pageLimit: pageLimit))
        self.revocations = PendingRevocations(path: "\(path)-revoked")
        self.file = DatabaseFile(path: path)
        if self.revocations.count > 0 { self.retryRevocations(after: .zero) }
    }

    /// The record under a key, or nil.
    package func record(for key: [UInt8]) async throws(Failure) -> SessionRecord? {
        let found = try await self.read { database in
            let query = try database.cachedStatement(sql: "SELECT * FROM session WHERE key = ?")
            return try Row.fetchOne(query, arguments: [Data(key)]).map(SessionRecord.init(row:))
        }
        guard var record = found, !self.revocations.contains(record.family) else { return nil }
        if let seen = self.uses.lastUse(of: key) { record.lastSeen = max(record.lastSeen, seen) }
        return record
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

    /// Notes a use, to be written within seconds together with others.
    package func noteUse(_ key: [UInt8], at instant: Instant) {
        self.uses.note(key, at: instant)
    }

    /// Writes the uses that wait to be written; false if the file cannot be written.
    package func flushUses() async -> Bool { await self.uses.flush() }

    /// Removes a record.
    package func remove(_ key: [UInt8]) async throws(Failure) {
        try await self.write { database in
            try database.cachedStatement(sql: "DELETE FROM session WHERE key = ?").execute(arguments: [Data(key)])
        }
    }

    /// Removes a family: at once for every look-up, in the file when it can be written.
    package func removeFamily(_ family: [UInt8]) async throws(Failure) {
        guard !self.isClosed.load(ordering: .relaxed) else { throw Failure.unavailable("\(self.path) is closed") }
        self.revocations.insert(family)
        do throws(Failure) {
            try await self.delete(family)
        } catch {
            let isKept = self.revocations.keep(family)
            let pending = self.revocations.count
            self.report(.revocationPending(pending: pending, isKept: isKept, reason: error.detail))
            self.retryRevocations(after: SQLiteStore.retryPace)
        }
    }

    /// Removes what is over, in steps, so that nobody waits long for the file.
    package func removeExpired(at now: Instant, idle: Duration) async throws(Failure) -> Int {
        // A session whose use is not written yet looks older than it is.
        guard await self.uses.flush() else { throw Failure.unavailable("\(self.path): last uses cannot be written") }
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

    /// How many sessions are live.
    ///
    /// All less those that are over, since an index has either number: a look at each row would read the whole file. A
    /// session that only a lowered lifetime ended counts until the end that it was given.
    package func count(at now: Instant, within lifetimes: SessionLifetimes) async throws(Failure) -> Int {
        let idle = now.advanced(by: .zero - lifetimes.idle).seconds
        let query = """
            SELECT (SELECT COUNT(*) FROM session) - (SELECT COUNT(*) FROM session WHERE expires <= ? OR seen <= ?)
            """
        return try await self.read { database in
            try Int.fetchOne(database, sql: query, arguments: [now.seconds, idle]) ?? 0
        }
    }

    /// Writes something without meaning, since only that shows that the file can be written.
    package func check() async throws(Failure) {
        try await self.write { database in
            try database.execute(sql: "INSERT OR REPLACE INTO spent (id, until) VALUES (x'00', 0)")
            try database.execute(sql: "DELETE FROM spent WHERE id = x'00'")
        }
    }

    /// What has become of the file.
    package func fault() -> StoreFileFailure? {
        self.file.fault() ?? (self.isDamaged.load(ordering: .relaxed) ? .damaged : nil)
    }

    /// Closes the file; what was written is in it.
    package func close() async {
        self.isClosed.store(true, ordering: .relaxed)
        await self.uses.close()
        for family in self.revocations.families { try? await self.delete(family) }
        try? self.pool.close()
    }
}

// MARK: Revocations

extension SQLiteStore {
    private func delete(_ family: [UInt8]) async throws(Failure) {
        try await self.write { database in
            let delete = try database.cachedStatement(sql: "DELETE FROM session WHERE family = ?")
            try delete.execute(arguments: [Data(family)])
        }
        self.revocations.remove(family)
    }

    /// Tries until all families that wait are removed from the file.
    private func retryRevocations(after pace: Duration) {
        guard !self.isRetrying.exchange(true, ordering: .relaxed) else { return }
        Task { [weak self] in
            try? await Task.sleep(for: pace)
            while let self, !self.isClosed.load(ordering: .relaxed) {
                guard await self.removeRevoked() else {
                    try? await Task.sleep(for: SQLiteStore.retryPace)
                    continue
                }
                self.isRetrying.store(false, ordering: .relaxed)
                // One that came between the last look and the line above has nobody else to wait for.
                if self.revocations.count > 0 { self.retryRevocations(after: SQLiteStore.retryPace) }
                return
            }
        }
    }

    /// Removes the families that wait; false if that failed.
    private func removeRevoked() async -> Bool {
        do {
            for family in self.revocations.families { try await self.delete(family) }
        } catch {
            return false
        }
        self.report(.revocationsWritten)
        return true
    }
}

// MARK: Statements

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
        let deadline = ContinuousClock.now + self.patience
        do {
            return try await self.pool.read { database in
                try SQLiteStore.checkTurn(deadline)
                return try body(database)
            }
        } catch {
            throw self.failure(error)
        }
    }

    private func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(Failure) -> Value {
        let deadline = ContinuousClock.now + self.patience
        do {
            return try await self.pool.writeWithoutTransaction { database in
                // Before the transaction, which may wait for another process.
                try SQLiteStore.checkTurn(deadline)
                try database.beginTransaction(.immediate)
                do {
                    let value = try body(database)
                    try database.commit()
                    return value
                } catch {
                    try? database.rollback()
                    throw error
                }
            }
        } catch {
            throw self.failure(error)
        }
    }

    /// Throws if a call waited too long for those before it.
    private static func checkTurn(_ deadline: ContinuousClock.Instant) throws {
        guard ContinuousClock.now < deadline else {
            throw Failure(.sessionStoreBusy, "other calls took too long")
        }
    }

    private func failure(_ error: any Error) -> Failure {
        if let failure = error as? Failure { return failure }
        if let error = error as? DatabaseError, [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode) {
            self.isDamaged.store(true, ordering: .relaxed)
        }
        return Failure.unavailable("\(self.path): \(error)")
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
