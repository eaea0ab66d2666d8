// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What the files had that were read for a configuration, so that its content has a name even if a file has changed since.
package final class FileReads: Sendable {
    private let files: FileAccess
    private let contents = Mutex<[String: Set<String>]>([:])

    /// Notes what is read through ``access``, from some files.
    package init(_ files: FileAccess) {
        self.files = files
    }

    package var access: FileAccess {
        FileAccess(self.read, mode: self.files.mode)
    }

    @Sendable
    private func read(_ path: String, limit: Int) -> FileAccess.Outcome {
        let outcome = self.files.read(path, limit: limit)
        let name = if case .bytes(let bytes) = outcome { ContentDigest.name(of: bytes) } else { "" }
        self.contents.withLock { _ = $0[path, default: []].insert(name) }
        return outcome
    }

    /// Names what a file had; empty if it was not read, or could not be.
    package func name(of path: String) -> String {
        self.contents.withLock { $0[path]?.sorted().joined() ?? "" }
    }

    /// Names what all files had, in whatever order they were read.
    package var name: String {
        let parts = self.contents.withLock { contents in
            contents.sorted { $0.key < $1.key }.map { "\($0.key.utf8.count) \($0.key) \($0.value.sorted())" }
        }
        return ContentDigest.name(of: Array(parts.joined(separator: "\n").utf8))
    }
}
