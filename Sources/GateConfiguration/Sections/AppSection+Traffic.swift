// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension Mapping<AppDraft> {
    /// What becomes of a request that may enter.
    static let actionKeys: [Key<AppDraft>] = [
        Key(
            "upstream",
            \.upstream,
            .upstream,
            .init(
                standard: .words("(one of `upstream`, `redirect` and `answer` is required)"),
                example: "http://10.0.0.5:8080"
            ),
            "The servers behind: `http://host:port`, `https://`, `h2c://`, `h2://` or `unix:/path/of/socket`; a list of them, "
                + "or a mapping that says how they are used."
        ),
        Key(
            "redirect",
            \.redirect,
            Mapping<RedirectDraft>.redirect.shape,
            .init(standard: .words("none")),
            "Where browsers are sent instead of an `upstream`."
        ),
        Key(
            "answer",
            \.answer,
            Mapping<FixedResponse>.answer.shape,
            .init(standard: .words("none")),
            "What is answered instead of asking an `upstream`."
        ),
        Key(
            "maintenance",
            over: \.traffic.isInMaintenance,
            .flag,
            .init(standard: .value(false)),
            "Whether everybody gets 503 with a page that says so and Retry-After, on public paths too."
        ),
    ]

    /// How requests and answers are passed on.
    static let trafficKeys: [Key<AppDraft>] = [
        Key(
            "strip_prefix",
            over: \.traffic.stripsPrefix,
            .flag,
            .init(standard: .value(false)),
            "Whether the app's `path` is removed before a request is forwarded: `/wiki/page` of an app at `/wiki` "
                + "becomes `/page`."
        ),
        Key(
            "upstream_host",
            \.traffic.upstreamHost,
            .authority,
            .init(standard: .words("what the client sent"), example: "app.internal"),
            "The `Host` that the app sees, with or without a port; `X-Forwarded-Host` keeps that of the client."
        ),
        Key(
            "request_headers",
            \.requestHeaders,
            Mapping<HeaderEditsDraft>.headerEdits.shape,
            .init(standard: .words("none")),
            "Changes to the header fields of requests."
        ),
        Key(
            "response_headers",
            \.responseHeaders,
            Mapping<HeaderEditsDraft>.headerEdits.shape,
            .init(standard: .words("none")),
            "Changes to the header fields of answers."
        ),
        Key(
            "max_body",
            over: \.traffic.maxBody,
            Shape<Int64>.size(0...(1 << 40), shown: "0 to 1024GiB").map { $0 == 0 ? nil : $0 },
            .init(standard: "100MiB"),
            "Bytes of the body of a request; more is answered with 413. 0 for no limit. Bodies are never kept in memory."
        ),
        Key(
            "streaming",
            over: \.traffic.isStreaming,
            .flag,
            .init(standard: .value(false)),
            "Whether answers may be silent for as long as they like, for long polls and the like; server-sent events "
                + "always may."
        ),
        Key(
            "early_hints",
            over: \.traffic.passesEarlyHints,
            .flag,
            .init(standard: .value(false)),
            "Whether answers of status 103, early hints, are passed on; some old clients take them for the answer."
        ),
        Key(
            "websocket",
            located: \.webSocket,
            .flag,
            .init(standard: .words("`true`; `false` with an upstream over HTTP/2")),
            "Whether WebSockets are passed on, over HTTP/1.1 and HTTP/2, if a page of the app itself opens them. One ends with "
                + "the session that opened it."
        ),
        Key(
            "websocket_origins",
            located: \.webSocketOrigins,
            .webSocketOrigins,
            .init(standard: .value([]), example: ["https://portal.example.com"]),
            "The origins whose pages may open a WebSocket, beside the app's own; at most 64. `[\"*\"]` for any page."
        ),
    ]
}

extension AppDraft {
    /// What becomes of a request; nil if that was not understood.
    var action: AppAction? {
        if let upstream = self.upstream { return .forward(upstream) }
        if let redirect = self.redirect?.settings { return .redirect(redirect) }
        return self.answer.map { .answer($0) }
    }

    /// How requests and answers are passed on.
    var trafficSettings: TrafficSettings {
        var settings = self.traffic
        settings.requestHeaders = self.requestHeaders?.edits ?? settings.requestHeaders
        settings.responseHeaders = self.responseHeaders?.edits ?? settings.responseHeaders
        if (self.path?.value ?? "/") == "/" { settings.stripsPrefix = false }
        let isPossible = self.upstream?.targets.allSatisfy { !$0.isHTTP2 } ?? false
        guard self.webSocket?.value ?? isPossible else { return settings }
        settings.webSocket = self.webSocketOrigins?.value ?? WebSocketSettings()
        return settings
    }
}

extension Shape<WebSocketSettings> {
    /// The origins that may open a WebSocket.
    static let webSocketOrigins: Shape = {
        let pattern = #"^(\*|https?://[^/?#@]+/?)$"#
        let one = Shape<Origin?>.single("an origin", pattern: pattern) { text throws(InvalidValue) in
            guard text != "*" else { return nil }
            guard let address = WebURL(text) else {
                throw InvalidValue("is not an origin such as https://portal.example.com")
            }
            guard address.path == "/", address.query == nil else {
                throw InvalidValue("has a path; an origin is scheme, host and port, so write '\(address.origin)'")
            }
            return address.origin
        }
        let list = Shape<[Located<Origin?>]>.list(of: one.located, named: "a list of origins")
        let schema: JSON = ["type": "array", "items": one.schema, "maxItems": 64]
        return Shape(list.kind, schema: schema) { node, reading in
            guard let origins = list.read(node, &reading) else { return nil }
            if origins.count > 64 { reading.error("more than 64 origins", at: node.mark) }
            let any = origins.first { $0.value == nil }
            if let any {
                let risk = "the page of any site could open a WebSocket as whoever looks at it"
                reading.warning("with '*' \(risk); list the origins that need it", at: any.mark)
            }
            return WebSocketSettings(origins: origins.compactMap(\.value), anyOrigin: any != nil)
        }
    }()
}
