// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Dispatch
internal import GateCommandLine
internal import GateConfiguration
internal import GateCore
internal import GateDemo
internal import GateServer
internal import Logging

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Runs everything on this machine: simulated providers, a sample app, the gateway.",
        discussion: """
            Needs no account and no internet. Keeps nothing: its folder is removed at the end. A quirk is a deviation \
            of a provider from what a client expects: --quirk list prints them all.
            """
    )

    @Option(help: "The port to open in the browser.")
    var port = 8080

    @Option(help: "The port for health and metrics; 0 for any free port.")
    var operationsPort = 0

    @Option(
        help: """
            The port of the first provider's pages; those of the others follow it. Fixed ports can be forwarded by one \
            SSH connection. 0 for any free ports.
            """
    )
    var providerPort = 0

    @Option(help: "A provider to simulate, or all; can be repeated. (default: google, github, microsoft)")
    var provider: [String] = []

    @Option(help: "A quirk to switch on, or list; can be repeated.")
    var quirk: [String] = []

    @Flag(help: "With --quirk list, print JSON.")
    var json = false

    @Flag(help: "Print the gateway's log.")
    var verbose = false

    func validate() throws {
        guard (1...65_535).contains(self.port), (0...65_535).contains(self.operationsPort) else {
            throw ValidationError("a port is a number from 1 to 65535")
        }
        guard self.providerPort == 0 || (1...65_000).contains(self.providerPort) else {
            throw ValidationError("--provider-port takes 1 to 65000, or 0 for any free ports")
        }
        guard !self.quirk.contains("list") else { return }
        guard !self.json else { throw ValidationError("--json needs --quirk list") }
        let options: DemoOptions
        do throws(Failure) {
            options = try self.options()
        } catch {
            throw ValidationError(error.detail)
        }
        guard Set(options.pagePorts).isDisjoint(with: [self.port, max(1, self.operationsPort)]) else {
            let range = "--provider-port and the \(options.providers.count - 1) ports after it"
            throw ValidationError("\(range) must not include --port or --operations-port")
        }
    }

    private func options() throws(Failure) -> DemoOptions {
        let quirks = try DemoCatalogue.quirks(named: self.quirk)
        return DemoOptions(
            providers: try DemoCatalogue.chosen(self.provider, quirks: quirks),
            quirks: quirks,
            gatewayPort: self.port,
            operationsPort: self.operationsPort,
            providerPort: self.providerPort,
        )
    }

    func run() async throws {
        guard !self.quirk.contains("list") else {
            let names = DemoCatalogue.names + ["any"]
            return printLine(self.json ? QuirkList.json(of: names) : QuirkList.text(of: names))
        }
        let options = try self.options()
        let folder = RunFolder()
        defer { folder.remove() }
        let signals = folder.exitOnSignal()
        defer {
            for source in signals { source.cancel() }
        }
        let environment: DemoEnvironment
        do {
            environment = try await DemoEnvironment(options, in: folder.path)
        } catch {
            let reason = (error as? Failure)?.detail ?? "\(error)"
            printError("gatehouse-demo: error: the demo cannot start: \(reason)")
            throw ExitCode(1)
        }
        defer { environment.stop() }
        try await self.serve(environment, options, folder: folder.path)
    }

    private func serve(_ environment: DemoEnvironment, _ options: DemoOptions, folder: String) async throws {
        let path = folder + "/providers.yaml"
        do throws(Failure) {
            try PrivateFile.write(Array(environment.configurationText.utf8), to: path)
        } catch {
            printError("gatehouse-demo: error: \(error.detail)")
            throw ExitCode(1)
        }
        let result = Configuration.load(path: path, environment: [:])
        show(result.diagnostics.filter { $0.severity == .error })
        let gateway = try await started(
            result,
            options: GatewayOptions(configurationFile: path, environment: [:]),
            logger: makeLogger(level: self.verbose ? .debug : .error),
            whereToListen: "--port or --operations-port",
        )
        printLine(
            """

            Gatehouse demo: open this URL, and stop with Ctrl-C

                http://localhost:\(self.port)/
            \(self.tunnel(for: options))\(QuirkList.text(on: options.quirks))
            The gateway's file, to read or change while it runs: \(path)

            """
        )
        _ = await gateway.run(show: showInLog)
    }

    /// How to open the demo from another machine, if its ports are fixed.
    private func tunnel(for options: DemoOptions) -> String {
        guard options.providerPort != 0 else { return "" }
        let ports = [options.gatewayPort] + options.pagePorts
        let forwarded = ports.map { "-L \($0):localhost:\($0)" }.joined(separator: " ")
        return "\nFrom another machine: ssh \(forwarded) this-machine\n"
    }
}
