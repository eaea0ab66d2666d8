// SPDX-License-Identifier: Apache-2.0

internal import GRDB

extension SQLiteStore {
    /// The version of SQLite at run time.
    package static var libraryVersion: String {
        let version = try? DatabaseQueue().read { try String.fetchOne($0, sql: "SELECT sqlite_version()") }
        return version ?? "unknown"
    }

    /// The migrations from an empty file to the current schema.
    ///
    /// The content of the tables cannot be decrypted without a ticket and the gateway's secret.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1-sessions") { database in
            try database.execute(
                sql: """
                    CREATE TABLE session (
                        key BLOB NOT NULL PRIMARY KEY,
                        family BLOB NOT NULL,
                        sealed BLOB NOT NULL,
                        created INTEGER NOT NULL,
                        seen INTEGER NOT NULL,
                        expires INTEGER NOT NULL
                    );
                    CREATE INDEX session_family ON session (family);
                    CREATE INDEX session_seen ON session (seen);
                    CREATE INDEX session_expires ON session (expires);
                    CREATE TABLE spent (id BLOB NOT NULL PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
                    CREATE INDEX spent_until ON spent (until);
                    """
            )
        }
        return migrator
    }
}
