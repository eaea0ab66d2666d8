// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import GateCommandLine
internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateOperations
internal import GateServer
internal import Logging

/// The command `gatehouse serve`.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Runs the gateway. SIGHUP or a changed file reloads, SIGTERM drains.",
        discussion: """
            Environment: OTEL_EXPORTER_OTLP_ENDPOINT names an OpenTelemetry collector, to which traces are exported over OTLP/HTTP; \
            docs/tracing.md lists this and the other variables OTEL_*. Without them, tracing is off.
            """
    )

    @OptionGroup var file: ConfigurationOption

    @Option(
        help: """
            Seconds to go on accepting connections after SIGTERM, while /readyz already returns 503. \
            (default: 'drain.delay' of the file, which is 5s)
            """
    )
    var drainDelay: Int?

    @Flag(help: "Take the listening sockets that systemd hands over (LISTEN_FDS) instead of opening them.")
    var listenFds = false

    @Option(
        name: .customLong("guard"),
        help: ArgumentHelp(
            "Refuse a reload that takes access to an app from more than this share of its users, until it is confirmed.",
            valueName: "5%"
        )
    )
    var maxLoss: ShareArgument?

    @Option(help: "How much to log: debug, info, warning or error.")
    var logLevel = "info"

    func validate() throws {
        guard (0...3600).contains(self.drainDelay ?? 0) else {
            throw ValidationError("--drain-delay takes 0 to 3600 seconds")
        }
        guard Logger.Level(rawValue: self.logLevel) != nil else {
            throw ValidationError("--log-level takes debug, info, warning or error")
        }
    }

    private func inherited(_ environment: [String: String]) throws -> [InheritedSocket] {
        do throws(Failure) {
            return try InheritedSocket.all(in: environment)
        } catch {
            printError("gatehouse: error: \(error.code): \(error.detail)")
            throw ExitCode(1)
        }
    }

    func run() async throws {
        let result = try self.file.load(show: showInLog)
        var options = GatewayOptions(
            configurationFile: self.file.config,
            environment: ProcessInfo.processInfo.environment
        )
        options.version = BuildInfo.version
        options.logs = logRouter
        options.maxLoss = self.maxLoss?.share
        options.drainDelay = self.drainDelay.map { .seconds($0) }
        if self.listenFds { options.inherited = try self.inherited(options.environment) }
        let logger = makeLogger(level: Logger.Level(rawValue: self.logLevel) ?? .info)
        let trap = await SignalTrap()
        let gateway = try await started(result, options: options, logger: logger)
        logger.info(
            "serving",
            metadata: [
                "addresses": "\(gateway.addresses.joined(separator: " "))", "configuration": "\(self.file.config)",
                "version": "\(BuildInfo.version)",
            ]
        )
        guard await gateway.run(trap, show: showInLog) else {
            logger.warning("some requests were cut off")
            throw ExitCode(1)
        }
    }
}
