// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateProxy
internal import GateSessions
internal import GateWire
internal import NIOCore

/// All that the requests of one event loop share; confined to that loop, so nothing in it needs a lock.
final class LoopState {
    let loop: any EventLoop
    /// Runs what a request has to wait for on this loop as well, between the waits.
    let executor: LoopExecutor
    let clock: WallClock
    let sweep = DeadlineSweep()
    let sessions = SessionCache()
    /// The configuration in force.
    ///
    /// A request takes it once, at its start.
    private(set) var site: Site
    private(set) var isDraining = false
    /// When the request at hand arrived.
    private(set) var tick = NIODeadline.now()
    /// The wall clock then, at most a tenth of a second old.
    private(set) var now: Instant
    private var wallTick = NIODeadline.now()
    /// Requests that wait for the store.
    var lookUps = 0
    /// Requests that wait at the gateway's own addresses.
    var ownRequests = 0
    /// Requests between their head and the end of their answer.
    var inFlight = 0
    private var pools: [UpstreamAddress: UpstreamPool] = [:]
    private var poolsOfRoutes: [(route: SiteRoute, pool: UpstreamPool)?] = []
    /// Memory for the next heads, so that they are seldom allocated, and what will be such memory after the next flush.
    private var spare: [ByteBuffer] = []
    private var used: [ByteBuffer] = []
    private static let mostSpare = 64
    /// Flushes what this loop has written together, at the end of each turn.
    private(set) lazy var flushes = FlushBatch(loop: self.loop) { [weak self] in self?.reclaim() }
    private var requestIDs = RequestIDs()

    init(loop: any EventLoop, site: Site, clock: WallClock) {
        self.loop = loop
        self.executor = LoopExecutor(loop)
        self.site = site
        self.clock = clock
        self.now = clock.now
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
        let pool = UpstreamPool(
            address: address,
            limits: UpstreamLimits(),
            sweep: self.sweep,
            loop: self.loop,
            flushes: self.flushes
        )
        self.pools[address] = pool
        return pool
    }

    /// Memory for a head, all its own for whoever asks.
    func memory(capacity: Int) -> ByteBuffer {
        var memory = self.spare.popLast() ?? ByteBuffer()
        memory.clear(minimumCapacity: capacity)
        return memory
    }

    /// Takes memory back that has been handed to a channel; it is used again once the channels have been flushed.
    func recycle(_ memory: ByteBuffer) {
        guard memory.capacity <= 16 * 1024, self.used.count < LoopState.mostSpare else { return }
        self.used.append(memory)
    }

    private func reclaim() {
        while let memory = self.used.popLast(), self.spare.count < LoopState.mostSpare {
            self.spare.append(memory)
        }
        self.used.removeAll(keepingCapacity: true)
    }

    /// A name for a request that has none.
    func freshRequestID() -> RequestID { self.requestIDs.next() }

    /// The time of the request at hand, read once for all that it needs it for.
    func advance(to tick: NIODeadline) {
        if tick - self.wallTick > .milliseconds(100) || tick < self.wallTick {
            self.wallTick = tick
            self.now = self.clock.now
        }
        self.tick = tick
    }

    /// Remembers what the store said, or was told, of a session.
    func remember(_ session: Session, of ticket: Ticket, in manager: SessionManager) {
        guard let key = CookieKey(Array(ticket.text.utf8).span) else { return }
        let left = manager.remaining(session, now: self.clock.now)
        self.sessions.insert(session, for: key, freshFor: .seconds(left.components.seconds), now: .now())
    }

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
