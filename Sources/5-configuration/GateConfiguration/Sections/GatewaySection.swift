// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateHTTP
internal import GateYAML

/// The gateway itself: its public URL, its listeners, what it trusts.
package struct GatewaySettings: Sendable, Hashable {
    /// The origin of the sign-in page and the callbacks.
    package var publicURL: Origin
    /// The listeners for requests.
    package var listeners: [ListenerSettings]
    /// The address of the operations listener: health, metrics, status.
    package var operations: BindAddress
    /// The host names of the operations listener, beside IP addresses, `localhost` and the host of ``operations``.
    package var operationsHosts: [String] = []
    /// The Unix socket of the operations API; nil for none.
    package var operationsSocket: OperationsSocketSettings?
    /// The token with which the operations listener serves the operations API too; nil if it does not.
    package var operationsToken: Secret?
    /// The folder for the files that the gateway creates.
    package var stateFolder: String
    /// The networks whose `X-Forwarded-*` and `Forwarded` are trusted.
    package var trustedProxies: [CIDRRange]
    /// The proxies that may ask for decisions; nil if none may.
    package var forwardAuth: ForwardAuthSettings?
    /// Where each host has the gateway's endpoints.
    package var endpoints = EndpointPrefix.standard
    /// The path below which native apps sign in and out by JSON; nil if they cannot.
    package var sessionAPI: String?
    /// The path of health checks on the listeners for requests; nil for none.
    package var healthPath: String?
    /// Which clients are accepted without an entry in `clients`.
    package var clientRegistration = ClientRegistrationSettings()
    /// How long browsers remember to use https only; nil for no such field.
    package var hsts = GatewaySettings.defaultHSTS
    /// The secrets, of which the first seals and all open; nil if the gateway creates one in `stateFolder`.
    package var secrets: [Secret]?
    /// Limits of what clients may ask, and how long the gateway waits for them.
    package var limits = GatewayLimits()
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
    static let defaultHSTS: Duration? = .seconds(180 * 86_400)
    static let defaultOperations = BindAddress(host: "127.0.0.1", port: 9901)
}

/// The Unix socket of the operations API.
package struct OperationsSocketSettings: Sendable, Hashable {
    package let path: String
    /// Whether the file names it, so that a gateway that cannot listen there does not start.
    package let isRequired: Bool
}

/// One listener for requests.
package struct ListenerSettings: Sendable, Hashable {
    /// The address to listen on.
    package var address: BindAddress
    /// The certificates, chosen by server name; empty for plain HTTP.
    package var certificates: [CertificateFiles]
    /// Whether HTTP/2 is offered; never on a plain listener.
    package var http2: Bool
    /// Whether it redirects every request to https; never with certificates.
    package var redirectsToHTTPS = false
    /// The certificates that clients present; nil if they are not asked for any.
    package var clientCertificates: ClientCertificateSettings?
    /// The networks whose connections must start with a PROXY header; those of others must not.
    package var proxyProtocol: [CIDRRange] = []
    /// The permissions of the file of a Unix socket.
    package var socketMode: UInt32 = 0o600
    /// Whether the processes that connect to a Unix socket are trusted proxies.
    package var trustsPeers = false

    /// Makes a listener, plain unless certificates are given, and then with HTTP/2.
    package init(address: BindAddress, certificates: [CertificateFiles] = []) {
        self.address = address
        self.certificates = certificates
        self.http2 = !certificates.isEmpty
    }
}

/// `gateway` as the file has it.
struct GatewayDraft: Sendable {
    var publicURL: Located<Origin>?
    var listeners: Located<[ListenerDraft]>?
    var operations: Located<BindAddress>?
    var operationsHosts: [String]?
    var operationsSocket: OperationsSocketChoice?
    var operationsToken: Secret?
    var state: String?
    var trustedProxies: [Located<CIDRRange>]?
    var forwardAuth: Located<ForwardAuthDraft>?
    var endpoints: Located<EndpointPrefix>?
    var sessionAPI: Located<String>?
    var healthPath: Located<String>?
    var clientRegistration: Located<ClientRegistrationDraft>?
    var hsts = GatewaySettings.defaultHSTS
    var secrets: [Secret]?
    var limits = GatewayLimits()
    var drain = DrainSettings()
}

/// `gateway.operations_socket`.
enum OperationsSocketChoice: Sendable {
    case off
    case path(String)

