// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateTestSupport
import Glibc
import Testing

@Suite(.timeLimit(.minutes(1))) struct FolderLockTests {
    /// Opens a folder as another process does, and locks it.
    private func locked(_ folder: TemporaryFolder) throws -> FileHandle {
        let handle = try #require(FileHandle(forReadingAtPath: folder.path))
        try #require(flock(handle.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
        return handle
    }

    /// Ends the lock: closing alone does not while a process that another test starts has a copy, between fork and exec.
    private func unlock(_ handle: FileHandle) throws {
        try #require(flock(handle.fileDescriptor, LOCK_UN) == 0)
        try handle.close()
    }

    @Test func `a folder that another process keeps locked is a failure in time, with the folder and advice`() throws {
        let folder = try TemporaryFolder()
        let other = try self.locked(folder)
        let failure = #expect(throws: Failure.self) {
            try PrivateFile.locking(folder.path, within: .milliseconds(50)) { Issue.record("it is locked") }
        }
        #expect(failure?.reason == .fileUnusable && failure?.detail.contains(folder.path) == true)
        #expect(failure?.detail.contains("lslocks") == true)
        try self.unlock(other)
        #expect(try PrivateFile.locking(folder.path, within: .zero) { 1 } == 1)
    }

    @Test func `it waits for its turn, and ends the lock afterwards`() async throws {
        let folder = try TemporaryFolder()
        let other = try self.locked(folder)
        async let value = Task.detached { try PrivateFile.locking(folder.path, within: .seconds(50)) { 1 } }.value
        try self.unlock(other)
        #expect(try await value == 1)
        try self.unlock(try self.locked(folder))
    }
}
