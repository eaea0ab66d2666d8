// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import GateCommandLine
internal import GateConfiguration
internal import GateCore
internal import GateDiagnostics

struct ProbeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Asks an app directly, without the gateway, and reports whether it can be bypassed.",
        discussion: """
            Sends GET requests to the upstream of the app from this machine: without an identity, with forged identity \
            headers in many names and spellings, and with invalid assertions. Exits with 1 if the app accepted one, with the \
            setting that prevents it. Run it where an attacker would be: on another machine of the network, and beside the app. \
            As the gateway's user it also tries an expired assertion and one for another app.
            """
    )

    @Argument(help: "The app, by its name in the file.")
    var app: String

    @Option(help: ArgumentHelp("A path of the app that needs a sign-in. (default: the app's path)", valueName: "path"))
    var path: String?

    @OptionGroup var file: ConfigurationOption

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard self.path?.hasPrefix("/") ?? true, self.path.map({ !$0.contains(" ") }) ?? true else {
            throw ValidationError("--path begins with '/' and has no spaces")
        }
    }

    func run() async throws {
        guard let configuration = try self.file.load().configuration else { throw ExitCode(1) }
        guard let probe = BypassProbe(of: self.app, in: configuration, path: self.path) else {
            printError("gatehouse: error: \(self.file.config) has no app '\(self.app)'")
            throw ExitCode(1)
        }
        let report: BypassReport
        do throws(Failure) {
            report = try await probe.run()
        } catch {
            printError("gatehouse: error: \(error.code): \(error.detail)")
            throw ExitCode(1)
        }
        printLine(self.json ? report.json.pretty() : report.text)
        guard report.isGood else { throw ExitCode(1) }
    }
}