    /// The socket, by default `operations.sock` in the state folder.
    static func settings(_ choice: OperationsSocketChoice?, state: String) -> OperationsSocketSettings? {
        switch choice {
        case .off: nil
        case .path(let path): OperationsSocketSettings(path: path, isRequired: true)
        case nil: OperationsSocketSettings(path: FileAccess.resolve("operations.sock", in: state), isRequired: false)
        }
    }
}

/// One listener as the file has it.
struct ListenerDraft: Sendable {
    var address: Located<BindAddress>?
    var certificates: Located<[CertificateDraft]>?
    var http2: Located<Bool>?
    var clientCertificates: Located<ClientCertificateDraft>?
    var redirect: Located<ListenerRedirect>?
    var proxyProtocol: [Located<CIDRRange>]?
    var mode: Located<UInt32>?
    var trusted: Located<Bool>?
}

/// What a listener does instead of serving requests.
enum ListenerRedirect: String, Sendable, CaseIterable {
    /// It redirects every request to the same URL with https.
    case https
}

/// One certificate as the file has it.
struct CertificateDraft: Sendable {
    var certificate: String?
    var privateKey: String?
}

extension Mapping<GatewayDraft> {
    static let gateway = Mapping(
        "the gateway",
        path: "gateway",
        summary: "The gateway itself: its public URL, its listeners, what it trusts.",
        make: { GatewayDraft() },
        keys: [
            Key(
                "public_url",
                located: \.publicURL,
                .publicOrigin,
                .init(isRequired: true, example: "https://gate.example.com"),
                "The origin of the sign-in page and the callbacks. Plain http is accepted on loopback only."
            ),
            Key(
                "listeners",
                located: \.listeners,
                .list(of: Mapping<ListenerDraft>.listener.shape, named: "a list of listeners"),
                .init(default: .words("one, `\(GatewaySettings.defaultListener)`, plain")),
                "The listeners for requests."
            ),
            Key(
                "operations",
                located: \.operations,
                .bindAddress,
                .init(default: .value(.string("\(GatewaySettings.defaultOperations)"))),
                "The address of the operations listener, which serves health, metrics and status; never that of another listener."
            ),
            Key(
                "operations_hosts",
                \.operationsHosts,
                .list(of: .host, named: "a list of host names"),
                .init(default: .words("none"), example: ["gatehouse-operations.monitoring.svc"]),
                "Host names by which the operations listener may be reached, beside IP addresses, `localhost` and the host "
                    + "of `operations`. A request with any other `Host` gets 421, so that no page in a browser can read "
                    + "it through a host name of an attacker (DNS rebinding)."
            ),
            Key(
                "operations_socket",
                \.operationsSocket,
                .operationsSocket,
                .init(default: .words("`operations.sock` in `state`"), example: "/run/gatehouse/operations.sock"),
                "The Unix socket of the operations API, by which `gatehouse sessions`, `users`, `keys` and `explain` reach "
                    + "the running gateway; only its owner can connect (mode 0600). A relative path is resolved against the working "
                    + "directory; `off` for no socket. See [administration.md](administration.md)."
            ),
            Key(
                "operations_token",
                \.operationsToken,
                .secret(atLeast: 32),
                .init(default: .words("none: by the socket only"), example: "${env:OPERATIONS_TOKEN}"),
                "At least 32 bytes. With it the operations listener serves the operations API (`/v1/`) as well, to requests "
                    + "with `Authorization: Bearer` and this token."
            ),
            Key(
                "state",
                \.state,
                .path,
                .init(default: .words("`$STATE_DIRECTORY`, else `./state`")),
                "The folder for the files that the gateway creates; a relative path is resolved against the working directory."
            ),
            Key(
                "trusted_proxies",
                \.trustedProxies,
                .list(of: Shape<CIDRRange>.network.located, named: "a list of networks"),
                .init(default: .value([]), example: ["10.0.0.0/8"]),
                "The networks of proxies that name the client IP, the scheme and the id of a request: `X-Forwarded-For`, "
                    + "`X-Forwarded-Proto` and `X-Request-Id`, or `Forwarded`. Such a proxy has to remove or replace what the client "
                    + "sends under these names; if `X-Forwarded-For` and `Forwarded` lead to different clients, the client is "
                    + "unknown. It also has to keep `Host`, by which the app is found: `X-Forwarded-Host` is not read."
            ),
            Key(
                "forward_auth",
                located: \.forwardAuth,
                Mapping<ForwardAuthDraft>.forwardAuth.shape,
                .init(default: .words("none: no proxy may ask")),
                "Decisions for a proxy that forwards requests to apps itself."
            ),
            Key(
                "client_registration",
                located: \.clientRegistration,
                Mapping<ClientRegistrationDraft>.clientRegistration.shape,
                .init(default: .words("none: clients have an entry in `clients`")),
                "Which clients are accepted without an entry in `clients`."
            ),
            Key(
                "endpoint_prefix",
                located: \.endpoints,
                .endpointPrefix,
                .init(default: .value(.string("\(EndpointPrefix.standard)")), example: "/gatehouse"),
                "The path below which every host has the gateway's endpoints: pages, callbacks, those of clients, the one for "
                    + "`forward_auth`. For apps that have paths of these names themselves. One or more segments of letters, digits, "
                    + "`-`, `.`, `_` and `~`, at most \(EndpointPrefix.maxLength) bytes. A change moves all of them at once. See "
                    + "[hosts.md](hosts.md#other-paths-for-the-endpoints)."
            ),
            Key(
                "session_api",
                located: \.sessionAPI,
                .appPath,
                .init(default: .words("none: off"), example: "/auth"),
                "The path on the host of `public_url` below which native apps register, sign in, refresh and sign out by JSON. See "
                    + "[clients.md](clients.md#the-session-api)."
            ),
            Key(
                "health_path",
                located: \.healthPath,
                .appPath,
                .init(default: .words("none: off"), example: "/gatehouse-health"),
                "The path of health checks of load balancers on the listeners for requests: without a `Host`, or with one that no app "
                    + "has, such as an IP address. 200, or 503 while `/readyz` of the operations listener is. See "
                    + "[running.md](running.md#behind-a-load-balancer)."
            ),
            Key(
                "hsts",
                over: \.hsts,
                .duration(.zero...(.seconds(3650 * 86_400)), or: "off"),
                .init(example: "1w"),
                "How long browsers use https only for the hosts of the gateway and its apps (`Strict-Transport-Security`, "
                    + "RFC 6797). It is sent with the gateway's own responses over TLS that the gateway terminates, never "
                    + "for localhost. `0s` makes browsers forget it, `off` sends nothing."
            ),
            Key(
                "secret",
                \.secrets,
                .oneOrMany(of: .secret(atLeast: 32), named: "a secret or a list of secrets"),
                .init(default: .words("created in `state`"), example: "${file:/run/secrets/gatehouse}"),
                "At least 32 bytes. A list is for rotation: the first encrypts, all decrypt."
            ),
            Key(
                "limits",
                into: \.limits,
                .limits,
                "Limits of what clients may ask of the gateway."
            ),
            Key(
                "timeouts",
                into: \.limits.downstream,
                .timeouts,
                "How long the gateway waits for clients."
            ),
            Key(
                "drain",
                over: \.drain,
                Mapping<DrainDraft>.drain.shape.map(\.settings),
                .init(),
                "How the gateway stops."
            ),
        ]
    )
}

