// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The servers behind an app, and how they are used.
package struct UpstreamSettings: Sendable, Hashable {
    /// The servers: 1 to 64, each once, all of one scheme.
    package var targets: [UpstreamTarget]
    /// Which of them gets a request.
    package var balance: Balance
    /// Which connections carry further requests.
    package var reuse: ConnectionReuse
    /// What is trusted and shown over TLS; nil for the defaults, and always for plain targets.
    package var tls: UpstreamTLSSettings?
    /// The active checks; nil for none.
    package var health: HealthSettings?
    /// When a target that fails is left alone; nil for never.
    package var ejection: EjectionSettings?
    /// Bounds for each target and event loop.
    package var limits: UpstreamLimitSettings
    /// How long is waited.
    package var timeouts: UpstreamTimeoutSettings
    /// What is tried again.
    package var retry: RetrySettings
    /// In what time a target that comes, or comes back, gets its whole share; zero for at once.
    package var slowStart: Duration
    /// How long the addresses of a name are used before it is looked up again.
    package var dnsTTL: Duration

    /// Settings with the defaults for all but the targets.
    package init(targets: [UpstreamTarget]) {
        self.targets = targets
        self.balance = .roundRobin
        self.reuse = .withoutBodies
        self.ejection = EjectionSettings()
        self.limits = UpstreamLimitSettings()
        self.timeouts = UpstreamTimeoutSettings()
        self.retry = RetrySettings()
        self.slowStart = .zero
        self.dnsTTL = .seconds(30)
    }
}

/// Which of several targets gets a request, by its name in the file.
package enum Balance: String, Sendable, CaseIterable {
    /// One after the other.
    case roundRobin = "round_robin"
    /// The one with the fewest requests in flight.
    case leastRequests = "least_requests"
    /// The same for all requests of a session, without a cookie of its own.
    case sticky
}

/// Which HTTP/1.1 connections to an app carry further requests, by its name in the file.
package enum ConnectionReuse: String, Sendable, CaseIterable {
    /// Those that have carried no request body, which the app may have left unread.
    case withoutBodies = "without_bodies"
    /// All.
    case always
    /// None.
    case never
}

/// What is trusted and shown when TLS is spoken with a target.
package struct UpstreamTLSSettings: Sendable, Hashable {
    /// The file of the only certificates to trust; nil for those of the system.
    package var caFile: String?
    /// The certificate shown to the target, with its key; nil for none.
    package var certificate: CertificateFiles?
    /// The name asked for and checked, in the form of `Origin.host`; nil for the target's host.
    package var serverName: String?
    /// The keys that the target may have; nil for any with a valid chain.
    package var pins: PinSet?

    /// The defaults.
    package init() {}
}

/// Requests that find out whether a target is well.
package struct HealthSettings: Sendable, Hashable {
    /// The path to ask for, a query included.
    package var path: String
    /// From one check to the next; never less than `timeout`.
    package var interval = Duration.seconds(10)
    /// How long a check may take, the connection included.
    package var timeout = Duration.seconds(2)
    /// After how many successes in a row a target is used again.
    package var healthy = 2
    /// After how many failures in a row a target is no longer used.
    package var unhealthy = 3
    /// The statuses of success; empty for 200 to 399.
    package var statuses: [Int] = []
    /// The `Host` of a check; nil for that of the target.
    package var host: String?

    /// Checks of a path with the defaults.
    package init(path: String) {
        self.path = path
    }

    /// Whether an answer of this status is a success.
    package func accepts(_ status: Int) -> Bool {
        self.statuses.isEmpty ? (200...399).contains(status) : self.statuses.contains(status)
    }
}

/// When a target that fails requests is left alone for a while.
package struct EjectionSettings: Sendable, Hashable {
    /// After how many failures in a row: no connection, no answer in time, or 502, 503 or 504; at least 1.
    package var failures = 5
    /// For how long the first time; the second time twice as long, and so on.
    package var time = Duration.seconds(10)
    /// For how long at most.
    package var longest = Duration.seconds(120)

    /// The defaults.
    package init() {}
}

/// Bounds for one target on one event loop.
package struct UpstreamLimitSettings: Sendable, Hashable {
    /// Open connections.
    package var connections = 512
    /// Requests that wait for a connection; 0 for none.
    package var pending = 256
    /// Requests in flight.
    package var requests = 1024

    /// The defaults.
    package init() {}
}

/// How long an upstream is waited for.
package struct UpstreamTimeoutSettings: Sendable, Hashable {
    /// Until a connection is made, TLS included.
    package var connect = Duration.seconds(5)
    /// From the end of the request to the head of the answer.
    package var answer = Duration.seconds(30)
    /// Silence in a body, either way.
    package var idle = Duration.seconds(60)
    /// How long a connection is kept for later requests.
    package var keepAlive = Duration.seconds(4)
    /// Silence in a WebSocket.
    package var tunnel = Duration.seconds(3600)

    /// The defaults.
    package init() {}
}

/// Which requests are tried once more when a kept connection died before any byte of an answer.
package struct RetrySettings: Sendable, Hashable {
    /// The methods, of GET, HEAD, OPTIONS, PUT and DELETE; empty for none.
    package var methods = ["GET", "HEAD", "OPTIONS"]
    /// The per cent of requests, 0 to 100, that may be tried again beside three.
    package var budget = 10

    /// The defaults.
    package init() {}
}
