// SPDX-License-Identifier: Apache-2.0

internal import GRDB
internal import GateCore

extension SQLiteStore {
    /// How long a write waits for another process, such as a backup, that holds the file, in seconds.
    private static let patience: Double = 2

    /// Opens the database and brings its tables up to date.
    static func openPool(_ path: String, pageLimit: Int?) throws(Failure) -> DatabasePool {
        var configuration = Configuration()
        configuration.label = "sessions"
        configuration.busyMode = .timeout(self.patience)
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA synchronous = NORMAL")
            if let pageLimit { try database.execute(sql: "PRAGMA max_page_count = \(pageLimit)") }
        }
        let migrator = SQLiteSchema.migrator
        let isNewer: Bool
        let pool: DatabasePool
        do {
            pool = try DatabasePool(path: path, configuration: configuration)
            isNewer = try pool.read { try migrator.hasBeenSuperseded($0) }
            if !isNewer { try migrator.migrate(pool) }
        } catch {
            throw self.unusable(path, error)
        }
        guard !isNewer else {
            let advice = "was written by a newer Gatehouse; run that version, or name another file in sessions.store"
            throw Failure(.overloaded, "session.store_newer", "\(path) \(advice)")
        }
        return pool
    }

    private static func unusable(_ path: String, _ error: any Error) -> Failure {
        guard let error = error as? DatabaseError else { return .unavailable("\(path) cannot be opened: \(error)") }
        let isDamaged = error.resultCode == .SQLITE_NOTADB || error.resultCode == .SQLITE_CORRUPT
        guard isDamaged else { return .unavailable("\(path) cannot be opened: \(error)") }
        let advice =
            "move it away to begin without sessions (everybody signs in again), or put a good copy in its place"
        return Failure(.overloaded, "session.store_damaged", "\(path) is damaged or no session database; \(advice)")
    }
}
