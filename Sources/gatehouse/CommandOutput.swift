// SPDX-License-Identifier: Apache-2.0

internal import GateOperations
internal import Synchronization

/// Standard output of this program; the first write that fails is the last one.
///
/// A command goes on without it. When the reader of a pipe has closed it, as `| head -1` does, the exit code is that of the
/// command's own work. Otherwise what was printed is incomplete, which ``end(_:)`` reports.
final class CommandOutput: Sendable {
    private let failure = Mutex<WriteFailure?>(nil)

    /// Whether everything was written so far.
    var isComplete: Bool { self.failure.withLock { $0 == nil } }

    /// Writes a text at once, also into a pipe.
    func write(_ text: String) {
        guard self.isComplete else { return }
        do throws(WriteFailure) {
            try OutputDescriptor.standardOutput.write(text)
        } catch {
            self.failure.withLock { $0 = error }
        }
    }

    /// The exit code of a command that would end with `code`.
    func end(_ code: Int32) -> Int32 {
        guard let failure = self.failure.withLock({ $0 }), !failure.isClosedPipe else { return code }
        printError("gatehouse: error: standard output cannot be written: \(failure.reason)")
        return code == 0 ? 1 : code
    }
}

/// What this program prints.
let commandOutput = CommandOutput()

/// Writes a line to standard output.
func printLine(_ text: String) {
    commandOutput.write(text + "\n")
}

/// Writes a line to standard error; there is nowhere to report a failure of that.
func printError(_ text: String) {
    try? OutputDescriptor.standardError.write(text + "\n")
}
