// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The options of one provider simulator.
package struct SimulatorOptions: Sendable {
    /// The provider's name in the catalogue.
    package let type: String
    package let quirks: DemoQuirks
    /// The client's redirect URI.
    package let redirectURI: String
    /// The port of all endpoints, over TLS; 0 for any free port.
    package var port = 0
    /// The port of the pages for browsers, over plain HTTP; 0 for any free port.
    package var pagesPort = 0
    /// The option that chooses the port of the pages, for errors.
    package var pagesOption = "--pages-port"
    /// The client secret; nil for a random one.
    package var clientSecret: String?

    /// The options of a provider at any free ports.
    package init(type: String, quirks: DemoQuirks, redirectURI: String) {
        self.type = type
        self.quirks = quirks
        self.redirectURI = redirectURI
    }
}

/// Starts provider simulators that share a certificate authority, a signing key and a folder.
package struct SimulatorHost: Sendable {
    private let authority: DemoAuthority
    private let key: RSASigningKey
    private let folder: String
    private let caFile: String
    private let reserved: Set<Int>

    /// Makes authority and key.
    ///
    /// - Parameters:
    ///   - folder: The folder for certificate and secrets, readable by the owner only; created if it is missing.
    ///   - reserved: Ports that no server takes as any free port.
    /// - Throws: If a file cannot be written.
    @concurrent package init(in folder: String, reserved: Set<Int> = []) async throws {
        async let key = RSASigningKey.make()
        try PrivateFile.makeFolder(folder)
        self.authority = try DemoAuthority()
        self.caFile = try self.authority.write(to: folder)
        self.key = try await key
        self.folder = folder
        self.reserved = reserved
    }

    /// Starts a simulator on 127.0.0.1.
    ///
    /// - Throws: If the provider does not exist, a port is in use or a file cannot be written.
    package func start(_ options: SimulatorOptions) async throws -> RunningSimulator {
        let provider = try DemoCatalogue.provider(options.type)
        let full = try await DemoServer.bind(
            port: options.port,
            tls: provider.certificate(options.quirks) == nil ? self.authority.tls : self.authority.askingTLS,
            avoiding: self.reserved,
            option: "--port"
        )
        var servers = [full]
        do {
            let pages = try await DemoServer.bind(
                port: options.pagesPort,
                avoiding: self.reserved,
                purpose: " for the pages of \(provider.name)",
                option: options.pagesOption
            )
            servers.append(pages)
            let context = try self.context(of: provider, options, full: full.port, pages: pages.port)
            try context.client.writeFiles()
            let traits = provider.traits(context)
            guard let tenant = traits.first else {
                throw Failure(.demoProvider, "\(provider.name) has no tenant")
            }
            let rotation = try Self.rotation(tenant, context)
            Self.serve(QuirkInjector(ProviderSimulator(traits, context: context), context: context), full, pages)
            let pins = PinQuirk.pins(self.authority.pins, provider: provider.name, quirks: options.quirks)
            return RunningSimulator(
                servers: servers,
                rotation: rotation,
                provider: provider,
                context: context,
                traits: tenant,
                caFile: self.caFile,
                section: provider.section(context, caFile: self.caFile, pins: pins),
            )
        } catch {
            for server in servers { server.stop() }
            throw error
        }
    }

    private func context(
        of provider: SimulatedProvider,
        _ options: SimulatorOptions,
        full: Int,
        pages: Int,
    ) throws -> SimulatorContext {
        let random = RandomBytes.system
        return try SimulatorContext(
            urls: SimulatorURLs(base: "https://localhost:\(full)", pages: "http://localhost:\(pages)"),
            client: DemoClient(
                id: provider.clientID,
                secret: Secret(text: options.clientSecret ?? random.token(24)),
                callback: options.redirectURI,
                name: provider.name,
                folder: self.folder,
                certificate: provider.certificate(options.quirks),
            ),
            key: self.key.named(provider.name),
            grants: DemoGrants(clock: .system),
            clock: .system,
            random: random,
            quirks: options.quirks,
            changedCallback: { CallbackQuirk.changed($0, quirks: options.quirks) },
        )
    }

    /// Writes the platform's token now and before it expires, for a provider that accepts those; nil for any other.
    private static func rotation(_ traits: CodeFlowTraits, _ context: SimulatorContext) throws -> Task<Void, Never>? {
        guard traits.token.authentication.contains(.workload) else { return nil }
        let workload = context.client.workload
        try workload.writeToken(for: traits.issuer, at: context.clock.now)
        return Task {
            while (try? await Task.sleep(for: DemoWorkload.rotation)) != nil {
                // A folder without space gets the token at the next turn; the last one is valid for longer.
                try? workload.writeToken(for: traits.issuer, at: context.clock.now)
            }
        }
    }

    /// Serves all endpoints over TLS, and those for browsers over plain HTTP.
    private static func serve(_ injector: QuirkInjector, _ full: DemoServer, _ pages: DemoServer) {
        let counter = RequestCounter()
        full.serve { request in
            counter.count(request)
            if let page = injector.page(for: request) { return page }
            await injector.delay(before: request)
            return injector.response(to: request)
        }
        pages.serve { request in
            counter.count(request)
            guard request.path != RequestCounter.path else { return counter.response }
            return injector.page(for: request) ?? .text("This port only has the pages for browsers.\n", status: 404)
        }
    }
}
