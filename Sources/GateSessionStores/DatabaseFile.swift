// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore
internal import GateSessions

/// Compares the file at a path with the database that was opened there.
struct DatabaseFile: Sendable {
    private let path: String
    private let opened: FileState?

    /// Takes note of the file that is at the path now.
    init(path: String) {
        self.path = path
        self.opened = PrivateFile.state(of: path)
    }

    /// What has become of the file; nil if it is the one that was opened and as long as its header says.
    func fault() -> StoreFileFailure? {
        guard let now = PrivateFile.state(of: self.path) else { return .deleted }
        guard self.opened.map({ $0.isSameFile(as: now) }) ?? true else { return .replaced }
        guard let file = FileHandle(forReadingAtPath: self.path) else { return .deleted }
        defer { try? file.close() }
        let header: Data
        do {
            header = try file.read(upToCount: 100) ?? Data()
        } catch {
            // What cannot be read is reported by those who look for records.
            return nil
        }
        guard header.count == 100, header.starts(with: Array("SQLite format 3\0".utf8)) else { return .truncated }
        return now.size < DatabaseFile.length(Array(header)) ? .truncated : nil
    }

    /// The length in bytes that a header tells, 0 if it tells none.
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
