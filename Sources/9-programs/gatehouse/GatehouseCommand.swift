// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import GateCommandLine

/// The program `gatehouse` and its command line: `gatehouse serve`, `gatehouse check` and so on.
@main
struct GatehouseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gatehouse",
        abstract: "Signs users in with their provider in front of internal web apps.",
        version: versionReport,
        subcommands: [
            ServeCommand.self, CheckCommand.self, DemoCommand.self, SimulateCommand.self, SchemaCommand.self,
            TryCommand.self, PinsCommand.self, ProfileCommand.self, SessionsCommand.self, UsersCommand.self,
            PasskeysCommand.self,
            KeysCommand.self, ExplainCommand.self, PolicyCommand.self, TokensCommand.self, ProbeCommand.self,
            ImportCommand.self,
            HealthCommand.self,
        ]
    )

    static func main() async {
        await self.runProgram()
    }
}
