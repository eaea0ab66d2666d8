// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
internal import GateHTTP
internal import GateSessions
package import Logging
internal import Metrics
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// How a gateway is run, beside its configuration file.
package struct GatewayOptions: Sendable {
    /// The path of the configuration file.
    package var configurationFile: String
    /// What `${env:NAME}` refers to.
    package var environment: [String: String]
    /// How long the gateway goes on accepting connections after it was told to stop, so that those who spread the
    /// traffic have time to notice.
    package var drainDelay = Duration.seconds(5)
    /// How long requests may take to end after it was told to stop.
    package var drainTimeout = Duration.seconds(25)

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
        var files: [String]
        var site: Site
        var loadedAt: Instant
        var lastReloadFailed = false
        var isDraining = false
    }

    let options: GatewayOptions
    let logger: Logger
    let group: MultiThreadedEventLoopGroup
    let operationsGroup: MultiThreadedEventLoopGroup
    let workshop: Workshop
    let gate = ConnectionGate(limit: DownstreamLimits().connections)
    let metrics = SiteMetrics()
    let state: Mutex<State>
    let loops: [NIOLoopBound<LoopState>]
    private let listeners = Mutex<[Listener]>([])
    private let operations = Mutex<[Listener]>([])

    /// All metrics of the process.
    static let registry: PrometheusRegistry = {
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        return registry
    }()

    private init(
        options: GatewayOptions,
        logger: Logger,
        groups: (main: MultiThreadedEventLoopGroup, operations: MultiThreadedEventLoopGroup),
        workshop: Workshop,
        state: State,
        loops: [NIOLoopBound<LoopState>]
    ) {
        self.options = options
        self.logger = logger
        self.group = groups.main
        self.operationsGroup = groups.operations
        self.workshop = workshop
        self.state = Mutex(state)
        self.loops = loops
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
            throw Failure(.internalFault, "gateway.configuration", "the configuration has errors")
        }
        _ = Gateway.registry
        let feed = RevocationFeed()
        let workshop = Workshop(log: SiteLog(logger: logger), feed: feed)
        let site = try await workshop.site(for: configuration)
        let plans = try workshop.plans(for: configuration)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: Processors.allowed)
        let loops = await Gateway.loops(of: group, site: site)
        feed.subscribe { family in
            for bound in loops {
                bound.eventLoop.execute { bound.value.sessions.removeFamily(family) }
            }
        }
        let now = WallClock.system.now
        let gateway = Gateway(
            options: options,
            logger: logger,
            groups: (group, MultiThreadedEventLoopGroup(numberOfThreads: 1)),
            workshop: workshop,
            state: State(configuration: configuration, files: result.files, site: site, loadedAt: now),
            loops: loops
        )
        try await gateway.open(plans)
        gateway.metrics.reloaded(ok: true)
        return gateway
    }

    /// The addresses that are served, as a person would open them.
    package var addresses: [String] {
        self.state.withLock { state in
            state.configuration.gateway.listeners.map { listener in
                "\(listener.certificates.isEmpty ? "http" : "https")://\(listener.address)"
            }
        }
    }

    private static func loops(of group: MultiThreadedEventLoopGroup, site: Site) async -> [NIOLoopBound<LoopState>] {
        var loops: [NIOLoopBound<LoopState>] = []
        for loop in group.makeIterator() {
            let made = try? await loop.submit {
                let state = LoopState(loop: loop, site: site, clock: .system)
                state.sweep.start(on: loop)
                return NIOLoopBound(state, eventLoop: loop)
            }.get()
            if let made { loops.append(made) }
        }
        return loops
    }

    private func open(_ plans: [ListenerPlan]) async throws(Failure) {
        let loops = Dictionary(uniqueKeysWithValues: self.loops.map { (ObjectIdentifier($0.eventLoop), $0) })
        for plan in plans {
            let listener = try await Listener.open(plan, on: self.group, gate: self.gate) { channel, tls in
                guard let state = loops[ObjectIdentifier(channel.eventLoop)]?.value else {
                    throw ChannelError.ioOnClosedChannel
                }
                return Gateway.connection(on: channel, tls: tls, state: state)
            }
            self.listeners.withLock { $0.append(listener) }
        }
        try await self.openOperations()
    }

    private static func connection(on channel: any Channel, tls: TLSFacts?, state: LoopState) -> DownstreamConnection {
        let address = channel.remoteAddress?.ipAddress
        let peer = address.flatMap { IPAddress($0) }
        let responder = GatewayResponder(loop: state, peer: peer, peerText: address ?? "unknown", tls: tls)
        let setting = DownstreamSetting(
            limits: DownstreamLimits(),
            names: { state.site.fieldNames },
            sweep: state.sweep,
            isDraining: { state.isDraining },
            flushes: state.flushes,
            recycle: { state.recycle($0) }
        )
        return DownstreamConnection(setting: setting, peer: peer, tls: tls, responder: responder)
    }

    private func openOperations() async throws(Failure) {
        let address = self.state.withLock { $0.configuration.gateway.operations }
        let plan = ListenerPlan(host: address.host, port: address.port, identities: [])
        let sweep = try? await self.operationsGroup.next().submit { [loop = self.operationsGroup.next()] in
            let sweep = DeadlineSweep()
            sweep.start(on: loop)
            return NIOLoopBound(sweep, eventLoop: loop)
        }.get()
        guard let sweep else { throw Failure(.internalFault, "listener.operations", "no event loop") }
        let report = GatewayReport(gateway: self)
        let names = LoopNames.plain
        let listener = try await Listener.open(plan, on: self.operationsGroup, gate: ConnectionGate(limit: 256)) {
            channel,
            _ in
            let setting = DownstreamSetting(
                limits: DownstreamLimits(),
                names: { names },
                sweep: sweep.value,
                isDraining: { false }
            )
            let responder = OperationsResponder(report: report, loop: channel.eventLoop)
            return DownstreamConnection(setting: setting, peer: nil, tls: nil, responder: responder)
        }
        self.operations.withLock { $0 = [listener] }
    }
}

