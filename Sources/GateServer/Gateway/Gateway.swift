// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
package import GateHTTP
internal import GateNet
internal import GateSessions
internal import GateWire
package import Logging
internal import Metrics
internal import NIOCore
internal import Synchronization

/// How a gateway is run, beside its configuration file.
package struct GatewayOptions: Sendable {
    /// The path of the configuration file.
    package var configurationFile: String
    /// What `${env:NAME}` refers to.
    package var environment: [String: String]
    /// How long the gateway goes on accepting connections after it was told to stop, so that those who spread the
    /// traffic have time to notice; nil for what the file says.
    package var drainDelay: Duration?
    /// Sockets that are listened on already; nil to open them.
    package var inherited: [InheritedSocket]?

    /// Options with the default times.
    package init(configurationFile: String, environment: [String: String]) {
        self.configurationFile = configurationFile
        self.environment = environment
    }
}

/// A running gateway: its listeners, event loops and operations address.
package final class Gateway: Sendable {
    /// What changes while it runs.
    struct State {
        var configuration: Configuration
        var files: FileStates
        var site: RuntimeConfiguration
        var loadedAt: Instant
        var lastReloadFailed = false
        var isDraining = false
    }

    let options: GatewayOptions
    let logger: Logger
    let group: SocketLoopGroup
    let operationsGroup: SocketLoopGroup
    let workshop: RuntimeBuilder
    let pinWatch: PinWatch
    /// The listeners' own certificates.
    let certificates: CertificateWatch
    let ways: UpstreamFactory
    let gate: ConnectionLimiter
    let signIns: SignInLimiter
    let overload = OverloadMonitor(signs: MachineResourceUsage())
    let notice: SystemdNotifier
    /// How many file descriptors the process may have open.
    let descriptors: Int
    /// Connections that were not taken.
    let refusals: Counted
    let metrics = GatewayMetrics()
    let state: Mutex<State>
    let loops: [NIOLoopBound<LoopState>]
    let pulses: [LoopLagProbe]
    let listeners = Mutex<[Listener]>([])
    let operations = Mutex<[Listener]>([])
    private let storeWatch = StoreWatch()

    /// All metrics of the process.
    static let registry: PrometheusRegistry = {
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        return registry
    }()

    private init(
        options: GatewayOptions,
        logger: Logger,
        groups: (main: SocketLoopGroup, operations: SocketLoopGroup),
        workshop: RuntimeBuilder,
        pinWatch: PinWatch,
        ways: UpstreamFactory,
        signIns: SignInLimiter,
        descriptors: Int,
        state: State,
        loops: (states: [NIOLoopBound<LoopState>], pulses: [LoopLagProbe])
    ) {
        self.options = options
        self.logger = logger
        self.group = groups.main
        self.operationsGroup = groups.operations
        self.workshop = workshop
        self.pinWatch = pinWatch
        self.certificates = CertificateWatch(log: GatewayLog(logger: logger), clock: .system)
        self.ways = ways
        self.signIns = signIns
        self.descriptors = descriptors
        self.state = Mutex(state)
        self.loops = loops.states
        self.pulses = loops.pulses
        self.notice = SystemdNotifier(environment: options.environment)
        let (refusals, metrics) = (Counted(), AcceptMetrics())
        self.refusals = refusals
        self.gate = ConnectionLimiter(state.site.limits.connections) { failure in
            refusals.add()
            metrics.failed(failure)
        }
    }

    /// Starts a gateway: everything is made and bound when this returns.
    ///
    /// - Parameters:
    ///   - result: The configuration, as it was read from the file of the options.
    ///   - options: How to run.
    ///   - logger: Where the log goes.
    /// - Returns: The gateway, serving.
    /// - Throws: A `Failure` that names what could not be opened, read, made or bound.
    package static func start(
        _ result: ConfigurationResult,
        options: GatewayOptions,
        logger: Logger
    ) async throws(Failure) -> Gateway {
        guard let configuration = result.configuration else {
            throw Failure(.gatewayConfiguration, "the configuration has errors")
        }
        _ = Gateway.registry
        AllocatorSetting.apply()
        let files = FileStates(of: result.files + [options.configurationFile])
        let signIns = SignInLimiter()
        let feed = RevocationFeed()
        let log = GatewayLog(logger: logger)
        let pinWatch = PinWatch(log: log, clock: .system)
        let descriptors = DescriptorLimit.raised()
        let workshop = RuntimeBuilder(
            log: log,
            feed: feed,
            watch: pinWatch,
            signIns: signIns,
            descriptors: descriptors
        )
        let site = try await workshop.site(for: configuration)
        let plans = try RuntimeBuilder.plans(for: configuration)
        let group = try SocketLoopGroup.started(ProcessorCount.allowed)
        let operationsGroup = try SocketLoopGroup.started(1)
        let ways = UpstreamFactory(on: operationsGroup.next(), log: log, metrics: GatewayMetrics())
        ways.adopt(site)
        let loops = await Gateway.loops(of: group, site: site, ways: ways)
        feed.subscribe { family in
            for bound in loops.states {
                bound.eventLoop.execute { bound.value.sessionEnded(family) }
            }
        }
        let now = WallClock.system.now
        let gateway = Gateway(
            options: options,
            logger: logger,
            groups: (group, operationsGroup),
            workshop: workshop,
            pinWatch: pinWatch,
            ways: ways,
            signIns: signIns,
            descriptors: descriptors,
            state: State(configuration: configuration, files: files, site: site, loadedAt: now),
            loops: loops
        )
        try await gateway.open(plans)
        await gateway.began()
        gateway.certificates.adopt(plans, configuration)
        gateway.metrics.reloaded(ok: true)
        return gateway
    }

    /// What has become of the file of the session store; a change is logged.
    func storeFault() -> StoreFileFailure? {
        let site = self.state.withLock { $0.site }
        return self.storeWatch.look(at: site.sessions.store, log: site.log)
    }

    /// The addresses that are served, as a person would open them.
    package var addresses: [String] {
        self.state.withLock { state in
            state.configuration.gateway.listeners.map { listener in
                "\(listener.certificates.isEmpty ? "http" : "https")://\(listener.address)"
            }
        }
    }

    private static func loops(
        of group: SocketLoopGroup,
        site: RuntimeConfiguration,
        ways: UpstreamFactory
    ) async -> (states: [NIOLoopBound<LoopState>], pulses: [LoopLagProbe]) {
        var loops: [NIOLoopBound<LoopState>] = []
        var pulses: [LoopLagProbe] = []
        let count = group.loops.count
        for (index, loop) in group.loops.enumerated() {
            let made = try? await loop.submit {
                let state = LoopState(loop: loop, site: site, clock: .system, ways: ways, sharedBy: count)
                state.start { site.log.blocked($0, loop: index) }
                return (NIOLoopBound(state, eventLoop: loop), state.pulse)
            }.get()
            guard let made else { continue }
            loops.append(made.0)
            pulses.append(made.1)
        }
        return (loops, pulses)
    }

    private func open(_ plans: [ListenerPlan]) async throws(Failure) {
        let loops = Dictionary(uniqueKeysWithValues: self.loops.map { (ObjectIdentifier($0.eventLoop), $0) })
        var sockets = try self.handedOver(plans)
        for var plan in plans {
            plan.inherited = sockets.removeValue(forKey: "\(plan.host):\(plan.port)")
            let redirects = plan.redirectsToHTTPS
            let listener = try await Listener.open(plan, on: self.group, gate: self.gate) { channel, client, way in
                guard let state = loops[ObjectIdentifier(channel.eventLoop)]?.value else {
                    throw ChannelError.ioOnClosedChannel
                }
                return Gateway.connection(of: client, over: way, state: state, redirects: redirects)
            }
            self.listeners.withLock { $0.append(listener) }
        }
        try await self.openOperations(on: sockets.values.first)
    }

    private static func connection(
        of client: ClientIP,
        over way: DownstreamNegotiation,
        state: LoopState,
        redirects: Bool
    ) -> any ChannelHandler & IdleClosable {
        let makeResponder: () -> any Responder = {
            redirects
                ? RedirectResponder(loop: state)
                : GatewayResponder(loop: state, peer: client.ip, peerText: client.text, tls: way.tls)
        }
        var limits = state.site.limits.downstream
        limits.streams = min(limits.streams, state.stage.maxStreams ?? .max)
        let setting = DownstreamEnvironment(
            limits: limits,
            names: { state.site.fieldNames },
            sweep: state.sweep,
            isDraining: { state.endsConnections },
            flushes: state.flushes,
            memory: state.memory,
            date: state.date,
            takesWebSockets: state.site.takesWebSockets
        )
        switch way.speaks {
        case .http1:
            return HTTP1Connection(setting: setting, peer: client.ip, tls: way.tls, responder: makeResponder())
        case .http2:
            return HTTP2Connection(setting: setting, peer: client.ip, makeResponder: makeResponder)
        }
    }

    private func openOperations(on inherited: InheritedSocket?) async throws(Failure) {
        let address = self.state.withLock { $0.configuration.gateway.operations }
        let report = StatusReport(gateway: self)
        let listener = try await OperationsListener.open(
            host: address.host,
            port: address.port,
            on: self.operationsGroup,
            connections: 256,
            inherited: inherited
        ) { request in
            guard report.isServed(request.host) else {
                return .text(421, "this host is not configured; 'gateway.operations_hosts' lists those that are\n")
            }
            guard request.method == .get || request.method == .head else { return .text(405, "only GET works here\n") }
            return await report.answer(request.path)
        }
        self.operations.withLock { $0 = [listener] }
    }
}
