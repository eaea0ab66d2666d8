// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateWire
internal import GateYAML

extension Mapping<AppDraft> {
    /// How requests are treated that servers interpret in different ways; docs/compatibility.md explains each key.
    static let strictnessKeys: [Key<AppDraft>] = [
        Key(
            "encoded_slash",
            over: \.traffic.strictness.encodedSlash,
            .oneOf("a rule for escaped slashes"),
            .init(example: "reject"),
            "How `%2F` and `%5C` in a path are treated: `forward` them unchanged, or `reject` the request with 400. A path that "
                + "belongs to another app or is no longer public when they are decoded is rejected in any case."
        ),
        Key(
            "path_spelling",
            over: \.traffic.strictness.pathSpelling,
            .oneOf("a rule for spellings"),
            .init(example: "exact"),
            "Which spellings of this app's paths are rejected by the other apps on its host and by its own `public` rules: "
                + "`any` that some server treats as the same path (letter case, double escapes, escaped slashes, "
                + "parameters), or `exact`, if the app's server is known to distinguish them."
        ),
        Key(
            "methods",
            \.traffic.strictness.methods,
            .set(of: .forwardedMethod, named: "a list of methods", limit: 64),
            .init(default: .words("all but CONNECT, TRACE and TRACK"), example: ["GET", "HEAD", "POST", "PROPFIND"]),
            "The methods that are forwarded; others get 405."
        ),
        Key(
            "underscore_headers",
            over: \.traffic.strictness.irregularNames,
            .oneOf("a rule for header names"),
            .init(example: "forward"),
            "How headers are treated whose name has `_`, `.` or another character than letters, digits and `-`, which many "
                + "servers read as `-`: `drop` them, as nginx does, `reject` the request, or `forward` them. A request with "
                + "one that could be read as a header that the gateway sets is rejected in any case."
        ),
        Key(
            "origins",
            over: \.traffic.strictness.origins,
            .writeOrigins,
            .init(default: .value([]), example: ["https://portal.example.com", "https://idp.example.com /saml/acs"]),
            "The other origins whose pages may write (POST, PUT and so on) to the app, at most 64: an origin, or an origin, "
                + "a space and the only path; a path that ends in `/` includes all paths below it."
        ),
        Key(
            "upstream_origin",
            over: \.traffic.strictness.upstreamOrigin,
            .oneOf("a rule for origins"),
            .init(example: "rewrite"),
            "What the app receives in `Origin`, `Referer` and `Destination`: `keep` what the client sent, or `rewrite` the app's "
                + "own origin to the scheme of the upstream with `upstream_host`. For apps that compare these fields with "
                + "`Host`."
        ),
    ]

    /// How responses of the app are changed.
    static let responseKeys: [Key<AppDraft>] = [
        Key(
            "rewrite",
            \.rewrite,
            .rewrite,
            .init(default: .value(true), example: ["from": "/old", "to": "/new"]),
            "Paths that the app gets in place of others, by whole segments: `from` what clients send, at or below the app's `path`, and "
                + "`to` what the app gets; one mapping or a list of them, of which the longest `from` counts. `Location`, "
                + "`Content-Location` and `Refresh` that lead to the URL of the upstream, to the app's host by another scheme or to a "
                + "path as the app sees it are mapped to the URL under which browsers reach the app; with such paths, `strip_prefix` or "
                + "`upstream_host` the `Path` and `Domain` of cookies too. `false` leaves responses as they are. Bodies are never "
                + "changed. See [upstreams.md](upstreams.md#paths)."
        ),
        Key(
            "cache_control",
            over: \.traffic.caching,
            .oneOf("a rule for caches"),
            .init(example: "pass"),
            "How HTML of protected pages without `Cache-Control`, `Expires` and `Pragma` is treated: `protect` adds "
                + "`Cache-Control: private, no-cache`, so that browsers revalidate it before they show it again after the "
                + "session has ended, `pass` forwards it unchanged."
        ),
    ]
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
        try CanonicalPath.check(configured: parts[1])
        return WriteOrigin(origin: address.origin, path: parts[1])
    }
}

extension Shape<[WriteOrigin]> {
    /// The origins whose pages may write to an app.
    static let writeOrigins = Shape.set(of: .writeOrigin, named: "a list of origins", limit: 64)
}
