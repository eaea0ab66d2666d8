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
    private let ways: UpstreamWays
    private var upstreams: [UpstreamPlan: Upstream] = [:]
    private var upstreamsOfRoutes: [(route: SiteRoute, upstream: Upstream)?] = []
    /// Memory for the next heads, so that they are seldom allocated, and what will be such memory after the next flush.
    private var spare: [ByteBuffer] = []
    private var used: [ByteBuffer] = []
    private static let mostSpare = 64
    /// Flushes what this loop has written together, at the end of each turn.
    private(set) lazy var flushes = FlushBatch(loop: self.loop) { [weak self] in self?.reclaim() }
    private var requestIDs = RequestIDs()

    init(loop: any EventLoop, site: Site, clock: WallClock, ways: UpstreamWays = UpstreamWays()) {
        self.loop = loop
        self.ways = ways
        self.site = site
        self.clock = clock
        self.now = clock.now
    }

    /// The way to a route's app; found by the route's position, which costs no hash.
    func way(for route: SiteRoute) -> Upstream {
        let known = route.index < self.upstreamsOfRoutes.count ? self.upstreamsOfRoutes[route.index] : nil
        if let known, known.route === route { return known.upstream }
        let upstream = self.way(for: route.upstream)
        while self.upstreamsOfRoutes.count <= route.index {
            self.upstreamsOfRoutes.append(nil)
        }
        self.upstreamsOfRoutes[route.index] = (route, upstream)
        return upstream
    }

    private func way(for plan: UpstreamPlan) -> Upstream {
        if let upstream = self.upstreams[plan] { return upstream }
        let upstream = self.ways.way(plan, for: self)
        self.upstreams[plan] = upstream
        return upstream
    }

    /// How the targets of the upstreams are that this loop has used.
    var upstreamStatus: [UpstreamPlan: [TargetStatus]] { self.upstreams.mapValues(\.status) }

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

    /// Puts another configuration in force; requests that have begun keep theirs.
    func replace(with site: Site) {
        self.site = site
        self.sessions.forgetStandings()
        self.upstreamsOfRoutes.removeAll()
        let used = Set(site.routes.map(\.upstream))
        for (plan, upstream) in self.upstreams where !used.contains(plan) {
            upstream.retire()
            self.upstreams[plan] = nil
        }
    }

    /// Ends idle connections now and the others with their answer.
    func drain() {
        self.isDraining = true
        self.sweep.forEach((any ClientConnection).self) { $0.drain() }
    }

    /// Requests under way, and answers that clients still have to take.
    var unfinished: Int {
        var total = self.inFlight
        self.sweep.forEach((any ClientConnection).self) { total += $0.isSending ? 1 : 0 }
        return total
    }

    /// Ends everything at once.
    func cutAll() {
        self.sweep.forEach((any ClientConnection).self) { $0.cut() }
        for upstream in self.upstreams.values {
            upstream.retire()
        }
        self.sweep.stop()
    }
}