extension Mapping<ListenerDraft> {
    /// An element of `gateway.listeners`.
    static let listener = Mapping(
        "a listener",
        path: "gateway.listeners[]",
        summary: "A listener for requests.",
        make: { ListenerDraft() },
        keys: [
            Key(
                "address",
                located: \.address,
                .listenerAddress,
                .init(isRequired: true, example: "0.0.0.0:443"),
                "Host and port; an IPv6 address is in brackets, port 0 is any free one. Or `unix:` and the absolute path of a "
                    + "Unix socket, for a proxy on this machine."
            ),
            Key(
                "tls",
                located: \.certificates,
                .list(of: Mapping<CertificateDraft>.certificate.shape, named: "a list of certificates"),
                .init(default: .words("none: plain HTTP")),
                "The certificates, chosen by the server name that a client asks for."
            ),
            Key(
                "client_certificates",
                located: \.clientCertificates,
                Mapping<ClientCertificateDraft>.clientCertificates.shape,
                .init(default: .words("none: clients are not asked")),
                "The certificates that users, devices and machines present; with `tls`, or behind a trusted proxy."
            ),
            Key(
                "http2",
                located: \.http2,
                .flag,
                .init(default: .words("`true` with `tls`, else `false`")),
                "Whether HTTP/2 is offered beside HTTP/1.1, by ALPN; only with `tls`."
            ),
            Key(
                "redirect",
                located: \.redirect,
                .oneOf("a redirect"),
                .init(default: .words("none"), example: "https"),
                "`https`: the listener redirects each request for a host of the gateway or an app to the same URL with "
                    + "https (308). It is plain HTTP, and `public_url` is https."
            ),
            Key(
                "proxy_protocol",
                \.proxyProtocol,
                .list(of: Shape<CIDRRange>.network.located, named: "a list of networks"),
                .init(default: .value([]), example: ["10.0.0.0/8"]),
                "The networks of load balancers whose connections start with a PROXY header, version 1 or 2, with the client "
                    + "IP. A connection from there without the header is closed, and so is one from elsewhere with it."
            ),
            Key(
                "mode",
                located: \.mode,
                .socketMode,
                .init(default: .words("`\"0600\"`"), example: "0660"),
                "The permissions of the file of a Unix socket; a process needs write permission to connect. In quotation marks."
            ),
            Key(
                "trusted",
                located: \.trusted,
                .flag,
                .init(default: .words("`false`")),
                "Whether the processes that connect to a Unix socket are trusted proxies, as those in `trusted_proxies` are: "
                    + "their `X-Forwarded-*` and `Forwarded` count."
            ),
        ],
        check: { listener, written, reading in
            listener.checkSocket(written, &reading)
            listener.checkClientCertificates(written, &reading)
            if let http2 = listener.http2, http2.value, written.keys["tls"] == nil {
                let help = "browsers speak it over TLS only; write 'tls', or remove this"
                reading.error("'http2' needs 'tls': \(help)", at: http2.mark)
            }
            if let redirect = listener.redirect, written.keys["tls"] != nil {
                reading.error("'redirect' is for a plain listener; remove it, or 'tls'", at: redirect.mark)
            }
            guard let certificates = listener.certificates, certificates.value.isEmpty else { return }
            reading.error("'tls' is an empty list; remove it for a plain listener", at: certificates.mark)
        }
    )
}

