// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GateHTTP
internal import GateWire
internal import GateYAML
internal import NIOCore

/// Limits of what clients may ask of the gateway.
package struct GatewayLimits: Sendable, Hashable {
    /// Limits and time-outs of one client connection.
    package var downstream = DownstreamLimits()
    /// Limits of the number of client connections.
    package var connections = ConnectionLimiter.Limits()
    package var signIns = SignInLimits()
    /// Requests in flight.
    package var requests = 8000
    /// Bytes of memory, at least ``minMemory``; nil for what the container or machine grants.
    package var memory: Int64?
    /// The memory with which requests can be served at all: what the program itself needs, and a third more.
    package static let minMemory: Int64 = 64 << 20

    /// How many bytes all request heads that have arrived in part may hold together.
    package var unfinishedHeads: Int { Int(min(32 << 20, (self.memory ?? .max) / 8)) }

    package init() {}

    /// The limits for a process with so many file descriptors, which decide the number of connections unless the file does.
    ///
    /// - Parameters:
    ///   - descriptors: How many file descriptors the process may have; 0 if that is not known.
    ///   - descriptorsAtStart: How many of them are open without any client.
    /// - Returns: The limits with a number of connections.
    package func resolved(descriptors: Int, descriptorsAtStart: Int = 0) -> GatewayLimits {
        var limits = self
        limits.connections.connections =
            self.connections.connections
            ?? GatewayLimits.maxConnections(descriptors: descriptors, atStart: descriptorsAtStart)
        return limits
    }

    /// Half of the descriptors less 200, at most 10,000: each connection may need one to an app, and some are for other
    /// things.
    ///
    /// Where there are so few that nothing would be left, a quarter, and so few that each with one to an app, and four
    /// for providers and operations, stay below the share of the free ones at which sign-ins are rejected (85 %).
    package static func maxConnections(descriptors: Int, atStart: Int = 0) -> Int {
        guard descriptors > 0 else { return ConnectionLimiter.Limits.maxConnections }
        // Far above what counts, so that no product overflows where the number is not limited.
        let descriptors = min(descriptors, 1 << 30)
        let few = min(descriptors / 4, ((descriptors - atStart) * 85 / 100 - 4) / 2)
        return min(ConnectionLimiter.Limits.maxConnections, max(descriptors / 2 - 200, few, 1))
    }
}

/// Limits of sign-ins.
package struct SignInLimits: Sendable, Hashable {
    /// Sign-ins that one browser may start in a minute; 0 for no limit.
    package var perMinute = 30
    /// Sign-ins that the browsers of one client network may start in a minute: an office or a VPN has one IP.
    package var perNetwork: Int { 10 * self.perMinute }
    /// How often one session may be confirmed in a minute, at least as often as a browser may sign in by default; 0 for no limit.
    package var confirmationsPerMinute: Int { self.perMinute == 0 ? 0 : max(30, self.perMinute) }
    /// Sign-ins of one client IP that may fail in a minute; 0 for no limit.
    package var failuresPerMinute = 20
    /// Sign-ins that were started and are not finished.
    package var inFlight = 2000

    package init() {}
}

/// How the gateway stops.
package struct DrainSettings: Sendable, Hashable {
    /// How long connections are still accepted after the readiness check fails; less than `timeout`, or both are zero.
    package var delay = Duration.seconds(5)
    /// From the signal until the last connection is closed, `delay` included.
    package var timeout = Duration.seconds(25)

    package init() {}
}

extension Mapping<GatewayLimits> {
    /// `gateway.limits`.
    static let limits = Mapping(
        "the limits",
        path: "gateway.limits",
        summary: "Limits of what clients may ask of the gateway. Requests over a limit are rejected, not queued.",
        make: { GatewayLimits() },
        keys: connectionKeys + headKeys + signInKeys,
        check: { limits, written, reading in limits.check(written, &reading) }
    )

