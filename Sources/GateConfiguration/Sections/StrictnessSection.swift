// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension Mapping<AppDraft> {
    /// What an app makes of requests that servers read differently; docs/compatibility.md explains each.
    static let strictnessKeys: [Key<AppDraft>] = [
        Key(
            "encoded_slash",
            over: \.traffic.strictness.encodedSlash,
            .oneOf("a rule for escaped slashes"),
            .init(standard: "forward", example: "reject"),
            "What becomes of `%2F` and `%5C` in a path: `forward`, as they came, or `reject` with 400. A path that would be "
                + "another app's or no longer public once they are decoded is rejected in any case."
        ),
        Key(
            "path_spelling",
            over: \.traffic.strictness.pathSpelling,
            .oneOf("a rule for spellings"),
            .init(standard: "any", example: "exact"),
            "Which spellings of this app's paths are kept from the other apps on its host and from its own `public` rules: "
                + "`any` that some server takes for the same (letter case, double escapes, escaped slashes, parameters), or "
                + "`exact`, if the app's server is known to tell them apart."
        ),
        Key(
            "methods",
            \.traffic.strictness.methods,
            .set(of: .forwardedMethod, named: "a list of methods", limit: 64),
            .init(standard: .words("all but CONNECT, TRACE and TRACK"), example: ["GET", "HEAD", "POST", "PROPFIND"]),
            "The methods that are forwarded; others are answered with 405."
        ),
        Key(
            "underscore_headers",
            over: \.traffic.strictness.irregularNames,
            .oneOf("a rule for header names"),
            .init(standard: "drop", example: "forward"),
            "What becomes of headers whose name has `_`, `.` or another character that is no letter, digit or `-`, which many "
                + "servers read as `-`: `drop`, as nginx does, `reject` the request, or `forward` them. One that could be "
                + "read as a header that the gateway sets gets the request rejected in any case."
        ),
        Key(
            "origins",
            over: \.traffic.strictness.origins,
            .writeOrigins,
            .init(standard: .value([]), example: ["https://portal.example.com", "https://idp.example.com /saml/acs"]),
            "The other origins whose pages may write (POST, PUT and so on) to the app, at most 64: an origin, or an origin, "
                + "a space and the only path; a path that ends in `/` stands for all below it."
        ),
        Key(
            "upstream_origin",
            over: \.traffic.strictness.upstreamOrigin,
            .oneOf("a rule for origins"),
            .init(standard: "keep", example: "rewrite"),
            "What the app sees in `Origin`, `Referer` and `Destination`: `keep`, what the client sent, or `rewrite`, the "
                + "scheme of the upstream with `upstream_host` where the client sent the app's own origin. For apps that "
                + "compare them with `Host`."
        ),
    ]

    /// What becomes of the app's responses.
    static let responseKeys: [Key<AppDraft>] = [
        Key(
            "rewrite",
            over: \.traffic.mapsResponses,
            .flag,
            .init(standard: .value(true)),
            "Whether `Location`, `Content-Location` and `Refresh` that lead to the upstream's own address, to the app's host "
                + "by another scheme or, with `strip_prefix`, to a path without the prefix are mapped to the URL under which "
                + "browsers reach the app; with `strip_prefix` or `upstream_host` the `Path` and `Domain` of cookies too. "
                + "Bodies are never changed."
        ),
        Key(
            "cache_control",
            over: \.traffic.caching,
            .oneOf("a rule for caches"),
            .init(standard: "protect", example: "pass"),
            "What becomes of HTML of protected pages that has neither `Cache-Control` nor `Expires` nor `Pragma`: `protect` "
                + "adds `Cache-Control: private, no-cache`, so that browsers ask before they show it again after the session "
                + "has ended, `pass` leaves it as it is."
        ),
    ]
}

extension Shape<String> {
    /// A method that may be forwarded.
    ///
    /// RFC 9110 §9.1.
    static let forwardedMethod = single("a method", pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$") {
        text throws(InvalidValue) in
        let isToken = text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
        guard isToken, (1...32).contains(text.utf8.count) else {
            throw InvalidValue("is not a method such as PROPFIND")
        }
        guard !["CONNECT", "TRACE", "TRACK", "PRI"].contains(text.uppercased()) else {
            throw InvalidValue("is never forwarded; remove it")
        }
        guard text == text.uppercased() || text != text.lowercased() else {
            throw InvalidValue("is in small letters, and letter case matters; write '\(text.uppercased())'")
        }
        return text
    }
}

extension Shape<WriteOrigin> {
    /// An origin, or an origin and a path.
    static let writeOrigin = single("an origin", pattern: #"^https?://[^/?#@ ]+/?( /[^?# ]*)?$"#) {
        text throws(InvalidValue) in
        let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, let address = WebURL(parts[0]) else {
            throw InvalidValue("is not an origin such as https://portal.example.com")
        }
        guard address.path == "/", address.query == nil else {
            let help = "write '\(address.origin) \(address.path)' for that path only"
            throw InvalidValue("has a path in the origin; \(help)")
        }
        guard parts.count == 2 else { return WriteOrigin(origin: address.origin) }
        try CanonicalPath.check(parts[1])
        return WriteOrigin(origin: address.origin, path: parts[1])
    }
}

extension Shape<[WriteOrigin]> {
    /// The origins whose pages may write to an app.
    static let writeOrigins = Shape.set(of: .writeOrigin, named: "a list of origins", limit: 64)
}
