// SPDX-License-Identifier: Apache-2.0

internal import Glibc

// The calls that start the child process and wait for it.
extension ServiceProcess {
    /// Runs this program again, with the descriptors that are not closed by it.
    ///
    /// - Parameters:
    ///   - arguments: The arguments, with the name of the program.
    ///   - environment: Its variables, as `NAME=VALUE`.
    /// - Returns: The id of the process; or the error, as in errno.
    static func spawn(_ arguments: [String], _ environment: [String]) -> Result<pid_t, SpawnError> {
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // A program inherits which signals are ignored and blocked.
        var (all, none) = (sigset_t(), sigset_t())
        unsafe sigfillset(&all)
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        let words = unsafe arguments.map { unsafe strdup($0) } + [nil]
        let variables = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer {
            for index in unsafe words.indices { unsafe free(words[index]) }
            for index in unsafe variables.indices { unsafe free(variables[index]) }
        }
        var id = pid_t()
        let code = unsafe posix_spawn(&id, "/proc/self/exe", nil, &attributes, words, variables)
        return code == 0 ? .success(id) : .failure(SpawnError(code: code))
    }

    /// Waits for the end of a process and returns its exit code; with a signal, 128 and its number, as a shell does.
    static func status(of id: pid_t) -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(id, &status, 0) < 0 {
            guard errno == EINTR else { return 1 }
        }
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
}

/// Why a process did not start.
struct SpawnError: Error, CustomStringConvertible {
    /// The error of the system, as in errno.
    let code: Int32

    var description: String {
        unsafe strerror(self.code).map { unsafe String(cString: $0) } ?? "error \(self.code)"
    }
}
