// SPDX-License-Identifier: Apache-2.0

internal import GateOperations
internal import Synchronization

/// Standard output of the process; after a failed write it drops everything.
///
/// The command continues. If the reader of a pipe has closed it, as `| head -1` does, the exit code is that of the command.
/// Otherwise the output is incomplete, which ``end(_:)`` reports.
package final class CommandOutput: Sendable {
    private let failure = Mutex<WriteFailure?>(nil)

    /// Whether every write has succeeded.
    package var isComplete: Bool { self.failure.withLock { $0 == nil } }

    /// Writes a text without buffering.
    package func write(_ text: String) {
        guard self.isComplete else { return }
        do throws(WriteFailure) {
            try OutputDescriptor.standardOutput.write(text)
        } catch {
            self.failure.withLock { $0 = error }
        }
    }

    /// The exit code of a command that ends with `code`; reports incomplete output.
    package func end(_ code: Int32) -> Int32 {
        guard let failure = self.failure.withLock({ $0 }), !failure.isClosedPipe else { return code }
        printError("gatehouse: error: standard output cannot be written: \(failure.reason)")
        return code == 0 ? 1 : code
    }
}

/// The output of this process.
package let commandOutput = CommandOutput()

/// Writes a line to standard output.
package func printLine(_ text: String) {
    commandOutput.write(text + "\n")
}

/// Writes a line to standard error, ignoring failures.
package func printError(_ text: String) {
    try? OutputDescriptor.standardError.write(text + "\n")
}
