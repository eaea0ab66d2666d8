// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Dispatch
internal import Foundation
internal import GateConfiguration
internal import GateCore
internal import GateDemo
internal import GateOperations
internal import GateServer
internal import Logging

/// `gatehouse demo`.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Runs everything on this machine: simulated providers, a sample app, the gateway.",
        discussion: """
            Needs no account and no internet. Nothing is kept: its folder is removed at the end. \
            A quirk is one way in which a provider differs from what one would expect, \
            or goes wrong: --quirk list names them all.
            """
    )

    @Option(help: "The port to open in the browser.")
    var port = 8080

    @Option(help: "The port for health and metrics; 0 for any that is free.")
    var operationsPort = 0

    @Option(
        help: """
            The port of the first provider's pages; those of the others follow it. Fixed ports can be forwarded by one \
            SSH connection. 0 for any that are free.
            """
    )
    var providerPort = 0

    @Option(help: "A provider to simulate, or all; can be repeated. (default: google, github, microsoft)")
    var provider: [String] = []

    @Option(help: "Something to be odd about a provider, or list; can be repeated.")
    var quirk: [String] = []

    @Flag(help: "Print the gateway's log.")
    var verbose = false

    func validate() throws {
        guard (1...65_535).contains(self.port), (0...65_535).contains(self.operationsPort) else {
            throw ValidationError("a port is a number from 1 to 65535")
        }
        guard self.providerPort == 0 || (1...65_000).contains(self.providerPort) else {
            throw ValidationError("--provider-port takes 1 to 65000, or 0 for any that are free")
        }
        guard !self.quirk.contains("list") else { return }
        let plan: DemoOptions
        do throws(Failure) {
            plan = try self.plan()
        } catch {
            throw ValidationError(error.detail)
        }
        guard Set(plan.pagePorts).isDisjoint(with: [self.port, max(1, self.operationsPort)]) else {
            let range = "--provider-port and the \(plan.providers.count - 1) ports after it"
            throw ValidationError("\(range) must not include --port or --operations-port")
        }
    }

    private func plan() throws(Failure) -> DemoOptions {
        let quirks = try DemoQuirks(self.quirk)
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
            printLine(Self.quirkList)
            return
        }
        let plan = try self.plan()
        let folder = NSTemporaryDirectory() + "gatehouse-demo-\(ProcessInfo.processInfo.processIdentifier)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let signals = self.leaveOnSignal(removing: folder)
        defer {
            for source in signals { source.cancel() }
        }
        let world: DemoEnvironment
        do {
            world = try await DemoEnvironment.start(plan, in: folder)
        } catch {
            let reason = (error as? Failure)?.detail ?? "\(error)"
            printError("gatehouse: error: the demo cannot start: \(reason)")
            throw ExitCode(1)
        }
        defer { world.stop() }
        try await self.serve(world, plan, folder: folder)
    }

    /// Ends the program without a trace when it is told to stop, whatever it is at.
    ///
    /// There is nothing to drain for: everybody who is served is on this machine.
    private func leaveOnSignal(removing folder: String) -> [any DispatchSourceSignal] {
        [SIGINT, SIGTERM].map { (number: Int32) -> any DispatchSourceSignal in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                try? FileManager.default.removeItem(atPath: folder)
                logWriter.flush()
                Foundation.exit(0)
            }
            source.resume()
            return source
        }
    }

    private func serve(_ world: DemoEnvironment, _ plan: DemoOptions, folder: String) async throws {
        let path = folder + "/providers.yaml"
        do throws(Failure) {
            try PrivateFile.write(Array(world.configurationText.utf8), to: path)
        } catch {
            printError("gatehouse: error: \(error.detail)")
            throw ExitCode(1)
        }
        let result = ConfigurationFile.load(path: path, environment: [:])
        show(result.diagnostics.filter { $0.severity == .error })
        let gateway = try await started(
            result,
            options: GatewayOptions(configurationFile: path, environment: [:]),
            logger: makeLogger(level: self.verbose ? .debug : .error),
            whereToListen: "--port or --operations-port",
        )
        printLine(
            """

            Gatehouse demo: open this address, and stop with Ctrl-C

                http://localhost:\(self.port)/
            \(self.tunnel(for: plan))\(Self.lines(on: plan.quirks))
            The gateway's file, to look at or change while it runs: \(path)

            """
        )
        _ = await gateway.run(show: showInLog)
    }

    /// How to open the demo of another machine, if its ports are fixed.
    private func tunnel(for plan: DemoOptions) -> String {
        guard plan.providerPort != 0 else { return "" }
        let ports = [plan.gatewayPort] + plan.pagePorts
        let options = ports.map { "-L \($0):localhost:\($0)" }.joined(separator: " ")
        return "\nFrom another machine: ssh \(options) this-machine\n"
    }

    /// Every quirk under its provider, for `--quirk list`.
    private static var quirkList: String {
        let groups = (DemoCatalogue.names + ["any"]).map { name in
            let lines = DemoQuirk.all.filter { $0.provider == name }.map { "  \($0.name)\n      \($0.summary)" }
            return (lines.isEmpty ? [] : ["\(name)"] + lines).joined(separator: "\n")
        }
        return groups.filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    private static func lines(on quirks: DemoQuirks) -> String {
        let chosen = DemoQuirk.all.filter { quirks.contains($0.name) }
        guard !chosen.isEmpty else { return "" }
        return "\nQuirks that are on:\n\n" + chosen.map { "    \($0.name): \($0.summary)\n" }.joined()
    }
}