    private static let connectionKeys: [Key<GatewayLimits>] = [
        Key(
            "connections",
            \.connections.connections,
            .number(1...1_000_000),
            .init(
                default: .words("10000, or half of the file descriptors minus 200 if that is less"),
                example: 20_000
            ),
            "Open connections of all clients together; more are not accepted until one closes."
        ),
        Key(
            "connections_per_client_ip",
            over: \.connections.perClientIP,
            .number(0...1_000_000),
            .init(),
            "Open connections of one client IP; 0 for no limit. Peers in `trusted_proxies` and `proxy_protocol` may have "
                + "more."
        ),
        Key(
            "requests_in_flight",
            over: \.requests,
            .number(1...1_000_000),
            .init(),
            "Requests in flight; more get 503."
        ),
        Key(
            "requests_per_connection",
            over: \.downstream.requestsOfConnection,
            .number(1...1_000_000),
            .init(),
            "Requests on one connection, after which it is closed; clients open another without losing a request. A hundred "
                + "times as many on a connection of HTTP/2."
        ),
        Key(
            "streams",
            over: \.downstream.streams,
            .number(1...1000),
            .init(),
            "Concurrent streams of one HTTP/2 connection."
        ),
        Key(
            "memory",
            \.memory,
            .size(GatewayLimits.minMemory...(1 << 40)),
            .init(default: .words("the memory limit of the container or machine"), example: "1GiB"),
            "The memory of the process from which the overload levels are computed: first idle connections close earlier, then "
                + "new sign-ins are rejected, at last requests get 503. The memory that the process uses just after its "
                + "start, about 48MiB, is not counted."
        ),
    ]

    private static let headKeys: [Key<GatewayLimits>] = [
        Key(
            "header_bytes",
            over: \.downstream.head.bytes,
            .size(1024...65_535),
            .init(),
            "Bytes of the head of a request, all fields together; more get 431."
        ),
        Key(
            "header_field_bytes",
            over: \.downstream.head.fieldBytes,
            .size(256...65_535),
            .init(),
            "Bytes of one field, never more than `header_bytes`; more get 431."
        ),
        Key(
            "header_fields",
            over: \.downstream.head.fields,
            .number(1...1000),
            .init(),
            "Fields in the head of a request; more get 431."
        ),
        Key(
            "url_bytes",
            over: \.downstream.head.targetBytes,
            .size(256...65_535),
            .init(),
            "Bytes of path and query of a request, never more than `header_bytes`; more get 414."
        ),
    ]

    private static let signInKeys: [Key<GatewayLimits>] = [
        Key(
            "sign_ins_in_flight",
            over: \.signIns.inFlight,
            .number(1...1_000_000),
            .init(),
            "Sign-ins that were started and are not finished; more get 503 until some end or time out."
        ),
        Key(
            "sign_ins_per_minute",
            over: \.signIns.perMinute,
            .number(0...1_000_000),
            .init(),
            "Sign-ins that one browser may start in a minute; 0 for no limit. All browsers behind one client IP together may "
                + "start ten times as many. More get 429. Confirmations of sessions are not counted."
        ),
        Key(
            "failed_sign_ins_per_minute",
            over: \.signIns.failuresPerMinute,
            .number(0...1_000_000),
            .init(),
            "Sign-ins of one client IP that may fail in a minute before more get 429; 0 for no limit."
        ),
    ]
}

extension GatewayLimits {
    /// A part is never larger than the whole; a default is lowered to fit.
    fileprivate mutating func check(_ written: Mapping<GatewayLimits>.Written, _ reading: inout DecodingContext) {
        guard written.isSound else { return }
        let head = self.downstream.head
        for (name, size) in [("header_field_bytes", head.fieldBytes), ("url_bytes", head.targetBytes)] {
            guard let mark = written.keys[name], size > head.bytes else { continue }
            let whole = "'header_bytes', which is \(head.bytes)"
            reading.error("'\(name)' is \(size), more than \(whole); lower it or raise that", at: mark)
        }
        self.downstream.head.fieldBytes = min(head.fieldBytes, head.bytes)
        self.downstream.head.targetBytes = min(head.targetBytes, head.bytes)
    }
}

