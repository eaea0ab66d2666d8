// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProxy
internal import GateWire
internal import GateYAML
internal import NIOCore

extension Mapping<UpstreamSettings> {
    /// `apps.<name>.upstream` as a mapping.
    static let upstream = Mapping(
        "an upstream",
        path: "apps.<name>.upstream",
        summary:
            "The servers of an app. A single URL, or a list of them, is short for a mapping with only these `targets`.",
        make: { UpstreamSettings(targets: []) },
        keys: placeKeys + useKeys,
        check: { upstream, written, reading in
            if upstream.ejection?.failures == 0 { upstream.ejection = nil }
            guard let mark = written.keys["tls"], let target = upstream.targets.first, !target.isSecure else { return }
            let help =
                target.origin == nil
                ? "a socket is never encrypted, so remove this"
                : "write '\(target.isHTTP2 ? "h2" : "https")://' in 'targets', or remove this"
            reading.error("'tls' has no effect with '\(target.scheme)'; \(help)", at: mark)
        }
    )

    private static let placeKeys: [Key<UpstreamSettings>] = [
        Key(
            "targets",
            over: \.targets,
            .targets,
            .init(isRequired: true, example: ["http://10.0.0.5:8080", "http://10.0.0.6:8080"]),
            "The servers, 1 to 64, all of one scheme: `http://` and `https://` for HTTP/1.1, `h2c://` and `h2://` for "
                + "HTTP/2 without and with TLS, or `unix:` and the path of a socket for HTTP/1.1."
        ),
        Key(
            "balance",
            over: \.balance,
            .oneOf("a load balancing policy"),
            .init(example: "least_requests"),
            "Which target gets a request: `round_robin`, one after the other; `least_requests`, the one with the fewest in "
                + "flight; `sticky`, the same for all requests of a session, without a cookie."
        ),
        Key(
            "reuse",
            over: \.reuse,
            .oneOf("a rule for connections"),
            .init(example: "always"),
            "Which HTTP/1.1 connections carry further requests. `without_bodies`: a connection is closed after a request "
                + "with a body or with HEAD, since an app that leaves a body unread takes it for the next request, with "
                + "identity headers that the client wrote there; `always`: faster, for apps that are known to read every "
                + "body; `never`: for apps that tie an identity to the connection (NTLM, Negotiate). HTTP/2 is not affected."
        ),
        Key(
            "tls",
            \.tls,
            Mapping<UpstreamTLSDraft>.upstreamTLS.shape.map { $0.settings },
            .init(default: .words("the system's certificates")),
            "The certificates to trust and to present; only with `https` and `h2`."
        ),
        Key(
            "dns_ttl",
            over: \.dnsTTL,
            .duration(.seconds(1)...(.seconds(86_400))),
            .init(),
            "How long the addresses of a name are used before it is resolved again; open connections stay."
        ),
    ]

    private static let useKeys: [Key<UpstreamSettings>] = [
        Key(
            "health",
            \.health,
            Mapping<HealthCheckSettings>.health.shape,
            .init(default: .words("none")),
            "Requests that find out whether a target is healthy."
        ),
        Key(
            "eject",
            \.ejection,
            Mapping<EjectionSettings>.ejection.shape,
            .init(default: .words("on, with the defaults")),
            "When a failing target is ejected for a while; never the last one."
        ),
        Key(
            "limits",
            into: \.limits,
            .upstreamLimits,
            "Limits for each target."
        ),
        Key(
            "timeouts",
            into: \.limits,
            .upstreamTimeouts,
            "How long the gateway waits for a target."
        ),
        Key(
            "retry",
            into: \.retry,
            .retry,
            "Which requests are retried when the app closed their connection."
        ),
        Key(
            "slow_start",
            over: \.slowStart,
            .duration(.zero...(.seconds(900))),
            .init(),
            "How long the share of a new or recovered target grows step by step; `0s` for its whole share at once."
        ),
    ]
}

extension Mapping<UpstreamLimits> {
    /// `apps.<name>.upstream.limits`.
    static let upstreamLimits = Mapping(
        "the limits of an upstream",
        path: "apps.<name>.upstream.limits",
        summary: "Bounds for each target, on each event loop of the gateway.",
        make: { UpstreamLimits() },
        keys: [
            Key(
                "connections",
                over: \.connections,
                .number(1...65_535),
                .init(),
                "Open connections to a target."
            ),
            Key(
                "pending",
                over: \.pending,
                .number(0...65_535),
                .init(),
                "Requests that wait for a connection; more get 503. 0 for none."
            ),
            Key(
                "requests",
                over: \.requests,
                .number(1...1_000_000),
                .init(),
                "Requests in flight to a target; more get 503."
            ),
        ]
    )
}