// MARK: Reload and drain

extension Gateway {
    /// Reads the file again and puts it in force; if anything is wrong the old one goes on.
    ///
    /// - Parameter show: Called with what is to be said about the file.
    /// - Returns: Whether the new configuration is in force.
    @discardableResult
    package func reload(show: ([Diagnostic]) -> Void) async -> Bool {
        let result = ConfigurationFile.load(
            path: self.options.configurationFile,
            environment: self.options.environment
        )
        show(result.diagnostics)
        do throws(Failure) {
            guard let configuration = result.configuration else {
                throw Failure(.internalFault, "gateway.configuration", "the configuration has errors")
            }
            let plans = try self.workshop.plans(for: configuration)
            let site = try await self.workshop.site(for: configuration)
            self.warnOfFixedSettings(configuration)
            self.replaceIdentities(with: plans)
            for bound in self.loops {
                try? await bound.eventLoop.submit { bound.value.replace(with: site) }.get()
            }
            self.state.withLock { state in
                state.configuration = configuration
                state.files = result.files
                state.site = site
                state.loadedAt = WallClock.system.now
                state.lastReloadFailed = false
            }
            self.metrics.reloaded(ok: true)
            self.logger.info("configuration reloaded", metadata: ["apps": "\(configuration.apps.count)"])
            return true
        } catch {
            self.state.withLock { state in
                state.lastReloadFailed = true
                state.files = result.files.isEmpty ? state.files : result.files
            }
            self.metrics.reloaded(ok: false)
            self.logger.error(
                "reload failed, the old configuration stays in force",
                metadata: ["detail": "\(error.detail)"]
            )
            return false
        }
    }

    /// A listener takes the certificates of its own address; whether it is TLS is settled when it is opened.
    private func replaceIdentities(with plans: [ListenerPlan]) {
        for listener in self.listeners.withLock({ $0 }) where !listener.plan.identities.isEmpty {
            let plan = plans.first { $0.host == listener.plan.host && $0.port == listener.plan.port }
            if let plan, !plan.identities.isEmpty { listener.replaceIdentities(plan.identities) }
        }
    }

    private func warnOfFixedSettings(_ new: Configuration) {
        let old = self.state.withLock { $0.configuration }
        let addresses: (Configuration) -> [String] = {
            $0.gateway.listeners.map { "\($0.address) \($0.certificates.isEmpty)" }
        }
        guard addresses(old) != addresses(new) || old.gateway.operations != new.gateway.operations else { return }
        self.logger.warning("changed listener addresses take effect after a restart only")
    }

    /// Ends gracefully: not ready at once, no new connections after the delay, requests under way may end.
    ///
    /// - Returns: Whether every request came to its end.
    package func drain(delay: Duration) async -> Bool {
        self.state.withLock { $0.isDraining = true }
        self.logger.info("draining")
        try? await Task.sleep(for: delay)
        for listener in self.listeners.withLock({ $0 }) {
            await listener.close()
        }
        for bound in self.loops {
            try? await bound.eventLoop.submit { bound.value.drain() }.get()
        }
        let deadline = ContinuousClock.now + self.options.drainTimeout
        var left = await self.unfinished()
        while left > 0, ContinuousClock.now < deadline, !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(50))
            left = await self.unfinished()
        }
        return left == 0
    }

    /// Ends everything; the gateway cannot be used any more.
    package func stop() async {
        for bound in self.loops {
            try? await bound.eventLoop.submit { bound.value.cutAll() }.get()
        }
        for listener in self.listeners.withLock({ $0 }) + self.operations.withLock({ $0 }) {
            await listener.close()
        }
        await self.workshop.close()
        try? await self.group.shutdownGracefully()
        try? await self.operationsGroup.shutdownGracefully()
    }

    /// Requests under way and answers on their way out, on all loops.
    func unfinished() async -> Int {
        var total = 0
        for bound in self.loops {
            total += (try? await bound.eventLoop.submit { bound.value.unfinished }.get()) ?? 0
        }
        return total
    }

    /// Requests between their head and the end of their answer, on all loops.
    func requestsInFlight() async -> Int {
        var total = 0
        for bound in self.loops {
            total += (try? await bound.eventLoop.submit { bound.value.inFlight }.get()) ?? 0
        }
        return total
    }
}
