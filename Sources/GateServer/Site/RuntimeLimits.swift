// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateWire
internal import NIOCore

/// The bounds that a configuration sets, in the form in which they are asked for.
struct RuntimeLimits: Sendable {
    /// Those of a client connection.
    var downstream = DownstreamLimits()
    /// Those of all connections together.
    var gate = ConnectionLimiter.Limits()
    /// Those of sign-ins.
    var signIns = SignInLimiter.Bounds()
    /// Requests in flight.
    var requests = 8000
    /// Bytes of memory; nil for what the container or machine grants.
    var memory: Int64?

    /// The defaults.
    init() {}

    /// The bounds of a configuration.
    ///
    /// - Parameters:
    ///   - settings: The configuration.
    ///   - descriptors: How many file descriptors the machine grants.
    ///   - descriptorsAtStart: How many of them are open without any client.
    init(_ settings: GatewaySettings, descriptors: Int, descriptorsAtStart: Int = 0) {
        let (limits, times) = (settings.limits, settings.timeouts)
        self.downstream.head.bytes = limits.headerBytes
        self.downstream.head.fieldBytes = limits.headerFieldBytes
        self.downstream.head.fields = limits.headerFields
        self.downstream.head.targetBytes = limits.urlBytes
        self.downstream.requests = limits.requestsPerConnection
        self.downstream.streams = limits.streams
        self.downstream.maxRequestsPerConnection = 100 * limits.requestsPerConnection
        self.downstream.handshake = TimeAmount(times.handshake)
        self.downstream.firstByte = TimeAmount(times.requestHead)
        self.downstream.requestHead = TimeAmount(times.requestHead)
        self.downstream.bodyInactivity = TimeAmount(times.body)
        self.downstream.idle = TimeAmount(times.idle)
        self.downstream.writeStall = TimeAmount(times.write)
        self.downstream.age = TimeAmount(times.connectionAge)
        self.gate.connections =
            limits.connections ?? RuntimeLimits.connections(descriptors: descriptors, atStart: descriptorsAtStart)
        self.gate.perClientIP = limits.connectionsPerClientIP
        self.gate.exempt = settings.trustedProxies
        self.signIns.perMinute = limits.signInsPerMinute
        self.signIns.failuresPerMinute = limits.failedSignInsPerMinute
        self.signIns.inFlight = limits.signInsInFlight
        self.requests = limits.requestsInFlight
        self.memory = limits.memory
    }

    /// Half of the descriptors less 200, at most 10,000: each connection may need one to an app, and some are for other
    /// things.
    ///
    /// Where there are so few that nothing would be left, a quarter, and not more than half of those that are free less 4.
    static func connections(descriptors: Int, atStart: Int = 0) -> Int {
        guard descriptors > 0 else { return 10_000 }
        let few = min(descriptors / 4, (descriptors - atStart - 4) / 2)
        return min(10_000, max(descriptors / 2 - 200, few, 1))
    }
}
