// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHeaders
internal import GateRuntime
internal import NIOCore

/// The identity lines of clients that a network admits, by route; confined to one event loop.
struct NetworkIdentities {
    private var known: [Int: (route: RuntimeRoute, lines: ByteBuffer, refreshAt: Instant)] = [:]

    /// The lines for a route, which are refreshed at half the lifetime of an assertion.
    mutating func lines(
        on route: RuntimeRoute,
        runtime: RuntimeConfiguration,
        now: Instant
    ) throws(Failure) -> ByteBuffer {
        if let one = self.known[route.index], one.route === route, now < one.refreshAt { return one.lines }
        let lines = try runtime.identity.networkLines(on: route.route, as: route.identity, now: now)
        self.known[route.index] = (route, lines, now.advanced(by: runtime.identity.halfLife))
        return lines
    }
}
