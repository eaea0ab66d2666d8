// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import GateCommandLine
internal import GateCore
internal import GateOperations

/// What a list shows of the state of a local account.
enum AccountState {
    /// One word for the account in a response of the operations API.
    static func text(of account: JSON) -> String {
        if account["disabled"] == .bool(true) { return "disabled" }
        guard account["has_password"] == .bool(true) else { return "invited" }
        return account["second_factor"] == .bool(true) ? "active, with codes" : "active"
    }
}

/// The options of all commands about local accounts.
struct AccountOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The provider of type local; needed if there are several.", valueName: "name"))
    var provider: String?

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var gateway: OperationsOption
}

/// The account that a command is about, and its options.
struct NamedAccount: ParsableArguments {
    @Argument(help: "The id, the user key, the email address or the user name.")
    var account: String

    @OptionGroup var options: AccountOptions

    /// Changes the account and prints the result.
    func change(
        _ change: String,
        _ more: [String: JSON] = [:],
        done: String
    ) throws {
        try self.options.gateway.perform { client throws(Failure) in
            var members = more
            members["provider"] = self.options.provider.map(JSON.string)
            members["account"] = .string(self.account)
            members["change"] = .string(change)
            let result = try client.post("/v1/accounts/change", members)
            guard !self.options.json else { return printLine(result.pretty()) }
            let user = result["account"]?["user"]?.string ?? self.account
            let ended = result["sign_ins_ended"]?.integer ?? 0
            printError("\(done) \(PrintableText.escaped(user))\(ended > 0 ? "; ended \(ended) sign-ins" : "")")
            LinkOptions.printLink(in: result)
        }
    }
}

/// The options about the link by which a user chooses a password.
struct LinkOptions: ParsableArguments {
    @Flag(
        help: ArgumentHelp(
            "The link does not go to the email address of the account, so its use does not verify that address."
        )
    )
    var linkElsewhere = false

    @Flag(help: ArgumentHelp("Send the link to the email address of the account instead of printing it; needs 'mail'."))
    var mail = false

    func validate() throws {
        guard !self.mail || !self.linkElsewhere else {
            throw ValidationError("--mail and --link-elsewhere exclude each other")
        }
    }

    /// Prints what became of a link.
    static func printLink(in result: JSON) {
        if let link = result["link"]?.string { printLine(link) }
        if let detail = result["mail_failed"]?.string {
            printError("the link could not be sent: \(PrintableText.escaped(detail)); send it yourself")
        }
        if result["mailed"] == .bool(true) { printError("the link is on its way to the email address") }
    }
}

/// The command `gatehouse users add`.
struct AddAccount: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Adds a local account and prints the link by which its user chooses a password.",
        discussion: """
            The link works once, and until it expires ('link_lifetime'). Send it to the email address of the account and \
            nowhere else: its use verifies that address, unless there is --link-elsewhere.
            """
    )

    @Option(help: "The email address.")
    var email: String?

    @Option(help: ArgumentHelp("The user name: a-z, 0-9, '.', '_' and '-'.", valueName: "name"))
    var username: String?

    @Option(help: "The full name.")
    var name: String?

    @Option(help: ArgumentHelp("A group; may be repeated.", valueName: "name"))
    var group: [String] = []

    @Flag(help: "You assert that the email address is the user's.")
    var emailVerified = false

    @OptionGroup var link: LinkOptions
    @OptionGroup var options: AccountOptions

    func validate() throws {
        guard self.email != nil || self.username != nil else { throw ValidationError("use --email or --username") }
    }

    func run() throws {
        try self.options.gateway.perform { client throws(Failure) in
            var members: [String: JSON] = [
                "email_verified": .bool(self.emailVerified), "link_elsewhere": .bool(self.link.linkElsewhere),
                "mail": .bool(self.link.mail),
            ]
            let texts = [
                "provider": self.options.provider, "email": self.email, "username": self.username, "name": self.name,
            ]
            for (name, value) in texts { members[name] = value.map(JSON.string) }
            if !self.group.isEmpty { members["groups"] = .array(self.group.map(JSON.string)) }
            let result = try client.post("/v1/accounts/add", members)
            guard !self.options.json else { return printLine(result.pretty()) }
            printError("added \(PrintableText.escaped(result["account"]?["user"]?.string ?? "")); the link works once")
            LinkOptions.printLink(in: result)
        }
    }
}

