// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import GateCommandLine
internal import GateCore
internal import GateOperations

struct SessionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions",
        abstract: "Lists, shows and revokes the sessions of a running gateway.",
        discussion: """
            Reaches the gateway through its Unix socket, so it runs on the same machine as the same user, or as root. \
            Gateways that share a store share their sessions: ask any of them.
            """,
        subcommands: [ListSessions.self, ShowSession.self, RevokeSessions.self]
    )
}

/// The options that select sessions.
struct SessionSelection: ParsableArguments {
    @Option(help: ArgumentHelp("Only of this user, such as google:104729384756102938475.", valueName: "key"))
    var user: String?

    @Option(help: ArgumentHelp("Only of users of this provider.", valueName: "name"))
    var provider: String?

    @Option(help: "Only on this host.")
    var host: String?

    @Option(
        help: ArgumentHelp(
            "Only on the hosts whose requests lead to this app; apps on one host share their sessions.",
            valueName: "name"
        )
    )
    var app: String?

    @Option(
        help: ArgumentHelp("Only of sign-ins before a time: 2026-11-22 or 2026-11-22T10:00:00Z.", valueName: "time")
    )
    var before: TimeArgument?

    func validate() throws {
        guard self.host == nil || self.app == nil else { throw ValidationError("use one of --host and --app") }
    }

    /// The parameters of a request.
    var parameters: [(name: String, value: String?)] {
        [
            ("user", self.user), ("provider", self.provider), ("host", self.host), ("app", self.app),
            ("before", self.before.map { "\($0.instant)" }),
        ]
    }

    /// Whether they select all sessions, or all from before a time.
    var isOfAllUsers: Bool { self.user == nil && self.provider == nil && self.host == nil && self.app == nil }
}

/// The gateway that a command asks for a list, and how it prints it.
struct ListOptions: ParsableArguments {
    @OptionGroup var gateway: OperationsOption

    @Option(help: "How many at most, 1 to 100000.")
    var limit = 100

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard (1...100_000).contains(self.limit) else { throw ValidationError("--limit takes 1 to 100000") }
    }

    /// Prints the elements of a resource as a table or as JSON.
    ///
    /// - Parameters:
    ///   - resource: The resource, whose last part is the name of the list.
    ///   - parameters: The parameters of the request.
    ///   - order: The member with the time by which elements are sorted, the latest first.
    ///   - columns: The titles and texts of the columns.
    /// - Throws: Exit code 1 when the gateway cannot be reached or rejects the request, after a message.
    func printList(
        of resource: String,
        _ parameters: [(name: String, value: String?)] = [],
        by order: String,
        _ columns: [(title: String, text: (JSON) -> String?)]
    ) throws {
        try self.gateway.perform { client throws(Failure) in
            let (name, found, hasMore) = try client.elements(of: resource, parameters, limit: self.limit)
            let sorted = found.sorted { $0[order]?.integer ?? 0 > $1[order]?.integer ?? 0 }
            if self.json {
                return printLine(JSON.object([name: .array(sorted), "more": .bool(hasMore)]).pretty())
            }
            var table = TextTable(columns.map(\.title))
            for element in sorted { table.add(columns.map { $0.text(element) }) }
            for line in table.lines { printLine(line) }
            if hasMore { printError("there are more; raise --limit") }
        }
    }
}

extension OperationsClient {
    /// Reads pages until there are `limit` elements or no more.
    ///
    /// - Returns: The name of the list, its elements, and whether there are more.
    func elements(
        of resource: String,
        _ parameters: [(name: String, value: String?)],
        limit: Int
    ) throws(Failure) -> (name: String, elements: [JSON], hasMore: Bool) {
        let name = String(resource.drop { $0 != "/" }.split(separator: "/").last ?? "")
        var found: [JSON] = []
        var cursor: String?
        repeat {
            let size = "\(min(1000, limit - found.count))"
            let page = try self.get(resource, parameters + [("limit", size), ("cursor", cursor)])
            found += page[name]?.array ?? []
            cursor = page["next"]?.string
        } while cursor != nil && found.count < limit
        return (name, found, cursor != nil)
    }
}

struct ListSessions: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists live sessions."
    )

    @OptionGroup var selection: SessionSelection
    @OptionGroup var list: ListOptions

    func run() throws {
        try self.list.printList(
            of: "/v1/sessions",
            self.selection.parameters,
            by: "created",
            [
                ("ID", { $0["id"]?.string }), ("USER", { $0["user"]?.string }), ("EMAIL", { $0["email"]?.string }),
                ("HOST", { $0["host"]?.string }), ("SIGNED IN", { TimeArgument.text($0["created"]) }),
                ("LAST USED", { TimeArgument.text($0["last_seen"]) }), ("DEVICE", { $0["device"]?.string }),
            ]
        )
    }
}

