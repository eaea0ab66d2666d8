// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import GateCommandLine

/// The program `gatehouse`.
@main
struct GatehouseProgram {
    static func main() async {
        await CommandProgram.run(GatehouseCommand.self)
    }
}

/// The command line: `gatehouse serve`, `gatehouse check` and so on.
struct GatehouseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gatehouse",
        abstract: "Signs users in with their provider in front of internal web apps.",
        version: VersionReport.text,
        subcommands: [
            ServeCommand.self, CheckCommand.self, DemoCommand.self, SimulateCommand.self, SchemaCommand.self,
            TryCommand.self, PinsCommand.self, ProfileCommand.self,
        ]
    )
}
