// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import GateCommandLine
internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateOperations
internal import GateServer
internal import Glibc
internal import Logging

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

    @Flag(
        help: """
            Take the listening sockets that systemd hands over (LISTEN_FDS) instead of opening them. The gateway runs in a child \
            process, which goes on draining after SIGTERM when this one has ended.
            """
    )
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

    /// Does what may fail with a message and exit code 1.
    private func reporting<Value>(_ body: () async throws(Failure) -> Value) async throws -> Value {
        do throws(Failure) {
            return try await body()
        } catch {
            printError("gatehouse: error: \(error.code): \(error.detail)")
            throw ExitCode(1)
        }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let trap = await SignalTrap()
        let service = self.listenFds ? ServiceLink(environment: environment) : nil
        guard !self.listenFds || service != nil else {
            throw ExitCode(
                try await self.reporting { () async throws(Failure) in
                    try await ServiceProcess.run(environment: environment, trap: trap)
                }
            )
        }
        let result = try self.file.load(show: showInLog)
        if let remark = result.configuration?.gateway.missingProxies {
            showInLog([Diagnostic(.warning, remark, at: nil)])
        }
        var options = GatewayOptions(configurationFile: self.file.config, environment: environment)
        options.version = BuildInfo.version
        options.logs = logRouter
        options.maxLoss = self.maxLoss?.share
        options.drainDelay = self.drainDelay.map { .seconds($0) }
        options.service = service
        if self.listenFds {
            options.inherited = try await self.reporting { () async throws(Failure) in
                try InheritedSocket.all(in: environment, of: getppid())
            }
        }
        let logger = makeLogger(level: Logger.Level(rawValue: self.logLevel) ?? .info)
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
