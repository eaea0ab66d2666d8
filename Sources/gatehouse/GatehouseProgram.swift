// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation

/// The program; exits with 0 done, 1 the configuration or the thing checked is wrong, 2 wrong usage, 70 internal.
@main
struct GatehouseProgram {
    static func main() async {
        // A peer that closes while we write must be an error of that write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        defer { logLines.flush() }
        do {
            var command = try GatehouseCommand.parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            GatehouseProgram.leave(after: error)
        }
    }

    private static func leave(after error: any Error) -> Never {
        logLines.flush()
        let code = GatehouseCommand.exitCode(for: error)
        let text = GatehouseCommand.fullMessage(for: error)
        guard code != .success else {
            print(text)
            exit(0)
        }
        if !text.isEmpty { complain(text) }
        exit(code == .validationFailure ? 2 : code.rawValue)
    }
}

/// The command line: `gatehouse serve`, `gatehouse check` and so on.
struct GatehouseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gatehouse",
        abstract: "Signs people in with their provider in front of internal web apps.",
        subcommands: [
            ServeCommand.self, CheckCommand.self, DemoCommand.self, SchemaCommand.self, TryCommand.self,
            PinsCommand.self, ProfileCommand.self, PolicyCommand.self, KeysCommand.self, SessionsCommand.self,
            HealthCommand.self,
        ]
    )
}

/// Writes a line to standard output at once, also into a pipe.
func say(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

/// Writes a line to standard error.
func complain(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
}
