// SPDX-License-Identifier: Apache-2.0

/// Bounds on what clients may ask of the gateway.
package struct LimitSettings: Sendable, Hashable {
    /// Open connections; nil for 10,000, or half of the file descriptors less 200 if that is fewer.
    package var connections: Int?
    /// Open connections of one client address; 0 for no limit.
    package var connectionsPerClientIP = 256
    /// Requests in flight.
    package var requestsInFlight = 8000
    /// Requests on one connection, after which it is closed.
    package var requestsPerConnection = 1000
    /// Concurrent streams of one HTTP/2 connection, 1 to 1000.
    package var streams = 100
    /// Bytes of a request's head, at most 65535.
    package var headerBytes = 32 << 10
    /// Bytes of one field of a request's head, at most `headerBytes`.
    package var headerFieldBytes = 16 << 10
    /// Fields of a request's head.
    package var headerFields = 100
    /// Bytes of a request's target, at most `headerBytes`.
    package var urlBytes = 8 << 10
    /// Sign-ins that were started and not ended.
    package var signInsInFlight = 2000
    /// Sign-ins that one client address may start in a minute; 0 for no limit.
    package var signInsPerMinute = 30
    /// Sign-ins of one client address that may fail in a minute; 0 for no limit.
    package var failedSignInsPerMinute = 20
    /// Bytes of memory, at least ``minMemory``; nil for what the container or machine grants.
    package var memory: Int64?
    /// The least memory with which requests can be served: what the program itself needs, and a third more.
    package static let minMemory: Int64 = 64 << 20

    /// The defaults.
    package init() {}
}

/// How long clients are waited for.
package struct TimeoutSettings: Sendable, Hashable {
    /// For the whole TLS handshake.
    package var handshake = Duration.seconds(10)
    /// For the whole head of a request, from its first byte; and for the first byte of a new connection.
    package var requestHead = Duration.seconds(10)
    /// Silence in the body of a request.
    package var body = Duration.seconds(30)
    /// How long a connection without a request is kept.
    package var idle = Duration.seconds(75)
    /// How long a client may take nothing of an answer.
    package var write = Duration.seconds(60)
    /// After what time a connection is closed between requests.
    package var connectionAge = Duration.seconds(3600)

    /// The defaults.
    package init() {}
}

/// How the gateway stops.
package struct DrainSettings: Sendable, Hashable {
    /// How long connections are still accepted after readiness is gone; less than `timeout`, or both are zero.
    package var delay = Duration.seconds(5)
    /// From the signal to the end of the last connection, `delay` included.
    package var timeout = Duration.seconds(25)

    /// The defaults.
    package init() {}
}
