// SPDX-License-Identifier: Apache-2.0

package import GateWire
package import NIOCore

/// All that the configuration says of the way to an app; equal plans share their connections.
package struct UpstreamPlan: Sendable, Hashable {
    /// How requests are spread over several targets.
    package enum Balance: Sendable, Hashable {
        /// One after the other.
        case roundRobin
        /// To the one with the fewest requests under way.
        case leastRequests
        /// Those of one session always to the same, as long as it is there; without a cookie.
        case sticky
    }

    /// Which HTTP/1.1 connections carry further requests; streams of HTTP/2 are apart from each other in any case.
    package enum Reuse: Sendable, Hashable {
        /// Those that have carried no request body and no `HEAD`.
        ///
        /// An app that does not read a body takes it for the next request, with identity headers that the client has written;
        /// what one sends as the body of a response that has none would be taken for the next response.
        case withoutBodies
        /// All, for apps that are known to read every body to its end.
        case always
        /// None, for apps that tie an identity to the connection.
        case never

        /// Whether the connection ends with a request, and the app is asked to take nothing after it for another.
        ///
        /// - Parameters:
        ///   - method: Its method; bodies of methods that only read are left unread by apps that read all others.
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

    /// Where the app listens; never empty.
    package var targets: [UpstreamAddress]
    /// Which connections carry further requests.
    package var reuse = Reuse.withoutBodies
    /// How requests are spread.
    package var balance = Balance.roundRobin
    /// How certificates are checked and shown; needed where a target speaks TLS.
    package var tls: UpstreamTLS?
    /// How targets are asked for their health; nil for not at all.
    package var health: HealthPlan?
    /// How targets that fail are left out; nil for not at all.
    package var ejection: EjectionPlan? = EjectionPlan()
    /// Bounds for each target and event loop.
    package var limits = UpstreamLimits()
    /// Which requests are repeated.
    package var retry = RetryPlan()
    /// How long a target that comes back gets less than its share; zero for not at all.
    package var slowStart = TimeAmount.zero
    /// How long the addresses of a name are believed.
    package var dnsTTL = TimeAmount.seconds(30)

    /// A plan with the defaults of the documentation.
    package init(targets: [UpstreamAddress]) {
        self.targets = targets
    }
}

/// How a target is asked for its health.
package struct HealthPlan: Sendable, Hashable {
    /// What is asked for.
    package var path: String
    /// From one question to the next.
    package var interval = TimeAmount.seconds(10)
    /// How long an answer may take, connection included.
    package var timeout = TimeAmount.seconds(2)
    /// Successes in a row until the target is used again.
    package var healthy = 2
    /// Failures in a row until it is not used any more.
    package var unhealthy = 3
    /// The good statuses; empty for 200 to 399.
    package var statuses: [Int] = []
    /// What `Host` says; nil for the target's own.
    package var host: String?

    /// A plan with the defaults of the documentation.
    package init(path: String) {
        self.path = path
    }

    /// Whether a status is a good sign.
    package func accepts(_ status: Int) -> Bool {
        self.statuses.isEmpty ? (200...399).contains(status) : self.statuses.contains(status)
    }
}

/// When a target that fails is left out, and for how long.
package struct EjectionPlan: Sendable, Hashable {
    /// Failures in a row: no connection, no answer in time, or 502, 503 or 504.
    package var failures = 5
    /// How long it is left out, times the number of times.
    package var time = TimeAmount.seconds(10)
    /// The longest time.
    package var longest = TimeAmount.seconds(120)

    /// A plan with the defaults of the documentation.
    package init() {}
}

/// Which requests are sent a second time.
package struct RetryPlan: Sendable, Hashable {
    /// Methods that may be repeated when a kept connection died under them.
    package var methods: [RequestMethod] = [.get, .head, .options]
    /// Per cent of the requests that may be repeated, beside three.
    package var budget = 10

    /// A plan with the defaults of the documentation.
    package init() {}

    /// Whether a request may be sent a second time, budget aside: only where the app cannot have begun to work.
    ///
    /// RFC 9110 §9.2.2, RFC 9113 §8.7.
    ///
    /// - Parameters:
    ///   - problem: How the first try ended; it had no answer, not even a part of one.
    ///   - method: The method of the request.
    ///   - wasReused: Whether its connection had carried a request before.
    ///   - bodyBegan: Whether a byte of its body has been sent, and so is no longer at hand.
    /// - Returns: Whether to try again.
    package func allows(
        _ problem: UpstreamFailure,
        method: RequestMethod,
        wasReused: Bool,
        bodyBegan: Bool
    ) -> Bool {
        switch problem {
        case .unreachable, .untrusted: true
        case .refusedStream: !bodyBegan
        case .closedBeforeResponse: wasReused && !bodyBegan && self.methods.contains(method)
        case .connectTimedOut, .overflow, .pinMismatch, .closedInResponse, .timedOut, .clientDeadlineExceeded, .refused:
            false
        }
    }
}