extension Mapping<UpstreamLimits> {
    /// `apps.<name>.upstream.timeouts`.
    static let upstreamTimeouts = Mapping(
        "the time-outs of an upstream",
        path: "apps.<name>.upstream.timeouts",
        summary: "How long the gateway waits for a target.",
        make: { UpstreamLimits() },
        keys: [
            Key(
                "connect",
                over: \.connect,
                .duration(.milliseconds(100)...(.seconds(60))),
                .init(),
                "Until a connection is open, TLS included; then 504."
            ),
            Key(
                "response",
                over: \.responseHead,
                .duration(.milliseconds(100)...(.seconds(3600))),
                .init(formerly: "answer"),
                "From the end of a request to the head of its response; then 504."
            ),
            Key(
                "idle",
                over: \.inactivity,
                .duration(.milliseconds(100)...(.seconds(86_400))),
                .init(),
                "Silence in a body, in either direction; then the request is cancelled. Streaming responses are exempt."
            ),
            Key(
                "keep_alive",
                over: \.idle,
                .duration(.milliseconds(100)...(.seconds(3600))),
                .init(),
                "How long a connection is kept for later requests; best less than the app keeps it, often 5s."
            ),
            Key(
                "tunnel",
                over: \.tunnel,
                .duration(.milliseconds(100)...(.seconds(7 * 86_400))),
                .init(),
                "Silence in a WebSocket, in both directions; then it is closed."
            ),
        ]
    )
}

extension Mapping<RetrySettings> {
    /// `apps.<name>.upstream.retry`.
    static let retry = Mapping(
        "the retries",
        path: "apps.<name>.upstream.retry",
        summary:
            "A request whose reused connection was closed by the app before the first byte of a response is retried once "
            + "over a new connection; never after a time-out or an error response of the app.",
        make: { RetrySettings() },
        keys: [
            Key(
                "methods",
                over: \.methods,
                Shape<[String]>.set(of: .retryMethod, named: "a list of methods", limit: 5).map(
                    write: { .array($0.map { .string($0.rawValue) }) },
                    { names in names.compactMap { RequestMethod(rawValue: $0) } }
                ),
                .init(example: ["GET", "HEAD", "OPTIONS", "PUT"]),
                "The methods of such requests: GET, HEAD, OPTIONS, and if the app allows it PUT and DELETE; `[]` for none."
            ),
            Key(
                "budget",
                over: \.budget,
                .number(0...100),
                .init(),
                "The per cent of requests that may be retried, beside three; it protects a failing app from twice the load."
            ),
        ]
    )
}

extension Mapping<HealthCheckSettings> {
    /// `apps.<name>.upstream.health`.
    static let health = Mapping(
        "a health check",
        path: "apps.<name>.upstream.health",
        summary: "The gateway requests a path from each target in intervals; a target that fails gets no requests.",
        make: { HealthCheckSettings(path: "") },
        keys: whatKeys + whenKeys,
        check: { health, written, reading in health.check(written, &reading) }
    )

    private static let whatKeys: [Key<HealthCheckSettings>] = [
        Key(
            "path",
            over: \.path,
            .healthPath,
            .init(isRequired: true, example: "/healthz"),
            "The path to request with GET, a query included; it is sent as it is, without identity."
        ),
        Key(
            "status",
            over: \.statuses,
            .set(of: .number(100...599), named: "a list of statuses", limit: 64),
            .init(default: .words("200 to 399"), example: [200, 204]),
            "The statuses of a healthy target, 100 to 599."
        ),
        Key(
            "host",
            \.host,
            .authority,
            .init(default: .words("host and port of the target"), example: "app.internal"),
            "The `Host` of the check."
        ),
    ]

    private static let whenKeys: [Key<HealthCheckSettings>] = [
        Key(
            "interval",
            over: \.interval,
            .duration(.seconds(1)...(.seconds(600))),
            .init(),
            "From one check to the next."
        ),
        Key(
            "timeout",
            over: \.timeout,
            .duration(.milliseconds(100)...(.seconds(60))),
            .init(),
            "For a check as a whole, never more than `interval`."
        ),
        Key(
            "healthy",
            over: \.healthy,
            .number(1...100),
            .init(),
            "The number of successful checks in a row after which a target gets requests again."
        ),
        Key(
            "unhealthy",
            over: \.unhealthy,
            .number(1...100),
            .init(),
            "The number of failed checks in a row after which a target gets no requests."
        ),
    ]
}

