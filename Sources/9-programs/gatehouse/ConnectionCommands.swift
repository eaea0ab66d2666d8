// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import GateCommandLine
internal import GateCore
internal import GateOperations

/// The command `gatehouse users connected`.
struct ListConnections: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connected",
        abstract: "Lists the accounts that users have connected.",
        discussion: "Each account is listed with the first account of its user. See docs/connected-accounts.md."
    )

    @Option(help: ArgumentHelp("Only those of the user with this account, such as google:1047.", valueName: "key"))
    var user: String?

    @OptionGroup var list: ListOptions

    func run() throws {
        try self.list.printList(
            of: "/v1/connections",
            [("user", self.user)],
            by: "added",
            [
                ("FIRST ACCOUNT", { $0["first"]?.string }), ("ACCOUNT", { $0["user"]?.string }),
                ("NAME", { $0["name"]?.string }), ("CONNECTED", { TimeArgument.text($0["added"]) }),
            ]
        )
    }
}

/// The command `gatehouse users disconnect`.
struct DisconnectAccount: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disconnect",
        abstract: "Disconnects an account from the first account of its user and ends its sessions.",
        discussion: "From then on apps know the user of the account by the account itself."
    )

    @Argument(help: "The user key, such as github:9919.")
    var user: String

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var gateway: OperationsOption

    func run() throws {
        try self.gateway.perform { client throws(Failure) in
            let result = try client.post("/v1/connections/remove", ["user": .string(self.user)])
            guard !self.json else { return printLine(result.pretty()) }
            let ended = result["sign_ins_ended"]?.integer ?? 0
            printError("disconnected \(PrintableText.escaped(self.user)); ended \(ended) sign-ins")
        }
    }
}
