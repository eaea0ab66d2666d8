// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension Mapping<HealthSettings> {
    /// `apps.<name>.upstream.health`.
    static let health = Mapping(
        "a health check",
        path: "apps.<name>.upstream.health",
        summary: "Each target is asked for a path now and then, and gets no requests while it does not answer well.",
        make: { HealthSettings(path: "") },
        keys: whatKeys + whenKeys,
        check: { health, written, reading in health.check(written, &reading) }
    )

    private static let whatKeys: [Key<HealthSettings>] = [
        Key(
            "path",
            over: \.path,
            .healthPath,
            .init(isRequired: true, example: "/healthz"),
            "The path to ask for with GET, with a query if need be; it is sent as it is, without identity."
        ),
        Key(
            "status",
            over: \.statuses,
            .set(of: .number(100...599), named: "a list of statuses", limit: 64),
            .init(standard: .words("200 to 399"), example: [200, 204]),
            "The statuses of a target that is well, 100 to 599."
        ),
        Key(
            "host",
            \.host,
            .authority,
            .init(standard: .words("host and port of the target"), example: "app.internal"),
            "The `Host` of the check."
        ),
    ]

    private static let whenKeys: [Key<HealthSettings>] = [
        Key(
            "interval",
            over: \.interval,
            .duration(.seconds(1)...(.seconds(600)), shown: "1s to 10m"),
            .init(standard: "10s"),
            "From one check to the next."
        ),
        Key(
            "timeout",
            over: \.timeout,
            .duration(.milliseconds(100)...(.seconds(60)), shown: "100ms to 60s"),
            .init(standard: "2s"),
            "For a check as a whole, never more than `interval`."
        ),
        Key(
            "healthy",
            over: \.healthy,
            .number(1...100),
            .init(standard: .value(2)),
            "After how many good checks in a row a target gets requests again."
        ),
        Key(
            "unhealthy",
            over: \.unhealthy,
            .number(1...100),
            .init(standard: .value(3)),
            "After how many failed checks in a row a target gets none any more."
        ),
    ]
}

extension HealthSettings {
    /// Checks of one target never overlap; what is not written gives way.
    fileprivate mutating func check(_ written: Mapping<HealthSettings>.Written, _ reading: inout DecodingContext) {
        guard written.isSound else { return }
        if let mark = written.keys["status"], self.statuses.isEmpty {
            reading.error("'status' lists none; remove it for 200 to 399", at: mark)
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
        summary: "A target that fails requests gets none for a while, unless it is the last one left.",
        make: { EjectionSettings() },
        keys: [
            Key(
                "failures",
                over: \.failures,
                .number(0...1000),
                .init(standard: .value(5)),
                "After how many failures in a row: no connection, no answer in time, or the statuses 502, 503 and 504; "
                    + "0 for never."
            ),
            Key(
                "time",
                over: \.time,
                .duration(.milliseconds(100)...(.seconds(3600)), shown: "100ms to 1h"),
                .init(standard: "10s"),
                "For how long, times the number of ejections in a row."
            ),
            Key(
                "longest",
                over: \.longest,
                .duration(.milliseconds(100)...(.seconds(86_400)), shown: "100ms to 1d"),
                .init(standard: "2m"),
                "For how long at most, never less than `time`."
            ),
        ],
        check: { ejection, written, reading in
            guard written.isSound else { return }
            if let mark = written.keys["longest"], ejection.longest < ejection.time {
                reading.error("'longest' is less than 'time'; raise it or lower that", at: mark)
            }
            ejection.longest = max(ejection.longest, ejection.time)
        }
    )
}
