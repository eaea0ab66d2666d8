// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A running provider simulator.
package struct RunningSimulator: Sendable {
    let servers: [DemoServer]
    /// Replaces the platform's token.
    let rotation: Task<Void, Never>?
    let provider: SimulatedProvider
    let context: SimulatorContext
    /// The traits of the tenant in the gateway's file.
    let traits: CodeFlowTraits
    let caFile: String
    /// The provider's section of the gateway's file, indented by two.
    package let section: String

    /// Closes both ports and all connections.
    package func stop() {
        self.rotation?.cancel()
        for server in self.servers { server.stop() }
    }

    /// The ids of the users on its sign-in page.
    package var users: [String] { self.traits.users.map(\.id) }

    /// Names and values that a client needs; values that the provider does not have are left out.
    package var parameters: [(name: String, value: String)] {
        let urls = self.context.urls
        let paths = self.traits.paths
        let client = self.context.client
        let methods = Set(self.traits.token.authentication)
        let signs = methods.contains(.assertion) || methods.contains(.signedSecret)
        let hasSecret = !methods.isDisjoint(with: [.basic, .post])
        let values: [(name: String, value: String?)] = [
            ("type", self.provider.name),
            ("issuer", paths.discovery == nil ? nil : self.traits.issuer),
            ("discovery", paths.discovery.map { urls.base + $0 }),
            ("base_url", urls.base),
            ("pages_url", urls.pages),
            ("authorization_endpoint", urls.pages + paths.authorize),
            ("token_endpoint", urls.base + paths.token),
            ("jwks_uri", paths.keys.map { urls.base + $0 }),
            ("userinfo_endpoint", paths.userinfo.map { urls.base + $0 }),
            ("ca_file", self.caFile),
            ("client_id", client.id),
            ("client_secret", hasSecret ? client.secret.withText { $0 } : nil),
            ("client_key_file", signs ? client.signingKeyFile : nil),
            ("client_key_id", signs ? ClientJWT.keyID : nil),
            ("client_assertion_file", methods.contains(.workload) ? client.workload.file : nil),
            ("client_certificate_file", client.certificate?.files.certificate),
            ("client_certificate_key_file", client.certificate?.files.key),
            ("redirect_uri", client.callback),
        ]
        return values.compactMap { entry in entry.value.map { (entry.name, $0) } }
    }
}
