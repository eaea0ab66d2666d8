// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateNet
internal import GateOperations
internal import GateProxy
internal import GateRuntime
internal import GateSessions
internal import GateTracing
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
    var machines = MachineCache()
    var tokens = TokenCache()
    var messages = HeldMessages()
    let tunnels = TunnelRegistry()
    /// Tunnels that ask whether they may stay open.
    let tunnelChecks = TunnelChecks()
    /// The configuration in force.
    ///
    /// A request takes it once, at its start.
    private(set) var runtime: RuntimeConfiguration
    private(set) var isDraining = false
    /// Whether the gateway has begun to stop; it accepts connections for a while after that.
    private var isStopping = false
    /// How short of memory and descriptors the process is.
    private(set) var level = OverloadLevel.normal
    /// Whether connections close after their next response, because the gateway drains or is short of memory or descriptors.
    private(set) var endsConnections = false
    /// How many requests may be in flight on this loop: its share of the bound, none while every request is refused.
    private(set) var maxInFlight = Int.max
    /// Measures how late this loop is.
    let lagProbe = LoopLagProbe()
    /// How many loops share the bounds.
    private let loops: Int
    /// When the request at hand arrived.
    private(set) var tick = NIODeadline.now()
    /// The wall clock then, at most a tenth of a second old.
    private(set) var now: Instant
    private var wallTick = NIODeadline.now()
    /// Requests that wait for the store.
    var lookUps = 0
    /// Tokens that are being verified.
    var verifications = 0
    /// Requests that wait at endpoints.
    var ownRequests = 0
    /// Requests between their head and the end of their response.
    var inFlight = 0 {
        didSet { self.counts.requests.set(self.inFlight) }
    }
    /// What the loop counts.
    let telemetry: LoopTelemetry
    /// What other threads may read of it.
    let counts: LoopCounts
    private let factory: UpstreamFactory
    private var upstreams: [LoadedUpstream: Upstream] = [:]
    private var upstreamsOfRoutes: [(route: RuntimeRoute, upstream: Upstream)?] = []
    /// Buffers for heads and other small pieces of output.
    let memory = BufferPool(maxSpare: BufferPool.maxPerLoop)
    /// Bounds the heads that have arrived in part.
    let heads = UnfinishedHeads()
    /// Flushes what this loop has written together, at the end of each turn.
    private(set) lazy var flushes = FlushBatch(loop: self.loop) { [memory] in memory.reclaim() }
    /// The `Date` of responses that have none.
    let date: DateLine
    let requestIDs = RequestIDSource()
    /// Writes access lines; nil if they are off.
    private(set) var access: AccessLog?
    /// Takes the spans of requests; nil while tracing is off.
    let tracer: Tracer?
    /// The identity lines of clients that a network admits.
    var networkIdentities = NetworkIdentities()

    init(
        loop: any EventLoop,
        runtime: RuntimeConfiguration,
        clock: WallClock,
        upstreams factory: UpstreamFactory = UpstreamFactory(),
        tracer: Tracer? = nil,
        index: Int = 0,
        sharedBy loops: Int = 1
    ) {
        self.loop = loop
        self.factory = factory
        self.tracer = tracer
        self.telemetry = LoopTelemetry(loop: index)
        self.counts = LoopCounts(tunnels: self.tunnels.number)
        self.executor = LoopExecutor(loop)
        self.runtime = runtime
        self.clock = clock
        self.now = clock.now
        self.date = DateLine(clock: clock)
        self.loops = loops
        self.access = runtime.access.map { AccessLog($0) }
        self.weigh()
    }

    /// Starts the loop's own work: deadlines and lag ticks.
    ///
    /// - Parameter blocked: Called with the lag when a turn took too long.
    func start(blocked: @escaping @Sendable (TimeAmount) -> Void) {
        self.sweep.start(on: self.loop)
        self.lagProbe.begin(at: .now())
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        self.loop.scheduleRepeatedTask(initialDelay: LoopLagProbe.interval, delay: LoopLagProbe.interval) { _ in
            let state = bound.value
            let lag = state.lagProbe.tick(at: .now(), requests: state.inFlight)
            if lag > LoopLagProbe.alarming { blocked(lag) }
        }
    }

    /// Puts an overload level into effect.
    func enter(_ level: OverloadLevel) {
        self.level = level
        self.weigh()
    }

    private func weigh() {
        self.endsConnections = self.isDraining || self.level.closesConnections
        let share = (self.runtime.limits.requests + self.loops - 1) / self.loops
        self.maxInFlight = self.level.rejectsRequests ? 0 : share
        self.heads.limit = max(self.runtime.limits.unfinishedHeads / self.loops, 4 * HeadLimits.request.bytes)
    }

    /// Gives back memory that the loop can do without: what its caches keep beyond its time, or all of it.
    func shrink(_ caches: CacheShrinking) {
        switch caches {
        case .expired: self.sessions.removeExpired(now: .now())
        case .all:
            self.sessions.removeAll()
            self.machines.removeAll()
            self.tokens.removeAll()
        }
    }

    /// The upstream of a route; found by the route's position, which costs no hash.
    func upstream(for route: RuntimeRoute) -> Upstream {
        let known = route.index < self.upstreamsOfRoutes.count ? self.upstreamsOfRoutes[route.index] : nil
        if let known, known.route === route { return known.upstream }
        let upstream = self.upstream(for: route.upstream)
        while self.upstreamsOfRoutes.count <= route.index {
            self.upstreamsOfRoutes.append(nil)
        }
        self.upstreamsOfRoutes[route.index] = (route, upstream)
        return upstream
    }

    private func upstream(for loaded: LoadedUpstream) -> Upstream {
        if let upstream = self.upstreams[loaded] { return upstream }
        let upstream = self.factory.upstream(loaded, loop: self.loop, sweep: self.sweep, flushes: self.flushes)
        self.upstreams[loaded] = upstream
        return upstream
    }

    /// How the targets of the upstreams are that this loop has used.
    var upstreamStatus: [LoadedUpstream: [TargetStatus]] { self.upstreams.mapValues(\.status) }

    /// The time of the request at hand, read once for all that it needs it for.
    func advance(to tick: NIODeadline) {
        if tick - self.wallTick > .milliseconds(100) || tick < self.wallTick {
            self.wallTick = tick
            self.now = self.clock.now
        }
        self.tick = tick
    }

    /// Caches a session that was read from the store or written to it.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - ticket: Its ticket.
    ///   - manager: What has read or issued it.
    ///   - lookUp: What has found it; nil if it is new.
    func remember(
        _ session: Session,
        of ticket: Ticket,
        in manager: SessionManager,
        foundBy lookUp: SessionLookUp? = nil
    ) {
        // The look-up may have begun under a configuration that has been replaced since.
        guard self.runtime.sessions.admits(session) else { return }
        guard self.runtime.sessions.ticket(ticket.text.utf8, host: session.host) != nil else { return }
        guard let key = CookieKey(ticket) else { return }
        let recheck = lookUp?.policy ?? manager.recheck
        let seconds = self.runtime.secondsInCache(of: session, readBy: manager, under: recheck, now: self.clock.now)
        let (isForToken, time) = (lookUp?.refreshesAccessToken ?? false, TimeAmount.seconds(seconds))
        self.sessions.insert(session, for: key, under: recheck, isForToken: isForToken, freshFor: time, now: .now())
    }

    /// Puts another configuration in force; requests that have begun keep theirs.
    func replace(with runtime: RuntimeConfiguration) {
        // Sessions of a secret that was removed are over; which those are shows when they are read again.
        let hasSecrets = runtime.sealer.hasSecrets(of: self.runtime.sealer)
        self.runtime = runtime
        self.access = runtime.access.map { AccessLog($0) }
        self.weigh()
        self.machines.removeAll()
        self.tokens.removeAll()
        self.sessions.adopt { hasSecrets && runtime.sessions.admits($0) }
        self.tunnels.checkAll()
        self.upstreamsOfRoutes.removeAll()
        self.telemetry.adopt()
        let used = Set(runtime.routes.all.map(\.upstream))
        for (loaded, upstream) in self.upstreams where !used.contains(loaded) {
            upstream.shutDown()
            self.upstreams[loaded] = nil
        }
    }

    /// A session and all of its family have ended, and with them their tunnels.
    func sessionEnded(_ family: [UInt8]) {
        self.sessions.removeFamily(family)
        self.tunnels.end(family: family)
    }

    /// The sessions of a family have changed: the next request reads them again.
    func sessionChanged(_ family: [UInt8]) { self.sessions.familyChanged(family) }

    /// Ends all tunnels, because the gateway stops.
    func endTunnels() { self.tunnels.endAll(.goingAway) }

    /// Whether a load balancer should send new clients here, as the status of `/readyz` of the operations listener reports it.
    var healthStatus: Int { self.isStopping || self.level.pausesAccepting ? 503 : 200 }

    /// The status for a health check of a load balancer, whatever host it names; nil for every other request.
    func healthStatus(of request: RequestHead) -> Int? {
        self.runtime.isHealthCheck(request) ? self.healthStatus : nil
    }

    /// The same for a request that was rejected because it names none.
    func healthStatus(of rejection: WireRejection) -> Int? {
        guard let path = rejection.pathWithoutHost, path == self.runtime.front.healthPath else { return nil }
        return self.healthStatus
    }

    /// Lets health checks fail, before connections are closed.
    func announceStop() { self.isStopping = true }

    /// Closes connections after their next response; idle ones are left for ``endIdle(for:max:)``.
    func drain() {
        self.isDraining = true
        self.weigh()
        self.sweep.forEach((any ClientConnection).self) { $0.drain() }
    }

    /// Ends connections that have been idle for so long.
    ///
    /// - Parameters:
    ///   - time: How long.
    ///   - max: How many to end at most.
    /// - Returns: How many idle connections are left.
    @discardableResult
    func endIdle(for time: TimeAmount, max: Int = .max) -> Int {
        var ended = 0
        var left = 0
        self.sweep.forEach((any IdleClosable).self) { connection in
            if ended < max, connection.closeIfIdle(for: time) {
                ended += 1
            } else if connection.isIdle {
                left += 1
            }
        }
        return left
    }

    /// Requests in flight, and responses that clients still have to read.
    var unfinished: Int {
        var total = self.inFlight
        self.sweep.forEach((any ClientConnection).self) { total += $0.isSending ? 1 : 0 }
        return total
    }

    /// Closes everything at once.
    func closeAll() {
        self.sweep.forEach((any ClientConnection).self) { $0.close() }
        for upstream in self.upstreams.values {
            upstream.shutDown()
        }
        self.sweep.stop()
    }
}

/// What an event loop has open at the moment; any thread may read it, also while the loop is blocked.
struct LoopCounts: Sendable {
    let http1 = ConnectionCounts()
    let http2 = ConnectionCounts()
    let requests = LoopNumber()
    let tunnels: LoopNumber
}
