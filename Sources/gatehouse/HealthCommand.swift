// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import GateCommandLine
internal import GateConfiguration
internal import GateCore
internal import GateOperations

extension HealthClient.Probe: ExpressibleByArgument {}

/// The command `gatehouse health`.
struct HealthCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Asks the running gateway for its health: exit code 0 if it is well, else 1 with the reason.",
        discussion: """
            For the probes of containers. It asks the operations listener that the configuration file names: 'ready' is \
            whether new clients should come, 'live' whether the event loops run, 'startup' whether it has begun to serve.
            """
    )

    @OptionGroup var file: ConfigurationOption

    @Option(help: "What to ask for: ready, live or startup.")
    var probe = HealthClient.Probe.ready

    @Option(help: "Seconds that each step may take.")
    var timeout = 5

    @Flag(help: "Print the checks with their failures as JSON.")
    var json = false

    func validate() throws {
        guard (1...60).contains(self.timeout) else { throw ValidationError("--timeout takes 1 to 60 seconds") }
    }

    func run() throws {
        guard let configuration = try self.file.load().configuration else { throw ExitCode(1) }
        do throws(Failure) {
            let client = HealthClient(configuration.gateway.operations)
            let health = try client.ask(self.probe, seconds: self.timeout)
            if self.json {
                printLine(health.report.pretty())
            } else if let failure = health.failure {
                printError("gatehouse: \(self.probe.rawValue): \(failure)")
            } else {
                printLine("ok")
            }
            guard health.failure != nil else { return }
        } catch {
            printError("gatehouse: error: \(error.code): \(error.detail)")
        }
        throw ExitCode(1)
    }
}
