// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension Mapping<LimitSettings> {
    /// `gateway.limits`.
    static let limits = Mapping(
        "the limits",
        path: "gateway.limits",
        summary: "Bounds on what clients may ask of the gateway. Who goes beyond gets a refusal, not a slower answer.",
        make: { LimitSettings() },
        keys: connectionKeys + headKeys + signInKeys,
        check: { limits, written, reading in limits.check(written, &reading) }
    )

    private static let connectionKeys: [Key<LimitSettings>] = [
        Key(
            "connections",
            \.connections,
            .number(1...1_000_000),
            .init(
                standard: .words("10000, or half of the file descriptors less 200 if that is fewer"),
                example: 20_000
            ),
            "Open connections of all clients together; further ones are not accepted until one closes."
        ),
        Key(
            "connections_per_address",
            over: \.connectionsPerClientIP,
            .number(0...1_000_000),
            .init(standard: .value(256)),
            "Open connections of one client address; 0 for no limit. Peers in `trusted_proxies` and `proxy_protocol` "
                + "may have more."
        ),
        Key(
            "requests_in_flight",
            over: \.requestsInFlight,
            .number(1...1_000_000),
            .init(standard: .value(8000)),
            "Requests that are being answered; further ones get 503."
        ),
        Key(
            "requests_per_connection",
            over: \.requestsPerConnection,
            .number(1...1_000_000),
            .init(standard: .value(1000)),
            "Requests on one connection, after which it is closed; clients open another without a loss. A hundred times "
                + "as many on one of HTTP/2."
        ),
        Key(
            "streams",
            over: \.streams,
            .number(1...1000),
            .init(standard: .value(100)),
            "Requests at a time on one HTTP/2 connection."
        ),
        Key(
            "memory",
            \.memory,
            .size(LimitSettings.minMemory...(1 << 40), shown: "64MiB to 1024GiB"),
            .init(standard: .words("the memory that the container or machine grants"), example: "1GiB"),
            "The memory of the process from which the stages of overload are reckoned: idle connections end earlier, new "
                + "sign-ins wait, and at last requests get 503. What the process uses when it has just started, about "
                + "48MiB, is not counted in the share that is used."
        ),
    ]

    private static let headKeys: [Key<LimitSettings>] = [
        Key(
            "header_bytes",
            over: \.headerBytes,
            .size(1024...65_535, shown: "1KiB to 65535"),
            .init(standard: "32KiB"),
            "Bytes of the head of a request, all fields together; more is answered with 431."
        ),
        Key(
            "header_field_bytes",
            over: \.headerFieldBytes,
            .size(256...65_535, shown: "256 to 65535"),
            .init(standard: "16KiB"),
            "Bytes of one field, never more than `header_bytes`; more is answered with 431."
        ),
        Key(
            "header_fields",
            over: \.headerFields,
            .number(1...1000),
            .init(standard: .value(100)),
            "Fields in the head of a request; more are answered with 431."
        ),
        Key(
            "url_bytes",
            over: \.urlBytes,
            .size(256...65_535, shown: "256 to 65535"),
            .init(standard: "8KiB"),
            "Bytes of path and query of a request, never more than `header_bytes`; more is answered with 414."
        ),
    ]

    private static let signInKeys: [Key<LimitSettings>] = [
        Key(
            "sign_ins_in_flight",
            over: \.signInsInFlight,
            .number(1...1_000_000),
            .init(standard: .value(2000)),
            "Sign-ins that were started and are not finished; further ones get 503 until some end or time out."
        ),
        Key(
            "sign_ins_per_minute",
            over: \.signInsPerMinute,
            .number(0...1_000_000),
            .init(standard: .value(30)),
            "Sign-ins that one client address may start in a minute; 0 for no limit. Further ones get 429."
        ),
        Key(
            "failed_sign_ins_per_minute",
            over: \.failedSignInsPerMinute,
            .number(0...1_000_000),
            .init(standard: .value(20)),
            "Sign-ins of one client address that may fail in a minute before further ones get 429; 0 for no limit."
        ),
    ]
}

extension LimitSettings {
    /// A part is never larger than the whole; what is not written gives way.
    fileprivate mutating func check(_ written: Mapping<LimitSettings>.Written, _ reading: inout DecodingContext) {
        guard written.isSound else { return }
        for (name, size) in [("header_field_bytes", self.headerFieldBytes), ("url_bytes", self.urlBytes)] {
            guard let mark = written.keys[name], size > self.headerBytes else { continue }
            let whole = "'header_bytes', which is \(self.headerBytes)"
            reading.error("'\(name)' is \(size), more than \(whole); lower it or raise that", at: mark)
        }
        self.headerFieldBytes = min(self.headerFieldBytes, self.headerBytes)
        self.urlBytes = min(self.urlBytes, self.headerBytes)
    }
}
