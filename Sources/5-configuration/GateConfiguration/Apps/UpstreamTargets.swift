// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProxy
internal import GateWire
internal import GateYAML

/// A server of an app, and the path on it below which the app is; empty for the whole server.
private struct TargetDraft: Sendable {
    let target: UpstreamTarget
    let base: String

    var shown: String { "\(self.target)\(self.base)" }
}

/// The servers of an app, with the path that they have in common.
struct UpstreamPlaces: Sendable {
    var targets: [UpstreamTarget]
    var base: String
}

extension UpstreamSettings {
    /// Where the app is.
    var places: UpstreamPlaces {
        get { UpstreamPlaces(targets: self.targets, base: self.base) }
        set { (self.targets, self.base) = (newValue.targets, newValue.base) }
    }
}

extension Shape<TargetDraft> {
    /// One server of an app.
    fileprivate static let target = single(
        "an upstream",
        pattern: "^((https?|h2c?)://[^/?#@]+(/[^?#]*)?|unix:/.+)$",
        parse: TargetDraft.parse
    )
}

extension Shape<UpstreamPlaces> {
    /// The servers of an app: 1 to 64, each once, all of one scheme and path.
    static let targets: Shape = {
        let one = Shape<TargetDraft>.target
        let list = Shape<[Located<TargetDraft>]>.oneOrMany(of: one.located, named: "an upstream or a list of them")
        let several: JSON = ["type": "array", "items": one.schema, "minItems": 1, "maxItems": 64, "uniqueItems": true]
        return Shape(list.kind, schema: ["anyOf": [one.schema, several]]) { node, reading in
            if case .sequence(let nodes) = node.content, nodes.count > 64 {
                reading.error("more than 64 upstreams", at: node.mark)
                return nil
            }
            guard let targets = list.read(node, &reading) else { return nil }
            check(targets, &reading)
            return UpstreamPlaces(targets: targets.map(\.value.target), base: targets.first?.value.base ?? "")
        }
        .whole
    }()

    private static func check(_ targets: [Located<TargetDraft>], _ reading: inout DecodingContext) {
        guard let first = targets.first else { return }
        var lines: [UpstreamTarget: Int] = [:]
        for target in targets {
            let server = target.value.target
            let (scheme, other) = (server.scheme, first.value.target.scheme)
            if target.value.base != first.value.base {
                let shown = Scalar.quoted(target.value.shown, limit: 4096)
                let reason = "since the app cannot know which of them gets a request"
                let message = "\(shown) has another path than the one in line \(first.mark.line)"
                reading.error("\(message); all targets of an app have the same path, \(reason)", at: target.mark)
            } else if let line = lines[server] {
                let shown = Scalar.quoted(target.value.shown, limit: 4096)
                reading.error("\(shown) is here twice; first in line \(line)", at: target.mark)
            } else if scheme != other {
                let help = "all targets of an app have the same scheme"
                reading.error("'\(scheme)' beside '\(other)' in line \(first.mark.line); \(help)", at: target.mark)
            }
            lines[server] = lines[server] ?? target.mark.line
        }
    }
}

extension Shape<UpstreamSettings> {
    /// The servers of an app, alone or with settings.
    static let upstream: Shape = {
        let targets = Shape<UpstreamPlaces>.targets
        let mapping = Mapping<UpstreamSettings>.upstream.shape.whole
        let kind = "an upstream, a list of them, or a mapping with 'targets'"
        let schema: JSON = ["anyOf": [targets.schema, mapping.schema]]
        return Shape("an upstream, a list, or a mapping", schema: schema, sections: mapping.sections) { node, reading in
            guard !node.isNull else {
                reading.wrongType(node, kind: kind)
                return nil
            }
            guard case .mapping = node.content else {
                return targets.read(node, &reading).map { places in
                    var settings = UpstreamSettings(targets: [])
                    settings.places = places
                    return settings
                }
            }
            return mapping.read(node, &reading)
        }
    }()
}

extension Shape<String> {
    /// A host with or without a port, as `Host` carries it.
    static let authority = single("a host", pattern: #"^[A-Za-z0-9._\-\[\]:]+$"#) { text throws(InvalidValue) in
        guard !text.contains("/") else {
            throw InvalidValue("is not a host; write a name without scheme and path, such as app.internal")
        }
        guard let parts = WebURL.split(authority: text), let host = Origin.normalHost(parts.host) else {
            throw InvalidValue("is not a host such as app.internal or app.internal:8080")
        }
        return parts.port.map { "\(host):\($0)" } ?? host
    }