extension HealthCheckSettings {
    /// Checks of one target never overlap; the default time-out is lowered to fit.
    fileprivate mutating func check(_ written: Mapping<HealthCheckSettings>.Written, _ reading: inout DecodingContext) {
        guard written.isSound else { return }
        if let mark = written.keys["status"], self.statuses.isEmpty {
            reading.error("'status' is an empty list; remove it for 200 to 399", at: mark)
        }
        if let mark = written.keys["timeout"], self.timeout > self.interval {
            reading.error("'timeout' is longer than 'interval', so checks would overlap; shorten it", at: mark)
        }
        self.timeout = min(self.timeout, self.interval)
    }
}

extension Mapping<EjectionSettings> {
    /// `apps.<name>.upstream.eject`.
    static let ejection = Mapping(
        "the ejection",
        path: "apps.<name>.upstream.eject",
        summary: "A target that fails requests is ejected for a while, unless it is the last one left.",
        make: { EjectionSettings() },
        keys: [
            Key(
                "failures",
                over: \.failures,
                .number(0...1000),
                .init(),
                "The number of failures in a row: no connection, no response in time, or the statuses 502, 503 and 504; "
                    + "0 for never."
            ),
            Key(
                "time",
                over: \.time,
                .duration(.milliseconds(100)...(.seconds(3600))),
                .init(),
                "The time of an ejection, times the number of ejections in a row."
            ),
            Key(
                "max_time",
                over: \.maxTime,
                .duration(.milliseconds(100)...(.seconds(86_400))),
                .init(formerly: "longest"),
                "The maximum time of an ejection, never less than `time`."
            ),
        ],
        check: { ejection, written, reading in
            guard written.isSound else { return }
            if let mark = written.keys["max_time"], ejection.maxTime < ejection.time {
                reading.error("'max_time' is less than 'time'; raise it or lower 'time'", at: mark)
            }
            ejection.maxTime = max(ejection.maxTime, ejection.time)
        }
    )
}

/// The TLS of connections to servers of the operator, as the file has it.
struct UpstreamTLSDraft: Sendable {
    var caFile: String?
    var certificate: String?
    var privateKey: String?
    var serverName: String?
    var pins: PinSetDraft?
}

extension Mapping<UpstreamTLSDraft> {
    /// `apps.<name>.upstream.tls`.
    static let upstreamTLS = clientTLS(
        path: "apps.<name>.upstream.tls",
        trust: "The PEM file of the only certificates to trust for this app.",
        name: "the host of the target",
        further: [
            Key(
                "pins",
                \.pins,
                Mapping<PinSetDraft>.upstreamPins.shape,
                .init(default: .words("none")),
                "The pins of the targets, in addition to a valid chain."
            )
        ]
    )

    /// The TLS of connections to servers of the operator.
    ///
    /// - Parameters:
    ///   - path: The path of the mapping.
    ///   - trust: The summary of `ca_file`.
    ///   - name: The default of `server_name`.
    ///   - further: Further keys.
    /// - Returns: The mapping.
    static func clientTLS(
        path: String,
        trust: String,
        name: String,
        further: [Key<UpstreamTLSDraft>] = []
    ) -> Mapping {
        Mapping(
            "the TLS of connections",
            path: path,
            summary:
                "The certificates to trust and to present over TLS. Relative paths are resolved against the folder of this "
                + "file.",
            make: { UpstreamTLSDraft() },
            keys: [
                Key(
                    "ca_file",
                    \.caFile,
                    .certificatesFile,
                    .init(default: .words("the system's certificates"), example: "tls/app-ca.pem"),
                    trust
                ),
                Key(
                    "certificate",
                    \.certificate,
                    .existingFile,
                    .init(default: .words("none"), example: "tls/client.pem"),
                    "The PEM file of the certificate chain that is presented to the targets, leaf first; with "
                        + "`private_key`."
                ),
                Key(
                    "private_key",
                    \.privateKey,
                    .existingFile,
                    .init(default: .words("none"), example: "tls/client.key"),
                    "The PEM file of the private key of `certificate`."
                ),
                Key(
                    "server_name",
                    \.serverName,
                    .host,
                    .init(default: .words(name), example: "app.internal"),
                    "The server name (SNI) that the certificate must have."
                ),
            ] + further,
            check: { _, written, reading in
                for (one, other) in [("certificate", "private_key"), ("private_key", "certificate")] {
                    guard let mark = written.keys[one], written.keys[other] == nil else { continue }
                    let example = "'\(other): tls/client.\(other == "certificate" ? "pem" : "key")'"
                    reading.error("'\(one)' needs '\(other)', such as \(example)", at: mark)
                }
            }
        )
    }
}