/// The command `gatehouse users show`.
struct ShowAccount: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows one local account as JSON."
    )

    @OptionGroup var named: NamedAccount

    func run() throws {
        try self.named.options.gateway.perform { client throws(Failure) in
            let query = [("provider", self.named.options.provider), ("account", self.named.account)]
            guard let found = try client.get("/v1/accounts", query)["accounts"]?.array?.first else {
                let shown = PrintableText.escaped(self.named.account)
                throw Failure(.operationsRejected, "there is no account '\(shown)'")
            }
            printLine(found.pretty())
        }
    }
}

/// The command `gatehouse users set`.
struct SetAccount: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Changes the name and the groups of a local account.",
        discussion: "Sessions have the change after their next re-check; 'gatehouse sessions revoke' is faster."
    )

    @Option(help: "The full name.")
    var name: String?

    @Option(help: ArgumentHelp("A group, instead of the present ones; may be repeated.", valueName: "name"))
    var group: [String] = []

    @Flag(help: "No groups.")
    var noGroups = false

    @OptionGroup var named: NamedAccount

    func validate() throws {
        guard self.name != nil || !self.group.isEmpty || self.noGroups else {
            throw ValidationError("use --name, --group or --no-groups")
        }
        guard self.group.isEmpty || !self.noGroups else {
            throw ValidationError("--group and --no-groups exclude each other")
        }
    }

    func run() throws {
        var members: [String: JSON] = ["no_groups": .bool(self.noGroups)]
        members["name"] = self.name.map(JSON.string)
        if !self.group.isEmpty { members["groups"] = .array(self.group.map(JSON.string)) }
        try self.named.change("set", members, done: "changed")
    }
}

/// The command `gatehouse users disable`.
struct DisableAccount: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Disables a local account and ends its sessions on all gateways."
    )

    @OptionGroup var named: NamedAccount

    func run() throws { try self.named.change("disable", done: "disabled") }
}

/// The command `gatehouse users enable`.
struct EnableAccount: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Enables a local account again, with the password that it had."
    )

    @OptionGroup var named: NamedAccount

    func run() throws { try self.named.change("enable", done: "enabled") }
}

/// The command `gatehouse users reset`.
struct ResetAccount: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Removes the password of a local account and prints a link by which its user chooses another.",
        discussion: """
            The sessions of the account end on all gateways; its passkeys and connected accounts are removed, since a thief \
            may have added them. Codes at sign-in stay, unless there is --remove-codes: for a user who has lost the device, \
            whom you have to recognize by other means.
            """
    )

    @Flag(help: "Remove the authenticator app and the recovery codes as well.")
    var removeCodes = false

    @OptionGroup var link: LinkOptions
    @OptionGroup var named: NamedAccount

    func run() throws {
        let members: [String: JSON] = [
            "link_elsewhere": .bool(self.link.linkElsewhere), "remove_codes": .bool(self.removeCodes),
            "mail": .bool(self.link.mail),
        ]
        try self.named.change("reset", members, done: "reset")
    }
}

/// The command `gatehouse users remove`.
struct RemoveAccount: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Removes a local account and ends its sessions on all gateways.",
        discussion: """
            Its passkeys and connected accounts are removed as well. A later account with the same email address is another \
            user: it gets another id.
            """
    )

    @OptionGroup var named: NamedAccount

    func run() throws { try self.named.change("remove", done: "removed") }
}
