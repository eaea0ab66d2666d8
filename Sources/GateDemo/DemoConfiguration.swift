// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Who is registered where: the one source of both the simulators' settings and the gateway's file.
struct DemoConfiguration {
    let publicURL: String
    let gatewayPort: Int
    let ports: DemoWorld.Ports
    let folder: String
    let random: RandomBytes
    private let clients: [(name: String, client: DemoClient)]

    init(gatewayPort: Int, ports: DemoWorld.Ports, folder: String, random: RandomBytes) {
        let publicURL = "http://localhost:\(gatewayPort)"
        let ids = [
            ("google", "123456789012-demo.apps.googleusercontent.com"), ("github", "Iv1.demo0123456789ab"),
            ("microsoft", "6cb04018-a3f5-46a7-b995-940c78f5aef3"),
        ]
        self.publicURL = publicURL
        self.gatewayPort = gatewayPort
        self.ports = ports
        self.folder = folder
        self.random = random
        self.clients = ids.map { name, id in
            let secret = Secret(text: random.token(24))
            let client = DemoClient(id: id, secret: secret, callback: "\(publicURL)/oauth2/callback/\(name)")
            return (name, client)
        }
    }

    func writeSecrets(_ files: DemoFiles) throws {
        for (name, client) in self.clients {
            _ = try client.secret.withText { text in try files.write(text, name: "\(name).secret") }
        }
    }

    func google(key: DemoKey, clock: WallClock) -> DemoProvider {
        let simulator = GoogleSimulator(
            address: self.google,
            client: self.client("google"),
            key: key,
            idleModulus: DemoKey.idleModulus(self.random),
            grants: DemoGrants(clock: clock),
            clock: clock,
            random: self.random,
        )
        return DemoProvider(page: simulator.page(for:), rest: simulator.response(to:))
    }

    func github(clock: WallClock) -> DemoProvider {
        let simulator = GitHubSimulator(
            address: self.github,
            client: self.client("github"),
            grants: DemoGrants(clock: clock),
            clock: clock,
            random: self.random,
        )
        return DemoProvider(page: simulator.page(for:), rest: simulator.response(to:))
    }

    func microsoft(key: DemoKey, clock: WallClock) -> DemoProvider {
        let simulator = MicrosoftSimulator(
            address: self.microsoft,
            client: self.client("microsoft"),
            key: key,
            idleModuli: [DemoKey.idleModulus(self.random), DemoKey.idleModulus(self.random)],
            grants: DemoGrants(clock: clock),
            clock: clock,
            random: self.random,
            keyFetches: MicrosoftSimulator.FetchCount(),
        )
        return DemoProvider(page: simulator.page(for:), rest: simulator.response(to:))
    }

    func app(clock: WallClock) -> DemoResponder {
        let port = self.gatewayPort
        let app = SampleApp(issuer: self.publicURL, audience: self.publicURL, clock: clock) {
            try await LoopbackFetch.body(port: port, path: "/oauth2/jwks.json")
        }
        return { await app.response(to: $0) }
    }

    /// The gateway's file.
    func text(caFile: String) -> String {
        """
        # The demo's configuration: three simulated providers and one sample app, all on this machine.
        gateway:
          public_url: \(self.publicURL)
          listeners:
            - address: 127.0.0.1:\(self.gatewayPort)
          operations: 127.0.0.1:\(self.ports.operations)
          state: \(self.quoted("\(self.folder)/state"))

        providers:
          google:
            type: google
            base_url: \(self.google.base)
        \(self.credentials("google", caFile: caFile))
          github:
            type: github
            base_url: \(self.github.base)
            authorization_endpoint: \(self.github.pages)/login/oauth/authorize
        \(self.credentials("github", caFile: caFile))
          microsoft:
            type: microsoft
            base_url: \(self.microsoft.base)
            tenant: \(MicrosoftSimulator.tenant)
        \(self.credentials("microsoft", caFile: caFile))

        apps:
          sample:
            host: localhost
            upstream: http://127.0.0.1:\(self.ports.app)
            allow: signed_in
            public: [ "/public/" ]

        """
    }

    private func credentials(_ name: String, caFile: String) -> String {
        """
            client_id: \(self.client(name).id)
            client_secret: \(self.quoted("${file:\(self.folder)/\(name).secret}"))
            tls:
              ca_file: \(self.quoted(caFile))
        """
    }

    private var google: DemoAddress { Self.address(self.ports.google, self.ports.googlePages) }
    private var github: DemoAddress { Self.address(self.ports.github, self.ports.githubPages) }
    private var microsoft: DemoAddress { Self.address(self.ports.microsoft, self.ports.microsoftPages) }

    private static func address(_ port: Int, _ pages: Int) -> DemoAddress {
        DemoAddress(base: "https://localhost:\(port)", pages: "http://localhost:\(pages)")
    }

    private func client(_ name: String) -> DemoClient {
        self.clients.first { $0.name == name }?.client ?? DemoClient(id: "", secret: Secret([]), callback: "")
    }

    /// A double-quoted YAML scalar, which takes the same escapes as JSON.
    private func quoted(_ text: String) -> String { JSON.string(text).text }
}
