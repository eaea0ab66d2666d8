// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProviders

/// Everything that `providers.yaml` says, checked and with every default filled in.
package struct Configuration: Sendable, Hashable {
    /// The gateway itself: addresses, state, secrets.
    package var gateway: GatewaySettings
    /// Where sessions are kept and how long.
    package var sessions: SessionSettings
    /// The signed identity that apps receive.
    package var assertion: AssertionSettings
    /// The providers, in the order of the file.
    package var providers: [ProviderSettings]
    /// The apps, in the order of the file.
    package var apps: [AppSettings]

    /// Puts the parts together.
    package init(
        gateway: GatewaySettings,
        sessions: SessionSettings,
        assertion: AssertionSettings,
        providers: [ProviderSettings],
        apps: [AppSettings]
    ) {
        self.gateway = gateway
        self.sessions = sessions
        self.assertion = assertion
        self.providers = providers
        self.apps = apps
    }
}

extension Origin {
    /// The callback of a provider at a gateway of this origin, as it has to be registered.
    package func callback(of provider: String) -> String { "\(self)/oauth2/callback/\(provider)" }
}

/// The gateway itself: where it is reached, where it listens, what it trusts.
package struct GatewaySettings: Sendable, Hashable {
    /// The origin of the sign-in page and the callbacks.
    package var publicURL: Origin
    /// Where requests are taken.
    package var listeners: [ListenerSettings]
    /// Where health, metrics and status are served.
    package var operations: BindAddress
    /// The host names of the operations listener, beside IP addresses, `localhost` and the host of ``operations``.
    package var operationsHosts: [String] = []
    /// The folder for what the gateway makes itself.
    package var stateFolder: String
    /// The networks whose `X-Forwarded-*` and `Forwarded` are believed.
    package var trustedProxies: [CIDRRange]
    /// How long browsers remember to use https only; nil for no such field.
    package var hsts: Duration? = .seconds(180 * 86_400)
    /// The secrets, of which the first seals and all open; nil when the gateway makes one in `stateFolder`.
    package var secrets: [Secret]?
    /// Bounds on what clients may ask.
    package var limits = LimitSettings()
    /// How long clients are waited for.
    package var timeouts = TimeoutSettings()
    /// How the gateway stops.
    package var drain = DrainSettings()

    /// Settings with the defaults for all but the public origin and the state folder.
    package init(publicURL: Origin, stateFolder: String) {
        self.publicURL = publicURL
        self.listeners = [ListenerSettings(address: GatewaySettings.defaultListener)]
        self.operations = GatewaySettings.defaultOperations
        self.stateFolder = stateFolder
        self.trustedProxies = []
    }

    static let defaultListener = BindAddress(host: "127.0.0.1", port: 8080)
    static let defaultOperations = BindAddress(host: "127.0.0.1", port: 9901)
}

/// One address that takes requests.
package struct ListenerSettings: Sendable, Hashable {
    /// The address to listen on.
    package var address: BindAddress
    /// The certificates, chosen by server name; empty for plain HTTP.
    package var certificates: [CertificateFiles]
    /// Whether HTTP/2 is offered; never on a plain listener.
    package var http2: Bool
    /// Whether it serves nothing and redirects to https; never with certificates.
    package var redirectsToHTTPS = false
    /// The networks whose connections must start with a PROXY header; those of others must not.
    package var proxyProtocol: [CIDRRange] = []

    /// Makes a listener, plain unless certificates are given, and then with HTTP/2.
    package init(address: BindAddress, certificates: [CertificateFiles] = []) {
        self.address = address
        self.certificates = certificates
        self.http2 = !certificates.isEmpty
    }
}

/// A certificate chain and its key, as PEM files with absolute paths.
package struct CertificateFiles: Sendable, Hashable {
    /// The file of the chain, leaf first.
    package var certificate: String
    /// The file of the private key.
    package var privateKey: String

    /// Names the two files.
    package init(certificate: String, privateKey: String) {
        self.certificate = certificate
        self.privateKey = privateKey
    }
}

/// Where sessions are kept and how long they last.
package struct SessionSettings: Sendable, Hashable {
    /// Where they are kept.
    package var store: StoreSettings
    /// How long a session lasts without a request.
    package var idleTimeout: Duration
    /// How long a session lasts at most.
    package var lifetime: Duration

    /// Settings with the default times.
    package init(store: StoreSettings) {
        self.store = store
        self.idleTimeout = .seconds(12 * 3600)
        self.lifetime = .seconds(7 * 86_400)
    }
}

/// A place for sessions.
package enum StoreSettings: Sendable, Hashable {
    /// A SQLite database file.
    case sqlite(path: String)
    /// The memory of the process; a restart signs everybody out.
    case memory
}

/// The signed identity that apps receive.
package struct AssertionSettings: Sendable, Hashable {
    /// How long an assertion is valid.
    package var lifetime: Duration
    /// The folder of the signing keys.
    package var keysFolder: String

    /// Settings with the default lifetime of two minutes.
    package init(keysFolder: String) {
        self.lifetime = .seconds(120)
        self.keysFolder = keysFolder
    }
}
