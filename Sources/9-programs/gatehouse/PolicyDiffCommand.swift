// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import GateCommandLine
internal import GateConfiguration
internal import GateCore
internal import GateDiagnostics
internal import GateOperations
internal import GatePolicy

struct DiffPolicy: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Prints who gains and who loses access under another configuration file, and by which rule.",
        discussion: """
            Compares the decisions of the configuration file and of NEW for the users of the running gateway who were seen \
            during the last 30 days, or who can have a session. Exit code: 0 without a difference, 1 with one, 2 if the files \
            or the users cannot be read.

              gatehouse policy diff new.yaml
              gatehouse policy diff new.yaml --export users.jsonl
              gatehouse policy diff new.yaml --with old.yaml --users users.jsonl --guard 5%
            """
    )

    @Argument(help: "The other configuration file.")
    var new: String

    @Option(help: ArgumentHelp("The file to compare with. (default: the configuration file)", valueName: "old"))
    var with: String?

    @Option(help: ArgumentHelp("Users that --export has saved, instead of a running gateway's.", valueName: "file"))
    var users: String?

    @Option(help: ArgumentHelp("Save the users for --users: their profiles as rules see them.", valueName: "file"))
    var export: String?

    @Option(
        name: .customLong("guard"),
        help: ArgumentHelp("Exit with 1 only if more than this share of the users of an app lose it.", valueName: "5%")
    )
    var maxLoss: ShareArgument?

    @Option(help: ArgumentHelp("The time at which to compare: 2026-11-22T10:00:00Z. (default: now)", valueName: "time"))
    var time: TimeArgument?

    @Option(help: "How many users to name for each change, 0 to 1000.")
    var limit = 5

    @OptionGroup var gateway: OperationsOption

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard (0...1000).contains(self.limit) else { throw ValidationError("--limit takes 0 to 1000") }
        guard self.users == nil || self.export == nil else { throw ValidationError("use one of --users and --export") }
    }

    func run() throws {
        do {
            let difference = try self.difference()
            self.show(difference)
            let isDifferent = self.maxLoss.map { !difference.losses(above: $0.share).isEmpty } ?? !difference.isEmpty
            guard isDifferent else { return }
        } catch {
            // Not 1, which is a result.
            throw ExitCode(2)
        }
        throw ExitCode(1)
    }

    private func show(_ difference: PolicyDifference) {
        let json = difference.json()
        if self.json { return printLine(json.pretty()) }
        for line in PolicyDifferenceReport(json).lines { printLine(line) }
    }

    private func difference() throws -> PolicyDifference {
        var comparison = PolicyComparison(
            old: try self.apps(of: self.with ?? self.gateway.file.config),
            new: try self.apps(of: self.new),
            examples: self.limit,
            at: self.time?.instant ?? WallClock.system.now
        )
        if let users {
            try reportingFailure { () throws(Failure) in
                try SavedUsers.read(users) { profile throws(Failure) in try Self.add(profile, to: &comparison) }
            }
        } else {
            try self.gateway.perform { client throws(Failure) in
                try self.warnOfOtherContent(client)
                try self.addUsers(of: client, to: &comparison)
            }
        }
        guard let difference = comparison.difference() else { throw ExitCode(2) }
        return difference
    }

    private func apps(of path: String) throws -> [AppRules] {
        let result = Configuration.load(path: path, environment: ProcessInfo.processInfo.environment)
        GateCommandLine.show(result.diagnostics.filter { $0.severity == .error })
        guard let configuration = result.configuration else { throw ExitCode(2) }
        return configuration.apps.map(\.rules)
    }

    private func addUsers(of client: OperationsClient, to comparison: inout PolicyComparison) throws(Failure) {
        var saved: [UInt8] = []
        var cursor: String?
        repeat {
            let page = try client.get("/v1/policy/users", [("limit", "\(Self.page)"), ("cursor", cursor)])
            for user in page["users"]?.array ?? [] {
                if self.export != nil { saved += user.encoded + [0x0A] }
                try Self.add(try Profile(described: user), to: &comparison)
            }
            cursor = page["next"]?.string
        } while cursor != nil
        if let export { try PrivateFile.write(saved, to: export) }
    }

    /// So many users fit a response, whatever their groups.
    private static let page = 200

    /// Warns if the gateway has not loaded the file with which the other one is compared.
    private func warnOfOtherContent(_ client: OperationsClient) throws(Failure) {
        let file = self.gateway.file.config
        let policy = try client.get("/v1/policy", [])
        guard self.with == nil, let loaded = policy["configuration_hash"]?.string,
            case .bytes(let bytes) = FileAccess.system.read(file, limit: 16 << 20),
            ContentDigest.name(of: bytes) != loaded
        else { return }
        printError("gatehouse: warning: the gateway has another version of \(file) in force than the one on disk")
    }

    private static func add(_ profile: Profile, to comparison: inout PolicyComparison) throws(Failure) {
        guard comparison.add(profile) else {
            throw Failure(.policyQuestion, "there are over \(PolicyComparison.maxUsers) users")
        }
    }
}

/// A share of users, such as `5%`.
struct ShareArgument: ExpressibleByArgument, Sendable {
    let share: AccessShare

    init?(argument: String) {
        guard let share = AccessShare(argument) else { return nil }
        self.share = share
    }
}

struct ConfirmPolicy: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "confirm",
        abstract: "Loads the configuration that 'serve --guard' has refused.",
        discussion: """
            Without --content it only prints what would change. CONTENT is what it prints, and the log: other files than those \
            that were refused are not loaded. A refused reload can be confirmed for an hour.
            """
    )

    @Option(help: ArgumentHelp("The content of the refused files, by its name in the log.", valueName: "name"))
    var content: String?

    @OptionGroup var gateway: OperationsOption

    @Flag(help: "Print JSON.")
    var json = false

    /// How often, ten times a second, the gateway is asked whether it has loaded the files.
    private static let attempts = 300

    func run() throws {
        try self.gateway.perform { client throws(Failure) in
            let policy = try client.get("/v1/policy", [])
            guard let content else { return try self.show(policy) }
            _ = try client.post("/v1/policy/confirm", ["content": .string(content)])
            try self.wait(for: content, after: policy["reloads"]?.integer ?? 0, client)
        }
    }

    private func show(_ policy: JSON) throws(Failure) {
        let refused = policy["refused_reload"] ?? .null
        if self.json { return printLine(refused.pretty()) }
        guard let content = refused["content"]?.string else {
            throw Failure(.policyLoss, "no reload waits to be confirmed")
        }
        printLine(
            "refused   \(TimeArgument.text(refused["at"])), can be confirmed until \(TimeArgument.text(refused["expires"]))"
        )
        printLine("because   \(PrintableText.escaped(refused["detail"]?.string ?? "", limit: 1000))")
        if let difference = refused["difference"], difference != .null {
            printLine("")
            for line in PolicyDifferenceReport(difference).lines { printLine(line) }
        }
        printLine("")
        printLine("To load these files: gatehouse policy confirm --content \(PrintableText.escaped(content))")
    }

    private func wait(for content: String, after reloads: Int64, _ client: OperationsClient) throws(Failure) {
        for _ in 0..<Self.attempts {
            let policy = try client.get("/v1/policy", [])
            if policy["content"]?.string == content { return printLine("loaded") }
            guard policy["reloads"]?.integer == reloads else {
                throw Failure(.policyLoss, policy["last_reload"]?["detail"]?.string ?? "the reload failed")
            }
            Thread.sleep(forTimeInterval: 0.1)
        }
        throw Failure(.policyLoss, "the gateway has not loaded the files yet; see its log")
    }
}
