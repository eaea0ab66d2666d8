// SPDX-License-Identifier: Apache-2.0

internal import GRDB
internal import GateSessions

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
        // Triggers keep the table of labels as the sessions are, whichever statement adds or removes them.
        let positions = (0..<SessionRecord.maxLabels).map { $0 * 32 + 1 }
        let additions = positions.map { position in
            "INSERT OR IGNORE INTO label SELECT substr(new.labels, \(position), 32), new.key "
                + "WHERE length(new.labels) > \(position);"
        }
        let removals = positions.map { position in
            "DELETE FROM label WHERE label = substr(old.labels, \(position), 32) AND key = old.key;"
        }
        migrator.registerMigration("1") { database in
            try database.execute(
                sql: """
                    CREATE TABLE session (
                        key BLOB NOT NULL PRIMARY KEY,
                        family BLOB NOT NULL,
                        sealed BLOB NOT NULL,
                        created INTEGER NOT NULL,
                        seen INTEGER NOT NULL,
                        expires INTEGER NOT NULL,
                        labels BLOB NOT NULL,
                        card BLOB NOT NULL
                    );
                    CREATE INDEX session_family ON session (family);
                    CREATE INDEX session_seen ON session (seen);
                    CREATE INDEX session_expires ON session (expires);
                    CREATE TABLE label (label BLOB NOT NULL, key BLOB NOT NULL, PRIMARY KEY (label, key)) WITHOUT ROWID;
                    CREATE TRIGGER session_labels_added AFTER INSERT ON session BEGIN
                        \(additions.joined(separator: "\n"))
                    END;
                    CREATE TRIGGER session_labels_removed AFTER DELETE ON session BEGIN
                        \(removals.joined(separator: "\n"))
                    END;
                    CREATE TABLE spent (id BLOB NOT NULL PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
                    CREATE INDEX spent_until ON spent (until);
                    CREATE TABLE lock (
                        id BLOB NOT NULL PRIMARY KEY, until INTEGER NOT NULL, owner BLOB NOT NULL
                    ) WITHOUT ROWID;
                    CREATE INDEX lock_until ON lock (until);
                    CREATE TABLE entry (
                        kind TEXT NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, expires INTEGER NOT NULL,
                        PRIMARY KEY (kind, key)
                    );
                    CREATE INDEX entry_expires ON entry (expires);
                    """
            )
        }
        return migrator
    }
}
