// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import GateCommandLine
internal import GateConfiguration
internal import GateCore
internal import GateDiagnostics
internal import GateOperations
internal import GatePages
internal import GateServer

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Reads and checks the configuration file; exits with 1 if it cannot be used.",
        discussion: """
            With --online it also asks each provider for its documents, its certificates and the time, and prints what \
            to register there. No sign-in happens and no secret is sent to them. It asks each app at its public URL without a \
            session, and fails if a page comes. With 'mail' it logs in at the mail server, and with a Redis in \
            'sessions.store' at that. A failure there exits with 1 as well.
            """
    )

    @OptionGroup var file: ConfigurationOption

    @Flag(help: "Also ask the providers, and the apps at their public URLs.")
    var online = false

    @Option(help: ArgumentHelp("With --online, ask this provider only.", valueName: "name"))
    var provider: String?

    @Flag(help: "Print all that is found as JSON.")
    var json = false

    func validate() throws {
        guard self.online || self.provider == nil else { throw ValidationError("--provider needs --online") }
    }

    func run() async throws {
        var report = CheckReport(of: self.file.config, isJSON: self.json)
        // Without a configuration, the report has the errors.
        let result = try? self.file.load { report.add($0) }
        if let configuration = result?.configuration {
            report.add(configuration)
            if self.online, report.isUsable { await self.checkOnline(configuration, &report) }
        }
        report.end()
        guard result != nil, report.isUsable else { throw ExitCode(1) }
    }

    private func checkOnline(_ configuration: Configuration, _ report: inout CheckReport) async {
        do throws(Failure) {
            var findings = try await ProviderDiagnostics(of: configuration, only: self.provider).lines()
            if self.provider == nil { findings += try await AppDiagnostics(of: configuration).lines() }
            report.add(findings)
        } catch {
            report.fail(error)
        }
    }
}

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

    @Flag(help: "Print the English texts of the pages instead, as they are written below 'pages.texts'.")
    var texts = false

    func validate() throws {
        guard [self.reference, self.errors, self.metrics, self.status, self.texts].count(where: \.self) <= 1 else {
            throw ValidationError("use one of --reference, --errors, --metrics, --status and --texts")
        }
    }

    func run() throws {
        guard !self.errors else { return commandOutput.write(Failure.reference) }
        guard !self.metrics else { return commandOutput.write(MetricSeries.reference) }
        guard !self.status else { return commandOutput.write(GatewayStatus.schemaText) }
        guard !self.texts else { return commandOutput.write(PageLanguage.reference) }
        commandOutput.write(self.reference ? Configuration.reference : Configuration.jsonSchema)
    }
}
