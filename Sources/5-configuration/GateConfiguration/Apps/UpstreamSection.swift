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
            over: \.places,
            .targets,
            .init(isRequired: true, example: ["http://10.0.0.5:8080", "http://10.0.0.6:8080"]),
            "The servers, 1 to 64, all of one scheme: `http://` and `https://` for HTTP/1.1, `h2c://` and `h2://` for "
                + "HTTP/2 without and with TLS, or `unix:` and the path of a socket for HTTP/1.1. A path behind host and port, the same "
                + "for all, is put before the path of each request. See [upstreams.md](upstreams.md#paths)."
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
                .init(),
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
                .init(),
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
