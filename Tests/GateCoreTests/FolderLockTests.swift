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

    @Test func `a folder that another process keeps locked is a failure in time, with the folder and advice`() throws {
        let folder = try TemporaryFolder()
        let other = try self.locked(folder)
        let failure = #expect(throws: Failure.self) {
            try PrivateFile.locking(folder.path, within: .milliseconds(50)) { Issue.record("it is locked") }
        }
        #expect(failure?.reason == .fileUnusable && failure?.detail.contains(folder.path) == true)
        #expect(failure?.detail.contains("lslocks") == true)
        try other.close()
        #expect(try PrivateFile.locking(folder.path, within: .zero) { 1 } == 1)
    }

    @Test func `it waits for its turn, and ends the lock afterwards`() async throws {
        let folder = try TemporaryFolder()
        let other = try self.locked(folder)
        async let value = Task.detached { try PrivateFile.locking(folder.path, within: .seconds(50)) { 1 } }.value
        try other.close()
        #expect(try await value == 1)
        try self.locked(folder).close()
    }
}