extension UpstreamTLSDraft {
    /// The settings.
    var settings: UpstreamTLS.Settings {
        var settings = UpstreamTLS.Settings()
        settings.caFile = self.caFile
        if let certificate = self.certificate, let privateKey = self.privateKey {
            settings.certificate = CertificateFiles(certificate: certificate, privateKey: privateKey)
        }
        settings.serverName = self.serverName
        settings.pins = self.pins?.policy.standard
        return settings
    }
}

extension Shape<UpstreamTarget> {
    /// One server of an app.
    static let target = single(
        "an upstream",
        pattern: "^((https?|h2c?)://[^/?#@]+/?|unix:/.+)$",
        parse: UpstreamTarget.parse
    )
}

extension Shape<[UpstreamTarget]> {
    /// The servers of an app: 1 to 64, each once, all of one scheme.
    static let targets: Shape = {
        let one = Shape<UpstreamTarget>.target
        let list = Shape<[Located<UpstreamTarget>]>.oneOrMany(of: one.located, named: "an upstream or a list of them")
        let several: JSON = ["type": "array", "items": one.schema, "minItems": 1, "maxItems": 64, "uniqueItems": true]
        return Shape(list.kind, schema: ["anyOf": [one.schema, several]]) { node, reading in
            if case .sequence(let nodes) = node.content, nodes.count > 64 {
                reading.error("more than 64 upstreams", at: node.mark)
                return nil
            }
            guard let targets = list.read(node, &reading) else { return nil }
            check(targets, &reading)
            return targets.map(\.value)
        }
        .whole
    }()

    private static func check(_ targets: [Located<UpstreamTarget>], _ reading: inout DecodingContext) {
        guard let first = targets.first else { return }
        var lines: [UpstreamTarget: Int] = [:]
        for target in targets {
            let shown = Scalar.quoted("\(target.value)", limit: 4096)
            if let line = lines[target.value] {
                reading.error("\(shown) is here twice; first in line \(line)", at: target.mark)
            } else if target.value.scheme != first.value.scheme {
                let help = "all targets of an app have the same scheme"
                let schemes = "'\(target.value.scheme)' beside '\(first.value.scheme)' in line \(first.mark.line)"
                reading.error("\(schemes); \(help)", at: target.mark)
            }
            lines[target.value] = lines[target.value] ?? target.mark.line
        }
    }
}

extension Shape<UpstreamSettings> {
    /// The servers of an app, alone or with settings.
    static let upstream: Shape = {
        let targets = Shape<[UpstreamTarget]>.targets
        let mapping = Mapping<UpstreamSettings>.upstream.shape.whole
        let kind = "an upstream, a list of them, or a mapping with 'targets'"
        let schema: JSON = ["anyOf": [targets.schema, mapping.schema]]
        return Shape("an upstream, a list, or a mapping", schema: schema, sections: mapping.sections) { node, reading in
            guard !node.isNull else {
                reading.wrongType(node, kind: kind)
                return nil
            }
            guard case .mapping = node.content else {
                return targets.read(node, &reading).map { UpstreamSettings(targets: $0) }
            }
            return mapping.read(node, &reading)
        }
    }()
}

extension Shape<String> {
    /// A host with or without a port, as `Host` carries it.
    static let authority = single("a host", pattern: #"^[A-Za-z0-9._\-\[\]:]+$"#) { text throws(InvalidValue) in
        guard !text.contains("/") else {
            throw InvalidValue("is not a host; write a name without scheme and path, such as app.internal")
        }
        guard let parts = WebURL.split(authority: text), let host = Origin.normalHost(parts.host) else {
            throw InvalidValue("is not a host such as app.internal or app.internal:8080")
        }
        return parts.port.map { "\(host):\($0)" } ?? host
    }

