// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore
internal import GateSessions
internal import Synchronization

/// Detects when the database file is deleted, replaced or truncated while it is open.
///
/// Created before the database is opened and released after it is closed: POSIX drops all locks that a process has on a
/// file when the process closes any descriptor of that file, and without its locks SQLite lets another process that
/// closes the database delete the write-ahead log (https://www.sqlite.org/howtocorrupt.html §2.2).
final class DatabaseFile: Sendable {
    private let path: String
    private let opened: FileState

    /// The descriptor of a file, which all stores of this process share: a reload opens a store before it closes the
    /// previous one, which may have the same file.
    private struct Descriptor: Sendable {
        let state: FileState
        let file: FileHandle
        var uses: Int
    }

    private static let descriptors = Mutex<[Descriptor]>([])

    /// Creates the file unless it exists, and opens it.
    ///
    /// - Throws: `file.unusable` with the path and the reason.
    init(path: String) throws(Failure) {
        try PrivateFile.makeEmpty(path)
        let opened = DatabaseFile.descriptors.withLock { descriptors -> FileState? in
            guard let state = PrivateFile.state(of: path) else { return nil }
            if let index = descriptors.firstIndex(where: { $0.state.isSameFile(as: state) }) {
                descriptors[index].uses += 1
                return state
            }
            guard let file = FileHandle(forReadingAtPath: path) else { return nil }
            descriptors.append(Descriptor(state: state, file: file, uses: 1))
            return state
        }
        guard let opened else { throw Failure(.fileUnusable, "\(path) cannot be opened for reading") }
        self.path = path
        self.opened = opened
    }

    deinit {
        DatabaseFile.descriptors.withLock { descriptors in
            guard let index = descriptors.firstIndex(where: { $0.state.isSameFile(as: self.opened) }) else { return }
            descriptors[index].uses -= 1
            if descriptors[index].uses == 0 { try? descriptors.remove(at: index).file.close() }
        }
    }

    /// What is wrong with the file; nil if it is the opened one and as long as its header states.
    func failure() -> StoreFileFailure? {
        guard let now = PrivateFile.state(of: self.path) else { return .deleted }
        guard self.opened.isSameFile(as: now) else { return .replaced }
        // A read error is reported by the next look-up of a record.
        guard let header = self.read(100) else { return nil }
        guard header.count == 100, header.starts(with: Array("SQLite format 3\0".utf8)) else { return .truncated }
        return now.size < DatabaseFile.length(header) ? .truncated : nil
    }

    /// The first bytes of the file; nil if it cannot be read.
    private func read(_ count: Int) -> [UInt8]? {
        DatabaseFile.descriptors.withLock { descriptors in
            guard let file = descriptors.first(where: { $0.state.isSameFile(as: self.opened) })?.file else {
                return nil
            }
            guard (try? file.seek(toOffset: 0)) != nil else { return nil }
            return (try? file.read(upToCount: count) ?? Data()).map { Array($0) }
        }
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