extension DownstreamLimits {
    /// Requests on one connection; one of HTTP/2 may carry a hundred times as many.
    fileprivate var requestsOfConnection: Int {
        get { self.requests }
        set {
            self.requests = newValue
            self.maxRequestsPerConnection = 100 * newValue
        }
    }
}

/// `gateway.drain` as the file has it.
struct DrainDraft: Sendable {
    var delay: Located<Duration>?
    var timeout: Located<Duration>?
}

extension Mapping<DownstreamLimits> {
    /// `gateway.timeouts`.
    static let timeouts = Mapping(
        "the time-outs",
        path: "gateway.timeouts",
        summary: "How long the gateway waits for clients.",
        make: { DownstreamLimits() },
        keys: [
            Key(
                "handshake",
                over: \.handshake,
                .duration(.milliseconds(100)...(.seconds(300))),
                .init(),
                "For the whole TLS handshake."
            ),
            Key(
                "request_head",
                over: \.requestHeadTime,
                .duration(.milliseconds(100)...(.seconds(300))),
                .init(),
                "For the whole head of a request from its first byte; and for the first byte on a new connection."
            ),
            Key(
                "body",
                over: \.bodyInactivity,
                .duration(.milliseconds(100)...(.seconds(3600))),
                .init(),
                "For the next bytes of a request's body."
            ),
            Key(
                "idle",
                over: \.idle,
                .duration(.milliseconds(100)...(.seconds(86_400))),
                .init(),
                "How long a connection is kept open without a request."
            ),
            Key(
                "write",
                over: \.writeStall,
                .duration(.milliseconds(100)...(.seconds(3600))),
                .init(),
                "How long a client may stop reading a pending response before it is disconnected."
            ),
            Key(
                "connection_age",
                over: \.age,
                .duration(.seconds(1)...(.seconds(7 * 86_400))),
                .init(),
                "The age at which a connection is closed, between two requests; clients open another without losing a request."
            ),
        ]
    )
}

extension DownstreamLimits {
    /// For the head of a request, and for the first byte on a new connection.
    fileprivate var requestHeadTime: TimeAmount {
        get { self.requestHead }
        set {
            self.requestHead = newValue
            self.firstByte = newValue
        }
    }
}

extension Mapping<DrainDraft> {
    /// `gateway.drain`.
    static let drain = Mapping(
        "the drain",
        path: "gateway.drain",
        summary: "How the gateway stops on SIGTERM without losing a request.",
        make: { DrainDraft() },
        keys: [
            Key(
                "delay",
                located: \.delay,
                .duration(.zero...(.seconds(3600))),
                .init(default: .words("`5s`, or a fifth of `timeout` if that is less"), example: "5s"),
                "How long connections are still accepted after the readiness check has begun to fail, so that load balancers "
                    + "notice; less than `timeout`."
            ),
            Key(
                "timeout",
                located: \.timeout,
                .duration(.zero...(.seconds(3600))),
                .init(default: .duration(DrainSettings().timeout)),
                "From the signal until the last connection is closed, `delay` included; unfinished requests are cancelled then. "
                    + "Keep it below the time after which the process is killed: 30s with Kubernetes, 90s with systemd."
            ),
        ],
        check: { drain, _, reading in
            guard let delay = drain.delay, delay.value > .zero, delay.value >= drain.settings.timeout else { return }
            let whole =
                drain.timeout == nil
                ? "'timeout', which is \(DrainSettings().timeout.yamlText)" : "'timeout'"
            reading.error("'delay' has to be shorter than \(whole), which includes it", at: delay.mark)
        }
    )
}

extension DrainDraft {
    /// The settings; the default delay leaves most of the time for requests.
    var settings: DrainSettings {
        var settings = DrainSettings()
        settings.timeout = self.timeout?.value ?? settings.timeout
        settings.delay = self.delay?.value ?? min(settings.delay, settings.timeout / 5)
        return settings
    }
}
