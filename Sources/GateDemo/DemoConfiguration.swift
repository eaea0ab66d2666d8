// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import GateCore

/// Who is registered where: the one source of both the simulators' settings and the gateway's file.
struct DemoConfiguration {
    /// The ports that were bound.
    struct Ports {
        /// Of each provider: everything over https, and what browsers see over plain http.
        let providers: [String: (full: Int, pages: Int)]
        let app: Int
        let operations: Int
    }

    let publicURL: String
    private let gatewayPort: Int
    private let ports: Ports
    private let folder: String
    private let providers: [(simulation: SimulatedProvider, stage: SimulatorContext)]

    init(_ plan: DemoOptions, ports: Ports, folder: String, tools: DemoTools) {
        let publicURL = "http://localhost:\(plan.gatewayPort)"
        self.publicURL = publicURL
        self.gatewayPort = plan.gatewayPort
        self.ports = ports
        self.folder = folder
        self.providers = DemoCatalogue.all.compactMap { simulation in
            guard let pair = ports.providers[simulation.name] else { return nil }
            let stage = SimulatorContext(
                address: SimulatorURLs(
                    base: "https://localhost:\(pair.full)",
                    pages: "http://localhost:\(pair.pages)",
                ),
                client: Self.client(of: simulation, publicURL: publicURL, folder: folder, random: tools.random),
                key: tools.key.named(simulation.name),
                grants: DemoGrants(clock: tools.clock),
                clock: tools.clock,
                random: tools.random,
                quirks: plan.quirks,
            )
            return (simulation, stage)
        }
    }

    private static func client(
        of simulation: SimulatedProvider,
        publicURL: String,
        folder: String,
        random: RandomBytes,
    ) -> DemoClient {
        DemoClient(
            id: simulation.clientID,
            secret: Secret(text: random.token(24)),
            callback: "\(publicURL)/oauth2/callback/\(simulation.name)",
            secretFile: "\(folder)/\(simulation.name).secret",
            signingKey: P256.Signing.PrivateKey(),
            signingKeyFile: "\(folder)/\(simulation.name).key",
        )
    }

    /// Writes what the gateway's file refers to.
    func writeSecrets(_ files: DemoFiles) throws {
        for (simulation, stage) in self.providers {
            _ = try stage.client.secret.withText { try files.write($0, name: "\(simulation.name).secret") }
            _ = try files.write(stage.client.signingKey.pemRepresentation, name: "\(simulation.name).key")
        }
    }

    /// The simulator of a provider, made to misbehave if that is asked for.
    func simulator(of name: String) -> QuirkInjector? {
        self.providers.first { $0.simulation.name == name }.map { provider in
            QuirkInjector(of: provider.simulation.make(provider.stage), on: provider.stage)
        }
    }

    func app(clock: WallClock) -> DemoResponder {
        let port = self.gatewayPort
        let app = SampleApp(issuer: self.publicURL, audience: self.publicURL, clock: clock) {
            try await LoopbackClient.body(port: port, path: "/oauth2/jwks.json")
        }
        return { await app.response(to: $0) }
    }

    /// The gateway's file.
    func text(caFile: String, pins: DemoPins) -> String {
        """
        # The demo's configuration: simulated providers and one sample app, all on this machine.
        gateway:
          public_url: \(self.publicURL)
          listeners:
            - address: 127.0.0.1:\(self.gatewayPort)
          operations: 127.0.0.1:\(self.ports.operations)
          state: \(quoted("\(self.folder)/state"))
          # Everybody who tries the demo has the same address.
          limits: { sign_ins_per_minute: 0, failed_sign_ins_per_minute: 0 }

        providers:
        \(self.providers.map { self.lines(of: $0.simulation, $0.stage, caFile: caFile, pins: pins) }.joined(separator: "\n"))

        apps:
          sample:
            host: localhost
            upstream: http://127.0.0.1:\(self.ports.app)
            allow: signed_in
            public: [ "/public/" ]

        """
    }

    private func lines(
        of simulation: SimulatedProvider,
        _ stage: SimulatorContext,
        caFile: String,
        pins: DemoPins,
    ) -> String {
        let common = ["client_id: \(quoted(stage.client.id))"] + simulation.credentials(stage.client)
        let trust = ["ca_file: \(quoted(caFile))"] + pins.lines(stage.quirks, provider: simulation.name)
        let lines = simulation.lines(stage) + common + ["tls:"] + trust.map { "  \($0)" }
        return (["  \(simulation.name):"] + lines.map { "    \($0)" }).joined(separator: "\n")
    }
}

/// What all simulated providers share.
struct DemoTools {
    let key: DemoKey
    let clock: WallClock
    let random: RandomBytes
}
