// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import GateCommandLine
internal import GateConfiguration
internal import GateCore
internal import GateDiagnostics
internal import GateOperations
internal import GateServer

/// The command `gatehouse check`.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Reads and checks the configuration file; exits with 1 if it cannot be used.",
        discussion: """
            With --online it also asks each provider for its documents, its certificates and the time, and prints what \
            to register there. No sign-in happens and no secret is sent. A failure there exits with 1 as well.
            """
    )

    @OptionGroup var file: ConfigurationOption

    @Flag(help: "Also ask the providers.")
    var online = false

    @Option(help: ArgumentHelp("With --online, ask this provider only.", valueName: "name"))
    var provider: String?

    func validate() throws {
        guard self.online || self.provider == nil else { throw ValidationError("--provider needs --online") }
    }

    func run() async throws {
        guard let configuration = try self.file.load().configuration else { throw ExitCode(1) }
        let providers = configuration.providerFailures
        for (provider, failure) in providers {
            printError("\(self.file.config): error: provider '\(provider)': \(failure.detail)")
        }
        let certificates = configuration.certificateFailures
        for failure in certificates {
            printError("\(self.file.config): error: \(failure.detail)")
        }
        let remarks = configuration.certificateRemarks(at: WallClock.system.now)
        for remark in remarks {
            printError("\(self.file.config): \(remark.isFatal ? "error" : "warning"): \(remark.text)")
        }
        guard providers.isEmpty, certificates.isEmpty, !remarks.contains(where: \.isFatal) else { throw ExitCode(1) }
        for remark in configuration.expiredPins(at: WallClock.system.now) {
            printError("\(self.file.config): warning: \(remark)")
        }
        let counted = count(configuration.providers.count, "provider")
        printLine("\(self.file.config) is usable: \(counted), \(count(configuration.apps.count, "app"))")
        if self.online { try await self.checkOnline(configuration) }
    }

    private func checkOnline(_ configuration: Configuration) async throws {
        do throws(Failure) {
            let lines = try await ProviderDiagnostics(of: configuration, only: self.provider).lines()
            for row in ProviderFinding.rows(of: lines) { printLine(row) }
            printLine("online: \(ProviderFinding.summary(of: lines))")
            guard lines.contains(where: { $0.verdict == .failure }) else { return }
        } catch {
            printError("gatehouse: error: \(error.code): \(error.detail)")
        }
        throw ExitCode(1)
    }

    private func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}

/// The command `gatehouse schema`.
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Prints the JSON Schema of the configuration file, or a reference as Markdown."
    )

    @Flag(help: "Print the reference of all keys as Markdown instead, as in docs/configuration.md.")
    var reference = false

    @Flag(help: "Print the reference of all error codes as Markdown instead, which is docs/errors.md.")
    var errors = false

    @Flag(help: "Print the reference of all metrics as Markdown instead, which is docs/metrics.md.")
    var metrics = false

    @Flag(help: "Print the JSON Schema of /status instead, which is docs/status.schema.json.")
    var status = false

    func validate() throws {
        guard [self.reference, self.errors, self.metrics, self.status].count(where: \.self) <= 1 else {
            throw ValidationError("use one of --reference, --errors, --metrics and --status")
        }
    }

    func run() throws {
        guard !self.errors else { return commandOutput.write(Failure.reference) }
        guard !self.metrics else { return commandOutput.write(MetricSeries.reference) }
        guard !self.status else { return commandOutput.write(StatusSchema.text) }
        commandOutput.write(self.reference ? Configuration.reference : Configuration.jsonSchema)
    }
}
