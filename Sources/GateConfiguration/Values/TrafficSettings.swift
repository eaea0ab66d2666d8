// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What becomes of a request that may enter an app.
package enum AppAction: Sendable, Hashable {
    /// It is forwarded.
    case forward(UpstreamSettings)
    /// It is sent elsewhere.
    case redirect(RedirectSettings)
    /// It is answered with a fixed text.
    case answer(FixedResponse)
}

/// Where the requests of an app are sent instead.
package struct RedirectSettings: Sendable, Hashable {
    /// The address; without a query if `keepsPath`.
    package var to: WebURL
    /// 301, 302, 303, 307 or 308.
    package var status: Int
    /// Whether path and query of the request follow the path of `to`, its slash at the end left out.
    package var keepsPath: Bool

    /// A permanent redirect that keeps path and method, unless told.
    package init(to: WebURL, status: Int = 308, keepsPath: Bool = true) {
        self.to = to
        self.status = status
        self.keepsPath = keepsPath
    }
}

/// What the requests of an app are answered with.
package struct FixedResponse: Sendable, Hashable {
    /// 200 to 599, but none that redirects.
    package var status = 200
    /// The body, at most 64 KiB of UTF-8; empty with 204, 205 and 304.
    package var body = ""
    /// The `Content-Type`, which an answer without a body does not have.
    package var contentType = "text/plain; charset=utf-8"

    /// An empty answer of status 200.
    package init() {}
}

/// How requests and answers of an app are passed on.
package struct TrafficSettings: Sendable, Hashable {
    /// The bytes that the body of a request may have unless the file says otherwise: 100 MiB.
    package static let defaultMaxBody: Int64 = 100 << 20

    /// Whether the app's path is removed before forwarding; never if that is `/`.
    package var stripsPrefix = false
    /// The `Host` that the app sees; nil for the client's.
    package var upstreamHost: String?
    /// Changes to the fields of requests, before the gateway's own are set.
    package var requestHeaders = HeaderEdits()
    /// Changes to the fields of answers.
    package var responseHeaders = HeaderEdits()
    /// The most bytes of a request's body; nil for no limit.
    package var maxBody: Int64? = TrafficSettings.defaultMaxBody
    /// Who may open a WebSocket; nil for nobody.
    package var webSocket: WebSocketSettings?
    /// Whether 103 is passed on.
    package var passesEarlyHints = false
    /// Whether answers may be silent for as long as they like.
    package var isStreaming = false
    /// Whether everybody gets 503, also on public paths.
    package var isInMaintenance = false
    /// What this app makes of requests that other gateways and servers read differently.
    package var strictness = StrictnessSettings()
    /// Whether redirects and cookies of the app are mapped to the URL under which browsers reach it.
    package var mapsResponses = true
    /// What becomes of HTML that says nothing about caches.
    package var caching = CachingProtection.protect

    /// The defaults.
    package init() {}
}

/// What an app makes of requests that servers read differently; the defaults are safe for every app.
package struct StrictnessSettings: Sendable, Hashable {
    /// What becomes of an escaped slash or backslash in a path.
    package var encodedSlash = EncodedSlash.forward
    /// Whether paths that an app server could read as one of this app's are kept from other routes and public rules.
    package var pathSpelling = PathSpelling.any
    /// The methods that are forwarded; nil for all.
    package var methods: [String]?
    /// What becomes of header names with `_`, `.` and their like.
    package var irregularNames = IrregularNames.drop
    /// The other pages that may write to the app.
    package var origins: [WriteOrigin] = []
    /// What the app is told in `Origin` and `Referer`.
    package var upstreamOrigin = UpstreamOrigin.keep

    /// The defaults.
    package init() {}
}

/// What becomes of an escaped slash or backslash in a path, by its name in the file.
package enum EncodedSlash: String, Sendable, CaseIterable {
    /// It is forwarded as it came.
    case forward
    /// The request is rejected.
    case reject
}

/// Which spellings of an app's paths are kept from other routes, by its name in the file.
package enum PathSpelling: String, Sendable, CaseIterable {
    /// Every spelling that some server takes for the same path: letter case, double escapes, escaped slashes, parameters.
    case any
    /// Only the path itself: the app's server tells all of these apart.
    case exact
}

/// What becomes of header names with other characters than letters, digits and `-`, by its name in the file.
package enum IrregularNames: String, Sendable, CaseIterable {
    /// The fields are left out.
    case drop
    /// The request is rejected.
    case reject
    /// The fields are forwarded, but for names that may be read as one that the gateway sets.
    case forward
}

/// What an app is told in `Origin` and `Referer`, by its name in the file.
package enum UpstreamOrigin: String, Sendable, CaseIterable {
    /// What the browser sent.
    case keep
    /// The origin that goes with `upstream_host`, where the browser sent the app's own.
    case rewrite
}

/// What becomes of HTML of protected pages that says nothing about caches, by its name in the file.
package enum CachingProtection: String, Sendable, CaseIterable {
    /// Browsers keep it, and ask before they show it again.
    case protect
    /// It is passed on as it is.
    case pass
}

/// Another origin whose pages may write to an app.
package struct WriteOrigin: Sendable, Hashable {
    /// The origin.
    package var origin: Origin
    /// The path that they may write to, with all below it if it ends in `/`; nil for all of the app's.
    package var path: String?

    /// Pairs an origin with a path.
    package init(origin: Origin, path: String? = nil) {
        self.origin = origin
        self.path = path
    }
}

/// Changes to the fields of a message; no name is in it twice, whatever its letter case.
package struct HeaderEdits: Sendable, Hashable {
    /// The fields that replace all of their name.
    package var set: [HeaderValue]
    /// The names of the fields that are removed.
    package var remove: [String]
    /// The names, of those that usually carry an identity, whose fields are passed on as the client sent them.
    package var keep: [String]

    /// Makes edits, none unless given.
    package init(set: [HeaderValue] = [], remove: [String] = [], keep: [String] = []) {
        self.set = set
        self.remove = remove
        self.keep = keep
    }

    /// Whether nothing is changed.
    package var isEmpty: Bool { self.set.isEmpty && self.remove.isEmpty && self.keep.isEmpty }
}

/// A field of a message: name and value.
package struct HeaderValue: Sendable, Hashable {
    /// The name, as written in the file.
    package var name: String
    /// The value: 1 to 4096 bytes of visible ASCII and, within, spaces.
    package var value: String

    /// Pairs a name with a value.
    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

/// Who may open a WebSocket to an app.
package struct WebSocketSettings: Sendable, Hashable {
    /// The origins whose pages may, beside the app's own.
    package var origins: [Origin]
    /// Whether any page may.
    package var anyOrigin: Bool

    /// Makes settings: the app's own pages only, unless told.
    package init(origins: [Origin] = [], anyOrigin: Bool = false) {
        self.origins = origins
        self.anyOrigin = anyOrigin
    }
}