struct ShowSession: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows one session as JSON."
    )

    @Argument(help: "The id of the session: 'sid' in assertions, 'session' in the log.")
    var id: String

    @OptionGroup var gateway: OperationsOption

    func run() throws {
        try self.gateway.perform { client throws(Failure) in
            guard let session = try client.elements(of: "/v1/sessions", [("id", self.id)], limit: 1).elements.first
            else { throw Failure(.operationsRejected, "there is no live session \(PrintableText.escaped(self.id))") }
            printLine(session.pretty())
        }
    }
}

struct RevokeSessions: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revokes sessions on all gateways; the users have to sign in again.",
        discussion: """
            Ends whole sign-ins: a session on one host ends together with those that the browser got from it on other \
            hosts. With --user or --all, sessions from before now, or before --before, are rejected from then on even \
            if they are not in the list. It asks nothing; look first with --dry-run.
            """
    )

    @Argument(help: "The ids of sessions.")
    var ids: [String] = []

    @OptionGroup var selection: SessionSelection

    @Flag(help: "Revoke the sessions of all users, or with --before those of sign-ins before it.")
    var all = false

    @Flag(help: "Only count.")
    var dryRun = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var gateway: OperationsOption

    func validate() throws {
        let isOfAll = self.ids.isEmpty && self.selection.isOfAllUsers
        guard !isOfAll || self.all else {
            throw ValidationError("name sessions, --user, --provider, --host or --app; all sessions need --all")
        }
        guard isOfAll || !self.all else { throw ValidationError("--all takes no filter but --before") }
        guard self.ids.count <= 100 else { throw ValidationError("more than 100 ids") }
    }

    func run() throws {
        try self.gateway.perform { client throws(Failure) in
            var members: [String: JSON] = ["dry_run": .bool(self.dryRun), "all": .bool(self.all)]
            for (name, value) in self.selection.parameters { members[name] = value.map(JSON.string) }
            if !self.ids.isEmpty { members["id"] = .array(self.ids.map(JSON.string)) }
            var signIns: Set<String> = []
            var sessions: Int64 = 0
            var cursor: String?
            repeat {
                members["cursor"] = cursor.map(JSON.string)
                let page = try client.post("/v1/sessions/revoke", members)
                signIns.formUnion(page["sign_ins"]?.array?.compactMap(\.string) ?? [])
                sessions += page["sessions"]?.integer ?? 0
                cursor = page["next"]?.string
            } while cursor != nil
            if self.json {
                let ids = signIns.sorted().map(JSON.string)
                let result: JSON = [
                    "dry_run": .bool(self.dryRun), "sign_ins": .array(ids), "sessions": .int(sessions),
                ]
                return printLine(result.pretty())
            }
            let count = "\(signIns.count) sign-in\(signIns.count == 1 ? "" : "s")"
            printLine("\(self.dryRun ? "would revoke" : "revoked") \(count) (\(sessions) selected sessions)")
        }
    }
}

struct UsersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "Lists the users who have signed in to a running gateway, and changes its local accounts.",
        discussion: "Local accounts are those of a provider of type local. See docs/accounts.md.",
        subcommands: [
            ListUsers.self, AddAccount.self, ShowAccount.self, SetAccount.self, DisableAccount.self, EnableAccount.self,
            ResetAccount.self, RemoveAccount.self, ImportAccounts.self, ListConnections.self, DisconnectAccount.self,
        ]
    )
}

struct ListUsers: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the users who have signed in during the last 400 days, with the profile of the last sign-in.",
        discussion: "With --local it lists the local accounts, also of users who have never signed in."
    )

    @OptionGroup var list: ListOptions

    @Flag(help: "List the local accounts.")
    var local = false

    @Option(help: ArgumentHelp("With --local: only those of this provider.", valueName: "name"))
    var provider: String?

    func validate() throws {
        guard self.local || self.provider == nil else { throw ValidationError("--provider needs --local") }
    }

    func run() throws {
        guard !self.local else {
            return try self.list.printList(
                of: "/v1/accounts",
                [("provider", self.provider)],
                by: "created",
                [
                    ("USER", { $0["user"]?.string }), ("EMAIL", { $0["email"]?.string }),
                    ("USER NAME", { $0["username"]?.string }), ("NAME", { $0["name"]?.string }),
                    ("STATE", { AccountState.text(of: $0) }), ("CREATED", { TimeArgument.text($0["created"]) }),
                ]
            )
        }
        try self.list.printList(
            of: "/v1/users",
            by: "last_sign_in",
            [
                ("USER", { $0["user"]?.string }), ("NAME", { $0["name"]?.string }), ("EMAIL", { $0["email"]?.string }),
                ("FIRST SIGN-IN", { TimeArgument.text($0["first_sign_in"]) }),
                ("LAST SIGN-IN", { TimeArgument.text($0["last_sign_in"]) }),
            ]
        )
    }
}
