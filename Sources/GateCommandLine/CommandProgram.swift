// SPDX-License-Identifier: Apache-2.0

package import ArgumentParser
internal import Foundation
internal import GateOperations

/// Runs a program of commands.
///
/// Exit codes: 0 done, 1 the configuration or the checked thing is wrong, 2 wrong usage, 70 internal error.
package enum CommandProgram {
    /// Runs the command that the arguments name, then ends the process.
    package static func run(_ root: (some ParsableCommand).Type) async -> Never {
        OutputDescriptor.openMissing()
        OutputDescriptor.ignoreSignals()
        var code: Int32 = 0
        do {
            var command = try root.parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            code = self.report(error, of: root)
        }
        logWriter.flush()
        exit(commandOutput.end(code))
    }

    /// Prints why a command has ended, and returns its exit code.
    private static func report(_ error: any Error, of root: (some ParsableCommand).Type) -> Int32 {
        logWriter.flush()
        let code = root.exitCode(for: error)
        let text = root.fullMessage(for: error)
        if code == .success {
            printLine(text)
        } else if !text.isEmpty {
            printError(text)
        }
        return code == .validationFailure ? 2 : code.rawValue
    }
}
