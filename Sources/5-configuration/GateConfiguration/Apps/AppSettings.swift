// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GatePolicy
package import GateProxy
package import GateSessions

/// One app that the gateway protects.
package struct AppSettings: Sendable, Hashable {
    /// The host and path of the app, and the users whom it allows; `route.app` is the app's name.
    package var route: Route
    /// What the gateway does with a request that is allowed.
    package var action: AppAction
    /// How requests and responses are forwarded.
    package var traffic = TrafficSettings()
    /// Further header names for identity fields, in the order of the file.
    package var headers: [HeaderSetting]
    /// The headers with the certificate of the client, each once.
    package var certificateHeaders: [CertificateHeader] = []
    /// How the app receives the identity of a user.
    package var identity = IdentitySettings()
    /// How users see it.
    package var display = DisplaySettings()
    /// What a user may prove an identity with.
    package var accepts: Set<AcceptedCredential> = [.session]
    /// How many bytes the messages in a request to it may have, where rules are about them; nil unless it is an MCP server.
    package var maxMCPBody: Int?
    /// Whether the service tokens of the app's route count as the password of Basic authentication too, RFC 7617.
    package var takesBasic = false
    /// Whether the app also gets `Forwarded`, RFC 7239.
    package var sendsForwarded = false
    /// Lifetimes of sessions that are shorter than those of all apps.
    package var sessionLimits = SessionLimits()
    /// When the provider is asked again about users of this app; nil if it is as for all apps.
    package var recheck: RecheckPolicy?

    /// Puts the parts together.
    package init(route: Route, action: AppAction, headers: [HeaderSetting] = []) {
        self.route = route
        self.action = action
        self.headers = headers
    }

    /// The servers of the app; nil if its requests are not forwarded.
    package var upstream: UpstreamSettings? {
        guard case .forward(let upstream) = self.action else { return nil }
        return upstream
    }
}

/// What a user may prove an identity with at an app, by its name in the file.
package enum AcceptedCredential: String, Sendable, CaseIterable {
    /// A session of a browser.
    case session
    /// An access token that this gateway issued for the app.
    case token
}

/// What the gateway does with a request that an app allows.
package enum AppAction: Sendable, Hashable {
    /// It is forwarded.
    case forward(UpstreamSettings)
    /// It is redirected.
    case redirect(RedirectSettings)
    /// It gets a fixed response.
    case respond(FixedResponse)
    /// A proxy forwards it, and asks before.
    case forwardAuth(ForwardAuthMode)
}

/// What the gateway responds to a proxy that asks about an app's requests, by its name in the file.
package enum ForwardAuthMode: String, Sendable, CaseIterable {
    /// The decision.
    case enforce
    /// That the request may pass, without an identity; the decision is logged and counted.
    case shadow
}

/// A redirect of all requests of an app.
package struct RedirectSettings: Sendable, Hashable {
    /// The URL; without a query if `keepsPath`.
    package var to: WebURL
    /// 301, 302, 303, 307 or 308.
    package var status: Int
    /// Whether path and query of the request are appended to `to`, without its slash at the end.
    package var keepsPath: Bool

    /// The default status: a permanent redirect that keeps the method.
    package static let defaultStatus = 308

    /// Makes a redirect, by default permanent with path and method kept.
    package init(to: WebURL, status: Int = RedirectSettings.defaultStatus, keepsPath: Bool = true) {
        self.to = to
        self.status = status
        self.keepsPath = keepsPath
    }
}

/// A fixed response to all requests of an app.
package struct FixedResponse: Sendable, Hashable {
    /// 200 to 599, but no redirect.
    package var status = 200
    /// The body, at most 64 KiB of UTF-8; empty with 204, 205 and 304.
    package var body = ""
    /// The `Content-Type`, which is not sent without a body.
    package var contentType = "text/plain; charset=utf-8"

    /// An empty response of status 200.
    package init() {}
}

/// Segments at the front of a path that are replaced by others, each a path without a slash at its end unless it is `/`.
package struct PathRewrite: Sendable, Hashable {
    /// What clients send.
    package var from: String
    /// What the app gets in its place.
    package var to: String

    /// Replaces one path by another.
    package init(from: String, to: String) {
        self.from = from
        self.to = to
    }
}

