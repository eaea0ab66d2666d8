// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Dispatch
internal import GateCommandLine
internal import GateCore
internal import GateDemo

/// The command `gatehouse-demo simulate`.
struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Runs one provider simulator with chosen quirks, for other test suites.",
        discussion: """
            Serves all endpoints over TLS with its own certificate authority, on 127.0.0.1 only. Browsers do not trust \
            that authority, so the authorization endpoint is also served over plain HTTP on a second port. Prints what \
            a client needs and the lines for providers.yaml, then runs until SIGINT or SIGTERM.
            """
    )

    @Argument(help: "The provider, such as google; --list prints them all.")
    var type: String?

    @Option(help: "The port of all endpoints, over TLS; 0 for any free port.")
    var port = 0

    @Option(help: "The port of the pages for browsers, over plain HTTP; 0 for any free port.")
    var pagesPort = 0

    @Option(help: "A quirk to switch on; can be repeated.")
    var quirk: [String] = []

    @Option(
        name: .customLong("redirect-uri"),
        help: "The client's redirect URI. (default: http://localhost:8080/oauth2/callback/TYPE)"
    )
    var redirectURI: String?

    @Option(help: "The client's secret. (default: a random one)")
    var clientSecret: String?

    @Option(help: "The folder for certificate and secret, which is kept. (default: a temporary folder)")
    var folder: String?

    @Flag(help: "Print JSON on one line.")
    var json = false

    @Flag(help: "Print the providers and their quirks, or those of TYPE, and exit.")
    var list = false

    func validate() throws {
        for port in [self.port, self.pagesPort] where !(0...65_535).contains(port) {
            throw ValidationError("a port is a number from 1 to 65535, or 0 for any free port")
        }
        guard self.port == 0 || self.port != self.pagesPort else {
            throw ValidationError("--port and --pages-port must differ")
        }
        guard self.type != nil || self.list else {
            throw ValidationError("name a provider, such as google; --list prints them all")
        }
        do throws(Failure) {
            _ = try self.options()
        } catch {
            throw ValidationError(error.detail)
        }
    }

    private func options() throws(Failure) -> SimulatorOptions? {
        guard let type = self.type else { return nil }
        var options = SimulatorOptions(
            type: type,
            quirks: try DemoCatalogue.quirks(named: self.quirk, of: type),
            redirectURI: self.redirectURI ?? "http://localhost:8080\(EndpointPrefix.standard.path("callback"))/\(type)",
        )
        options.port = self.port
        options.pagesPort = self.pagesPort
        options.clientSecret = self.clientSecret
        return options
    }

    func run() async throws {
        guard let options = try self.options(), !self.list else {
            let names = (self.type.map { [$0] } ?? DemoCatalogue.names) + ["any"]
            printLine(self.json ? QuirkList.json(of: names) : QuirkList.text(of: names))
            return
        }
        let folder = RunFolder(self.folder)
        defer { folder.remove() }
        let signals = folder.exitOnSignal()
        defer {
            for source in signals { source.cancel() }
        }
        let simulator: RunningSimulator
        do {
            simulator = try await SimulatorHost(in: folder.path).start(options)
        } catch {
            let reason = (error as? Failure)?.detail ?? "\(error)"
            printError("gatehouse-demo: error: the simulator cannot start: \(reason)")
            throw ExitCode(1)
        }
        defer { simulator.stop() }
        printLine(self.json ? Self.json(simulator, options) : Self.text(simulator, options))
        while true { try await Task.sleep(for: .seconds(3600)) }
    }

    private static func text(_ simulator: RunningSimulator, _ options: SimulatorOptions) -> String {
        let lines = simulator.parameters.map { entry in
            "    \(entry.name)\(String(repeating: " ", count: max(1, 24 - entry.name.count)))\(entry.value)"
        }
        return """

            Simulated \(options.type): stop with Ctrl-C

            \(lines.joined(separator: "\n"))

            Users of its sign-in page: \(simulator.users.joined(separator: ", "))
            \(QuirkList.text(on: options.quirks))
            For a gateway's providers.yaml:

            providers:
            \(simulator.section)

            """
    }

    private static func json(_ simulator: RunningSimulator, _ options: SimulatorOptions) -> String {
        var members = Dictionary(simulator.parameters.map { ($0.name, JSON.string($0.value)) }) { $1 }
        members["quirks"] = .array(options.quirks.names.sorted().map { .string($0) })
        members["users"] = .array(simulator.users.map { .string($0) })
        members["configuration"] = .string("providers:\n\(simulator.section)\n")
        return JSON.object(members).text
    }
}