    /// The target of a health check: a path, with or without a query.
    static let healthPath = single("a path", pattern: "^/[^#]*$") { text throws(InvalidValue) in
        guard text.hasPrefix("/") else {
            throw InvalidValue("is not a path; it starts with '/', so write '/\(text.prefix(60))'")
        }
        guard text.utf8.count <= 1024, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x23 }) else {
            throw InvalidValue("is not a path; it may hold 1024 visible ASCII characters, but no '#'")
        }
        return text
    }

    /// A method of requests that may be retried.
    ///
    /// RFC 9110 §9.2.2.
    static let retryMethod: Shape = {
        let known = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]
        let one = single("a method") { text throws(InvalidValue) in
            guard !known.contains(text) else { return text }
            guard !["POST", "PATCH"].contains(text.uppercased()) else {
                throw InvalidValue(
                    "is never retried, since the app may have processed the request; remove it"
                )
            }
            let hint = Hint.nearest(to: text, in: known).map { "did you mean '\($0)'?" }
            throw InvalidValue("is not a method to retry; \(hint ?? "write one of \(known.joined(separator: ", "))")")
        }
        let schema: JSON = ["anyOf": [["enum": .array(known.map(JSON.string))], Schema.reference]]
        return Shape(one.kind, schema: schema) { one.read($0, &$1) }
    }()
}

extension TargetDraft {
    /// Reads the URL of a target, and suggests what to write instead of an unsupported one.
    fileprivate static func parse(_ text: String) throws(InvalidValue) -> TargetDraft {
        if let socket = text.firstRange(of: "unix:"),
            socket.lowerBound == text.startIndex || text[socket.upperBound...].hasPrefix("/")
        {
            let target = try self.socket(path: text[socket.upperBound...], how: text[..<socket.lowerBound])
            return TargetDraft(target: target, base: "")
        }
        guard let mark = text.firstRange(of: "://") else {
            let isAuthority = WebURL("http://\(text)") != nil
            let help =
                isAuthority
                ? "did you mean 'http://\(text)'?" : "write such as http://10.0.0.5:8080 or unix:/run/app.sock"
            throw InvalidValue("is not an upstream; \(help)")
        }
        let rest = text[mark.upperBound...]
        let (isSecure, isHTTP2) = try self.scheme(text[..<mark.lowerBound].lowercased(), rest)
        try self.check(rest)
        guard let address = WebURL("\(isSecure ? "https" : "http")://\(rest)") else {
            throw InvalidValue("is not an upstream; write such as http://10.0.0.5:8080 or unix:/run/app.sock")
        }
        let place = UpstreamTarget.Place.tcp(host: address.origin.host, port: address.origin.port)
        let target = UpstreamTarget(place, isSecure: isSecure, isHTTP2: isHTTP2)
        guard address.path != "/" else { return TargetDraft(target: target, base: "") }
        do throws(InvalidValue) {
            try CanonicalPath.check(route: address.path)
        } catch {
            throw InvalidValue("has a path that \(error.message)")
        }
        return TargetDraft(
            target: target,
            base: address.path.hasSuffix("/") ? String(address.path.dropLast()) : address.path
        )
    }

    /// Rejects what an upstream cannot have behind its scheme.
    private static func check(_ rest: Substring) throws(InvalidValue) {
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if authority.contains("@") {
            let help = "for a password that the app asks for, see 'basic' of 'identity'"
            throw InvalidValue("has a user name in it, which no request would have; \(help)")
        }
        if let sign = rest.first(where: { $0 == "?" || $0 == "#" }) {
            let part = sign == "?" ? "a query" : "a fragment"
            throw InvalidValue("has \(part), and each request has its own; remove the '\(sign)' and what follows it")
        }
    }

    private static func scheme(
        _ scheme: String,
        _ rest: Substring
    ) throws(InvalidValue) -> (isSecure: Bool, isHTTP2: Bool) {
        switch scheme {
        case "http": return (false, false)
        case "https": return (true, false)
        case "h2c": return (false, true)
        case "h2": return (true, true)
        case "ws", "wss":
            let help = "write '\(scheme == "ws" ? "http" : "https")://\(rest.prefix(200))' and 'websocket: true'"
            throw InvalidValue("is not an upstream; a WebSocket starts as a request, so \(help)")
        case "grpc", "grpcs":
            let known = scheme == "grpc" ? "h2c" : "h2"
            throw InvalidValue("is not an upstream; gRPC is HTTP/2, so write '\(known)://\(rest.prefix(200))'")
        default:
            let names = ["http", "https", "h2c", "h2"]
            let hint = Hint.nearest(to: scheme, in: names).map { "did you mean '\($0)://\(rest.prefix(200))'?" }
            throw InvalidValue(
                "is not an upstream; \(hint ?? "it starts with http://, https://, h2c://, h2:// or unix:/")"
            )
        }
    }

    private static func socket(path: Substring, how: Substring) throws(InvalidValue) -> UpstreamTarget {
        guard how.isEmpty else {
            let plain = "/" + path.drop { $0 == "/" }.prefix(SocketPath.maxBytes)
            throw InvalidValue(
                "has a scheme that sockets do not support; they carry plain HTTP/1.1, so write 'unix:\(plain)'"
            )
        }
        guard path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw InvalidValue("needs an absolute path, such as unix:/run/app.sock")
        }
        guard path.utf8.count <= SocketPath.maxBytes else {
            throw InvalidValue("is longer than the \(SocketPath.maxBytes) bytes that a socket's path may have")
        }
        return .unix(path: String(path))
    }
}
