// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GatePolicy
internal import GateProxy
internal import GateWire
internal import Metrics

/// A route with all that a request on it needs, made once for a configuration.
final class RuntimeRoute: Sendable {
    /// Its position in the table of routes.
    let index: Int
    let route: Route
    /// Where requests are forwarded to, and how.
    let upstream: LoadedUpstream
    let extraHeaders: [HeaderSetting]
    /// What assertions for the app have as their audience.
    let audience: String
    /// The origin of the app's pages, as browsers send it.
    let originText: String
    /// The host and port under which browsers reach the app.
    let authority: String
    /// The other pages that may write to the app, by their origins; nearly always empty.
    private let writeOrigins: [WriteOrigin]
    /// The methods that are forwarded; nil for all.
    let methods: Set<String>?
    /// Whether header names with `_`, `.` and their like make a request rejected.
    let rejectsIrregularNames: Bool
    /// Whether an escaped slash or backslash in the path makes a request rejected.
    let rejectsEscapedSlash: Bool
    /// Whether other spellings of the app's paths are kept from other routes and from its own public rules.
    let guardsSpellings: Bool
    let metrics: RouteMetrics
    /// Whether the app also gets `Forwarded`.
    let sendsForwarded: Bool
    /// Whether answers may keep silent for as long as they like.
    let isStreaming: Bool
    /// Who may open WebSockets; nil if the app takes none.
    let webSocket: WebSocketRule?
    /// Whether the app speaks HTTP/2, and so may be asked for more than HTTP/1.1 has.
    let speaksHTTP2: Bool
    /// How the head for the app differs from the client's; nil if it does not.
    let requestChanges: RequestChanges?
    /// Changes to the lines of the app's responses on public paths; nil if there are none.
    private let openChanges: ResponseChanges?
    /// The same on all others.
    private let protectedChanges: ResponseChanges?
    /// What is answered instead of forwarding; nil if requests are forwarded.
    let directAnswer: DirectResponse?
    /// How many bytes the body of a request may have.
    let mostBody: Int64
    /// Whether early hints of the app are passed on.
    let passesEarlyHints: Bool
    /// Whether everybody is told to come back later.
    let isInMaintenance: Bool

    /// A route of a configuration.
    ///
    /// - Throws: A `Failure` naming a file for TLS with the app that cannot be read.
    init(_ app: AppSettings, index: Int) throws(Failure) {
        self.index = index
        self.route = app.route
        self.extraHeaders = app.headers
        self.sendsForwarded = app.sendsForwarded
        self.audience = app.route.audience
        self.originText = "\(app.route.origin)"
        self.authority = app.route.origin.authority
        let strictness = app.traffic.strictness
        self.writeOrigins = strictness.origins
        self.methods = strictness.methods.map { Set($0) }
        self.rejectsIrregularNames = strictness.irregularNames == .reject
        self.rejectsEscapedSlash = strictness.encodedSlash == .reject
        self.guardsSpellings = strictness.pathSpelling == .any
        self.metrics = RouteMetrics(app: app.route.app)
        if let upstream = app.upstream {
            self.upstream = try LoadedUpstream(upstream)
        } else {
            self.upstream = RuntimeRoute.notForwarded
        }
        self.isStreaming = app.traffic.isStreaming
        self.webSocket = WebSocketRule(app)
        self.speaksHTTP2 = self.upstream.settings.targets.contains(where: \.isHTTP2)
        self.requestChanges = RequestChanges(app)
        self.openChanges = ResponseChanges(app, isProtected: false)
        self.protectedChanges = ResponseChanges(app, isProtected: true)
        self.directAnswer = DirectResponse(app)
        self.mostBody = app.traffic.maxBody ?? .max
        self.passesEarlyHints = app.traffic.passesEarlyHints
        self.isInMaintenance = app.traffic.isInMaintenance
    }

    /// The upstream of routes that are not forwarded; no request uses it.
    private static let notForwarded = LoadedUpstream(
        withoutTLS: UpstreamSettings(targets: [.unix(path: "/dev/null")])
    )

    /// The app's name in the configuration file.
    var name: String { self.route.app }

    /// How the head of a response differs from the app's; nil if it does not.
    ///
    /// - Parameter isProtected: Whether it is for somebody who is signed in.
    /// - Returns: The changes.
    func responseChanges(isProtected: Bool) -> ResponseChanges? {
        isProtected ? self.protectedChanges : self.openChanges
    }

    /// Whether pages of another origin may write to a path of the app, which may be a decoded one.
    func admitsWrite(from origin: String, to path: Span<UInt8>, isDecoded: Bool) -> Bool {
        self.writeOrigins.contains { entry in
            guard "\(entry.origin)" == origin else { return false }
            guard let only = entry.path else { return true }
            let rule = PublicRule(method: nil, path: isDecoded ? PathNormalization.decoded(only) : only)
            return rule.covers(method: "", path: path)
        }
    }

    /// The refusal of a request whose body is longer than it may be.
    var bodyTooLarge: Failure {
        Failure(.routeBodyTooLarge, "\(self.name) takes bodies of \(self.mostBody) bytes at most")
    }
}

/// The counters of a route; looked up once, so that a request only adds to them.
struct RouteMetrics: Sendable {
    private let classes: [Counter]
    private let duration: Metrics.Timer

    init(app: String) {
        self.classes = (1...5).map { hundred in
            Counter(label: "gatehouse_requests_total", dimensions: [("app", app), ("class", "\(hundred)xx")])
        }
        self.duration = Metrics.Timer(label: "gatehouse_request_duration_seconds", dimensions: [])
    }

    /// Notes an answer to a request that took so long.
    func answered(_ status: Int, nanoseconds: Int64) {
        guard self.classes.indices.contains(status / 100 - 1) else { return }
        self.classes[status / 100 - 1].increment()
        self.duration.recordNanoseconds(nanoseconds)
    }
}
