// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import GateCommandLine
internal import GateCore
internal import GateOperations

struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Lists and rotates the keys of a running gateway: those that sign assertions, and its secret.",
        subcommands: [ListKeys.self, RotateKeys.self]
    )
}

struct ListKeys: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the keys with what they are used for; never the keys themselves.",
        discussion: """
            'next' is published and used later, 'active' is used, 'previous' is still valid, 'expired' is not.
            """
    )

    @OptionGroup var gateway: OperationsOption

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        try self.gateway.perform { client throws(Failure) in
            let keys = try client.get("/v1/keys", [])
            guard !self.json else { return printLine(keys.pretty()) }
            var table = TextTable(["KEY", "USED FOR", "ROLE", "CREATED", "USED FROM"])
            for (member, id, purpose) in [("assertion_keys", "id", "assertions"), ("secrets", "file", "sessions")] {
                for key in keys[member]?.array ?? [] {
                    table.add([
                        key[id]?.string, purpose, key["role"]?.string, TimeArgument.text(key["created"]),
                        TimeArgument.text(key["used_from"]),
                    ])
                }
            }
            for line in table.lines { printLine(line) }
            let count = keys["secrets_in_configuration"]?.integer ?? 0
            if count > 0 {
                printLine("'gateway.secret' in the configuration has \(count) secret\(count == 1 ? "" : "s")")
            }
        }
    }
}

struct RotateKeys: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Adds a key that signs assertions, or with --secret a gateway secret.",
        discussion: """
            The new key is published at once and used later ('assertion.publish_ahead'); the old one stays valid as long \
            as what it has signed or sealed. No user is signed out and no assertion is rejected. Gateways that share the \
            folder find the key by themselves.
            """
    )

    @Flag(help: "Rotate the gateway secret in the state folder; one in the configuration is rotated there.")
    var secret = false

    @OptionGroup var gateway: OperationsOption

    /// How to rotate a secret that is in the configuration, which no command can edit.
    private static let steps = """
        'gateway.secret' is in the configuration. To rotate it without signing users out:
        1. openssl rand -base64 32 makes a new secret.
        2. Write a list, with the old secret first: secret: [${env:OLD}, ${env:NEW}]; restart or reload every gateway.
        3. Write the new one first: secret: [${env:NEW}, ${env:OLD}]; restart or reload every gateway.
        4. After 'sessions.lifetime' (7d by default) remove the old one; restart or reload every gateway.
        """

    func run() throws {
        var isDone = true
        try self.gateway.perform { client throws(Failure) in
            if self.secret, (try client.get("/v1/keys", []))["secrets_in_configuration"]?.integer ?? 0 > 0 {
                isDone = false
                return printLine(RotateKeys.steps)
            }
            let result = try client.post("/v1/keys/rotate", ["secret": .bool(self.secret)])
            printLine("added a key, which is used from \(TimeArgument.text(result["used_from"])) on")
        }
        guard isDone else { throw ExitCode(1) }
    }
}
