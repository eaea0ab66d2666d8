// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import NIOCore

/// What is written of `gateway.drain`.
struct DrainDraft: Sendable {
    var delay: Located<Duration>?
    var timeout: Located<Duration>?
}

extension Mapping<DownstreamLimits> {
    /// `gateway.timeouts`.
    static let timeouts = Mapping(
        "the time-outs",
        path: "gateway.timeouts",
        summary: "How long clients are waited for.",
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
                "For the whole head of a request from its first byte, however slowly it comes; and for the first byte on "
                    + "a new connection."
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
                "How long a connection is kept without a request."
            ),
            Key(
                "write",
                over: \.writeStall,
                .duration(.milliseconds(100)...(.seconds(3600))),
                .init(),
                "How long a client may take nothing of an answer that waits for it."
            ),
            Key(
                "connection_age",
                over: \.age,
                .duration(.seconds(1)...(.seconds(7 * 86_400))),
                .init(),
                "After what time a connection is closed, between two requests; clients open another without a loss."
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
                "How long connections are still accepted after the readiness check has begun to fail, so that those "
                    + "who send them notice; less than `timeout`."
            ),
            Key(
                "timeout",
                located: \.timeout,
                .duration(.zero...(.seconds(3600))),
                .init(default: .duration(DrainSettings().timeout)),
                "From the signal until the last connection is closed, `delay` included; what is unfinished then is cut. "
                    + "Keep it below the time after which you kill the process: 30s with Kubernetes, 90s with systemd."
            ),
        ],
        check: { drain, _, reading in
            guard let delay = drain.delay, delay.value > .zero, delay.value >= drain.settings.timeout else { return }
            let whole =
                drain.timeout == nil
                ? "'timeout', which is \(DurationText.text(of: DrainSettings().timeout))" : "'timeout'"
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
