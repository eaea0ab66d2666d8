// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import NIOSSL

/// The parts of a demo.
package struct DemoOptions: Sendable, Hashable {
    /// The providers to simulate, in the order of the catalogue.
    package let providers: [String]
    /// The quirks that are on.
    package let quirks: DemoQuirks
    /// The port of the gateway, which callbacks and assertions name.
    package let gatewayPort: Int
    /// The port of the gateway's operations listener; 0 for any free port.
    package let operationsPort: Int
    /// The port of the first provider's pages, which those of the others follow; 0 for any free ports.
    package let providerPort: Int

    /// Makes the options.
    package init(
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
    package var pagePorts: [Int] {
        self.providers.indices.map { self.providerPort == 0 ? 0 : self.providerPort + $0 }
    }
}

/// The environment of the gateway in the demo: simulated providers with TLS, and an app to protect.
///
/// Every server listens on 127.0.0.1 only and needs neither an account nor the internet.
package final class DemoEnvironment: Sendable {
    /// A complete `providers.yaml` for the gateway.
    package let configurationText: String
    private let servers: [DemoServer]

    private init(configurationText: String, servers: [DemoServer]) {
        self.configurationText = configurationText
        self.servers = servers
    }

    /// Starts providers and app.
    ///
    /// - Parameters:
    ///   - options: The providers, their quirks and the ports.
    ///   - folder: The folder for certificate and secrets, readable by the owner only; created if it is missing.
    ///   - clock: The time of codes and tokens.
    ///   - random: Makes codes, tokens and secrets.
    /// - Returns: The running environment.
    /// - Throws: If a port cannot be bound or a file cannot be written.
    @concurrent package static func start(
        _ options: DemoOptions,
        in folder: String,
        clock: WallClock = .system,
        random: RandomBytes = .system,
    ) async throws -> DemoEnvironment {
        async let key = RSASigningKey.make()
        try PrivateFile.makeFolder(folder)
        let authority = try DemoAuthority()
        let servers = try await DemoServers.bind(options, tls: authority.tls)
        let caFile = try authority.write(to: folder)
        let operations = options.operationsPort == 0 ? try await Self.freePort() : options.operationsPort
        let publicURL = "http://localhost:\(options.gatewayPort)"
        let tools = SimulatorTools(key: try await key, clock: clock, random: random, folder: folder)
        var sections: [String] = []
        for server in servers.providers {
            let callback = "\(publicURL)/oauth2/callback/\(server.provider.name)"
            let context = server.context(tools, callback: callback, quirks: options.quirks)
            try context.client.writeFiles()
            server.serve(context)
            sections.append(server.provider.section(context, caFile: caFile, pins: authority.pins))
        }
        let port = options.gatewayPort
        let app = SampleApp(issuer: publicURL, audience: publicURL, clock: clock) {
            try await LoopbackClient.body(port: port, path: "/oauth2/jwks.json")
        }
        servers.app.serve { await app.response(to: $0) }
        let text = """
            # The demo's configuration: simulated providers and one sample app, all on this machine.
            gateway:
              public_url: \(publicURL)
              listeners:
                - address: 127.0.0.1:\(options.gatewayPort)
              operations: 127.0.0.1:\(operations)
              state: \(quoted("\(folder)/state"))
              # All users of the demo have the same client IP.
              limits: { sign_ins_per_minute: 0, failed_sign_ins_per_minute: 0 }

            providers:
            \(sections.joined(separator: "\n"))

            apps:
              sample:
                host: localhost
                upstream: http://127.0.0.1:\(servers.app.port)
                allow: signed_in
                public: [ "/public/" ]

            """
        return DemoEnvironment(configurationText: text, servers: servers.all)
    }

    /// Closes all ports and connections.
    package func stop() {
        for server in self.servers { server.stop() }
    }

    private static func freePort() async throws -> Int {
        let server = try await DemoServer.bind(port: 0, tls: nil)
        server.stop()
        return server.port
    }
}

/// The bound servers of the demo.
private struct DemoServers {
    let providers: [ProviderServer]
    let app: DemoServer

    var all: [DemoServer] { self.providers.flatMap { [$0.full, $0.pages] } + [self.app] }

    private static func bind(pages name: String, port: Int) async throws -> DemoServer {
        try await DemoServer.bind(
            port: port,
            tls: nil,
            purpose: " for the pages of \(name)",
            option: "--provider-port"
        )
    }

    /// Binds all ports or none; skips free ports that the options reserve.
    static func bind(_ options: DemoOptions, tls: NIOSSLContext) async throws -> DemoServers {
        let pages = options.pagePorts
        let reserved = Set([options.gatewayPort, options.operationsPort] + pages)
        var bound: [DemoServer] = []
        func bind(_ tls: NIOSSLContext?) async throws -> DemoServer {
            let server = try await DemoServer.bind(port: 0, tls: tls)
            guard !reserved.contains(server.port) else {
                // Stopped only after the next bind, which could otherwise get the same port.
                defer { server.stop() }
                return try await bind(tls)
            }
            bound.append(server)
            return server
        }
        do {
            var providers: [ProviderServer] = []
            for (name, port) in zip(options.providers, pages) {
                let provider = try DemoCatalogue.provider(name)
                let full = try await bind(tls)
                let server = port == 0 ? try await bind(nil) : try await Self.bind(pages: name, port: port)
                if port != 0 { bound.append(server) }
                providers.append(ProviderServer(provider: provider, full: full, pages: server))
            }
            return DemoServers(providers: providers, app: try await bind(nil))
        } catch {
            for server in bound { server.stop() }
            throw error
        }
    }
}
