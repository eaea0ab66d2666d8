// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// Reads the files that a configuration names; a parameter, so that tests need no files.
package struct FileAccess: Sendable {
    /// The result of reading one file.
    package enum Outcome: Sendable, Hashable {
        /// The whole content.
        case bytes([UInt8])
        /// There is no such file.
        case missing
        /// It exists, but cannot be read as a file.
        case unreadable
        /// The file is larger than the limit.
        case tooLarge
    }

    private let body: @Sendable (String, Int) -> Outcome
    private let modes: @Sendable (String) -> FileMode?

    /// Access through `read`, which gets a path and the maximum number of bytes, and `mode`.
    package init(
        _ read: @escaping @Sendable (String, Int) -> Outcome,
        mode: @escaping @Sendable (String) -> FileMode? = { _ in nil }
    ) {
        self.body = read
        self.modes = mode
    }

    /// Reads at most `limit` bytes of the file at `path`.
    package func read(_ path: String, limit: Int) -> Outcome {
        self.body(path, limit)
    }

    /// Who may read and change a file or folder; nil if that is not known.
    package func mode(of path: String) -> FileMode? { self.modes(path) }

    /// The files of this machine.
    package static let system = FileAccess(read, mode: PrivateFile.mode)

    @Sendable
    private static func read(_ path: String, limit: Int) -> Outcome {
        guard FileManager.default.fileExists(atPath: path) else { return .missing }
        guard let file = FileHandle(forReadingAtPath: path) else { return .unreadable }
        defer { try? file.close() }
        do {
            let content = try file.read(upToCount: limit + 1) ?? Data()
            return content.count > limit ? .tooLarge : .bytes(Array(content))
        } catch {
            return .unreadable
        }
    }

    /// The folder in which the program was started.
    package static var workingFolder: String { FileManager.default.currentDirectoryPath }

    /// An absolute path is unchanged; a relative one is resolved against `folder`.
    package static func resolve(_ path: String, in folder: String) -> String {
        guard !path.hasPrefix("/"), !folder.isEmpty else { return path }
        return folder.hasSuffix("/") ? folder + path : "\(folder)/\(path)"
    }
}
