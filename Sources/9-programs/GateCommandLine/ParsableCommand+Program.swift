// SPDX-License-Identifier: Apache-2.0

package import ArgumentParser
internal import GateOperations
internal import GateYAML
internal import Glibc

extension ParsableCommand {
    /// Runs the command that the arguments name, then ends the process.
    ///
    /// Exit codes: 0 done, 1 the configuration or the checked thing is wrong, 2 wrong usage, 70 internal error.
    package static func runProgram() async -> Never {
        OutputDescriptor.openMissing()
        OutputDescriptor.ignoreSignals()
        var code: Int32 = 0
        do {
            var command = try self.parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            code = self.report(error)
        }
        logRouter.flush()
        Glibc.exit(commandOutput.end(code))
    }

    /// The command that was probably meant by an argument in place of one.
    private static func suggestion(for arguments: some Sequence<String>) -> String {
        var commands = self.configuration.subcommands
        for argument in arguments where !commands.isEmpty && !argument.hasPrefix("-") {
            if let command = commands.first(where: { $0._commandName == argument }) {
                commands = command.configuration.subcommands
                continue
            }
            let nearest = Hint.nearest(to: argument, in: commands.map { $0._commandName })
            return nearest.map { "\ngatehouse: did you mean '\($0)'?" } ?? ""
        }
        return ""
    }

    /// Prints why a command has ended, and returns its exit code.
    private static func report(_ error: any Error) -> Int32 {
        logRouter.flush()
        let code = self.exitCode(for: error)
        let text = self.fullMessage(for: error) + self.suggestion(for: CommandLine.arguments.dropFirst())
        if code == .success {
            printLine(text)
        } else if !text.isEmpty {
            printError(text)
        }
        return code == .validationFailure ? 2 : code.rawValue
    }
}
