// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GRDB
internal import GateCore
internal import GateSessions

// SQLite keeps a value of any type in any column, and GRDB's subscripts trap on another one than they are asked for.
extension Row {
    /// The bytes in a column.
    ///
    /// - Throws: If it has something else.
    func bytes(_ column: String) throws -> [UInt8] { Array(try self.decode(Data.self, forColumn: column)) }

    /// The seconds in a column as a time.
    ///
    /// - Throws: If it has something else than a whole number.
    func instant(_ column: String) throws -> Instant {
        Instant(seconds: try self.decode(Int64.self, forColumn: column))
    }
}

extension SessionRecord {
    init(row: Row) throws {
        self.init(
            key: try row.bytes("key"),
            family: try row.bytes("family"),
            sealed: try row.bytes("sealed"),
            created: try row.instant("created"),
            lastSeen: try row.instant("seen"),
            expires: try row.instant("expires")
        )
        self.labels = SessionRecord.labels(in: try row.bytes("labels"))
        self.card = try row.bytes("card")
    }
}

extension StoredSignIn {
    init(row: Row) throws {
        self.init(
            family: try row.bytes("family"),
            key: try row.bytes("key"),
            created: try row.instant("created"),
            lastSeen: try row.instant("seen"),
            expires: try row.instant("expires")
        )
    }
}

extension StoreEntry {
    init(kind: Kind, row: Row) throws {
        self.init(
            kind: kind,
            key: try row.bytes("key"),
            value: try row.bytes("value"),
            expires: try row.instant("expires")
        )
    }
}
