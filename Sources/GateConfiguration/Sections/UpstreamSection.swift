// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension Mapping<UpstreamSettings> {
    /// `apps.<name>.upstream` as a mapping.
    static let upstream = Mapping(
        "an upstream",
        path: "apps.<name>.upstream",
        summary:
            "The servers behind an app. A single address, or a list, stands for a mapping with only these `targets`.",
        make: { UpstreamSettings(targets: []) },
        keys: placeKeys + useKeys,
        check: { upstream, written, reading in
            if upstream.ejection?.failures == 0 { upstream.ejection = nil }
            guard let mark = written.keys["tls"], let target = upstream.targets.first, !target.isSecure else { return }
            let help =
                target.origin == nil
                ? "a socket is never encrypted, so remove this"
                : "write '\(target.isHTTP2 ? "h2" : "https")://' in 'targets', or remove this"
            reading.error("'tls' is of no use with '\(target.scheme)'; \(help)", at: mark)
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
            .oneOf("a way to balance"),
            .init(standard: "round_robin", example: "least_requests"),
            "Who gets a request: `round_robin`, one after the other; `least_requests`, who has the fewest in flight; "
                + "`sticky`, the same for all requests of a session, without a cookie."
        ),
        Key(
            "reuse",
            over: \.reuse,
            .oneOf("a rule for connections"),
            .init(standard: "without_bodies", example: "always"),
            "Which HTTP/1.1 connections carry further requests. `without_bodies`: a request with a body or with HEAD ends its connection, "
                + "since an app that leaves a body unread takes it for the next request, with whatever identity headers "
                + "the client wrote there; `always`: faster, for apps that are known to read every body; `never`: for apps "
                + "that tie an identity to the connection (NTLM, Negotiate). HTTP/2 needs none of this."
        ),
        Key(
            "tls",
            \.tls,
            Mapping<UpstreamTLSDraft>.upstreamTLS.shape.map(\.settings),
            .init(standard: .words("the system's authorities")),
            "What is trusted and shown; only with `https` and `h2`."
        ),
        Key(
            "dns_ttl",
            over: \.dnsTTL,
            .duration(.seconds(1)...(.seconds(86_400)), shown: "1s to 1d"),
            .init(standard: "30s"),
            "How long the addresses of a name are used before it is looked up again; connections that are open stay."
        ),
    ]

    private static let useKeys: [Key<UpstreamSettings>] = [
        Key(
            "health",
            \.health,
            Mapping<HealthSettings>.health.shape,
            .init(standard: .words("none")),
            "Requests that find out whether a target is well."
        ),
        Key(
            "eject",
            \.ejection,
            Mapping<EjectionSettings>.ejection.shape,
            .init(standard: .words("on, with the defaults")),
            "When a target that fails requests is left alone for a while; never the last one."
        ),
        Key(
            "limits",
            over: \.limits,
            Mapping<UpstreamLimitSettings>.upstreamLimits.shape,
            .init(),
            "Bounds for each target."
        ),
        Key(
            "timeouts",
            over: \.timeouts,
            Mapping<UpstreamTimeoutSettings>.upstreamTimeouts.shape,
            .init(),
            "How long a target is waited for."
        ),
        Key(
            "retry",
            over: \.retry,
            Mapping<RetrySettings>.retry.shape,
            .init(),
            "Which requests are sent once more when the connection they went over was closed."
        ),
        Key(
            "slow_start",
            over: \.slowStart,
            .duration(.zero...(.seconds(900)), shown: "0s to 15m"),
            .init(standard: "0s"),
            "In what time a target that is new or well again gets its whole share, step by step; `0s` for at once."
        ),
    ]
}

extension Mapping<UpstreamLimitSettings> {
    /// `apps.<name>.upstream.limits`.
    static let upstreamLimits = Mapping(
        "the limits of an upstream",
        path: "apps.<name>.upstream.limits",
        summary: "Bounds for each target, on each event loop of the gateway.",
        make: { UpstreamLimitSettings() },
        keys: [
            Key(
                "connections",
                over: \.connections,
                .number(1...65_535),
                .init(standard: .value(512)),
                "Open connections to a target."
            ),
            Key(
                "pending",
                over: \.pending,
                .number(0...65_535),
                .init(standard: .value(256)),
                "Requests that wait for a connection; further ones get 503. 0: none waits."
            ),
            Key(
                "requests",
                over: \.requests,
                .number(1...1_000_000),
                .init(standard: .value(1024)),
                "Requests in flight to a target; further ones get 503."
            ),
        ]
    )
}

extension Mapping<UpstreamTimeoutSettings> {
    /// `apps.<name>.upstream.timeouts`.
    static let upstreamTimeouts = Mapping(
        "the time-outs of an upstream",
        path: "apps.<name>.upstream.timeouts",
        summary: "How long a target is waited for.",
        make: { UpstreamTimeoutSettings() },
        keys: [
            Key(
                "connect",
                over: \.connect,
                .duration(.milliseconds(100)...(.seconds(60)), shown: "100ms to 60s"),
                .init(standard: "5s"),
                "Until a connection is made, TLS included; then 504."
            ),
            Key(
                "answer",
                over: \.answer,
                .duration(.milliseconds(100)...(.seconds(3600)), shown: "100ms to 1h"),
                .init(standard: "30s"),
                "From the end of a request to the head of its answer; then 504."
            ),
            Key(
                "idle",
                over: \.idle,
                .duration(.milliseconds(100)...(.seconds(86_400)), shown: "100ms to 1d"),
                .init(standard: "60s"),
                "Silence in a body, either way; then the request is cut. Answers that stream are exempt."
            ),
            Key(
                "keep_alive",
                over: \.keepAlive,
                .duration(.milliseconds(100)...(.seconds(3600)), shown: "100ms to 1h"),
                .init(standard: "4s"),
                "How long a connection is kept for later requests; best less than the app keeps it, often 5s."
            ),
            Key(
                "tunnel",
                over: \.tunnel,
                .duration(.milliseconds(100)...(.seconds(7 * 86_400)), shown: "100ms to 7d"),
                .init(standard: "1h"),
                "Silence in a WebSocket, both ways; then it is closed."
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
            "A request that met the end of a kept connection, with no byte of its answer seen, is sent once more over a "
            + "new one; never after a time-out or an error that the app answered with.",
        make: { RetrySettings() },
        keys: [
            Key(
                "methods",
                over: \.methods,
                .set(of: .retryMethod, named: "a list of methods", limit: 5),
                .init(standard: .value(["GET", "HEAD", "OPTIONS"]), example: ["GET", "HEAD", "OPTIONS", "PUT"]),
                "The methods of such requests: GET, HEAD, OPTIONS, and if the app allows it PUT and DELETE; `[]` for none."
            ),
            Key(
                "budget",
                over: \.budget,
                .number(0...100),
                .init(standard: .value(10)),
                "The per cent of requests that may be sent once more, beside three; it keeps a failing app from twice "
                    + "the load."
            ),
        ]
    )
}
