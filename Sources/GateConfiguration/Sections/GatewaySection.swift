// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What is written of `gateway`.
struct GatewayDraft: Sendable {
    var publicURL: Located<Origin>?
    var listeners: Located<[ListenerDraft]>?
    var operations: Located<BindAddress>?
    var operationsHosts: [String]?
    var state: String?
    var trustedProxies: [Located<CIDRRange>]?
    var hsts: HSTSSetting?
    var secrets: [Secret]?
    var limits = LimitSettings()
    var timeouts = TimeoutSettings()
    var drain = DrainSettings()
}

/// What is written of one listener.
struct ListenerDraft: Sendable {
    var address: Located<BindAddress>?
    var certificates: Located<[CertificateDraft]>?
    var http2: Located<Bool>?
    var redirect: Located<ListenerRedirect>?
    var proxyProtocol: [Located<CIDRRange>]?
}

/// What a listener does instead of serving.
enum ListenerRedirect: String, Sendable, CaseIterable {
    /// Every request is sent to the same URL with https.
    case https
}

/// What is written of one certificate.
struct CertificateDraft: Sendable {
    var certificate: String?
    var privateKey: String?
}

extension Mapping<GatewayDraft> {
    /// `gateway`.
    static let gateway = Mapping(
        "the gateway",
        path: "gateway",
        summary: "The gateway itself: where it is reached, where it listens, what it trusts.",
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
                .init(standard: .words("one, `127.0.0.1:8080`, plain")),
                "Where requests are taken."
            ),
            Key(
                "operations",
                located: \.operations,
                .bindAddress,
                .init(standard: "127.0.0.1:9901"),
                "Where health, metrics and status are served; never the address of a listener."
            ),
            Key(
                "operations_hosts",
                \.operationsHosts,
                .list(of: .host, named: "a list of host names"),
                .init(standard: .words("none"), example: ["gatehouse-operations.monitoring.svc"]),
                "Host names by which the operations listener may be reached, beside IP addresses, `localhost` and the host "
                    + "of `operations`. A request with any other `Host` gets 421, so that no page in a browser can read "
                    + "it through a name of its own (DNS rebinding)."
            ),
            Key(
                "state",
                \.state,
                .path,
                .init(standard: .words("`$STATE_DIRECTORY`, else `./state`")),
                "The folder for what the gateway makes itself; a relative path is taken from the working directory."
            ),
            Key(
                "trusted_proxies",
                \.trustedProxies,
                .list(of: Shape<CIDRRange>.network.located, named: "a list of networks"),
                .init(standard: .value([]), example: ["10.0.0.0/8"]),
                "The networks whose X-Forwarded-* and Forwarded are believed."
            ),
            Key(
                "hsts",
                \.hsts,
                .hsts,
                .init(standard: "180d", example: "1w"),
                "How long browsers use https only for the hosts of the gateway and its apps (`Strict-Transport-Security`, "
                    + "RFC 6797). It is sent with the gateway's own responses over TLS that the gateway terminates, never "
                    + "for localhost. `0s` makes browsers forget it, `off` sends nothing."
            ),
            Key(
                "secret",
                \.secrets,
                .oneOrMany(of: .secret(atLeast: 32), named: "a secret or a list of secrets"),
                .init(standard: .words("made in `state`"), example: "${file:/run/secrets/gatehouse}"),
                "At least 32 bytes. A list rotates: the first seals, all open."
            ),
            Key(
                "limits",
                over: \.limits,
                Mapping<LimitSettings>.limits.shape,
                .init(),
                "Bounds on what clients may ask of the gateway."
            ),
            Key(
                "timeouts",
                over: \.timeouts,
                Mapping<TimeoutSettings>.timeouts.shape,
                .init(),
                "How long clients are waited for."
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
        summary: "An address that takes requests.",
        make: { ListenerDraft() },
        keys: [
            Key(
                "address",
                located: \.address,
                .bindAddress,
                .init(isRequired: true, example: "0.0.0.0:443"),
                "Host and port; an IPv6 address stands in brackets, port 0 is any free one."
            ),
            Key(
                "tls",
                located: \.certificates,
                .list(of: Mapping<CertificateDraft>.certificate.shape, named: "a list of certificates"),
                .init(standard: .words("none: plain HTTP")),
                "The certificates, chosen by the server name that a client asks for."
            ),
            Key(
                "http2",
                located: \.http2,
                .flag,
                .init(standard: .words("`true` with `tls`, else `false`")),
                "Whether HTTP/2 is offered beside HTTP/1.1, by ALPN; only with `tls`."
            ),
            Key(
                "redirect",
                located: \.redirect,
                .oneOf("a redirect"),
                .init(standard: .words("none"), example: "https"),
                "`https`: the listener serves nothing and sends each request for a host of the gateway or an app to the "
                    + "same URL with https (308). It is plain HTTP, and `public_url` is https."
            ),
            Key(
                "proxy_protocol",
                \.proxyProtocol,
                .list(of: Shape<CIDRRange>.network.located, named: "a list of networks"),
                .init(standard: .value([]), example: ["10.0.0.0/8"]),
                "The networks of the balancers in front whose connections start with a PROXY header, version 1 or 2, "
                    + "which tells the client's address. A connection from there without one is closed, and so is one "
                    + "from elsewhere with one."
            ),
        ],
        check: { listener, written, reading in
            if let http2 = listener.http2, http2.value, written.keys["tls"] == nil {
                let help = "browsers speak it over TLS only; write 'tls', or remove this"
                reading.error("'http2' needs 'tls': \(help)", at: http2.mark)
            }
            if let redirect = listener.redirect, written.keys["tls"] != nil {
                reading.error("'redirect' is for a plain listener; remove it, or 'tls'", at: redirect.mark)
            }
            guard let certificates = listener.certificates, certificates.value.isEmpty else { return }
            reading.error("'tls' lists no certificate; remove it for a plain listener", at: certificates.mark)
        }
    )
}

extension Mapping<CertificateDraft> {
    /// An element of `gateway.listeners[].tls`.
    static let certificate = Mapping(
        "a certificate",
        path: "gateway.listeners[].tls[]",
        summary: "A certificate chain and its key. Relative paths are taken from the folder of this file.",
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
