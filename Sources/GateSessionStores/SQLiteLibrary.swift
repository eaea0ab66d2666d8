// SPDX-License-Identifier: Apache-2.0

internal import GRDB

/// The library under the SQLite store.
package enum SQLiteLibrary {
    /// Its version at run time.
    package static var version: String {
        let version = try? DatabaseQueue().read { try String.fetchOne($0, sql: "SELECT sqlite_version()") }
        return version ?? "unknown"
    }
}
