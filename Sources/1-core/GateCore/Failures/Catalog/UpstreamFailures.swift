// SPDX-License-Identifier: Apache-2.0

extension FailureTable {
    static let upstream = FailureTable(
        .upstream,
        rows: [
            Row(.upstreamUnreachable, "upstream.unreachable", .upstreamFailed),
            Row(.upstreamUntrusted, "upstream.untrusted", .upstreamFailed, page: .appNotVerified),
            Row(.upstreamPinMismatch, "upstream.pin_mismatch", .upstreamFailed, page: .appNotVerified),
            Row(.upstreamRefusedStream, "upstream.refused_stream", .upstreamFailed),
            Row(.upstreamClosed, "upstream.closed", .upstreamFailed),
            Row(.upstreamClosedInResponse, "upstream.cut", .upstreamFailed),
            Row(.upstreamRefused, "upstream.refused", .upstreamFailed, page: .appNotUnderstood),
            Row(.upstreamWebSocket, "upstream.websocket", .upstreamFailed, page: .appNotUnderstood),
            Row(.upstreamStartLine, "upstream.start_line", .upstreamFailed, page: .appNotUnderstood),
            Row(.upstreamStatus, "upstream.status", .upstreamFailed, page: .appNotUnderstood),
            Row(.upstreamLength, "upstream.length", .upstreamFailed, page: .appNotUnderstood),
            Row(.upstreamCoding, "upstream.coding", .upstreamFailed, page: .appNotUnderstood),
            Row(.upstreamFraming, "upstream.framing", .upstreamFailed, page: .appNotUnderstood),
            Row(.upstreamHeadTooLarge, "upstream.head_too_large", .upstreamFailed, page: .appNotUnderstood),
            Row(.upstreamField, "upstream.field", .upstreamFailed, page: .appNotUnderstood),
            Row(.upstreamUnexpectedInterim, "upstream.unexpected_interim", .upstreamFailed, page: .appNotUnderstood),
            Row(.upstreamConnectTimedOut, "upstream.connect_timed_out", .upstreamTimedOut),
            Row(.upstreamTimedOut, "upstream.timed_out", .upstreamTimedOut),
            Row(.upstreamOutOfTime, "upstream.out_of_time", .upstreamTimedOut),
            Row(.upstreamLoop, "upstream.loop", .upstreamFailed, status: 508, page: .appLeadsBack),
            Row(.upstreamOverflow, "upstream.overflow", .overloaded, retry: .after(1)),
        ],
        documentation: [
            .upstreamUnreachable: "The app does not accept connections at its `upstream`.",
            .upstreamUntrusted: """
            The TLS handshake with the app failed, or its certificate is not trusted; the log has the reason. No \
            byte of a request was sent.
            """,
            .upstreamPinMismatch: """
            The app's certificate is trusted but has none of the pinned keys; the log names those it has. No byte \
            of a request was sent.
            """,
            .upstreamRefusedStream: "The app rejected the request over HTTP/2, and the retry too.",
            .upstreamClosed: "The app closed the connection before or during its response.",
            .upstreamRefused: "The app's response is not valid HTTP; the log has one of the codes two lines below.",
            .upstreamWebSocket: """
            The app responded to a WebSocket handshake with `101`, but not as RFC 6455 demands; the log has the \
            reason.
            """,
            .upstreamStartLine: "In the log only: what is wrong with the response.",
            .upstreamConnectTimedOut:
                "The app did not accept a connection within 5 seconds, or did not respond within 30.",
            .upstreamOutOfTime: "A gRPC call took longer than its `grpc-timeout`.",
            .upstreamLoop: """
            The request came back to the gateway for the third time: the `upstream` of an app leads to the gateway \
            itself, directly or through a proxy in front of it. `gatehouse check` names the app if it can. The \
            field `CDN-Loop` of the request counts (RFC 8586).
            """,
            .upstreamOverflow: "Too many requests wait for a connection to the app.",
        ]
    )
}
