// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateYAML

/// `apps.<name>.redirect` as the file has it.
package struct RedirectDraft: Sendable {
    package var to: Located<WebURL>?
    var status = RedirectSettings.defaultStatus
    /// Whether path and query of the request are appended to the URL.
    package var keepsPath = true
}

extension Mapping<RedirectDraft> {
    /// `apps.<name>.redirect`.
    static let redirect = Mapping(
        "a redirect",
        path: "apps.<name>.redirect",
        summary: "A redirect of all requests, after `allow` has been checked.",
        make: { RedirectDraft() },
        keys: [
            Key(
                "to",
                located: \.to,
                .redirectTarget,
                .init(isRequired: true, example: "https://new.example.com"),
                "The URL, http or https; never one that leads back to this app."
            ),
            Key(
                "status",
                over: \.status,
                .redirectStatus,
                .init(),
                "301 or 308 for a permanent redirect, 302 or 307 for a temporary one; 303 to continue with GET. 307 and 308 keep the "
                    + "method."
            ),
            Key(
                "keep_path",
                over: \.keepsPath,
                .flag,
                .init(),
                "Whether the path and query of the request are appended to `to`; with `strip_prefix` without the app's "
                    + "`path`. If `false`, every request is redirected to `to` itself."
            ),
        ],
        check: { redirect, _, reading in
            guard redirect.keepsPath, let to = redirect.to, to.value.query != nil else { return }
            let help = "write 'keep_path: false', or remove the query"
            reading.error("'\(to.value)' has a query, so no path can be appended; \(help)", at: to.mark)
        }
    )
}

extension RedirectDraft {
    /// The settings; nil without a URL.
    var settings: RedirectSettings? {
        self.to.map { RedirectSettings(to: $0.value, status: self.status, keepsPath: self.keepsPath) }
    }
}

extension Mapping<FixedResponse> {
    /// `apps.<name>.response`.
    static let response = Mapping(
        "a response",
        path: "apps.<name>.response",
        summary: "A fixed response to all requests, after `allow` has been checked.",
        make: { FixedResponse() },
        keys: [
            Key(
                "status",
                over: \.status,
                .responseStatus,
                .init(),
                "The status, 200 to 299 or 400 to 599."
            ),
            Key(
                "body",
                over: \.body,
                .body,
                .init(default: .words("empty"), example: "Gone fishing."),
                "The text, at most 64 KiB of UTF-8; empty with 204 and 205."
            ),
            Key(
                "content_type",
                over: \.contentType,
                .contentType,
                .init(example: "text/html; charset=utf-8"),
                "The media type of the text."
            ),
        ],
        check: { response, written, reading in
            guard [204, 205].contains(response.status), !response.body.isEmpty, let mark = written.keys["body"] else {
                return
            }
            reading.error(
                "a response of status \(response.status) has no body; remove it, or write another status",
                at: mark
            )
        }
    )
}

extension Shape<Int> {
    static let redirectStatus: Shape = {
        let known = [301, 302, 303, 307, 308]
        let names = known.map(String.init).joined(separator: ", ")
        let one = single("a status") { text throws(InvalidValue) in
            guard let number = Int(wholeNumber: text), known.contains(number) else {
                throw InvalidValue("is not a status of a redirect; write one of \(names)")
            }
            return number
        }
        let schema: JSON = ["enum": .array(known.map { .int(Int64($0)) })]
        return Shape(
            "one of \(names)",
            schema: ["anyOf": [schema, Schema.reference]],
            write: { .int(Int64($0)) },
            read: { one.read($0, &$1) }
        )
    }()

    /// The status of a fixed response, which is not a redirect.
    static let responseStatus: Shape = {
        let any = Shape<Int>.number(200...599)
        return Shape(any.kind, schema: any.schema, write: any.write) { node, reading in
            guard let status = any.read(node, &reading) else { return nil }
            guard !(300...399).contains(status) else {
                reading.error("'\(status)' is a redirect; write 'redirect' instead of 'response'", at: node.mark)
                return nil
            }
            return status
        }
    }()
}

extension Shape<WebURL> {
    static let redirectTarget = single("a URL", pattern: #"^https?://[^#@]+$"#) { text throws(InvalidValue) in
        guard let address = WebURL(text), text.utf8.count <= 2048 else {
            let help = text.hasPrefix("/") ? "; write scheme and host too" : ""
            throw InvalidValue("is not an http or https URL such as https://new.example.com\(help)")
        }
        return address
    }
}

extension Shape<String> {
    /// The text of a fixed response.
    static let body = single("a text") { text throws(InvalidValue) in
        let limit = 64 << 10
        guard text.utf8.count <= limit else {
            throw InvalidValue("has \(text.utf8.count) bytes, and a response may have \(limit); serve it from an app")
        }
        return text
    }

    /// The media type of a fixed response.
    static let contentType = single("a media type", pattern: "^[!-~]+/[ -~]+$") { text throws(InvalidValue) in
        let parts = text.prefix { $0 != ";" }.split(separator: "/", omittingEmptySubsequences: false)
        let isASCII = text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && text.utf8.count <= 200
        guard isASCII, parts.count == 2, parts.allSatisfy({ !$0.isEmpty && !$0.contains(" ") }) else {
            throw InvalidValue("is not a media type such as text/plain; charset=utf-8")
        }
        return text
    }
    .written { .string($0) }
}
