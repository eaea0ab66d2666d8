// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import GateCommandLine
internal import GateConfiguration
internal import GateCore
internal import GateDiagnostics

struct TokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens",
        abstract: "Makes and lists service tokens, for clients without a browser.",
        discussion: """
            The file has the hash of each token, so a token works on all gateways that read the file, and removing its entry \
            ends it with the next reload. See docs/machines.md.
            """,
        subcommands: [CreateToken.self, ListTokens.self]
    )
}

struct CreateToken: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Makes a token: prints it once, and the lines for the file.",
        discussion: """
            The token goes to standard output, the lines for the file to standard error; --json prints both together. The \
            token is not kept anywhere.
            """
    )

    @Argument(help: "The name; rules and logs have the user as 'token:NAME'.")
    var name: String

    @Option(help: ArgumentHelp("How long it is accepted, such as 30d; 'never' for no end.", valueName: "time"))
    var expires = "90d"

    @Option(help: ArgumentHelp("A group of its user; may be repeated.", valueName: "name"))
    var group: [String] = []

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let made: NewServiceToken
        do {
            made = try NewServiceToken(name: self.name, lifetime: self.expires, groups: self.group)
        } catch {
            throw ValidationError(error.description)
        }
        guard !self.json else { return printLine(made.json.pretty()) }
        printError("Add this to providers.yaml, and '\(self.name)' to 'machines.service_tokens' of each app:\n")
        printError(made.yaml)
        printError("\nThe token is shown only now:")
        printLine(made.token)
    }
}

struct ListTokens: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the service tokens of the file, and the apps that accept each."
    )

    @OptionGroup var file: ConfigurationOption

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        guard let configuration = try self.file.load().configuration else { throw ExitCode(1) }
        let list = ServiceTokenList(configuration)
        guard !self.json else { return printLine(list.json.pretty()) }
        guard !list.rows.isEmpty else { return printError("\(self.file.config) has no service tokens") }
        var table = TextTable(["NAME", "EXPIRES", "GROUPS", "APPS"])
        for row in list.rows {
            table.add([
                row.name, row.expires, row.groups.isEmpty ? nil : row.groups.joined(separator: ", "),
                row.apps.isEmpty ? nil : row.apps.joined(separator: ", "),
            ])
        }
        for line in table.lines { printLine(line) }
    }
}
