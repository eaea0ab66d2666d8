// SPDX-License-Identifier: Apache-2.0

internal import GRDB
internal import GateCore
internal import Synchronization

extension SQLiteStore {
    /// How long a write waits for another process, such as a backup, that holds the file.
    private static let writePatience = Duration.seconds(2)
    /// How long a read waits; a write of another process does not hold it up at all.
    private static let readPatience = Duration.milliseconds(250)

    /// Opens the database and brings its tables up to date.
    static func openPool(_ path: String, pageLimit: Int?) throws(Failure) -> DatabasePool {
        let migrator = SQLiteSchema.migrator
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

    /// Opens one more connection, for writes that nobody waits for.
    static func openConnection(_ path: String, pageLimit: Int?) throws(Failure) -> DatabaseQueue {
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
            "move it away to begin without sessions (everybody signs in again), or put a good copy in its place"
        return Failure(.sessionStoreDamaged, "\(path) is damaged or no session database; \(advice)")
    }
}

/// True once.
private final class FirstTime: Sendable {
    private let isTaken = Atomic<Bool>(false)

    func take() -> Bool { !self.isTaken.exchange(true, ordering: .relaxed) }
}
