// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateProxy
internal import GateWire
internal import NIOCore

/// All that the requests of one event loop share; confined to that loop, so nothing in it needs a lock.
final class LoopState {
    let loop: any EventLoop
    let clock: WallClock
    let sweep = DeadlineSweep()
    let sessions = SessionCache()
    /// The configuration in force.
    ///
    /// A request takes it once, at its start.
    private(set) var site: Site
    private(set) var isDraining = false
    /// Requests that wait for the store.
    var lookUps = 0
    /// Requests that wait at the gateway's own addresses.
    var ownRequests = 0
    /// Requests between their head and the end of their answer.
    var inFlight = 0
    private var pools: [UpstreamAddress: UpstreamPool] = [:]
    private var poolsOfRoutes: [(route: SiteRoute, pool: UpstreamPool)?] = []
    /// Memory for the next head; free again by the time it is wanted, so that heads are seldom allocated.
    private var spare = ByteBuffer()
    private var requestIDs = RequestIDs()

    init(loop: any EventLoop, site: Site, clock: WallClock) {
        self.loop = loop
        self.site = site
        self.clock = clock
    }

    /// The connections to a route's upstream; found by the route's position, which costs no hash.
    func pool(for route: SiteRoute) -> UpstreamPool {
        let known = route.index < self.poolsOfRoutes.count ? self.poolsOfRoutes[route.index] : nil
        if let known, known.route === route { return known.pool }
        let pool = self.pool(for: route.upstream)
        while self.poolsOfRoutes.count <= route.index {
            self.poolsOfRoutes.append(nil)
        }
        self.poolsOfRoutes[route.index] = (route, pool)
        return pool
    }

    private func pool(for address: UpstreamAddress) -> UpstreamPool {
        if let pool = self.pools[address] { return pool }
        let pool = UpstreamPool(address: address, limits: UpstreamLimits(), sweep: self.sweep, loop: self.loop)
        self.pools[address] = pool
        return pool
    }

    /// Memory for a head, all its own for whoever asks.
    func memory(capacity: Int) -> ByteBuffer {
        var memory = ByteBuffer()
        swap(&memory, &self.spare)
        memory.clear(minimumCapacity: capacity)
        return memory
    }

    /// Takes memory back that has been handed to a channel; it is used again once the channel is done with it.
    func recycle(_ memory: ByteBuffer) {
        if memory.capacity <= 16 * 1024 { self.spare = memory }
    }

    /// A name for a request that has none.
    func freshRequestID() -> String { self.requestIDs.next() }

    /// Puts another configuration in force; requests that have begun keep theirs.
    func replace(with site: Site) {
        self.site = site
        self.sessions.forgetStandings()
        self.poolsOfRoutes.removeAll()
        let used = Set(site.routes.map(\.upstream))
        for (address, pool) in self.pools where !used.contains(address) {
            pool.retire()
            self.pools[address] = nil
        }
    }

    /// Ends idle connections now and the others with their answer.
    func drain() {
        self.isDraining = true
        self.sweep.forEach(DownstreamConnection.self) { $0.drain() }
    }

    /// Requests under way, and answers that clients still have to take.
    var unfinished: Int {
        var total = self.inFlight
        self.sweep.forEach(DownstreamConnection.self) { total += $0.isSending ? 1 : 0 }
        return total
    }

    /// Ends everything at once.
    func cutAll() {
        self.sweep.forEach(DownstreamConnection.self) { $0.cut() }
        for pool in self.pools.values {
            pool.retire()
        }
        self.sweep.stop()
    }
}

/// Names for requests: 64 random bits for the loop, then a count, so that making one costs no system call.
private struct RequestIDs {
    private let prefix = RequestIDs.hex(UInt64.random(in: .min ... .max))
    private var count = UInt64.random(in: 0...0xFFFF_FFFF)

    mutating func next() -> String {
        self.count &+= 1
        return self.prefix + RequestIDs.hex(self.count)
    }

    private static func hex(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
