// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc

/// Files that only the owner of this process may read: keys, secrets, the session database.
///
/// Calls the C library directly, because only `open` creates a file with its final permissions.
package enum PrivateFile {
    /// Creates a folder and its parents, readable by the owner only.
    package static func makeFolder(_ path: String) throws(Failure) {
        var isFolder: ObjCBool = false
        if unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) {
            guard isFolder.boolValue else { throw self.failure("is not a folder", path) }
            return
        }
        let parent = self.folder(of: path)
        if parent != path {
            try self.makeFolder(parent)
        }
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else { throw self.failure("cannot be created", path) }
    }

    /// Creates an empty file unless it exists, in which case the file is not opened: closing it would drop the locks that
    /// this process may have on it.
    package static func makeEmpty(_ path: String) throws(Failure) {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor < 0 else {
            close(descriptor)
            return
        }
        let isWritable = unsafe errno == EEXIST && access(path, W_OK) == 0
        guard isWritable else { throw self.failure("cannot be opened for writing", path) }
    }

    /// Writes a file atomically: after a crash it is complete or absent.
    ///
    /// - Parameters:
    ///   - bytes: The whole content.
    ///   - path: The file; an existing one is replaced.
    /// - Throws: `file.unusable` with the path and the reason.
    package static func write(_ bytes: [UInt8], to path: String) throws(Failure) {
        let draft = "\(self.folder(of: path))/.\(RandomBytes.system.token(12)).new"
        let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw self.failure("cannot be written", path) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: Foundation.Data(bytes))
            try file.synchronize()
            try file.close()
        } catch {
            _ = unsafe unlink(draft)
            throw Failure(.fileUnusable, "\(path) cannot be written: \(error.localizedDescription)")
        }
        guard unsafe rename(draft, path) == 0 else {
            let failure = self.failure("cannot be renamed into place", path)
            _ = unsafe unlink(draft)
            throw failure
        }
        self.flushFolder(of: path)
    }

    /// Reads a file of at most `limit` bytes, and rejects one that others may read or change: ``FileMode/isPrivate(toGroup:)``.
    package static func read(_ path: String, limit: Int) throws(Failure) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw self.failure("cannot be read", path) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw self.failure("cannot be read", path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Failure(.fileUnusable, "\(path) is not a regular file")
        }
        let mode = FileMode(bits: status.st_mode & 0o7777, owner: status.st_uid, group: status.st_gid)
        guard mode.isPrivate(toGroup: getegid()) else {
            let detail = "\(path) has mode \(mode), so others can read it; run: chmod 600 '\(path)'"
            throw Failure(.fileTooOpen, detail)
        }
        guard let bytes = try? file.read(upToCount: limit + 1) ?? Foundation.Data() else {
            throw self.failure("cannot be read", path)
        }
        guard bytes.count <= limit else {
            throw Failure(.fileUnusable, "\(path) is larger than \(limit) bytes")
        }
        return Array(bytes)
    }

    /// Removes a file, if it exists.
    package static func remove(_ path: String) throws(Failure) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw self.failure("cannot be removed", path) }
    }

    /// Runs `body` while no other process runs one for the same folder; waits for its turn, but not forever: any process
    /// that may open the folder may hold its lock.
    ///
    /// Blocks the thread meanwhile, so no event loop calls it.
    ///
    /// - Parameters:
    ///   - folder: The folder.
    ///   - patience: How long to wait.
    ///   - body: What to do.
    /// - Returns: The result of `body`.
    /// - Throws: `file.unusable` with the folder, also when another process holds the lock for longer; or what `body` throws.
    package static func locking<Value>(
        _ folder: String,
        within patience: Duration = .seconds(3),
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw self.failure("cannot be opened", folder) }
        defer { close(descriptor) }
        return try self.locking(descriptor, of: folder, within: patience, body)
    }

    /// Changes a file of a fixed size in place, while no other process and no other caller does so.
    ///
    /// The file is created if it is missing, readable by its owner only. Its space on the disk is reserved in advance, so that a
    /// later change needs none. Blocks the thread, so no event loop calls it.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - size: The number of bytes; what is missing of them is zero, and further bytes are left alone.
    ///   - patience: How long to wait for others.
    ///   - body: Changes the content, but not its size.
    /// - Returns: The result of `body`, whose changes are on the disk.
    /// - Throws: `file.unusable` with the path and the reason; a change may be in the file nevertheless.
    package static func update<Value>(
        _ path: String,
        size: Int,
        within patience: Duration = .seconds(2),
        _ body: (inout [UInt8]) -> Value
    ) throws(Failure) -> Value {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw self.failure("cannot be opened for writing", path) }
        defer { close(descriptor) }
        return try self.locking(descriptor, of: path, within: patience) { () throws(Failure) in
            var status = stat()
            guard unsafe fstat(descriptor, &status) == 0 else { throw self.failure("cannot be read", path) }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw Failure(.fileUnusable, "\(path) is not a regular file")
            }
            let mode = FileMode(bits: status.st_mode & 0o7777, owner: status.st_uid, group: status.st_gid)
            guard mode.isPrivate(toGroup: getegid()) || fchmod(descriptor, 0o600) == 0 else {
                throw self.failure("cannot be made private", path)
            }
            // If the disk is full, only a change beyond the end fails.
            if status.st_size < size { _ = posix_fallocate(descriptor, 0, size) }
            do {
                let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
                let read = Array(try file.read(upToCount: size) ?? Foundation.Data())
                let before = read + [UInt8](repeating: 0, count: size - read.count)
                var after = before
                let value = body(&after)
                let sectors = stride(from: 0, to: size, by: self.blockSize).map { $0..<min($0 + self.blockSize, size) }
                let changed = sectors.filter { before[$0] != after[$0] }
                guard let first = changed.first, let last = changed.last else { return value }
                try file.seek(toOffset: UInt64(first.lowerBound))
                try file.write(contentsOf: Foundation.Data(after[first.lowerBound..<last.upperBound]))
                try file.synchronize()
                return value
            } catch {
                throw Failure(.fileUnusable, "\(path) cannot be changed: \(error.localizedDescription)")
            }
        }
    }

    private static func locking<Value>(
        _ descriptor: Int32,
        of path: String,
        within patience: Duration,
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let end = ContinuousClock.now + patience
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw self.failure("cannot be locked", path) }
            guard ContinuousClock.now < end else {
                let advice = "find the process with 'lslocks', end it and try again"
                throw Failure(.fileUnusable, "\(path) is locked by another process for over \(patience); \(advice)")
            }
            usleep(self.lockInterval)
        }
        // Not by closing alone: a child between fork and exec has a copy of the descriptor.
        defer { flock(descriptor, LOCK_UN) }
        return try body()
    }

    /// What is compared and written at once.
    private static let blockSize = 512
    /// The microseconds between two attempts to lock a file or folder.
    private static let lockInterval: UInt32 = 10_000

    /// The identity of the current content of a file, its links followed; nil if there is no such file.
    package static func state(of path: String) -> FileState? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return FileState(
            device: status.st_dev,
            number: status.st_ino,
            size: status.st_size,
            seconds: status.st_mtim.tv_sec,
            nanoseconds: status.st_mtim.tv_nsec
        )
    }

    /// Who may read and change a file or folder, its links followed; nil if it does not exist.
    package static func mode(of path: String) -> FileMode? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return FileMode(bits: status.st_mode & 0o7777, owner: status.st_uid, group: status.st_gid)
    }

    /// The folder part of a path, `.` for a bare name.
    package static func folder(of path: String) -> String {
        let trimmed = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        guard let slash = trimmed.lastIndex(of: "/") else { return "." }
        return slash == trimmed.startIndex ? "/" : String(trimmed[..<slash])
    }

    /// Makes the new name survive a power failure, where the file system can.
    private static func flushFolder(of path: String) {
        let descriptor = unsafe open(self.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    private static func failure(_ what: String, _ path: String) -> Failure {
        let code = errno
        let reason = unsafe String(cString: strerror(code))
        let help = code == EACCES ? "; run this as the gateway's user, or as root" : ""
        return Failure(.fileUnusable, "\(path) \(what): \(reason)\(help)")
    }
}

/// The state of a file at ``PrivateFile/state(of:)``; equal as long as the file is neither written nor replaced.
package struct FileState: Sendable, Hashable {
    fileprivate let device: UInt
    fileprivate let number: UInt
    /// The length in bytes.
    package let size: Int
    fileprivate let seconds: Int
    fileprivate let nanoseconds: Int

    /// Whether the content was written at or after a moment, in seconds since 1970.
    package func isModified(since moment: Double) -> Bool {
        Double(self.seconds) + Double(self.nanoseconds) / 1e9 >= moment
    }

    /// Whether both are states of one file, whatever was written to it in between.
    package func isSameFile(as other: FileState) -> Bool {
        self.device == other.device && self.number == other.number
    }
}
