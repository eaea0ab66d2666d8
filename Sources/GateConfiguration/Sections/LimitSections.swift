// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateWire

extension Mapping<GatewayLimits> {
    /// `gateway.limits`.
    static let limits = Mapping(
        "the limits",
        path: "gateway.limits",
        summary: "Bounds on what clients may ask of the gateway. Who goes beyond gets a refusal, not a slower answer.",
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
                default: .words("10000, or half of the file descriptors less 200 if that is fewer"),
                example: 20_000
            ),
            "Open connections of all clients together; further ones are not accepted until one closes."
        ),
        Key(
            "connections_per_address",
            over: \.connections.perClientIP,
            .number(0...1_000_000),
            .init(),
            "Open connections of one client address; 0 for no limit. Peers in `trusted_proxies` and `proxy_protocol` "
                + "may have more."
        ),
        Key(
            "requests_in_flight",
            over: \.requests,
            .number(1...1_000_000),
            .init(),
            "Requests that are being answered; further ones get 503."
        ),
        Key(
            "requests_per_connection",
            over: \.downstream.requestsOfConnection,
            .number(1...1_000_000),
            .init(),
            "Requests on one connection, after which it is closed; clients open another without a loss. A hundred times "
                + "as many on one of HTTP/2."
        ),
        Key(
            "streams",
            over: \.downstream.streams,
            .number(1...1000),
            .init(),
            "Requests at a time on one HTTP/2 connection."
        ),
        Key(
            "memory",
            \.memory,
            .size(GatewayLimits.minMemory...(1 << 40)),
            .init(default: .words("the memory that the container or machine grants"), example: "1GiB"),
            "The memory of the process from which the stages of overload are reckoned: idle connections end earlier, new "
                + "sign-ins wait, and at last requests get 503. What the process uses when it has just started, about "
                + "48MiB, is not counted in the share that is used."
        ),
    ]

    private static let headKeys: [Key<GatewayLimits>] = [
        Key(
            "header_bytes",
            over: \.downstream.head.bytes,
            .size(1024...65_535),
            .init(),
            "Bytes of the head of a request, all fields together; more is answered with 431."
        ),
        Key(
            "header_field_bytes",
            over: \.downstream.head.fieldBytes,
            .size(256...65_535),
            .init(),
            "Bytes of one field, never more than `header_bytes`; more is answered with 431."
        ),
        Key(
            "header_fields",
            over: \.downstream.head.fields,
            .number(1...1000),
            .init(),
            "Fields in the head of a request; more are answered with 431."
        ),
        Key(
            "url_bytes",
            over: \.downstream.head.targetBytes,
            .size(256...65_535),
            .init(),
            "Bytes of path and query of a request, never more than `header_bytes`; more is answered with 414."
        ),
    ]

    private static let signInKeys: [Key<GatewayLimits>] = [
        Key(
            "sign_ins_in_flight",
            over: \.signIns.inFlight,
            .number(1...1_000_000),
            .init(),
            "Sign-ins that were started and are not finished; further ones get 503 until some end or time out."
        ),
        Key(
            "sign_ins_per_minute",
            over: \.signIns.perMinute,
            .number(0...1_000_000),
            .init(),
            "Sign-ins that one client address may start in a minute; 0 for no limit. Further ones get 429."
        ),
        Key(
            "failed_sign_ins_per_minute",
            over: \.signIns.failuresPerMinute,
            .number(0...1_000_000),
            .init(),
            "Sign-ins of one client address that may fail in a minute before further ones get 429; 0 for no limit."
        ),
    ]
}

extension GatewayLimits {
    /// A part is never larger than the whole; what is not written gives way.
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
