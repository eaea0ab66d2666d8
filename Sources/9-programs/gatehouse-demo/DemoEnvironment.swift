// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateDemo

/// The parts of a demo.
struct DemoOptions: Sendable, Hashable {
    /// The providers to simulate, in the order of the catalogue.
    let providers: [String]
    let quirks: DemoQuirks
    /// The port of the gateway, which callbacks and assertions name.
    let gatewayPort: Int
    /// The port of the gateway's operations listener; 0 for any free port.
    let operationsPort: Int
    /// The port of the first provider's pages, which those of the others follow; 0 for any free ports.
    let providerPort: Int

    init(
        providers: [String],
        quirks: DemoQuirks,
        gatewayPort: Int,
        operationsPort: Int = 0,
        providerPort: Int = 0
    ) {
        self.providers = providers
        self.quirks = quirks
        self.gatewayPort = gatewayPort
        self.operationsPort = operationsPort
        self.providerPort = providerPort
    }

    /// The port of each provider's pages, in the order of the providers; 0 for any free port.
    var pagePorts: [Int] {
        self.providers.indices.map { self.providerPort == 0 ? 0 : self.providerPort + $0 }
    }
}

/// The environment of the gateway in the demo: simulated providers with TLS, and an app to protect.
///
/// Every server listens on 127.0.0.1 only and needs neither an account nor the internet.
struct DemoEnvironment {
    /// A complete `providers.yaml` for the gateway.
    let configurationText: String
    private let simulators: [RunningSimulator]
    private let app: DemoServer

    /// Starts providers and app.
    ///
    /// - Parameters:
    ///   - options: The providers, their quirks and the ports.
    ///   - folder: The folder for certificate and secrets, readable by the owner only; created if it is missing.
    /// - Throws: If a port cannot be bound or a file cannot be written.
    init(_ options: DemoOptions, in folder: String) async throws {
        let publicURL = "http://localhost:\(options.gatewayPort)"
        let reserved = Set([options.gatewayPort, options.operationsPort] + options.pagePorts)
        let host = try await SimulatorHost(in: folder, reserved: reserved)
        self.simulators = try await Self.start(options, host, publicURL: publicURL)
        self.app = try await DemoServer.bindAny(avoiding: reserved)
        let operations = options.operationsPort == 0 ? try await Self.freePort(reserved) : options.operationsPort
        let gatewayPort = options.gatewayPort
        let app = SampleApp(issuer: publicURL, audience: publicURL) {
            try await LoopbackClient.body(port: gatewayPort, path: EndpointPrefix.standard.path("jwks.json"))
        }
        self.app.serve { await app.response(to: $0) }
        self.configurationText = """
            # The demo's configuration: simulated providers and one sample app, all on this machine.
            gateway:
              public_url: \(publicURL)
              listeners:
                - address: 127.0.0.1:\(gatewayPort)
              operations: 127.0.0.1:\(operations)
              state: \(JSON.string("\(folder)/state").text)
              # All users of the demo have the same client IP.
              limits: { sign_ins_per_minute: 0, failed_sign_ins_per_minute: 0 }

            providers:
            \(self.simulators.map(\.section).joined(separator: "\n"))

            apps:
              sample:
                host: localhost
                upstream: http://127.0.0.1:\(self.app.port)
                allow: signed_in
                public: [ "/public/" ]

            """
    }

    /// Starts all simulators or none.
    private static func start(
        _ options: DemoOptions,
        _ host: SimulatorHost,
        publicURL: String,
    ) async throws -> [RunningSimulator] {
        var started: [RunningSimulator] = []
        do {
            for (name, port) in zip(options.providers, options.pagePorts) {
                let callback = "\(publicURL)\(EndpointPrefix.standard.path("callback"))/\(name)"
                var simulator = SimulatorOptions(type: name, quirks: options.quirks, redirectURI: callback)
                simulator.pagesPort = port
                simulator.pagesOption = "--provider-port"
                started.append(try await host.start(simulator))
            }
            return started
        } catch {
            for simulator in started { simulator.stop() }
            throw error
        }
    }

    private static func freePort(_ reserved: Set<Int>) async throws -> Int {
        let server = try await DemoServer.bindAny(avoiding: reserved)
        server.stop()
        return server.port
    }

    /// Closes all ports and connections.
    func stop() {
        for simulator in self.simulators { simulator.stop() }
        self.app.stop()
    }
}
