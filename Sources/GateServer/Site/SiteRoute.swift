// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GatePolicy
internal import GateProxy
internal import Metrics

/// A route with all that a request on it needs, made once for a configuration.
final class SiteRoute: Sendable {
    /// Its position in the table of routes.
    let index: Int
    let route: Route
    let upstream: UpstreamAddress
    let extraHeaders: [HeaderSetting]
    /// What assertions for the app have as their audience.
    let audience: String
    /// The origin of the app's pages, as browsers send it.
    let originText: String
    let metrics: RouteMetrics
    /// Whether the app also gets `Forwarded`.
    let sendsForwarded: Bool

    init(_ app: AppSettings, index: Int) {
        self.index = index
        self.route = app.route
        self.extraHeaders = app.headers
        self.sendsForwarded = app.sendsForwarded
        self.audience = app.route.audience
        self.originText = "\(app.route.origin)"
        self.metrics = RouteMetrics(app: app.route.app)
        self.upstream = app.upstream?.targets.first.flatMap(UpstreamAddress.init(plain:)) ?? .nowhere
    }

    /// The app's name in the configuration file.
    var name: String { self.route.app }
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

extension UpstreamAddress {
    /// Where nobody listens; for what is not forwarded, or not in the clear.
    fileprivate static let nowhere = UpstreamAddress.unix(path: "/dev/null")

    /// The address of a target that speaks HTTP/1.1 in the clear.
    fileprivate init?(plain target: UpstreamTarget) {
        guard !target.isSecure, !target.isHTTP2 else { return nil }
        switch target.place {
        case .tcp:
            guard let origin = target.origin else { return nil }
            self = .http(origin)
        case .unix(let path): self = .unix(path: path)
        }
    }
}
