// SPDX-License-Identifier: Apache-2.0

package import GateHTTP

/// Limits of what clients may ask of the gateway.
package struct GatewayLimits: Sendable, Hashable {
    /// Limits and time-outs of one client connection.
    package var downstream = DownstreamLimits()
    /// Limits of the number of client connections.
    package var connections = ConnectionLimiter.Bounds()
    /// Limits of sign-ins.
    package var signIns = SignInLimits()
    /// Requests in flight.
    package var requests = 8000
    /// Bytes of memory, at least ``minMemory``; nil for what the container or machine grants.
    package var memory: Int64?
    /// The memory with which requests can be served at all: what the program itself needs, and a third more.
    package static let minMemory: Int64 = 64 << 20

    /// The defaults.
    package init() {}

    /// The limits for a process with so many file descriptors, which decide the number of connections unless the file does.
    ///
    /// - Parameters:
    ///   - descriptors: How many file descriptors the process may have; 0 if that is not known.
    ///   - descriptorsAtStart: How many of them are open without any client.
    /// - Returns: The limits with a number of connections.
    package func resolved(descriptors: Int, descriptorsAtStart: Int = 0) -> GatewayLimits {
        var limits = self
        limits.connections.connections =
            self.connections.connections
            ?? GatewayLimits.maxConnections(descriptors: descriptors, atStart: descriptorsAtStart)
        return limits
    }

    /// Half of the descriptors less 200, at most 10,000: each connection may need one to an app, and some are for other
    /// things.
    ///
    /// Where there are so few that nothing would be left, a quarter, and not more than half of those that are free less 4.
    package static func maxConnections(descriptors: Int, atStart: Int = 0) -> Int {
        guard descriptors > 0 else { return ConnectionLimiter.Bounds.maxConnections }
        let few = min(descriptors / 4, (descriptors - atStart - 4) / 2)
        return min(ConnectionLimiter.Bounds.maxConnections, max(descriptors / 2 - 200, few, 1))
    }
}

/// Limits of sign-ins.
package struct SignInLimits: Sendable, Hashable {
    /// Sign-ins that one client IP may start in a minute; 0 for no limit.
    package var perMinute = 30
    /// Sign-ins of one client IP that may fail in a minute; 0 for no limit.
    package var failuresPerMinute = 20
    /// Sign-ins that were started and are not finished.
    package var inFlight = 2000

    /// The defaults.
    package init() {}
}

/// How the gateway stops.
package struct DrainSettings: Sendable, Hashable {
    /// How long connections are still accepted after the readiness check fails; less than `timeout`, or both are zero.
    package var delay = Duration.seconds(5)
    /// From the signal until the last connection is closed, `delay` included.
    package var timeout = Duration.seconds(25)

    /// The defaults.
    package init() {}
}