    /// The target of a health check: a path, with or without a query.
    static let healthPath = single("a path", pattern: "^/[^#]*$") { text throws(InvalidValue) in
        guard text.hasPrefix("/") else {
            throw InvalidValue("is not a path; it starts with '/', so write '/\(text.prefix(60))'")
        }
        guard text.utf8.count <= 1024, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x23 }) else {
            throw InvalidValue("is not a path; it may hold 1024 visible ASCII characters, but no '#'")
        }
        return text
    }

    /// A method of requests that may be retried.
    ///
    /// RFC 9110 §9.2.2.
    static let retryMethod: Shape = {
        let known = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]
        let one = single("a method") { text throws(InvalidValue) in
            guard !known.contains(text) else { return text }
            guard !["POST", "PATCH"].contains(text.uppercased()) else {
                throw InvalidValue(
                    "is never retried, since the app may have processed the request; remove it"
                )
            }
            let hint = Hint.nearest(to: text, in: known).map { "did you mean '\($0)'?" }
            throw InvalidValue("is not a method to retry; \(hint ?? "write one of \(known.joined(separator: ", "))")")
        }
        let schema: JSON = ["anyOf": [["enum": .array(known.map(JSON.string))], Schema.reference]]
        return Shape(one.kind, schema: schema) { one.read($0, &$1) }
    }()
}

extension UpstreamTarget {
    /// Reads the URL of a target, and suggests what to write instead of an unsupported one.
    fileprivate static func parse(_ text: String) throws(InvalidValue) -> UpstreamTarget {
        if let socket = text.firstRange(of: "unix:"),
            socket.lowerBound == text.startIndex || text[socket.upperBound...].hasPrefix("/")
        {
            return try self.socket(path: text[socket.upperBound...], how: text[..<socket.lowerBound])
        }
        guard let mark = text.firstRange(of: "://") else {
            let isAuthority = WebURL("http://\(text)") != nil
            let help =
                isAuthority
                ? "did you mean 'http://\(text)'?" : "write such as http://10.0.0.5:8080 or unix:/run/app.sock"
            throw InvalidValue("is not an upstream; \(help)")
        }
        let rest = text[mark.upperBound...]
        let (isSecure, isHTTP2) = try self.scheme(text[..<mark.lowerBound].lowercased(), rest)
        guard let address = WebURL("\(isSecure ? "https" : "http")://\(rest)") else {
            throw InvalidValue("is not an upstream; write such as http://10.0.0.5:8080 or unix:/run/app.sock")
        }
        let place = UpstreamTarget.Place.tcp(host: address.origin.host, port: address.origin.port)
        let target = UpstreamTarget(place, isSecure: isSecure, isHTTP2: isHTTP2)
        guard address.path == "/", address.query == nil else {
            throw InvalidValue("has a path; requests keep their path, so write '\(target)'")
        }
        return target
    }

    private static func scheme(
        _ scheme: String,
        _ rest: Substring
    ) throws(InvalidValue) -> (isSecure: Bool, isHTTP2: Bool) {
        switch scheme {
        case "http": return (false, false)
        case "https": return (true, false)
        case "h2c": return (false, true)
        case "h2": return (true, true)
        case "ws", "wss":
            let help = "write '\(scheme == "ws" ? "http" : "https")://\(rest.prefix(200))' and 'websocket: true'"
            throw InvalidValue("is not an upstream; a WebSocket starts as a request, so \(help)")
        case "grpc", "grpcs":
            let known = scheme == "grpc" ? "h2c" : "h2"
            throw InvalidValue("is not an upstream; gRPC is HTTP/2, so write '\(known)://\(rest.prefix(200))'")
        default:
            let names = ["http", "https", "h2c", "h2"]
            let hint = Hint.nearest(to: scheme, in: names).map { "did you mean '\($0)://\(rest.prefix(200))'?" }
            throw InvalidValue(
                "is not an upstream; \(hint ?? "it starts with http://, https://, h2c://, h2:// or unix:/")"
            )
        }
    }

    /// The path of a socket has to fit `sun_path`, 108 bytes with its end.
    private static func socket(path: Substring, how: Substring) throws(InvalidValue) -> UpstreamTarget {
        guard how.isEmpty else {
            let plain = "/" + path.drop { $0 == "/" }.prefix(107)
            throw InvalidValue(
                "has a scheme that sockets do not support; they carry plain HTTP/1.1, so write 'unix:\(plain)'"
            )
        }
        guard path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw InvalidValue("needs an absolute path, such as unix:/run/app.sock")
        }
        guard path.utf8.count <= 107 else {
            throw InvalidValue("is longer than the 107 bytes that a socket's path may have")
        }
        return .unix(path: String(path))
    }
}
