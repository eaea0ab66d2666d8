// SPDX-License-Identifier: Apache-2.0

package import GateWire
package import NIOCore

/// The configuration of an upstream; equal plans share their connections.
package struct UpstreamPlan: Sendable, Hashable {
    /// The load balancing over several targets.
    package enum Balance: Sendable, Hashable {
        /// Round robin.
        case roundRobin
        /// The target with the fewest requests in progress.
        case leastRequests
        /// The same target for all requests of a session, as long as it is available; without a cookie.
        case sticky
    }

    /// Which HTTP/1.1 connections are reused; streams of HTTP/2 are separate in any case.
    package enum Reuse: Sendable, Hashable {
        /// Those that have carried no request body and no `HEAD`.
        ///
        /// An app that does not read a body takes it for the next request, with identity headers that the client has
        /// written; a body that it sends for a `HEAD` would be taken for the next response.
        case withoutBodies
        /// All, for apps that read every body to its end.
        case always
        /// No connection, for apps that tie an identity to the connection.
        case never

        /// Whether the connection closes after a request, so that the app cannot take following bytes for another one.
        ///
        /// - Parameters:
        ///   - method: Its method; apps that read all other bodies may leave those of safe methods unread.
        ///   - framing: How its body ends.
        /// - Returns: Whether it closes.
        package func ends(after method: RequestMethod, _ framing: BodyFraming) -> Bool {
            switch self {
            case .withoutBodies: framing != .none || method.isHead
            case .always: framing != .none && method.isSafe
            case .never: true
            }
        }
    }

    /// Where the app listens; never empty.
    package var targets: [UpstreamAddress]
    /// Which connections are reused.
    package var reuse = Reuse.withoutBodies
    /// The load balancing.
    package var balance = Balance.roundRobin
    /// TLS settings; required where a target uses TLS.
    package var tls: UpstreamTLS?
    /// The health checks; nil for none.
    package var health: HealthPlan?
    /// The ejection of failing targets; nil for none.
    package var ejection: EjectionPlan? = EjectionPlan()
    /// Limits per target and event loop.
    package var limits = UpstreamLimits()
    /// Which requests are retried.
    package var retry = RetryPlan()
    /// How long a returning target gets less than its share; zero for no slow start.
    package var slowStart = TimeAmount.zero
    /// How long resolved addresses are used.
    package var dnsTTL = TimeAmount.seconds(30)

    /// A plan with the defaults of the documentation.
    package init(targets: [UpstreamAddress]) {
        self.targets = targets
    }
}

/// The health checks of a target.
package struct HealthPlan: Sendable, Hashable {
    /// The path and query of the request.
    package var path: String
    /// The time between two checks.
    package var interval = TimeAmount.seconds(10)
    /// The time-out of a check, connecting included.
    package var timeout = TimeAmount.seconds(2)
    /// Consecutive successes until the target is used again.
    package var healthy = 2
    /// Consecutive failures until it is not used any more.
    package var unhealthy = 3
    /// The statuses that pass; empty for 200 to 399.
    package var statuses: [Int] = []
    /// The `Host` field; nil for the target's own.
    package var host: String?

    /// A plan with the defaults of the documentation.
    package init(path: String) {
        self.path = path
    }

    /// Whether a status passes.
    package func accepts(_ status: Int) -> Bool {
        self.statuses.isEmpty ? (200...399).contains(status) : self.statuses.contains(status)
    }
}

/// When a failing target is ejected, and for how long.
package struct EjectionPlan: Sendable, Hashable {
    /// Consecutive failures: no connection, no response in time, or 502, 503 or 504.
    package var failures = 5
    /// The time of the first ejection; each further one is longer by it.
    package var time = TimeAmount.seconds(10)
    /// The maximum time.
    package var maxTime = TimeAmount.seconds(120)

    /// A plan with the defaults of the documentation.
    package init() {}
}

/// Which requests are retried.
package struct RetryPlan: Sendable, Hashable {
    /// Methods that may be retried when a reused connection closed.
    package var methods: [RequestMethod] = [.get, .head, .options]
    /// How many per cent of the requests may be retried, in addition to three.
    package var budget = 10

    /// A plan with the defaults of the documentation.
    package init() {}

    /// Whether a request may be retried, budget aside: only where the app cannot have processed it.
    ///
    /// RFC 9110 §9.2.2, RFC 9113 §8.7.
    ///
    /// - Parameters:
    ///   - failure: How the first attempt failed, without any part of a response.
    ///   - method: The method of the request.
    ///   - wasReused: Whether its connection had carried a request before.
    ///   - bodyBegan: Whether a byte of its body has been sent and is no longer available.
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
