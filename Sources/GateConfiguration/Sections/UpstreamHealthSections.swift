// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProxy
internal import NIOCore

extension Mapping<HealthCheckSettings> {
    /// `apps.<name>.upstream.health`.
    static let health = Mapping(
        "a health check",
        path: "apps.<name>.upstream.health",
        summary: "Each target is asked for a path now and then, and gets no requests while it does not answer well.",
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
            "The path to ask for with GET, with a query if need be; it is sent as it is, without identity."
        ),
        Key(
            "status",
            over: \.statuses,
            .set(of: .number(100...599), named: "a list of statuses", limit: 64),
            .init(default: .words("200 to 399"), example: [200, 204]),
            "The statuses of a target that is well, 100 to 599."
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
            "After how many good checks in a row a target gets requests again."
        ),
        Key(
            "unhealthy",
            over: \.unhealthy,
            .number(1...100),
            .init(),
            "After how many failed checks in a row a target gets none any more."
        ),
    ]
}

extension HealthCheckSettings {
    /// Checks of one target never overlap; what is not written gives way.
    fileprivate mutating func check(_ written: Mapping<HealthCheckSettings>.Written, _ reading: inout DecodingContext) {
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
                .init(),
                "After how many failures in a row: no connection, no answer in time, or the statuses 502, 503 and 504; "
                    + "0 for never."
            ),
            Key(
                "time",
                over: \.time,
                .duration(.milliseconds(100)...(.seconds(3600))),
                .init(),
                "For how long, times the number of ejections in a row."
            ),
            Key(
                "longest",
                over: \.maxTime,
                .duration(.milliseconds(100)...(.seconds(86_400))),
                .init(),
                "For how long at most, never less than `time`."
            ),
        ],
        check: { ejection, written, reading in
            guard written.isSound else { return }
            if let mark = written.keys["longest"], ejection.maxTime < ejection.time {
                reading.error("'longest' is less than 'time'; raise it or lower that", at: mark)
            }
            ejection.maxTime = max(ejection.maxTime, ejection.time)
        }
    )
}
