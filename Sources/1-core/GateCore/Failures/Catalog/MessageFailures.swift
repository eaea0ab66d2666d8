// SPDX-License-Identifier: Apache-2.0

extension FailureTable {
    static let wire = FailureTable(
        .wire,
        rows: [
            Row(.wireBareLF, "wire.bare_lf", .malformedRequest, page: .unreadable),
            Row(.wireBareCR, "wire.bare_cr", .malformedRequest, page: .unreadable),
            Row(.wireEmptyLines, "wire.empty_lines", .malformedRequest, page: .unreadable),
            Row(.wireFieldName, "wire.field_name", .malformedRequest, page: .unreadable),
            Row(.wireFieldValue, "wire.field_value", .malformedRequest, page: .unreadable),
            Row(.wireHeadTooLarge, "wire.head_too_large", .malformedRequest, status: 431, page: .headTooLarge),
            Row(.wireFieldTooLarge, "wire.field_too_large", .malformedRequest, status: 431, page: .headTooLarge),
            Row(.wireTooManyFields, "wire.too_many_fields", .malformedRequest, status: 431, page: .headTooLarge),
            Row(.wireTargetTooLong, "wire.target_too_long", .malformedRequest, status: 414, page: .targetTooLong),
            Row(.wireFieldSpace, "wire.field_space", .malformedRequest, page: .unreadable),
            Row(.wireFieldBytes, "wire.field_block", .malformedRequest, page: .unreadable),
            Row(.wirePseudoField, "wire.pseudo_field", .malformedRequest, page: .unreadable),
            Row(.wireConnectionField, "wire.connection_field", .malformedRequest, page: .unreadable),
            Row(.requestScheme, "request.scheme", .malformedRequest, page: .unreadable),
            Row(.wireTooSlow, "wire.too_slow", .malformedRequest, status: 408, page: .tooSlow),
            Row(.requestStartLine, "request.start_line", .malformedRequest, page: .unreadable),
            Row(.requestTarget, "request.target", .malformedRequest, page: .unreadable),
            Row(.requestFragment, "request.fragment", .malformedRequest, page: .unreadable),
            Row(.wireStreamOrder, "wire.stream_order", .malformedRequest, page: .unreadable, shown: "–"),
            Row(.requestVersion, "request.version", .malformedRequest, page: .unreadable),
            Row(
                .requestVersionNotSupported,
                "request.version_not_supported",
                .malformedRequest,
                status: 505,
                page: .unreadable
            ),
            Row(
                .requestMethodNotAllowed,
                "request.method_not_allowed",
                .malformedRequest,
                status: 405,
                page: .methodNotAccepted
            ),
            Row(
                .requestMethodUnknown,
                "request.method_unknown",
                .malformedRequest,
                status: 501,
                page: .methodNotAccepted
            ),
            Row(
                .requestMethodTooLong,
                "request.method_too_long",
                .malformedRequest,
                status: 501,
                page: .methodNotAccepted
            ),
            Row(.routeMethod, "route.method", .methodNotAllowed),
            Row(.requestHeaderName, "request.header_name", .malformedRequest),
            Row(.requestHost, "request.host", .malformedRequest, page: .unreadable),
            Row(.requestNoHost, "request.no_host", .malformedRequest, page: .unreadable),
            Row(.requestRepeatedHost, "request.repeated_host", .malformedRequest, page: .unreadable),
            Row(
                .requestHostDiffersFromTarget,
                "request.host_differs_from_target",
                .malformedRequest,
                page: .unreadable
            ),
            Row(.requestRepeatedField, "request.repeated_field", .malformedRequest, page: .unreadable),
            Row(.requestExpectation, "request.expectation", .malformedRequest, status: 417, page: .unreadable),
            Row(.pathBadEscape, "path.bad_escape", .malformedRequest, page: .addressNotAccepted),
            Row(.pathNotUTF8, "path.not_utf8", .malformedRequest, page: .addressNotAccepted),
            Row(.pathControlCharacter, "path.control_character", .malformedRequest, page: .addressNotAccepted),
            Row(.pathBackslash, "path.backslash", .malformedRequest, page: .addressNotAccepted),
            Row(.pathDotsWithParameter, "path.dots_with_parameter", .malformedRequest, page: .addressNotAccepted),
            Row(.pathAmbiguous, "path.ambiguous", .malformedRequest, page: .addressNotAccepted),
            Row(.pathParameter, "path.parameter", .malformedRequest, page: .addressNotAccepted),
            Row(.pathDestination, "path.destination", .malformedRequest, page: .addressNotAccepted),
            Row(.pathEncodedSlash, "path.encoded_slash", .malformedRequest, page: .addressNotAccepted),
            Row(.framingLength, "framing.length", .malformedRequest, page: .unreadable),
            Row(.framingRepeatedLength, "framing.repeated_length", .malformedRequest, page: .unreadable),
            Row(.framingLengthAndCoding, "framing.length_and_coding", .malformedRequest, page: .unreadable),
            Row(.framingCoding, "framing.coding", .malformedRequest, page: .unreadable),
            Row(.framingRepeatedCoding, "framing.repeated_coding", .malformedRequest, page: .unreadable),
            Row(.framingCodingInHTTP10, "framing.coding_in_http_1_0", .malformedRequest, page: .unreadable),
            Row(.framingBodyNotAllowed, "framing.body_not_allowed", .malformedRequest, page: .unreadable),
            Row(.chunkSize, "chunk.size", .malformedRequest, page: .unreadable),
            Row(.chunkExtension, "chunk.extension", .malformedRequest, page: .unreadable),
            Row(.chunkNoLineEnd, "chunk.no_line_end", .malformedRequest, page: .unreadable),
            Row(.chunkOverhead, "chunk.overhead", .malformedRequest, page: .unreadable),
            Row(.chunkTrailerField, "chunk.trailer_field", .malformedRequest, page: .unreadable),
            Row(.chunkTrailerTooLarge, "chunk.trailer_too_large", .malformedRequest, page: .unreadable),
            Row(.chunkTooLarge, "chunk.too_large", .malformedRequest, status: 413, page: .unreadable),
        ],
        documentation: [
            .wireBareLF: "Lines must end with CRLF.",
            .wireFieldName: """
            A field name is invalid, or with `_`, `.` or another such character it resembles one that frames the \
            message, names the host or carries an identity: `Transfer_Encoding`, `X_Forwarded_User`. Other names \
            with `_` or `.` are removed, see [compatibility.md](compatibility.md#header-names).
            """,
            .wireFieldValue: "A field value has a control character, or continues in the next line.",
            .wireHeadTooLarge: """
            The head has more than 32 KiB, a field more than 16 KiB, or there are more than 100 fields.
            """,
            .wireTargetTooLong: "The URL has more than 8 KiB.",
            .wireFieldSpace: "A field over HTTP/2 has white space around its value, or bytes that no field may have.",
            .wirePseudoField: """
            A request over HTTP/2 does not have each of `:method`, `:scheme`, `:authority` and `:path` once and \
            first, or has fields such as `Connection` that only HTTP/1.1 knows.
            """,
            .requestScheme: "A request over HTTP/2 is not for `https`.",
            .wireTooSlow: "The request did not arrive in time.",
            .requestStartLine: "The request line does not follow RFC 9112.",
            .wireStreamOrder: """
            A client opened an HTTP/2 stream with a lower number than an earlier one; the connection is closed \
            with PROTOCOL_ERROR. In the metrics only.
            """,
            .requestVersion: "The version is invalid, or has another major version than HTTP/1.",
            .requestMethodNotAllowed: "`CONNECT`, `TRACE`, `TRACK` and `PRI` are never forwarded.",
            .requestMethodUnknown: "A common method in other letter case, such as `get`; or one of more than 32 bytes.",
            .routeMethod: "The method is not one of the app's `methods`; `Allow` lists them.",
            .requestHeaderName: """
            A field name has `_`, `.` or another such character, and the app has `underscore_headers: reject`.
            """,
            .requestHost: "The request does not have exactly one host.",
            .requestRepeatedField: "A field that may occur once is repeated.",
            .requestExpectation: "`Expect` has another value than `100-continue`.",
            .pathBadEscape: """
            No app can want the path: a broken escape, text that is not UTF-8, an escaped control character, a raw \
            backslash, dots with a parameter.
            """,
            .pathAmbiguous: """
            A server could read the path as one of another app, or as one that is not public: by letter case, a \
            second round of decoding, an escaped slash, or without its `;parameters`. The log names the app. If \
            its server is known to distinguish these, set `path_spelling: exact` there; see \
            [compatibility.md](compatibility.md#paths).
            """,
            .pathDestination: """
            `Destination` (WebDAV, RFC 4918) leads out of the app, or a server could read it that way: by `//`, \
            dot segments, a query, a raw character or letter case; or COPY or MOVE have a relative one. From a \
            `public` path it has to lead to a public one.
            """,
            .pathEncodedSlash: "The path has `%2F` or `%5C`, and the app has `encoded_slash: reject`.",
            .framingLength: "The end of the body is not given, or given twice; or a WebSocket handshake has a body.",
            .chunkSize: "The chunks of the body do not follow RFC 9112, or consist mostly of framing.",
            .chunkTooLarge: "The body is larger than its limit.",
        ]
    )
}
