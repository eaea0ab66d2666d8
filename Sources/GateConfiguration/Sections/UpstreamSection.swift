// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProxy
internal import GateWire
internal import NIOCore

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
            .init(example: "least_requests"),
            "Who gets a request: `round_robin`, one after the other; `least_requests`, who has the fewest in flight; "
                + "`sticky`, the same for all requests of a session, without a cookie."
        ),
        Key(
            "reuse",
            over: \.reuse,
            .oneOf("a rule for connections"),
            .init(example: "always"),
            "Which HTTP/1.1 connections carry further requests. `without_bodies`: a request with a body or with HEAD ends its connection, "
                + "since an app that leaves a body unread takes it for the next request, with whatever identity headers "
                + "the client wrote there; `always`: faster, for apps that are known to read every body; `never`: for apps "
                + "that tie an identity to the connection (NTLM, Negotiate). HTTP/2 needs none of this."
        ),
        Key(
            "tls",
            \.tls,
            Mapping<UpstreamTLSDraft>.upstreamTLS.shape.map { $0.settings },
            .init(default: .words("the system's authorities")),
            "What is trusted and shown; only with `https` and `h2`."
        ),
        Key(
            "dns_ttl",
            over: \.dnsTTL,
            .duration(.seconds(1)...(.seconds(86_400))),
            .init(),
            "How long the addresses of a name are used before it is looked up again; connections that are open stay."
        ),
    ]

    private static let useKeys: [Key<UpstreamSettings>] = [
        Key(
            "health",
            \.health,
            Mapping<HealthCheckSettings>.health.shape,
            .init(default: .words("none")),
            "Requests that find out whether a target is well."
        ),
        Key(
            "eject",
            \.ejection,
            Mapping<EjectionSettings>.ejection.shape,
            .init(default: .words("on, with the defaults")),
            "When a target that fails requests is left alone for a while; never the last one."
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
            "Which requests are sent once more when the connection they went over was closed."
        ),
        Key(
            "slow_start",
            over: \.slowStart,
            .duration(.zero...(.seconds(900))),
            .init(),
            "In what time a target that is new or well again gets its whole share, step by step; `0s` for at once."
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
                "Requests that wait for a connection; further ones get 503. 0: none waits."
            ),
            Key(
                "requests",
                over: \.requests,
                .number(1...1_000_000),
                .init(),
                "Requests in flight to a target; further ones get 503."
            ),
        ]
    )
}

extension Mapping<UpstreamLimits> {
    /// `apps.<name>.upstream.timeouts`.
    static let upstreamTimeouts = Mapping(
        "the time-outs of an upstream",
        path: "apps.<name>.upstream.timeouts",
        summary: "How long a target is waited for.",
        make: { UpstreamLimits() },
        keys: [
            Key(
                "connect",
                over: \.connect,
                .duration(.milliseconds(100)...(.seconds(60))),
                .init(),
                "Until a connection is made, TLS included; then 504."
            ),
            Key(
                "answer",
                over: \.responseHead,
                .duration(.milliseconds(100)...(.seconds(3600))),
                .init(),
                "From the end of a request to the head of its answer; then 504."
            ),
            Key(
                "idle",
                over: \.inactivity,
                .duration(.milliseconds(100)...(.seconds(86_400))),
                .init(),
                "Silence in a body, either way; then the request is cut. Answers that stream are exempt."
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
                "The per cent of requests that may be sent once more, beside three; it keeps a failing app from twice "
                    + "the load."
            ),
        ]
    )
}
