// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import GateCommandLine
internal import GateConfiguration
internal import GateCore
internal import GateDiagnostics
internal import GateOperations

struct PolicyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Explains, tests and compares the decisions of the rules.",
        subcommands: [ExplainPolicy.self, TestPolicy.self, DiffPolicy.self, ConfirmPolicy.self]
    )
}

struct ExplainPolicy: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Prints the decision on a request and the result of each rule.",
        discussion: """
            FILE holds a profile as JSON, as /oauth2/userinfo returns it; '-' reads standard input. USER is a user key, whose \
            profile is that of the last sign-in, from a running gateway. Without --as there is no session.

              gatehouse policy explain wiki --as ann.json --path /admin --method POST
              gatehouse policy explain wiki --as google:104729384756102938475 --path / --network 10.0.0.7
            """
    )

    @Argument(help: "The name of the app.")
    var app: String

    @Option(name: .customLong("as"), help: ArgumentHelp("The user.", valueName: "file|user"))
    var user: String?

    @Option(help: "The path of the request.")
    var path = "/"

    @Option(help: "The method of the request.")
    var method = "GET"

    @Option(help: ArgumentHelp("The client IP.", valueName: "ip"))
    var network: String?

    @Option(help: ArgumentHelp("The time of the request: 2026-11-22T10:00:00Z. (default: now)", valueName: "time"))
    var time: TimeArgument?

    @Option(help: ArgumentHelp("When the user last authenticated. (default: the profile's)", valueName: "time"))
    var authenticated: TimeArgument?

    @Option(help: ArgumentHelp("When the user last used a passkey. (default: never)", valueName: "time"))
    var passkey: TimeArgument?

    @Option(help: ArgumentHelp("The method of the message to an MCP server.", valueName: "method"))
    var mcpMethod: String?

    @Option(help: ArgumentHelp("The tool that the message calls.", valueName: "tool"))
    var mcpTool: String?

    @Option(
        help: ArgumentHelp(
            "What the access token of a client permits, separated by spaces. (default: no token, but the user's own session)",
            valueName: "scopes"
        )
    )
    var scope: String?

    @Option(
        name: .customLong("certificate"),
        help: ArgumentHelp(
            "The verified certificate of the client: any, subject=NAME, issuer=NAME, san=dns:HOST or fingerprint=SHA256; repeatable.",
            valueName: "part"
        )
    )
    var certificate: [String] = []

    @OptionGroup var gateway: OperationsOption

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard self.network.map({ IPAddress($0) != nil }) ?? true else {
            throw ValidationError("--network takes an IP address such as 192.0.2.7")
        }
    }

    func run() throws {
        guard let configuration = try self.gateway.file.load().configuration else { throw ExitCode(1) }
        let profile = try self.user.map { try self.profile($0) }
        var question = PolicyQuestion(
            app: self.app,
            profile: profile,
            path: self.path,
            time: self.time?.instant ?? WallClock.system.now
        )
        question.method = self.method
        question.client = self.network.flatMap { IPAddress($0) }
        question.authenticated = self.authenticated?.instant
        question.passkeyUsed = self.passkey?.instant
        (question.mcpMethod, question.mcpTool) = (self.mcpMethod, self.mcpTool)
        question.scopes = self.scope.map { $0.split(separator: " ").map(String.init) }
        try reportingFailure { () throws(Failure) in
            if !self.certificate.isEmpty {
                var certificate = CertificateQuestion()
                for part in self.certificate { try certificate.add(part) }
                question.certificate = certificate.facts
            }
            let response = try question.response(of: configuration)
            var files: [String: [Substring]] = [:]
            printLine(
                self.json
                    ? response.json.pretty() : response.text { Self.line($0, &files) }
            )
        }
    }

    private func profile(_ user: String) throws -> Profile {
        let isFile = user == "-" || FileManager.default.fileExists(atPath: user)
        var found: JSON?
        if isFile {
            try reportingFailure { () throws(Failure) in found = try SavedJSON.read(user, for: .policyQuestion) }
        } else {
            guard user.contains(":") else {
                printError("gatehouse: error: '\(PrintableText.escaped(user))' is neither a file nor a user key")
                throw ExitCode(1)
            }
            try self.gateway.perform { client throws(Failure) in
                found = try client.elements(of: "/v1/users", [("user", user)], limit: 1).elements.first
                guard found != nil else {
                    let shown = PrintableText.escaped(user)
                    throw Failure(.policyQuestion, "\(shown) has not signed in; write the profile to a file for --as")
                }
            }
        }
        var profile: Profile?
        try reportingFailure { () throws(Failure) in
            profile = try found.map { json throws(Failure) in
                try Profile(described: json)
            }
        }
        guard let profile else { throw ExitCode(1) }
        return profile
    }

    /// The line of a rule in its file.
    private static func line(_ place: RulePlace, _ files: inout [String: [Substring]]) -> String? {
        if files[place.file] == nil, case .bytes(let bytes) = FileAccess.system.read(place.file, limit: 16 << 20) {
            files[place.file] = String(decoding: bytes, as: UTF8.self).split(
                separator: "\n",
                omittingEmptySubsequences: false
            )
        }
        guard let lines = files[place.file], lines.indices.contains(place.line - 1) else { return nil }
        return PrintableText.escaped(lines[place.line - 1].drop { $0 == " " }, limit: 200)
    }
}

struct TestPolicy: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Compares the decisions of the rules with those that a file expects; exits with 1 on a difference.",
        discussion: """
            FILE holds users and cases as YAML:

              users:
                ann: { user: "google:1047", email: ann@example.com, groups: [staff] }
              cases:
                - { app: wiki, as: ann, path: /admin, method: POST, expect: denied }

            'expect' is one of allowed, denied, sign_in and public. A case may also have client, time, mcp_method, mcp_tool, certificate, \
            authenticated and passkey (how long ago) and rule (the line, or the file and line, of the rule that decides). Without 'as' there is no session.
            """
    )

    @Argument(help: "The file of cases.")
    var cases: String

    @OptionGroup var file: ConfigurationOption

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        guard let configuration = try self.file.load().configuration else { throw ExitCode(1) }
        guard case .bytes(let bytes) = FileAccess.system.read(self.cases, limit: 16 << 20) else {
            printError("gatehouse: error: the file '\(self.cases)' cannot be read, or is larger than 16 MiB")
            throw ExitCode(1)
        }
        let environment = ProcessInfo.processInfo.environment
        let (cases, diagnostics) = PolicyCases.read(bytes, name: self.cases, environment: environment)
        show(diagnostics)
        guard let results = cases?.results(by: configuration, at: WallClock.system.now) else { throw ExitCode(1) }
        let failed = results.filter { $0.difference != nil }
        if self.json {
            let members: JSON = [
                "cases": .int(Int64(results.count)), "failed": .int(Int64(failed.count)),
                "results": .array(results.map(\.json)),
            ]
            printLine(members.pretty())
        } else {
            for result in failed {
                printLine("\(result.place): \(PrintableText.escaped(result.difference ?? "", limit: 400))")
            }
            let noun = results.count == 1 ? "case" : "cases"
            printLine("\(results.count) \(noun), \(failed.count) failed")
        }
        guard failed.isEmpty else { throw ExitCode(1) }
    }
}

/// Runs a piece of work; a failure is printed and ends the command with exit code 1.
func reportingFailure(_ work: () throws(Failure) -> Void) throws {
    do throws(Failure) {
        try work()
    } catch {
        printError("gatehouse: error: \(error.code): \(error.detail)")
        throw ExitCode(1)
    }
}
