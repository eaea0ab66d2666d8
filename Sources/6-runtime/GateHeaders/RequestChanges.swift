// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
internal import GateCore
internal import GatePolicy
internal import GateProxy
package import GateWire

/// How the head that an app gets differs from the one that was decided about; made once for a route.
package struct RequestChanges: Sendable {
    /// How the app gets the canonical path; nil for as it is.
    package let paths: PathMapping?
    /// What the app sees as `Host`; nil for the host under which browsers reach it.
    let host: String?
    /// Whether header names with `_`, `.` and their like are forwarded.
    let forwardsIrregular: Bool
    /// What the app sees in `Origin`, `Referer` and `Destination` in place of its own origin; nil for what the client sent.
    let origin: OriginRewrite?
    /// Changes to the lines, `X-Forwarded-Prefix` included.
    let edits: LineEdits?

    /// The changes for an app; nil if absent.
    package init?(_ app: AppSettings) {
        self.paths = app.pathMapping
        self.host = app.traffic.upstreamHost
        self.forwardsIrregular = app.traffic.strictness.irregularNames == .forward
        self.origin = OriginRewrite(app)
        self.edits = LineEdits(
            app.traffic.requestHeaders,
            adding: app.forwardedPrefix.map { HeaderValue(name: "X-Forwarded-Prefix", value: $0) }
        )
        guard
            self.paths != nil || self.host != nil || self.edits != nil || self.forwardsIrregular
                || self.origin != nil
        else { return nil }
    }

    /// Whether the app gets the client's own fields of a name, in lower case, although apps take an identity from such a name.
    package func keeps(_ name: String) -> Bool { self.edits?.keeps(name) ?? false }

    /// Whether the app is to see the client's cookies.
    var keepsCookies: Bool { self.edits.map { !$0.takesAway("cookie") } ?? true }
}

/// Puts the origin of an upstream where the browser sent that of the app.
///
/// Apps that compare `Origin` or `Referer` with `Host` to stop other sites see one and the same host then; that the request
/// comes from the app's own pages has been decided before. So do WebDAV servers, which compare `Destination` with their own
/// scheme, host and port.
struct OriginRewrite: Sendable {
    private let origins: OriginSet
    private let upstream: String

    /// The rewriting that an app asks for; nil if absent.
    init?(_ app: AppSettings) {
        guard app.traffic.strictness.upstreamOrigin == .rewrite, let host = app.traffic.upstreamHost,
            let target = app.upstream?.targets.first
        else { return nil }
        self.origins = app.route.origins
        self.upstream = "\(target.isSecure ? "https" : "http")://\(host)"
    }

    /// The name of a field that is rewritten; nil for all others.
    static func name(_ field: FieldName) -> StaticString? {
        switch field {
        case .origin: "Origin"
        case .referer: "Referer"
        case .destination: "Destination"
        default: nil
        }
    }

    /// The value for the app in a request to one of its hosts; nil if it stays as it is.
    func value(for text: String, on host: String) -> String? {
        let own = self.origins.text(of: host)
        guard text.hasPrefix(own) else { return nil }
        let rest = text.utf8.dropFirst(own.utf8.count)
        guard rest.isEmpty || rest.first == UInt8(ascii: "/") else { return nil }
        return self.upstream + String(Substring(rest))
    }
}
