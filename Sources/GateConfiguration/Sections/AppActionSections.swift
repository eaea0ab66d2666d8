// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What is written of `apps.<name>.redirect`.
struct RedirectDraft: Sendable {
    var to: Located<WebURL>?
    var status = 308
    var keepsPath = true
}

extension Mapping<RedirectDraft> {
    /// `apps.<name>.redirect`.
    static let redirect = Mapping(
        "a redirect",
        path: "apps.<name>.redirect",
        summary: "Where browsers are sent instead of to an upstream, once `allow` lets them in.",
        make: { RedirectDraft() },
        keys: [
            Key(
                "to",
                located: \.to,
                .redirectTarget,
                .init(isRequired: true, example: "https://new.example.com"),
                "The address, http or https; never one that leads back to this app."
            ),
            Key(
                "status",
                over: \.status,
                .redirectStatus,
                .init(standard: .value(308)),
                "301 or 308 for good, 302 or 307 for now; 303 to continue with GET. 307 and 308 keep the method."
            ),
            Key(
                "keep_path",
                over: \.keepsPath,
                .flag,
                .init(standard: .value(true)),
                "Whether the path and query of the request follow behind `to`; with `strip_prefix` without the app's "
                    + "`path`. If `false`, every request is sent to `to` itself."
            ),
        ],
        check: { redirect, _, reading in
            guard redirect.keepsPath, let to = redirect.to, to.value.query != nil else { return }
            let help = "write 'keep_path: false', or remove the query"
            reading.error("'\(to.value)' has a query, so no path can follow it; \(help)", at: to.mark)
        }
    )
}

extension RedirectDraft {
    /// The settings; nil without an address.
    var settings: RedirectSettings? {
        self.to.map { RedirectSettings(to: $0.value, status: self.status, keepsPath: self.keepsPath) }
    }
}

extension Mapping<FixedResponse> {
    /// `apps.<name>.answer`.
    static let answer = Mapping(
        "an answer",
        path: "apps.<name>.answer",
        summary: "What is answered instead of asking an upstream, once `allow` lets somebody in.",
        make: { FixedResponse() },
        keys: [
            Key(
                "status",
                over: \.status,
                .answerStatus,
                .init(standard: .value(200)),
                "The status, 200 to 299 or 400 to 599."
            ),
            Key(
                "body",
                over: \.body,
                .body,
                .init(standard: .words("empty"), example: "Gone fishing."),
                "The text, at most 64 KiB of UTF-8; empty with 204 and 205."
            ),
            Key(
                "content_type",
                over: \.contentType,
                .contentType,
                .init(standard: "text/plain; charset=utf-8", example: "text/html; charset=utf-8"),
                "The media type of the text."
            ),
        ],
        check: { answer, written, reading in
            guard [204, 205].contains(answer.status), !answer.body.isEmpty, let mark = written.keys["body"] else {
                return
            }
            reading.error(
                "an answer of status \(answer.status) has no body; remove it, or write another status",
                at: mark
            )
        }
    )
}

extension Shape<WebURL> {
    /// Where browsers are sent.
    static let redirectTarget = single("an address", pattern: #"^https?://[^#@]+$"#) { text throws(InvalidValue) in
        guard let address = WebURL(text), text.utf8.count <= 2048 else {
            let help = text.hasPrefix("/") ? "; write scheme and host too" : ""
            throw InvalidValue("is not an http or https address such as https://new.example.com\(help)")
        }
        return address
    }
}

extension Shape<String> {
    /// The text of a fixed answer.
    static let body = single("a text") { text throws(InvalidValue) in
        let limit = 64 << 10
        guard text.utf8.count <= limit else {
            throw InvalidValue("has \(text.utf8.count) bytes, and an answer may have \(limit); serve it from an app")
        }
        return text
    }

    /// The media type of a fixed answer.
    static let contentType = single("a media type", pattern: "^[!-~]+/[ -~]+$") { text throws(InvalidValue) in
        let parts = text.prefix { $0 != ";" }.split(separator: "/", omittingEmptySubsequences: false)
        let isASCII = text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && text.utf8.count <= 200
        guard isASCII, parts.count == 2, parts.allSatisfy({ !$0.isEmpty && !$0.contains(" ") }) else {
            throw InvalidValue("is not a media type such as text/plain; charset=utf-8")
        }
        return text
    }
}