extension ListenerDraft {
    /// A Unix socket has permissions instead of TLS and networks.
    fileprivate func checkSocket(_ written: Mapping<ListenerDraft>.Written, _ reading: inout DecodingContext) {
        guard let address = self.address else { return }
        let foreign = address.value.path == nil ? ["mode", "trusted"] : ["tls", "proxy_protocol"]
        for key in foreign {
            guard let mark = written.keys[key] else { continue }
            let kind = address.value.path == nil ? "a listener with a port" : "a Unix socket"
            reading.error("'\(key)' is not for \(kind); remove it", at: mark)
        }
        guard let mode = self.mode, mode.value & 0o002 != 0, self.trusted?.value == true else { return }
        let help = "give the proxy a group of its own, and write \"0660\""
        reading.warning("every user of this machine can connect and claim any client IP; \(help)", at: mode.mark)
    }
}

extension Mapping<CertificateDraft> {
    /// An element of `gateway.listeners[].tls`.
    static let certificate = Mapping(
        "a certificate",
        path: "gateway.listeners[].tls[]",
        summary: "A certificate chain and its key. Relative paths are resolved against the folder of this file.",
        make: { CertificateDraft() },
        keys: [
            Key(
                "certificate",
                \.certificate,
                .existingFile,
                .init(isRequired: true, example: "tls/example.pem"),
                "The PEM file of the chain, leaf first."
            ),
            Key(
                "private_key",
                \.privateKey,
                .existingKeyFile,
                .init(isRequired: true, example: "tls/example.key"),
                "The PEM file of the private key."
            ),
        ]
    )
}

extension Shape<OperationsSocketChoice> {
    /// `off`, or a path.
    static let operationsSocket = Shape<String>.socketPath.map { text -> OperationsSocketChoice in
        text == "off" ? .off : .path(text)
    }
}

extension Shape<EndpointPrefix> {
    /// A path without escapes, dot segments and a slash at its end.
    static let endpointPrefix = single("a path", pattern: "^(/[A-Za-z0-9._~-]+)+$") { text throws(InvalidValue) in
        guard let prefix = EndpointPrefix(text) else {
            throw InvalidValue(
                "is not a prefix of endpoints: write a path such as '/gatehouse', of letters, digits, '-', '.', '_' and '~', "
                    + "without a slash at its end, of at most \(EndpointPrefix.maxLength) bytes and not below /.well-known"
            )
        }
        return prefix
    }
}

