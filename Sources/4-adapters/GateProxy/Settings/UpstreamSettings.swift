// SPDX-License-Identifier: Apache-2.0

package import GateWire
package import NIOCore

/// The servers of an app, and how requests are sent to them.
package struct UpstreamSettings: Sendable, Hashable {
    /// The servers: 1 to 64, each once, all of one scheme.
    package var targets: [UpstreamTarget]
    /// The path of all of them below which the app is, without a slash at its end; empty for the whole server.
    package var base = ""
    /// Which HTTP/1.1 connections carry further requests.
    package var reuse = ConnectionReuse.withoutBodies
    /// How requests are spread over the targets.
    package var balance = LoadBalancing.roundRobin
    /// The trusted and presented certificates; nil for the defaults, and always for plain targets.
    package var tls: UpstreamTLS.Settings?
    /// The health checks; nil for none.
    package var health: HealthCheckSettings?
    /// When a failing target is ejected; nil for never.
    package var ejection: EjectionSettings? = EjectionSettings()
    /// Limits and time-outs for each target and event loop.
    package var limits = UpstreamLimits()
    /// Which requests are retried.
    package var retry = RetrySettings()
    /// How long a new or recovered target gets less than its share; zero for not at all.
    package var slowStart = TimeAmount.zero
    /// How long the addresses of a name are used before the name is resolved again.
    package var dnsTTL = TimeAmount.seconds(30)

    /// Settings with the defaults for all but the targets.
    package init(targets: [UpstreamTarget]) {
        self.targets = targets
    }
}

/// Which of several targets gets a request, by its name in the file.
package enum LoadBalancing: String, Sendable, CaseIterable {
    /// One target after the other.
    case roundRobin = "round_robin"
    /// The target with the fewest requests in flight.
    case leastRequests = "least_requests"
    /// The same target for all requests of a session, while it is available; without a cookie.
    case sticky
}

/// Which HTTP/1.1 connections carry further requests, by its name in the file.
///
/// Streams of HTTP/2 are separate from each other in any case.
package enum ConnectionReuse: String, Sendable, CaseIterable {
    /// Connections that have carried no request body and no `HEAD`.
    ///
    /// An app that does not read a body takes it for the next request, with identity headers that the client has written;
    /// a body sent with a response that must have none would be taken for the next response.
    case withoutBodies = "without_bodies"
    /// All, for apps that are known to read every body to its end.
    case always
    /// None, for apps that tie an identity to the connection.
    case never

    /// Whether the connection closes after a request, and the request has `Connection: close`.
    ///
    /// - Parameters:
    ///   - method: Its method; apps that read all other bodies leave the bodies of safe methods unread.
    ///   - framing: How its body ends.
    /// - Returns: Whether it does.
    package func ends(after method: RequestMethod, _ framing: BodyFraming) -> Bool {
        switch self {
        case .withoutBodies: framing != .none || method.isHead
        case .always: framing != .none && method.isSafe
        case .never: true
        }
    }
}

/// Requests that find out whether a target is healthy.
package struct HealthCheckSettings: Sendable, Hashable {
    /// The path to request, a query included.
    package var path: String
    /// From one check to the next; never less than `timeout`.
    package var interval = TimeAmount.seconds(10)
    /// How long a check may take, the connection included.
    package var timeout = TimeAmount.seconds(2)
    /// Successes in a row until the target is used again.
    package var healthy = 2
    /// Failures in a row until the target is no longer used.
    package var unhealthy = 3
    /// The statuses of success; empty for 200 to 399.
    package var statuses: [Int] = []
    /// The `Host` of a check; nil for that of the target.
    package var host: String?

    /// Checks of a path with the defaults.
    package init(path: String) {
        self.path = path
    }

    /// Whether a response of this status is a success.
    package func accepts(_ status: Int) -> Bool {
        self.statuses.isEmpty ? (200...399).contains(status) : self.statuses.contains(status)
    }
}

/// When a failing target is ejected, and for how long.
package struct EjectionSettings: Sendable, Hashable {
    /// Failures in a row: no connection, no response in time, or 502, 503 or 504; 0 for never.
    package var failures = 5
    /// How long the target is ejected, times the number of ejections in a row.
    package var time = TimeAmount.seconds(10)
    /// The maximum of that.
    package var maxTime = TimeAmount.seconds(120)

    package init() {}
}

/// Which requests are retried.
package struct RetrySettings: Sendable, Hashable {
    /// The methods that may be retried when the app closed a reused connection.
    package var methods: [RequestMethod] = [.get, .head, .options]
    /// The per cent of requests, 0 to 100, that may be retried, beside three.
    package var budget = 10

    package init() {}

    /// Whether a request may be retried, budget aside: only where the app cannot have begun to process it.
    ///
    /// RFC 9110 §9.2.2, RFC 9113 §8.7.
    ///
    /// - Parameters:
    ///   - failure: How the first attempt failed; it received no byte of a response.
    ///   - method: The method of the request.
    ///   - wasReused: Whether its connection had carried a request before.
    ///   - bodyBegan: Whether a byte of its body has been sent, and so is no longer buffered.
    /// - Returns: Whether to retry.
    package func allows(
        _ failure: UpstreamFailure,
        method: RequestMethod,
        wasReused: Bool,
        bodyBegan: Bool
    ) -> Bool {
        switch failure {
        case .unreachable, .untrusted: true
        case .refusedStream: !bodyBegan
        case .closedBeforeResponse: wasReused && !bodyBegan && self.methods.contains(method)
        case .connectTimedOut, .overflow, .pinMismatch, .closedInResponse, .timedOut, .clientDeadlineExceeded,
            .rejected:
            false
        }
    }
}
