// SPDX-License-Identifier: Apache-2.0

package import Foundation
internal import Glibc
internal import Synchronization

/// A program that a test runs; it ends with the last reference to it.
///
/// Foundation's `Process` copies each entry of `/proc/self/fd` with the full size of a `dirent`, beyond the end of what the
/// kernel wrote: with more than a thousand open descriptors, as in a run of all tests, that read can leave the memory of
/// the process. Here each
/// descriptor is closed when a program is executed, so none has to be looked for.
package final class ChildProcess: Sendable {
    /// Why a program did not start.
    package struct NotStarted: Error {
        /// The program.
        package let program: String
        /// The error of the system, as in errno.
        package let code: Int32
    }

    /// Takes what the program reads; closed with the last reference.
    package let input: FileHandle
    /// Has what the program prints; closed with the last reference.
    package let output: FileHandle
    private let id: pid_t
    private let status = Mutex<Int32?>(nil)
    /// Between the making of a pipe and its mark, another program would inherit it.
    private static let spawning = Mutex(())

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: Its path.
    ///   - arguments: Its arguments, without its name.
    ///   - joinsErrors: Whether ``output`` has what it prints as errors too; if not, that goes where the test's errors go.
    /// - Throws: ``NotStarted``.
    package init(_ program: String, _ arguments: [String], joinsErrors: Bool = true) throws(NotStarted) {
        let (id, input, output) = try ChildProcess.spawning.withLock { _ throws(NotStarted) in
            try ChildProcess.spawn(program, arguments, joinsErrors: joinsErrors)
        }
        self.id = id
        self.input = input
        self.output = output
    }

    private static func spawn(
        _ program: String,
        _ arguments: [String],
        joinsErrors: Bool
    ) throws(NotStarted) -> (id: pid_t, input: FileHandle, output: FileHandle) {
        let (input, output) = (try ChildProcess.pipe(for: program), try ChildProcess.pipe(for: program))
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, input.reading.fileDescriptor, STDIN_FILENO)
        for descriptor in joinsErrors ? [STDOUT_FILENO, STDERR_FILENO] : [STDOUT_FILENO] {
            unsafe posix_spawn_file_actions_adddup2(&actions, output.writing.fileDescriptor, descriptor)
        }
        let words = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
        defer { for index in unsafe words.indices { unsafe free(words[index]) } }
        var id = pid_t()
        let code = unsafe posix_spawn(&id, program, &actions, nil, words, environ)
        guard code == 0 else { throw NotStarted(program: program, code: code) }
        return (id, input.writing, output.reading)
    }

    /// Both ends of a pipe, which no program inherits.
    private static func pipe(for program: String) throws(NotStarted) -> (reading: FileHandle, writing: FileHandle) {
        var ends: [Int32] = [0, 0]
        guard unsafe Glibc.pipe(&ends) == 0 else { throw NotStarted(program: program, code: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (
            FileHandle(fileDescriptor: ends[0], closeOnDealloc: true),
            FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        )
    }

    deinit {
        self.end()
    }

    /// Sends a signal to the program, unless it has ended.
    package func send(_ signal: Int32) {
        self.status.withLock { if $0 == nil { kill(self.id, signal) } }
    }

    /// Kills the program, since a thread of the tests may block SIGTERM, and its children with it, and waits for its end.
    package func end() {
        self.send(SIGKILL)
        _ = self.exitStatus()
    }

    /// Waits until the program has ended and returns its status; nil if a signal ended it.
    package func exitStatus() -> Int32? {
        let status = self.status.withLock { known in
            if let known { return known }
            var status: Int32 = 0
            while unsafe waitpid(self.id, &status, 0) < 0, errno == EINTR {}
            known = status
            return status
        }
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : nil
    }
}
