// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The options of one provider simulator.
package struct StandaloneOptions: Sendable {
    /// The provider's name in the catalogue.
    package var type: String
    /// The names of the quirks that are on.
    package var quirks: [String] = []
    /// The port of all endpoints, over TLS; 0 for any free port.
    package var port = 0
    /// The port of the pages for browsers, over plain HTTP; 0 for any free port.
    package var pagesPort = 0
    /// The redirect URI that the client registered; nil for that of a gateway at port 8080.
    package var redirectURI: String?
    /// The client secret; nil for a random one.
    package var clientSecret: String?

    /// The options for a provider.
    package init(type: String) {
        self.type = type
    }

    /// The quirks, each of which the provider has.
    ///
    /// - Throws: If the provider does not exist or does not have a quirk; the detail names those that it has.
    package func checkedQuirks() throws(Failure) -> DemoQuirks {
        let provider = try DemoCatalogue.provider(self.type)
        let known = DemoQuirk.all.filter { $0.provider == provider.name || $0.provider == "any" }.map(\.name)
        for name in self.quirks where !known.contains(name) {
            let hint = SpellingSuggestion.nearest(name, known)
            let list = "the quirks of \(provider.name) are \(known.joined(separator: ", "))"
            throw Failure(.demoQuirk, "\(provider.name) has no quirk '\(name)'\(hint); \(list)")
        }
        return try DemoQuirks(self.quirks)
    }
}

/// One running provider simulator, for the test suites of other programs.
///
/// It listens on 127.0.0.1 only.
package final class StandaloneSimulator: Sendable {
    private let server: ProviderServer
    private let context: SimulatorContext
    private let traits: CodeFlowTraits
    private let caFile: String
    private let section: String

    private init(
        server: ProviderServer,
        context: SimulatorContext,
        traits: CodeFlowTraits,
        caFile: String,
        section: String
    ) {
        self.server = server
        self.context = context
        self.traits = traits
        self.caFile = caFile
        self.section = section
    }

    /// Starts a simulator.
    ///
    /// - Parameters:
    ///   - options: The provider, its quirks and ports.
    ///   - folder: The folder for certificate and secret, readable by the owner only; created if it is missing.
    /// - Returns: The running simulator.
    /// - Throws: If the options are wrong, a port is in use or a file cannot be written.
    @concurrent package static func start(
        _ options: StandaloneOptions,
        in folder: String
    ) async throws -> StandaloneSimulator {
        let provider = try DemoCatalogue.provider(options.type)
        let quirks = try options.checkedQuirks()
        async let key = RSASigningKey.make()
        try PrivateFile.makeFolder(folder)
        let authority = try DemoAuthority()
        let full = try await DemoServer.bind(port: options.port, tls: authority.tls, option: "--port")
        let pages: DemoServer
        do {
            pages = try await DemoServer.bind(port: options.pagesPort, tls: nil, option: "--pages-port")
        } catch {
            full.stop()
            throw error
        }
        let server = ProviderServer(provider: provider, full: full, pages: pages)
        let tools = SimulatorTools(key: try await key, clock: .system, random: .system, folder: folder)
        let callback = options.redirectURI ?? "http://localhost:8080/oauth2/callback/\(provider.name)"
        let context = server.context(tools, callback: callback, quirks: quirks, secret: options.clientSecret)
        let caFile = try authority.write(to: folder)
        try context.client.writeFiles()
        server.serve(context)
        guard let traits = provider.traits(context).first else {
            throw Failure(.demoProvider, "\(provider.name) has no tenant")
        }
        let section = provider.section(context, caFile: caFile, pins: authority.pins)
        return StandaloneSimulator(server: server, context: context, traits: traits, caFile: caFile, section: section)
    }

    /// Closes both ports and all connections.
    package func stop() {
        self.server.stop()
    }

    /// The lines of `providers.yaml` that point a gateway at the simulator.
    package var configurationText: String { "providers:\n\(self.section)\n" }

    /// Names and values that a client needs; values that the provider does not have are left out.
    package var parameters: [(name: String, value: String)] {
        let urls = self.context.urls
        let paths = self.traits.paths
        let client = self.context.client
        let signs = Set(self.traits.token.authentication).isDisjoint(with: [.basic, .post])
        let discovery = paths.discovery.map { urls.base + $0 }
        let values: [(name: String, value: String?)] = [
            ("type", self.server.provider.name),
            ("issuer", discovery == nil ? nil : self.traits.issuer),
            ("discovery", discovery),
            ("base_url", urls.base),
            ("pages_url", urls.pages),
            ("authorization_endpoint", urls.pages + paths.authorize),
            ("token_endpoint", urls.base + paths.token),
            ("jwks_uri", paths.keys.map { urls.base + $0 }),
            ("userinfo_endpoint", paths.userinfo.map { urls.base + $0 }),
            ("ca_file", self.caFile),
            ("client_id", client.id),
            ("client_secret", signs ? nil : client.secret.withText { $0 }),
            ("client_key_file", signs ? client.signingKeyFile : nil),
            ("client_key_id", signs ? ClientJWT.keyID : nil),
            ("redirect_uri", client.callback),
        ]
        return values.compactMap { entry in entry.value.map { (entry.name, $0) } }
    }

    /// Parameters, users, configuration and quirks as text.
    package var text: String {
        let lines = self.parameters.map { entry in
            "    \(entry.name)\(String(repeating: " ", count: max(1, 24 - entry.name.count)))\(entry.value)"
        }
        let users = self.traits.users.map(\.id).joined(separator: ", ")
        return """

            Simulated \(self.server.provider.name): stop with Ctrl-C

            \(lines.joined(separator: "\n"))

            Users of its sign-in page: \(users)
            \(self.context.quirks.summary)
            For a gateway's providers.yaml:

            \(self.configurationText)
            """
    }

    /// ``parameters``, quirks, users and configuration as one JSON object.
    package var json: String {
        var members = Dictionary(self.parameters.map { ($0.name, JSON.string($0.value)) }) { $1 }
        members["quirks"] = .array(self.context.quirks.names.map { .string($0) })
        members["users"] = .array(self.traits.users.map { .string($0.id) })
        members["configuration"] = .string(self.configurationText)
        return JSON.object(members).text
    }
}
