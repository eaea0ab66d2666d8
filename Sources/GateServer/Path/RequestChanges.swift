// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GatePolicy

/// How the head that an app gets differs from the one that was decided about; made once for a route.
struct RequestChanges: Sendable {
    /// How many bytes at the front of the canonical path are left out: the route's own path, or nothing.
    let prefixLength: Int
    /// What the app sees as `Host`; nil for what the client sent.
    let host: String?
    /// Changes to the lines, `X-Forwarded-Prefix` included.
    let edits: LineEdits?

    /// The changes for an app; nil if there are none.
    init?(_ app: AppSettings) {
        let prefix = app.strippedPrefix
        self.prefixLength = prefix.utf8.count
        self.host = app.traffic.upstreamHost
        self.edits = LineEdits(
            app.traffic.requestHeaders,
            adding: prefix.isEmpty ? nil : HeaderValue(name: "X-Forwarded-Prefix", value: prefix)
        )
        guard self.prefixLength > 0 || self.host != nil || self.edits != nil else { return nil }
    }

    /// Whether the app is to see the client's cookies.
    var keepsCookies: Bool { self.edits.map { !$0.takesAway("cookie") } ?? true }
}

extension AppSettings {
    /// What is removed from the front of the canonical path, without a slash at its end; empty for nothing.
    var strippedPrefix: String {
        guard self.traffic.stripsPrefix else { return "" }
        return self.route.path.hasSuffix("/") ? String(self.route.path.dropLast()) : self.route.path
    }
}