/// How requests and responses of an app are forwarded.
package struct TrafficSettings: Sendable, Hashable {
    /// Whether the app's path is removed before forwarding; never if that is `/`.
    package var stripsPrefix = false
    /// Segments at the front of paths that are replaced before forwarding, each at or below the app's path.
    package var rewrites: [PathRewrite] = []
    /// The `Host` that the app sees; nil for the client's.
    package var upstreamHost: String?
    /// Changes to the fields of requests, applied before the gateway sets its own.
    package var requestHeaders = HeaderEdits()
    /// Changes to the fields of responses.
    package var responseHeaders = HeaderEdits()
    /// The maximum size of a request's body in bytes; nil for no limit.
    package var maxBody: Int64?
    /// The pages that may open a WebSocket; nil where WebSockets are off.
    package var webSocket: WebSocketSettings?
    /// Whether 103 responses are forwarded.
    package var passesEarlyHints = false
    /// Whether browsers without a session get a service worker that unregisters itself in place of the app's.
    package var endsServiceWorkers = false
    /// Whether the idle time-out of responses is off.
    package var isStreaming = false
    /// Whether every request gets 503, also on public paths.
    package var isInMaintenance = false
    /// How the gateway treats requests that servers interpret in different ways.
    package var strictness = StrictnessSettings()
    /// Whether redirects and cookies of the app are mapped to the URL under which browsers reach it.
    package var mapsResponses = true
    /// How HTML without caching fields is protected.
    package var caching = CachingProtection.protect

    package init() {}
}

/// How the gateway treats requests that servers interpret in different ways; the defaults are safe for every app.
package struct StrictnessSettings: Sendable, Hashable {
    /// How an escaped slash or backslash in a path is treated.
    package var encodedSlash = EncodedSlash.forward
    /// Whether paths that an app server could read as one of this app's are kept from other routes and public rules.
    package var pathSpelling = PathSpelling.any
    /// The methods that are forwarded; nil for all.
    package var methods: [String]?
    /// How header names with `_`, `.` and the like are treated.
    package var irregularNames = IrregularNames.drop
    /// The other origins whose pages may write to the app.
    package var origins: [WriteOrigin] = []
    /// Which origin the app receives in `Origin` and `Referer`.
    package var upstreamOrigin = UpstreamOrigin.keep

    package init() {}
}

/// How an escaped slash or backslash in a path is treated, by its name in the file.
package enum EncodedSlash: String, Sendable, CaseIterable {
    /// It is forwarded unchanged.
    case forward
    /// The request is rejected.
    case reject
}

/// Which spellings of an app's paths are rejected on other routes, by its name in the file.
package enum PathSpelling: String, Sendable, CaseIterable {
    /// Every spelling that some server treats as the same path: letter case, double escapes, escaped slashes, parameters.
    case any
    /// Only the path itself: the app's server distinguishes all of these.
    case exact
}

/// How header names with characters other than letters, digits and `-` are treated, by its name in the file.
package enum IrregularNames: String, Sendable, CaseIterable {
    /// The fields are removed.
    case drop
    /// The request is rejected.
    case reject
    /// The fields are forwarded, except names that a server may read as one that the gateway sets.
    case forward
}

/// Which origin an app receives in `Origin` and `Referer`, by its name in the file.
package enum UpstreamOrigin: String, Sendable, CaseIterable {
    /// What the browser sent.
    case keep
    /// The origin of `upstream_host`, where the browser sent the app's own.
    case rewrite
}

/// How HTML of protected pages without caching fields is treated, by its name in the file.
package enum CachingProtection: String, Sendable, CaseIterable {
    /// Browsers may store it and have to revalidate it.
    case protect
    /// It is forwarded unchanged.
    case pass
}

/// Another origin whose pages may write to an app.
package struct WriteOrigin: Sendable, Hashable {
    package var origin: Origin
    /// The path that they may write to, with all below it if it ends in `/`; nil for every path of the app.
    package var path: String?

    /// Pairs an origin with a path.
    package init(origin: Origin, path: String? = nil) {
        self.origin = origin
        self.path = path
    }
}

/// The origins whose pages may open a WebSocket to an app.
package struct WebSocketSettings: Sendable, Hashable {
    /// The origins beside the app's own.
    package var origins: [Origin]
    /// Whether pages of any origin may.
    package var anyOrigin: Bool

    /// Makes settings, by default for the app's own pages only.
    package init(origins: [Origin] = [], anyOrigin: Bool = false) {
        self.origins = origins
        self.anyOrigin = anyOrigin
    }
}
