// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import GateCommandLine
internal import GateConfiguration
internal import GateCore
internal import GateOperations

extension HealthClient.Probe: ExpressibleByArgument {}

struct HealthCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Asks the running gateway for its health: exit code 0 if it is well, else 1 with the reason.",
        discussion: """
            For the probes of containers. 'ready' is whether new clients should come, 'live' whether the event loops run, \
            'startup' whether it has begun to serve. It asks the operations listener that the configuration file names, and \
            if that does not respond, the Unix socket. Errors of the file do not matter, as they do not to the running \
            gateway; with --socket the file is not read.
            """
    )

    @OptionGroup var file: ConfigurationOption

    @Option(help: ArgumentHelp("The Unix socket of the gateway, to be asked instead.", valueName: "path"))
    var socket: String?

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
        do throws(Failure) {
            let health = try self.ask()
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

    /// Asks the socket that is named, or the first of those of the file that responds.
    private func ask() throws(Failure) -> (report: JSON, failure: String?) {
        if let socket { return try HealthClient(socket: socket).ask(self.probe, seconds: self.timeout) }
        let place = self.file.operationsPlace
        do throws(Failure) {
            return try HealthClient(place.address).ask(self.probe, seconds: self.timeout)
        } catch {
            // The running gateway may have another address than a file that was changed since.
            if let socket = place.socket,
                let health = try? HealthClient(socket: socket).ask(self.probe, seconds: self.timeout)
            {
                return health
            }
            let cause = place.failure.map { "; \($0), so this is the default address" } ?? ""
            throw Failure(error.reason, "\(error.detail)\(cause); --socket names the gateway's Unix socket instead")
        }
    }
}
