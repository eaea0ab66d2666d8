// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Dispatch
internal import Foundation
internal import GateConfiguration
internal import GateCore
internal import GateDemo
internal import GateServer
internal import Logging

/// `gatehouse demo`.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Runs everything on this machine: three simulated providers, a sample app, the gateway.",
        discussion: "Needs no account and no internet. Nothing is kept: its folder is removed at the end."
    )

    @Option(help: "The port to open in the browser.")
    var port = 8080

    @Option(help: "The port for health and metrics; 0 for any that is free.")
    var operationsPort = 0

    @Flag(help: "Print the gateway's log.")
    var verbose = false

    func validate() throws {
        guard (1...65_535).contains(self.port), (0...65_535).contains(self.operationsPort) else {
            throw ValidationError("a port is a number from 1 to 65535")
        }
    }

    func run() async throws {
        let folder = NSTemporaryDirectory() + "gatehouse-demo-\(ProcessInfo.processInfo.processIdentifier)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let impatience = self.leaveOnSignal(removing: folder)
        let world: DemoWorld
        do {
            var ports = DemoWorld.Ports()
            ports.operations = self.operationsPort
            world = try await DemoWorld.start(in: folder, gatewayPort: self.port, ports: ports)
        } catch {
            let reason = (error as? Failure)?.detail ?? "\(error)"
            complain("gatehouse: error: the demo cannot start: \(reason)")
            throw ExitCode(1)
        }
        defer { world.stop() }
        try await self.serve(world, folder: folder) {
            for source in impatience { source.cancel() }
        }
    }

    /// Ends the program without a trace if it is told to stop before the gateway listens to signals.
    private func leaveOnSignal(removing folder: String) -> [any DispatchSourceSignal] {
        [SIGINT, SIGTERM].map { (number: Int32) -> any DispatchSourceSignal in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                try? FileManager.default.removeItem(atPath: folder)
                Foundation.exit(0)
            }
            source.resume()
            return source
        }
    }

    private func serve(_ world: DemoWorld, folder: String, whenReady: () -> Void) async throws {
        let path = folder + "/providers.yaml"
        do throws(Failure) {
            try PrivateFile.write(Array(world.configurationText.utf8), to: path)
        } catch {
            complain("gatehouse: error: \(error.detail)")
            throw ExitCode(1)
        }
        let result = ConfigurationFile.load(path: path, environment: [:])
        show(result.diagnostics.filter { $0.severity == .error })
        var options = GatewayOptions(configurationFile: path, environment: [:])
        options.drainDelay = .zero
        options.drainTimeout = .seconds(2)
        let gateway = try await started(
            result,
            options: options,
            logger: makeLogger(level: self.verbose ? .debug : .error),
            whereToListen: "--port or --operations-port",
        )
        whenReady()
        say(
            """

            Gatehouse demo: open this address, and stop with Ctrl-C

                http://localhost:\(self.port)/

            The gateway's file, to look at or change while it runs: \(path)

            """
        )
        _ = await gateway.run(show: show)
    }
}
