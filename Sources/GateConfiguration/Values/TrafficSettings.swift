// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What becomes of a request that may enter an app.
package enum AppAction: Sendable, Hashable {
    /// It is forwarded.
    case forward(UpstreamSettings)
    /// It is sent elsewhere.
    case redirect(RedirectSettings)
    /// It is answered with a fixed text.
    case answer(AnswerSettings)
}

/// Where the requests of an app are sent instead.
package struct RedirectSettings: Sendable, Hashable {
    /// The address; without a query if `keepsPath`.
    package var to: WebAddress
    /// 301, 302, 303, 307 or 308.
    package var status: Int
    /// Whether path and query of the request follow the path of `to`, its slash at the end left out.
    package var keepsPath: Bool

    /// A permanent redirect that keeps path and method, unless told.
    package init(to: WebAddress, status: Int = 308, keepsPath: Bool = true) {
        self.to = to
        self.status = status
        self.keepsPath = keepsPath
    }
}

/// What the requests of an app are answered with.
package struct AnswerSettings: Sendable, Hashable {
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
    package static let standardMaxBody: Int64 = 100 << 20

    /// Whether the app's path is removed before forwarding; never if that is `/`.
    package var stripsPrefix = false
    /// The `Host` that the app sees; nil for the client's.
    package var upstreamHost: String?
    /// Changes to the fields of requests, before the gateway's own are set.
    package var requestHeaders = HeaderEdits()
    /// Changes to the fields of answers.
    package var responseHeaders = HeaderEdits()
    /// The most bytes of a request's body; nil for no limit.
    package var maxBody: Int64? = TrafficSettings.standardMaxBody
    /// Who may open a WebSocket; nil for nobody.
    package var webSocket: WebSocketSettings?
    /// Whether 103 is passed on.
    package var passesEarlyHints = false
    /// Whether answers may be silent for as long as they like.
    package var isStreaming = false
    /// Whether everybody gets 503, also on public paths.
    package var isInMaintenance = false

    /// The defaults.
    package init() {}
}

/// Changes to the fields of a message; no name is in it twice, whatever its letter case.
package struct HeaderEdits: Sendable, Hashable {
    /// The fields that replace all of their name.
    package var set: [HeaderValue]
    /// The names of the fields that are removed.
    package var remove: [String]

    /// Makes edits, none unless given.
    package init(set: [HeaderValue] = [], remove: [String] = []) {
        self.set = set
        self.remove = remove
    }

    /// Whether nothing is changed.
    package var isEmpty: Bool { self.set.isEmpty && self.remove.isEmpty }
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
