// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import NIOSSL

/// Everything around the gateway in the demo: simulated providers with TLS, and an app to protect.
///
/// All of it listens on 127.0.0.1 only, on ports that are free, and needs neither an account nor the internet.
package final class DemoEnvironment: Sendable {
    /// A complete `providers.yaml` for a gateway in front of this world.
    package let configurationText: String
    /// The PEM file with the certificate authority of the providers.
    package let caFile: String
    private let servers: [DemoServer]

    private init(configurationText: String, caFile: String, servers: [DemoServer]) {
        self.configurationText = configurationText
        self.caFile = caFile
        self.servers = servers
    }

    /// Starts providers and app.
    ///
    /// - Parameters:
    ///   - plan: The providers and their quirks, and where the gateway will be.
    ///   - folder: Where certificate and secrets are written, readable by the owner alone; made if it is missing.
    ///   - clock: Tells the time for codes and tokens.
    ///   - random: Makes codes, tokens and secrets.
    /// - Returns: The running world.
    /// - Throws: Whatever keeps a port from being bound or a file from being written.
    @concurrent package static func start(
        _ plan: DemoOptions,
        in folder: String,
        clock: WallClock = .system,
        random: RandomBytes = .system,
    ) async throws -> DemoEnvironment {
        async let key = DemoKey.make()
        let files = try DemoFiles(folder: folder)
        let authority = try DemoAuthority()
        let servers = try await DemoServers.bind(plan, tls: authority.tls)
        let caFile = try files.write(authority.certificate, name: "ca.pem")
        let operations = plan.operationsPort == 0 ? try await Self.freePort() : plan.operationsPort
        let configuration = DemoConfiguration(
            plan,
            ports: servers.ports(operations: operations),
            folder: folder,
            tools: DemoTools(key: try await key, clock: clock, random: random),
        )
        try configuration.writeSecrets(files)
        for pair in servers.providers {
            configuration.simulator(of: pair.name).map { pair.serve($0) }
        }
        servers.app.serve(configuration.app(clock: clock))
        let text = configuration.text(caFile: caFile, pins: authority.pins)
        return DemoEnvironment(configurationText: text, caFile: caFile, servers: servers.all)
    }

    /// Closes every port and connection.
    package func stop() {
        for server in self.servers { server.stop() }
    }

    private static func freePort() async throws -> Int {
        let server = try await DemoServer.bind(port: 0, tls: nil)
        server.stop()
        return server.port
    }
}

/// The servers of the demo, bound.
private struct DemoServers {
    /// A provider's two servers: everything over TLS, and what browsers see in clear.
    struct Pair {
        let name: String
        let full: DemoServer
        let pages: DemoServer
        let counts = RequestCounter()

        func serve(_ simulator: QuirkInjector) {
            let counts = self.counts
            self.full.serve { request in
                counts.count(request)
                if let page = simulator.page(for: request) { return page }
                await simulator.hesitate(before: request)
                return simulator.response(to: request)
            }
            self.pages.serve { request in
                counts.count(request)
                guard request.path != RequestCounter.path else { return counts.answer }
                return simulator.page(for: request) ?? .text("Only the pages for browsers are here.\n", status: 404)
            }
        }
    }

    let providers: [Pair]
    let app: DemoServer

    private static func bind(pages name: String, port: Int) async throws -> DemoServer {
        do {
            return try await DemoServer.bind(port: port, tls: nil)
        } catch {
            let reason =
                "port \(port) for the pages of \(name) cannot be listened on; choose others with --provider-port"
            throw Failure(.demoPort, reason)
        }
    }

    var all: [DemoServer] { self.providers.flatMap { [$0.full, $0.pages] } + [self.app] }

    func ports(operations: Int) -> DemoConfiguration.Ports {
        let pairs = self.providers.map { ($0.name, (full: $0.full.port, pages: $0.pages.port)) }
        return DemoConfiguration.Ports(
            providers: Dictionary(pairs) { $1 },
            app: self.app.port,
            operations: operations,
        )
    }

    /// Binds all ports or none; a port that the plan has for something else is given back.
    static func bind(_ plan: DemoOptions, tls: NIOSSLContext) async throws -> DemoServers {
        let pages = plan.pagePorts
        let promised = Set([plan.gatewayPort, plan.operationsPort] + pages)
        var bound: [DemoServer] = []
        func bind(_ tls: NIOSSLContext?) async throws -> DemoServer {
            let server = try await DemoServer.bind(port: 0, tls: tls)
            guard !promised.contains(server.port) else {
                // Only then, or it could be given out again.
                defer { server.stop() }
                return try await bind(tls)
            }
            bound.append(server)
            return server
        }
        do {
            var providers: [Pair] = []
            for (name, port) in zip(plan.providers, pages) {
                let full = try await bind(tls)
                let server = port == 0 ? try await bind(nil) : try await Self.bind(pages: name, port: port)
                if port != 0 { bound.append(server) }
                providers.append(Pair(name: name, full: full, pages: server))
            }
            return DemoServers(providers: providers, app: try await bind(nil))
        } catch {
            for server in bound { server.stop() }
            throw error
        }
    }
}
