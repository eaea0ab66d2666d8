// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateNet
internal import GateOperations
package import GateProxy

/// What one event loop counts; confined to that loop.
///
/// A request finds the counters of its route by the route's position and adds to plain numbers; a scrape sums those of all
/// loops.
package final class LoopTelemetry {
    private let loop: Int
    private var routes: [RouteCounters?] = []
    private var rejections = RejectionCounters()
    private var redirects: [Int: LoopNumber] = [:]

    /// Counters of the loop with this number.
    package init(loop: Int) {
        self.loop = loop
    }

    package func counters(of route: RuntimeRoute) -> RouteCounters {
        let index = route.index
        if index < self.routes.count, let known = self.routes[index], known.route === route { return known }
        while self.routes.count <= index { self.routes.append(nil) }
        let made = RouteCounters(of: route, loop: self.loop)
        self.routes[index] = made
        return made
    }

    /// Counts a request without a route to which the gateway responded with a failure.
    package func rejected(_ rejection: CountedRejection) {
        self.rejections.counter(of: rejection, app: "-", loop: self.loop).add()
    }

    /// Counts one at an endpoint, about an app; rare enough to look up its counter.
    package func rejected(_ rejection: CountedRejection, about app: String) {
        var none = RejectionCounters()
        none.counter(of: rejection, app: app, loop: self.loop).add()
    }

    /// Counts a response of a listener that redirects to https.
    package func redirected(status: Int) {
        let known = self.redirects[status] ?? IngressMetrics.redirects.loopCounter(["\(status)"], loop: self.loop)
        self.redirects[status] = known
        known.add()
    }

    /// Lets go of the counters of routes that are gone; those of the others continue.
    package func adopt() {
        self.routes.removeAll()
    }
}

/// Where in the life of a request it was rejected.
package enum RejectionPhase: String, Sendable {
    /// Before it was looked at: too many requests, or too few resources.
    case load
    /// Its head, its method or its path.
    case request
    /// No app has its host and path.
    case route
    /// It has no session that the app accepts, or the session could not be looked up.
    case session
    /// The access rule of the app.
    case policy
    /// An endpoint of the gateway.
    case endpoint
    /// The app.
    case upstream
}

/// A rejection, as it is counted: numbers only, so that finding its counter costs little.
package struct CountedRejection: Hashable {
    private let reason: Failure.Reason
    private let phase: RejectionPhase
    private let status: Int

    /// A rejection.
    ///
    /// - Parameters:
    ///   - reason: The failure.
    ///   - phase: Where in the life of the request.
    ///   - status: The status of the response.
    package init(_ reason: Failure.Reason, _ phase: RejectionPhase, status: Int) {
        self.reason = reason
        self.phase = phase
        self.status = status
    }

    fileprivate func labels(app: String) -> [String] {
        [app, self.phase.rawValue, self.reason.code, "\(self.status)"]
    }
}

/// The counters of rejections of one app, made as they are needed.
private struct RejectionCounters {
    private var known: [CountedRejection: LoopNumber] = [:]

    mutating func counter(of rejection: CountedRejection, app: String, loop: Int) -> LoopNumber {
        if let known = self.known[rejection] { return known }
        let made = IngressMetrics.rejections.loopCounter(rejection.labels(app: app), loop: loop)
        self.known[rejection] = made
        return made
    }
}

/// The counters of a route on one event loop.
package final class RouteCounters {
    fileprivate let route: RuntimeRoute
    private let loop: Int
    private var classes: [LoopNumber?] = [nil, nil, nil, nil, nil]
    private let duration: LoopHistogram
    private var targets: [TargetCounters?] = []
    private var rejections = RejectionCounters()

    fileprivate init(of route: RuntimeRoute, loop: Int) {
        self.route = route
        self.loop = loop
        self.duration = IngressMetrics.requestDuration.loopHistogram([route.name], loop: loop)
    }

    /// Counts a response and how long its request took.
    ///
    /// - Parameters:
    ///   - status: Its status.
    ///   - nanoseconds: The time from the first byte of the request.
    ///   - now: Monotonic time in nanoseconds.
    ///   - request: The id of the request and of its trace if that is exported, rarely asked for.
    package func responded(
        _ status: Int,
        nanoseconds: Int64,
        at now: Int64,
        request: () -> (id: String, trace: String?)
    ) {
        let index = status / 100 - 1
        guard self.classes.indices.contains(index) else { return }
        if self.classes[index] == nil {
            let labels = [self.route.name, "\(index + 1)xx"]
            self.classes[index] = IngressMetrics.requests.loopCounter(labels, loop: self.loop)
        }
        self.classes[index]?.add()
        self.duration.record(nanoseconds, at: now, request: request)
    }

    /// Counts a request to which the gateway responded with a failure.
    package func rejected(_ rejection: CountedRejection) {
        self.rejections.counter(of: rejection, app: self.route.name, loop: self.loop).add()
    }

    /// The counters of one of the route's targets.
    package func target(_ index: Int) -> TargetCounters {
        if index < self.targets.count, let known = self.targets[index] { return known }
        while self.targets.count <= index { self.targets.append(nil) }
        let target = "\(self.route.upstream.settings.targets[index])"
        let made = TargetCounters([self.route.name, target], loop: self.loop)
        self.targets[index] = made
        return made
    }
}

/// The counters of a target of an app on one event loop.
package final class TargetCounters {
    private let labels: [String]
    private let loop: Int
    private var classes: [LoopNumber?] = [nil, nil, nil, nil, nil]
    private let duration: LoopHistogram

    fileprivate init(_ labels: [String], loop: Int) {
        self.labels = labels
        self.loop = loop
        self.duration = IngressMetrics.upstreamDuration.loopHistogram(labels, loop: loop)
    }

    /// Counts the head of a response and how long it took to come.
    package func responded(
        _ status: Int,
        nanoseconds: Int64,
        at now: Int64,
        request: () -> (id: String, trace: String?)
    ) {
        let index = status / 100 - 1
        guard self.classes.indices.contains(index) else { return }
        if self.classes[index] == nil { self.classes[index] = self.counter("\(index + 1)xx") }
        self.classes[index]?.add()
        self.duration.record(nanoseconds, at: now, request: request)
    }

    /// Counts a request that has failed, which is rare enough to look up its counter.
    package func failed(_ cause: UpstreamFailure) { self.counter(cause.outcome).add() }

    private func counter(_ outcome: String) -> LoopNumber {
        IngressMetrics.upstreamRequests.loopCounter(self.labels + [outcome], loop: self.loop)
    }
}

extension UpstreamFailure {
    /// The value of the label `outcome`, and of the attribute `error.type` of a span.
    package var outcome: String {
        switch self {
        case .unreachable: "unreachable"
        case .untrusted: "untrusted"
        case .pinMismatch: "pin_mismatch"
        case .connectTimedOut: "connect_timeout"
        case .overflow: "overflow"
        case .refusedStream: "refused_stream"
        case .closedBeforeResponse, .closedInResponse: "closed"
        case .timedOut: "timeout"
        case .clientDeadlineExceeded: "client_deadline"
        case .rejected: "invalid"
        }
    }
}
