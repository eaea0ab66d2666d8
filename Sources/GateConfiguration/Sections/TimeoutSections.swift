// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What is written of `gateway.drain`.
struct DrainDraft: Sendable {
    var delay: Located<Duration>?
    var timeout: Located<Duration>?
}

extension Mapping<TimeoutSettings> {
    /// `gateway.timeouts`.
    static let timeouts = Mapping(
        "the time-outs",
        path: "gateway.timeouts",
        summary: "How long clients are waited for.",
        make: { TimeoutSettings() },
        keys: [
            Key(
                "handshake",
                over: \.handshake,
                .duration(.milliseconds(100)...(.seconds(300)), shown: "100ms to 5m"),
                .init(standard: "10s"),
                "For the whole TLS handshake."
            ),
            Key(
                "request_head",
                over: \.requestHead,
                .duration(.milliseconds(100)...(.seconds(300)), shown: "100ms to 5m"),
                .init(standard: "10s"),
                "For the whole head of a request from its first byte, however slowly it comes; and for the first byte on "
                    + "a new connection."
            ),
            Key(
                "body",
                over: \.body,
                .duration(.milliseconds(100)...(.seconds(3600)), shown: "100ms to 1h"),
                .init(standard: "30s"),
                "For the next bytes of a request's body."
            ),
            Key(
                "idle",
                over: \.idle,
                .duration(.milliseconds(100)...(.seconds(86_400)), shown: "100ms to 1d"),
                .init(standard: "75s"),
                "How long a connection is kept without a request."
            ),
            Key(
                "write",
                over: \.write,
                .duration(.milliseconds(100)...(.seconds(3600)), shown: "100ms to 1h"),
                .init(standard: "60s"),
                "How long a client may take nothing of an answer that waits for it."
            ),
            Key(
                "connection_age",
                over: \.connectionAge,
                .duration(.seconds(1)...(.seconds(7 * 86_400)), shown: "1s to 7d"),
                .init(standard: "1h"),
                "After what time a connection is closed, between two requests; clients open another without a loss."
            ),
        ]
    )
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
                .duration(.zero...(.seconds(3600)), shown: "0s to 1h"),
                .init(standard: .words("`5s`, or a fifth of `timeout` if that is less"), example: "5s"),
                "How long connections are still accepted after the readiness check has begun to fail, so that those "
                    + "who send them notice; less than `timeout`."
            ),
            Key(
                "timeout",
                located: \.timeout,
                .duration(.zero...(.seconds(3600)), shown: "0s to 1h"),
                .init(standard: "25s"),
                "From the signal until the last connection is closed, `delay` included; what is unfinished then is cut. "
                    + "Keep it below the time after which you kill the process: 30s with Kubernetes, 90s with systemd."
            ),
        ],
        check: { drain, _, reading in
            guard let delay = drain.delay, delay.value > .zero, delay.value >= drain.settings.timeout else { return }
            let whole = drain.timeout == nil ? "'timeout', which is 25s" : "'timeout'"
            reading.error("'delay' has to be shorter than \(whole), which it is a part of", at: delay.mark)
        }
    )
}

extension DrainDraft {
    /// The settings; a delay that is not written leaves most of the time for requests.
    var settings: DrainSettings {
        var settings = DrainSettings()
        settings.timeout = self.timeout?.value ?? settings.timeout
        settings.delay = self.delay?.value ?? min(settings.delay, settings.timeout / 5)
        return settings
    }
}
