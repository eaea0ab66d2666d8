// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import GateOperations

/// The program; exits with 0 done, 1 the configuration or the thing checked is wrong, 2 wrong usage, 70 internal.
@main
struct GatehouseProgram {
    static func main() async {
        OutputDescriptor.openMissing()
        OutputDescriptor.ignoreSignals()
        var code: Int32 = 0
        do {
            var command = try GatehouseCommand.parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            code = GatehouseProgram.report(error)
        }
        logWriter.flush()
        exit(commandOutput.end(code))
    }

    /// Prints why a command has ended, and returns its exit code.
    private static func report(_ error: any Error) -> Int32 {
        logWriter.flush()
        let code = GatehouseCommand.exitCode(for: error)
        let text = GatehouseCommand.fullMessage(for: error)
        if code == .success {
            printLine(text)
        } else if !text.isEmpty {
            printError(text)
        }
        return code == .validationFailure ? 2 : code.rawValue
    }
}

/// The command line: `gatehouse serve`, `gatehouse check` and so on.
struct GatehouseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gatehouse",
        abstract: "Signs people in with their provider in front of internal web apps.",
        version: VersionReport.text,
        subcommands: [
            ServeCommand.self, CheckCommand.self, DemoCommand.self, SchemaCommand.self, TryCommand.self,
            PinsCommand.self, ProfileCommand.self,
        ]
    )
}
