// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore
internal import GateSessions

/// Detects when the database file is deleted, replaced or truncated while it is open.
struct DatabaseFile: Sendable {
    private let path: String
    private let opened: FileState?

    /// The file that is at the path now.
    init(path: String) {
        self.path = path
        self.opened = PrivateFile.state(of: path)
    }

    /// What is wrong with the file; nil if it is the opened one and as long as its header states.
    func failure() -> StoreFileFailure? {
        guard let now = PrivateFile.state(of: self.path) else { return .deleted }
        guard self.opened.map({ $0.isSameFile(as: now) }) ?? true else { return .replaced }
        guard let file = FileHandle(forReadingAtPath: self.path) else { return .deleted }
        defer { try? file.close() }
        let header: Data
        do {
            header = try file.read(upToCount: 100) ?? Data()
        } catch {
            // A read error is reported by the next look-up of a record.
            return nil
        }
        guard header.count == 100, header.starts(with: Array("SQLite format 3\0".utf8)) else { return .truncated }
        return now.size < DatabaseFile.length(Array(header)) ? .truncated : nil
    }

    /// The length in bytes by the header, 0 if it has none.
    ///
    /// https://www.sqlite.org/fileformat.html §1.3
    private static func length(_ header: [UInt8]) -> Int {
        func number(_ offset: Int, _ count: Int) -> Int {
            header[offset..<(offset + count)].reduce(0) { $0 << 8 | Int($1) }
        }
        let pageSize = number(16, 2) == 1 ? 65_536 : number(16, 2)
        let isValid = number(24, 4) == number(92, 4)
        return isValid ? number(28, 4) * pageSize : 0
    }
}