extension GatewayDraft {
    /// Checks what depends on several keys, and warns of values that are probably mistakes.
    func check(_ reading: inout DecodingContext) {
        self.checkListeners(&reading)
        self.checkRedirects(&reading)
        self.checkCertificateHeaders(&reading)
        self.warnOfPlainListeners(&reading)
        self.warnOfPublicOperations(&reading)
        for network in self.trustedProxies ?? [] { self.checkTrust(in: network, &reading) }
        for network in self.listeners?.value.flatMap({ $0.proxyProtocol ?? [] }) ?? []
        where network.value.prefix == 0 {
            let risk = "every client that reaches the listener can claim any client IP"
            let help = "list your balancers"
            reading.warning("a PROXY header is trusted from everywhere, so \(risk); \(help)", at: network.mark)
        }
    }

    /// No address twice, and another one for the operations listener.
    private func checkListeners(_ reading: inout DecodingContext) {
        if let listeners = self.listeners, listeners.value.isEmpty {
            reading.error("'listeners' is empty; remove it for 127.0.0.1:8080, or list an address", at: listeners.mark)
        }
        guard (self.listeners?.value.count ?? 0) <= 64 else {
            let mark = self.listeners?.mark ?? .start
            return reading.error("more than 64 listeners", at: mark)
        }
        let standard = GatewaySettings.defaultListener
        let addresses = self.listeners?.value.compactMap(\.address) ?? [Located(value: standard, mark: .start)]
        for (index, address) in addresses.enumerated() {
            guard let first = addresses[..<index].first(where: { $0.value.collides(with: address.value) }) else {
                continue
            }
            let message = "'\(address.value)' is taken by the listener in line \(first.mark.line)"
            reading.error(message, at: address.mark)
        }
        let operations = self.operations?.value ?? GatewaySettings.defaultOperations
        guard let taken = addresses.first(where: { $0.value.collides(with: operations) }) else { return }
        let message =
            "'\(operations)' cannot be the address of a listener and of the operations listener, which is never public"
        reading.error(message, at: self.operations?.mark ?? taken.mark)
    }

    /// A header of a proxy counts only if the proxy is trusted.
    private func checkCertificateHeaders(_ reading: inout DecodingContext) {
        guard (self.trustedProxies ?? []).isEmpty else { return }
        for listener in self.listeners?.value ?? [] where listener.trusted?.value != true {
            guard let header = listener.clientCertificates?.value.header else { continue }
            let help = "list the proxy in 'trusted_proxies', such as 127.0.0.1"
            reading.error("the header with the certificate never counts: no proxy is trusted; \(help)", at: header.mark)
        }
    }

    private func checkRedirects(_ reading: inout DecodingContext) {
        guard let publicURL = self.publicURL?.value, !publicURL.isSecure else { return }
        for redirect in (self.listeners?.value ?? []).compactMap(\.redirect) {
            reading.error("a redirect to https needs a 'public_url' with https, not '\(publicURL)'", at: redirect.mark)
        }
    }

    /// Beside a TLS listener, public content is served without TLS as well, where it can be read and changed in transit.
    private func warnOfPlainListeners(_ reading: inout DecodingContext) {
        let listeners = self.listeners?.value ?? []
        guard listeners.contains(where: { $0.certificates != nil }) else { return }
        for listener in listeners where listener.certificates == nil && listener.redirect == nil {
            guard let address = listener.address, !address.value.isLoopback else { continue }
            let help = "add 'redirect: https', or listen on 127.0.0.1"
            let message = "'\(address.value)' serves plain HTTP beside a listener with TLS"
            reading.warning("\(message); \(help)", at: address.mark)
        }
    }

    private func warnOfPublicOperations(_ reading: inout DecodingContext) {
        guard let operations = self.operations, let ip = IPAddress(operations.value.host) else { return }
        guard !CIDRRange.internalNetworks.contains(where: { $0.contains(ip) }) else { return }
        let reach = operations.value.isWildcard ? "on every interface" : "on a public address"
        let help = "listen on 127.0.0.1 or an internal address, or make sure that only your monitoring can reach it"
        reading.warning(
            "'\(operations.value)' serves metrics and status \(reach) to every client; \(help)",
            at: operations.mark
        )
    }

    private func checkTrust(in network: Located<CIDRRange>, _ reading: inout DecodingContext) {
        let help = "list the networks of your proxies, such as 10.0.0.0/8"
        if network.value.prefix == 0 {
            let risk = "every client would be trusted to claim any client IP, scheme and host"
            reading.error("\(risk); \(help)", at: network.mark)
        } else if network.value.prefix < (network.value.isIPv4 ? 8 : 16) {
            reading.warning(
                "a network of this size is unlikely to hold only your own proxies; \(help)",
                at: network.mark
            )
        }
    }
}
