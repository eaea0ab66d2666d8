// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GRDB
package import GateCore
package import GateSessions
internal import Synchronization

/// A session store in one SQLite file on this machine, for a single gateway.
///
/// Calls do not block a thread of the caller: they run on threads of the store. A cancelled call throws and writes
/// nothing. A look-up never waits for a write, and no call waits longer than two seconds for earlier calls.
package final class SQLiteStore: SessionStore {
    /// The file.
    package let path: String
    private let pool: DatabasePool
    private let writes = CallQueue("gatehouse.sessions.writes")
    private let lookUps = CallQueue("gatehouse.sessions.look-ups")
    /// Reads of many rows, for which no look-up waits.
    private let scans = CallQueue("gatehouse.sessions.scans")
    private let lastSeen: LastSeenBuffer
    private let revocations: PendingRevocations
    private let file: DatabaseFile
    private let report: @Sendable (StoreEvent) -> Void
    /// How long a call may wait for earlier calls before it fails, which keeps the queue short.
    private let patience: Duration
    private let isDamaged = Atomic<Bool>(false)
    private let isClosed = Atomic<Bool>(false)

    /// The number of expired sessions that are removed in one transaction, so that other writers are not delayed.
    private static let sweepStep = 1000
    /// The interval at which the write of a sign-out is retried.
    private static let retryInterval = Duration.seconds(5)

    /// Opens or creates the file, readable by its owner only.
    ///
    /// - Parameters:
    ///   - path: The file; missing folders are created.
    ///   - pageLimit: The maximum number of pages of the file, which simulates a full disk; nil for no limit.
    ///   - patience: How long a call may wait for earlier calls.
    ///   - report: Called with events for the operator.
    /// - Throws: A failure with the file and advice.
    package init(
        path: String,
        pageLimit: Int? = nil,
        patience: Duration = .seconds(2),
        report: @escaping @Sendable (StoreEvent) -> Void = { _ in }
    ) throws(Failure) {
        try PrivateFile.makeFolder(PrivateFile.folder(of: path))
        self.file = try DatabaseFile(path: path)
        self.path = path
        self.report = report
        self.patience = patience
        self.pool = try SQLiteStore.openPool(path, pageLimit: pageLimit)
        self.lastSeen = LastSeenBuffer(try SQLiteStore.openConnection(path, pageLimit: pageLimit))
        self.revocations = PendingRevocations(path: "\(path)-revoked")
        self.revocations.start(
            every: SQLiteStore.retryInterval,
            attempt: { [weak self] family in
                guard let self else { return .closed }
                do throws(Failure) {
                    try await self.delete(family)
                    return .removed
                } catch {
                    return .unavailable
                }
            },
            written: { report(.revocationsWritten) }
        )
    }

    package var keepsSessions: Bool { true }

    /// The record under a key, or nil.
    package func record(for key: [UInt8]) async throws(Failure) -> SessionRecord? {
        let found = try await self.read { database in
            let query = try database.cachedStatement(sql: "SELECT * FROM session WHERE key = ?")
            return try Row.fetchOne(query, arguments: [Data(key)]).flatMap {
                self.readable($0, SessionRecord.init(row:))
            }
        }
        guard var record = found, !self.revocations.contains(record.family) else { return nil }
        if let seen = self.lastSeen.lastUse(of: key) { record.lastSeen = max(record.lastSeen, seen) }
        return record
    }

    /// Adds a record.
    package func insert(_ record: SessionRecord) async throws(Failure) {
        try await self.write { database in try SQLiteStore.add(record, to: database) }
    }

    /// Records the use of an id, adds a record and reads an entry in one transaction.
    package func insert(
        _ record: SessionRecord,
        spending id: [UInt8],
        until: Instant,
        reading kind: StoreEntry.Kind,
        _ key: [UInt8],
        at now: Instant
    ) async throws(Failure) -> StoreInsertion {
        try await self.write { database in
            guard try SQLiteStore.spend(id, until: until, in: database) else { return .spent }
            try SQLiteStore.add(record, to: database)
            do {
                return .addedReading(try SQLiteStore.entry(kind, key, at: now, in: database))
            } catch is RowDecodingError {
                return .added
            }
        }
    }

    /// Records a use, which is written within seconds in a batch.
    package func noteUse(_ key: [UInt8], at instant: Instant) {
        self.lastSeen.note(key, at: instant)
    }

    /// Removes a record.
    package func remove(_ key: [UInt8]) async throws(Failure) {
        try await self.write { database in try SQLiteStore.remove(key, from: database) }
    }

    /// Removes a family: at once for every look-up, in the file once it can be written.
    package func removeFamily(_ family: [UInt8]) async throws(Failure) {
        guard !self.isClosed.load(ordering: .relaxed) else { throw Failure.unavailable("\(self.path) is closed") }
        self.revocations.insert(family)
        do throws(Failure) {
            try await self.delete(family)
        } catch {
            let isKept = await self.revocations.keep(family)
            let pending = self.revocations.count
            self.report(.revocationPending(pending: pending, isKept: isKept, reason: error.detail))
            // In force here, but a restart would undo it, so the caller must not take it for done.
            guard isKept else { throw error }
            return
        }
        await self.revocations.remove(family)
    }

    /// Removes the records of a family that were unused for longest; writes only if there are too many.
    package func trimFamily(
        _ family: [UInt8],
        to limit: Int,
        keeping kept: Set<[UInt8]>
    ) async throws(Failure) {
        let count = try await self.read { database in
            let query = try database.cachedStatement(sql: "SELECT COUNT(*) FROM session WHERE family = ?")
            return try Int.fetchOne(query, arguments: [Data(family)]) ?? 0
        }
        guard count > limit else { return }
        let lastSeen = self.lastSeen
        try await self.write { database in
            let query = try database.cachedStatement(sql: "SELECT key, seen FROM session WHERE family = ?")
            let uses = try Row.fetchAll(query, arguments: [Data(family)]).compactMap { row in
                self.readable(row) { row in
                    let (key, seen) = (try row.bytes("key"), try row.instant("seen"))
                    return (key: key, seen: max(seen, lastSeen.lastUse(of: key) ?? seen))
                }
            }
            let removable = uses.filter { !kept.contains($0.key) }.sorted { $0.seen < $1.seen }
            for use in removable.prefix(max(0, uses.count - limit)) {
                try SQLiteStore.remove(use.key, from: database)
            }
        }
    }

    /// Removes expired sessions and ids, in several transactions, so that other writers are not delayed.
    package func removeExpired(at now: Instant, idle: Duration) async throws(Failure) -> Int {
        // A session with a pending use looks older than it is.
        guard await self.lastSeen.flush() else {
            throw Failure.unavailable("\(self.path): last uses cannot be written")
        }
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

    /// Records the use of an id.
    package func spend(_ id: [UInt8], until: Instant) async throws(Failure) -> Bool {
        try await self.write { database in try SQLiteStore.spend(id, until: until, in: database) }
    }

    /// The number of live sessions.
    ///
    /// All minus the expired ones, both counted by index: a scan of the rows would read the whole file. A session that
    /// only a lowered lifetime ended counts until its original expiry.
    package func count(at now: Instant, within lifetimes: SessionLifetimes) async throws(Failure) -> Int {
        let idle = now.advanced(by: .zero - lifetimes.idle).seconds
        let query = """
            SELECT (SELECT COUNT(*) FROM session) - (SELECT COUNT(*) FROM session WHERE expires <= ? OR seen <= ?)
            """
        return try await self.read(on: self.scans) { database in
            try Int.fetchOne(database, sql: query, arguments: [now.seconds, idle]) ?? 0
        }
    }

    /// What is wrong with the file.
    package func fileFailure() -> StoreFileFailure? {
        self.file.failure() ?? (self.isDamaged.load(ordering: .relaxed) ? .damaged : nil)
    }

    /// Closes the file after writing pending uses and revocations.
    package func close() async {
        self.isClosed.store(true, ordering: .relaxed)
        await self.lastSeen.close()
        await self.revocations.stop()
        try? self.pool.close()
    }
}

// MARK: Labels, pages and entries

extension SQLiteStore {
    /// The maximum number of items of a page.
    private static let maxPage = 1000

    /// Replaces what is sealed in a record.
    package func replace(
        _ key: [UInt8],
        ifSealed sealed: [UInt8],
        by replacement: [UInt8],
        card: [UInt8]
    ) async throws(Failure) -> Bool {
        let revocations = self.revocations
        return try await self.write { database in
            let query = try database.cachedStatement(sql: "SELECT family FROM session WHERE key = ? AND sealed = ?")
            guard let family = try Data.fetchOne(query, arguments: [Data(key), Data(sealed)]) else { return false }
            guard !revocations.contains(Array(family)) else { return false }
            try database.cachedStatement(sql: "UPDATE session SET sealed = ?, card = ? WHERE key = ?")
                .execute(arguments: [Data(replacement), Data(card), Data(key)])
            return true
        }
    }

    /// Does nothing, since no other gateway uses the file.
    package func reportChange(ofFamily family: [UInt8]) async throws(Failure) {}

    /// The families of the records with a label, by its index.
    package func families(labeled label: [UInt8]) async throws(Failure) -> Set<[UInt8]> {
        let found = try await self.read { database in
            let query = try database.cachedStatement(
                sql: "SELECT DISTINCT family FROM label JOIN session USING (key) WHERE label = ?"
            )
            return try Row.fetchAll(query, arguments: [Data(label)]).compactMap { row in
                self.readable(row) { try $0.bytes("family") }
            }
        }
        return Set(found).subtracting(self.revocations.families)
    }

    /// The sign-ins with a label, by its index; uses that are not written yet count for the record that was used last.
    package func signIns(labeled label: [UInt8], limit: Int) async throws(Failure) -> [StoredSignIn] {
        let found = try await self.read { database in
            // With max(), SQLite takes the other columns from the record that has it.
            let query = try database.cachedStatement(
                sql: """
                    SELECT family, key, created, max(seen) AS seen, expires FROM label JOIN session USING (key)
                    WHERE label = ? GROUP BY family ORDER BY created LIMIT ?
                    """
            )
            return try Row.fetchAll(query, arguments: [Data(label), limit])
                .compactMap { self.readable($0, StoredSignIn.init(row:)) }
        }
        return found.filter { !self.revocations.contains($0.family) }.map { signIn in
            var signIn = signIn
            if let seen = self.lastSeen.lastUse(of: signIn.key) { signIn.lastSeen = max(signIn.lastSeen, seen) }
            return signIn
        }
    }

    /// Some records, by their keys.
    package func records(from cursor: [UInt8], limit: Int) async throws(Failure) -> StorePage<SessionRecord> {
        let page = try await self.page(limit) { database, count in
            let query = try database.cachedStatement(sql: "SELECT * FROM session WHERE key > ? ORDER BY key LIMIT ?")
            return try Row.fetchAll(query, arguments: [Data(cursor), count])
        } item: {
            try SessionRecord(row: $0)
        }
        let live = page.items.filter { !self.revocations.contains($0.family) }.map { record in
            var record = record
            if let seen = self.lastSeen.lastUse(of: record.key) { record.lastSeen = max(record.lastSeen, seen) }
            return record
        }
        return StorePage(items: live, next: page.next)
    }

    /// Takes a lock.
    package func lock(
        _ id: [UInt8],
        owner: [UInt8],
        at now: Instant,
        for time: Duration
    ) async throws(Failure) -> Bool {
        try await self.write { database in
            let insert = try database.cachedStatement(
                sql: """
                    INSERT INTO lock (id, owner, until) VALUES (?, ?, ?)
                    ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, until = excluded.until
                    WHERE until <= ? OR owner = excluded.owner
                    """
            )
            let end = now.advanced(by: time).seconds
            try insert.execute(arguments: [Data(id), Data(owner), end, now.seconds])
            return database.changesCount == 1
        }
    }

    /// Ends a lock of this owner.
    package func unlock(_ id: [UInt8], owner: [UInt8]) async throws(Failure) {
        try await self.write { database in
            try database.cachedStatement(sql: "DELETE FROM lock WHERE id = ? AND owner = ?")
                .execute(arguments: [Data(id), Data(owner)])
        }
    }

    /// Adds or replaces some entries in one transaction, which writes each page of the file once.
    package func put(_ entries: [StoreEntry]) async throws(Failure) {
        try await self.write { database in
            for entry in entries { try SQLiteStore.put(entry, in: database) }
        }
    }

    /// Adds or replaces an entry unless there is another one than was read.
    package func replace(
        _ current: StoreEntry?,
        by entry: StoreEntry,
        at now: Instant
    ) async throws(Failure) -> Bool {
        try await self.write(isDurable: entry.isPermanent || current?.isPermanent ?? false) { database in
            guard try SQLiteStore.entry(entry.kind, entry.key, at: now, in: database) == current else { return false }
            try SQLiteStore.put(entry, in: database)
            return true
        }
    }

    package func entry(
        _ kind: StoreEntry.Kind,
        _ key: [UInt8],
        at now: Instant
    ) async throws(Failure) -> StoreEntry? {
        try await self.read { database in try SQLiteStore.entry(kind, key, at: now, in: database) }
    }

    /// Some entries by their keys, in one read.
    package func entries(
        _ kind: StoreEntry.Kind,
        under keys: [[UInt8]],
        at now: Instant
    ) async throws(Failure) -> [StoreEntry] {
        try await self.read(on: self.scans) { database in
            try keys.compactMap { key in
                try SQLiteStore.row(kind, key, at: now, in: database).flatMap { row in
                    self.readable(row) { try StoreEntry(kind: kind, row: $0) }
                }
            }
        }
    }

    /// Some entries, by their keys.
    package func entries(
        _ kind: StoreEntry.Kind,
        from cursor: [UInt8],
        limit: Int,
        at now: Instant
    ) async throws(Failure) -> StorePage<StoreEntry> {
        try await self.page(limit) { database, count in
            let query = try database.cachedStatement(
                sql: "SELECT * FROM entry WHERE kind = ? AND key > ? AND expires > ? ORDER BY key LIMIT ?"
            )
            return try Row.fetchAll(query, arguments: [kind.rawValue, Data(cursor), now.seconds, count])
        } item: {
            try StoreEntry(kind: kind, row: $0)
        }
    }

    /// At most `limit` items; one more is read, which shows whether there is another page.
    private func page<Item: Sendable>(
        _ limit: Int,
        _ rows: @escaping @Sendable (Database, Int) throws -> [Row],
        item: @escaping @Sendable (Row) throws -> Item
    ) async throws(Failure) -> StorePage<Item> {
        let count = max(1, min(limit, Self.maxPage))
        let found = try await self.read(on: self.scans) { database in
            try rows(database, count + 1).map { (key: try $0.bytes("key"), item: self.readable($0, item)) }
        }
        let kept = found.prefix(count)
        return StorePage(items: kept.compactMap(\.item), next: found.count > count ? kept.last?.key : nil)
    }
}

// MARK: Opening

extension SQLiteStore {
    /// How long a write waits for another process, such as a backup, that locks the file.
    private static let writePatience = Duration.seconds(2)
    /// How long a read waits; a write of another process does not block it.
    private static let readPatience = Duration.milliseconds(250)

    /// Opens the database and migrates its schema.
    private static func openPool(_ path: String, pageLimit: Int?) throws(Failure) -> DatabasePool {
        let migrator = self.migrator
        let isNewer: Bool
        let pool: DatabasePool
        do {
            pool = try DatabasePool(path: path, configuration: self.configuration("sessions", pageLimit: pageLimit))
            isNewer = try pool.read { try migrator.hasBeenSuperseded($0) }
            if !isNewer { try migrator.migrate(pool) }
        } catch {
            throw self.unusable(path, error)
        }
        guard !isNewer else {
            let advice = "was written by a newer Gatehouse; run that version, or name another file in sessions.store"
            throw Failure(.sessionStoreNewer, "\(path) \(advice)")
        }
        return pool
    }

    /// Opens another connection, for the writes of last uses.
    private static func openConnection(_ path: String, pageLimit: Int?) throws(Failure) -> DatabaseQueue {
        do {
            return try DatabaseQueue(path: path, configuration: self.configuration("uses", pageLimit: pageLimit))
        } catch {
            throw self.unusable(path, error)
        }
    }

    private static func configuration(_ label: String, pageLimit: Int?) -> Configuration {
        // A pool opens the connection that writes first, and then those that read.
        let isFirst = FirstTime()
        var configuration = Configuration()
        configuration.label = label
        configuration.prepareDatabase { database in
            let patience = isFirst.take() ? self.writePatience : self.readPatience
            try database.execute(sql: "PRAGMA busy_timeout = \(patience / .milliseconds(1))")
            try database.execute(sql: "PRAGMA synchronous = NORMAL")
            if let pageLimit { try database.execute(sql: "PRAGMA max_page_count = \(pageLimit)") }
        }
        return configuration
    }

    private static func unusable(_ path: String, _ error: any Error) -> Failure {
        guard let error = error as? DatabaseError else { return .unavailable("\(path) cannot be opened: \(error)") }
        let isDamaged = error.resultCode == .SQLITE_NOTADB || error.resultCode == .SQLITE_CORRUPT
        guard isDamaged else { return .unavailable("\(path) cannot be opened: \(error)") }
        let advice =
            "move it away to start without sessions (every user signs in again), or restore a backup"
        return Failure(.sessionStoreDamaged, "\(path) is damaged or not a session database; \(advice)")
    }
}

// MARK: Revocations

extension SQLiteStore {
    private func delete(_ family: [UInt8]) async throws(Failure) {
        try await self.write { database in
            let delete = try database.cachedStatement(sql: "DELETE FROM session WHERE family = ?")
            try delete.execute(arguments: [Data(family)])
        }
    }
}

// MARK: Statements

extension SQLiteStore {
    private static func add(_ record: SessionRecord, to database: Database) throws {
        let insert = """
            INSERT INTO session (key, family, sealed, created, seen, expires, labels, card)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """
        try database.cachedStatement(sql: insert).execute(arguments: [
            Data(record.key), Data(record.family), Data(record.sealed), record.created.seconds,
            record.lastSeen.seconds, record.expires.seconds, Data(record.labelBytes), Data(record.card),
        ])
    }

    private static func remove(_ key: [UInt8], from database: Database) throws {
        try database.cachedStatement(sql: "DELETE FROM session WHERE key = ?").execute(arguments: [Data(key)])
    }

    private static func spend(_ id: [UInt8], until: Instant, in database: Database) throws -> Bool {
        let insert = try database.cachedStatement(sql: "INSERT OR IGNORE INTO spent (id, until) VALUES (?, ?)")
        try insert.execute(arguments: [Data(id), until.seconds])
        return database.changesCount == 1
    }

    private static func put(_ entry: StoreEntry, in database: Database) throws {
        let insert = try database.cachedStatement(
            sql: "INSERT OR REPLACE INTO entry (kind, key, value, expires) VALUES (?, ?, ?, ?)"
        )
        try insert.execute(
            arguments: [entry.kind.rawValue, Data(entry.key), Data(entry.value), entry.expires.seconds]
        )
    }

    private static func entry(
        _ kind: StoreEntry.Kind,
        _ key: [UInt8],
        at now: Instant,
        in database: Database
    ) throws -> StoreEntry? {
        try self.row(kind, key, at: now, in: database).map { try StoreEntry(kind: kind, row: $0) }
    }

    private static func row(
        _ kind: StoreEntry.Kind,
        _ key: [UInt8],
        at now: Instant,
        in database: Database
    ) throws -> Row? {
        let query = try database.cachedStatement(sql: "SELECT * FROM entry WHERE kind = ? AND key = ? AND expires > ?")
        return try Row.fetchOne(query, arguments: [kind.rawValue, Data(key), now.seconds])
    }

    private static func sweep(_ database: Database, now: Instant, oldest: Instant) throws -> Int {
        for (table, time) in [("spent", "until"), ("lock", "until"), ("entry", "expires")] {
            try database.cachedStatement(sql: "DELETE FROM \(table) WHERE \(time) <= ?").execute(arguments: [
                now.seconds
            ])
        }
        let over = """
            DELETE FROM session WHERE rowid IN (
                SELECT rowid FROM session WHERE expires <= ? OR seen <= ? LIMIT \(self.sweepStep)
            )
            """
        try database.cachedStatement(sql: over).execute(arguments: [now.seconds, oldest.seconds])
        return database.changesCount
    }

    private func read<Value: Sendable>(
        on queue: CallQueue? = nil,
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(Failure) -> Value {
        let deadline = ContinuousClock.now + self.patience
        let pool = self.pool
        do {
            return try await (queue ?? self.lookUps).run {
                try SQLiteStore.checkTurn(deadline)
                // Each read is one statement, or several that need no common state, so it needs no transaction.
                return try pool.unsafeRead(body)
            }
        } catch {
            throw self.failure(error)
        }
    }

    /// Writes in a transaction; a durable one also survives a loss of power, which costs a sync of the disk.
    private func write<Value: Sendable>(
        isDurable: Bool = false,
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(Failure) -> Value {
        let deadline = ContinuousClock.now + self.patience
        let pool = self.pool
        do {
            return try await self.writes.run {
                // Checked before the transaction, which may wait for another process.
                try SQLiteStore.checkTurn(deadline)
                return try pool.writeWithoutTransaction { database in
                    if isDurable { try database.execute(sql: "PRAGMA synchronous = FULL") }
                    defer { if isDurable { try? database.execute(sql: "PRAGMA synchronous = NORMAL") } }
                    // GRDB's own transactions prepare these statements each time.
                    try database.cachedStatement(sql: "BEGIN IMMEDIATE").execute()
                    do {
                        let value = try body(database)
                        try database.cachedStatement(sql: "COMMIT").execute()
                        return value
                    } catch {
                        try? database.rollback()
                        throw error
                    }
                }
            }
        } catch {
            throw self.failure(error)
        }
    }

    /// Throws if a call waited too long for earlier calls.
    private static func checkTurn(_ deadline: ContinuousClock.Instant) throws {
        guard ContinuousClock.now < deadline else {
            throw Failure(.sessionStoreBusy, "other calls took too long")
        }
    }

    /// What a row holds; nil if it cannot be read, as if it were not there: a session that cannot be read cannot be served, and
    /// others must not fail with it.
    private func readable<Value>(_ row: Row, _ value: (Row) throws -> Value) -> Value? {
        if let value = try? value(row) { return value }
        self.isDamaged.store(true, ordering: .relaxed)
        return nil
    }

    private func failure(_ error: any Error) -> Failure {
        if let failure = error as? Failure { return failure }
        let code = (error as? DatabaseError)?.resultCode
        let isUnreadable = error is RowDecodingError
        if isUnreadable || code == .SQLITE_CORRUPT || code == .SQLITE_NOTADB {
            self.isDamaged.store(true, ordering: .relaxed)
        }
        // GRDB's error has the row.
        guard !isUnreadable else {
            return Failure(.sessionStoreDamaged, "\(self.path) has a value that cannot be read")
        }
        return Failure.unavailable("\(self.path): \(error)")
    }
}

/// A flag that is true once.
private final class FirstTime: Sendable {
    private let isTaken = Atomic<Bool>(false)

    func take() -> Bool { !self.isTaken.exchange(true, ordering: .relaxed) }
}
