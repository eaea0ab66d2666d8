// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import GateCommandLine
internal import GateCore
internal import GateOperations

struct PasskeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passkeys",
        abstract: "Lists and removes the passkeys of users of a running gateway.",
        discussion: "Users add passkeys themselves. See docs/passkeys.md.",
        subcommands: [ListPasskeys.self, RemovePasskeys.self]
    )
}

struct ListPasskeys: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the passkeys of all users, or of one."
    )

    @Option(help: ArgumentHelp("Only of this user, such as google:104729384756102938475.", valueName: "key"))
    var user: String?

    @OptionGroup var list: ListOptions

    func run() throws {
        try self.list.printList(
            of: "/v1/passkeys",
            [("user", self.user)],
            by: "added",
            [
                ("USER", { $0["user"]?.string }), ("ID", { $0["id"]?.string }), ("NAME", { $0["name"]?.string }),
                ("ADDED", { TimeArgument.text($0["added"]) }), ("LAST USED", { TimeArgument.text($0["used"]) }),
                ("SYNCED", { $0["synced"] == .bool(true) ? "yes" : "no" }),
            ]
        )
    }
}

struct RemovePasskeys: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Removes the passkeys of a user, or one of them.",
        discussion: """
            For a user who has lost the device, whom you have to recognize by other means: the next passkey is added after a \
            sign-in alone. Sessions in which a passkey was used go on; end them with 'gatehouse sessions revoke --user'.
            """
    )

    @Argument(help: "The user key, such as google:104729384756102938475.")
    var user: String

    /// Authenticators choose it: one in 64 begins with `-`.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only the one of this id, as 'gatehouse passkeys list' shows it.")
    )
    var id: String?

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var gateway: OperationsOption

    func run() throws {
        try self.gateway.perform { client throws(Failure) in
            var members: [String: JSON] = ["user": .string(self.user)]
            members["id"] = self.id.map(JSON.string)
            let result = try client.post("/v1/passkeys/remove", members)
            guard !self.json else { return printLine(result.pretty()) }
            let removed = self.id == nil ? "the passkeys" : "a passkey"
            printError("removed \(removed) of \(PrintableText.escaped(self.user)); sessions go on")
        }
    }
}
