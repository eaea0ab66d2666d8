// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateIngress
internal import GateNet
internal import GateOpenID
internal import GateOperations
internal import GatePages
internal import GatePolicy
internal import GateProviders
internal import GateProxy
internal import GateRuntime
internal import GateSessions
internal import Metrics
internal import NIOCore
internal import Synchronization

/// What the operations listener reports about a gateway.
final class StatusReport: OperationsSource {
    private unowned let gateway: Gateway
    private let infos = GaugeGroup()

    init(gateway: Gateway) {
        self.gateway = gateway
    }

    /// Each event loop ticks ten times a second; stores, providers and apps do not matter.
    func stuckLoops() -> [Int] {
        let now = NIODeadline.now()
        return self.gateway.loops.lagProbes.indices.filter {
            self.gateway.loops.lagProbes[$0].sinceTick(at: now) > .seconds(5)
        }
    }

    func hasStarted() -> Bool { self.gateway.state.withLock(\.hasStarted) }

    func readiness() -> [ReadinessCheck] {
        let (isDraining, hasStarted) = self.gateway.state.withLock { ($0.isDraining, $0.hasStarted) }
        let isOverloaded = self.gateway.overload.reading.level.pausesAccepting
        return [
            ReadinessCheck("started", failure: hasStarted ? nil : "starting"),
            ReadinessCheck("draining", failure: isDraining ? "draining" : nil),
            ReadinessCheck("overload", failure: isOverloaded ? "overloaded" : nil),
        ]
    }

    func allowsHost(_ host: String) -> Bool {
        self.gateway.state.withLock { state in
            let settings = state.configuration.gateway
            return settings.operations.host == host || settings.operationsHosts.contains(host)
        }
    }

    /// The token of the operations API; nil if it is served by the Unix socket only.
    var operationsToken: Secret? { self.gateway.state.withLock(\.configuration).gateway.operationsToken }

    func metrics(as format: MetricsFormat) async -> [UInt8] {
        ServerMetrics.connections.gauge().record(self.gateway.gate.count)
        ServerMetrics.tunnels.gauge().record(self.gateway.loops.tunnels)
        ServerMetrics.requestsInFlight.gauge().record(self.gateway.loops.requestsInFlight)
        self.recordOverload()
        if let sessions = await self.sessionCount() { ServerMetrics.sessions.gauge().record(sessions) }
        ServerMetrics.storeFailed.gauge().record(self.gateway.storeFailure() == nil ? 0 : 1)
        self.gateway.pinWatch.record()
        let state = self.gateway.state.withLock { $0 }
        for provider in state.runtime.providers.all { self.record(provider, state.runtime) }
        self.gateway.certificates.record()
        // A loop that is blocked must not keep the others' numbers from being seen.
        if await self.gateway.loops.respond(within: .seconds(1), timer: self.gateway.operationsGroup.next()) {
            for (app, status) in StatusReport.watched(await self.targetStatus()) {
                ServerMetrics.upstreamHealthy.gauge(app, "\(status.target)").record(status.isHealthy ? 1 : 0)
            }
        }
        ServerMetrics.configurationLoaded.gauge().record(state.loadedAt.seconds)
        self.infos.record(
            [
                GaugeSample(ServerMetrics.configurationInfo, [state.digest], 1),
                GaugeSample(ServerMetrics.buildInfo, self.gateway.buildInfo, 1),
            ]
        )
        return MetricsText.bytes(of: .shared, describedBy: MetricSeries.all, as: format)
    }

    private func record(_ provider: RuntimeProvider, _ runtime: RuntimeConfiguration) {
        guard let party = provider.relyingParty else { return }
        let isOpen = runtime.services.rechecks.pause(of: provider.id) != nil
        ServerMetrics.providerBreaker.gauge(provider.id).record(isOpen ? 1 : 0)
        ServerMetrics.providerSignInsWaiting.gauge(provider.id).record(party.waitingSignIns)
        guard let keys = party.keyAge else { return }
        ServerMetrics.providerKeysAge.gauge(provider.id).record(keys.age.wholeSeconds)
        ServerMetrics.providerKeysStale.gauge(provider.id).record(keys.isStale ? 1 : 0)
    }

    private func recordOverload() {
        let reading = self.gateway.overload.reading
        ServerMetrics.overloadLevel.gauge().record(reading.level.rawValue)
        ServerMetrics.overloadShare.gauge().record(reading.share)
        ServerMetrics.memory.gauge().record(reading.usage.memory)
        ServerMetrics.memoryAtStart.gauge().record(reading.usage.memoryAtStart)
        ServerMetrics.memoryLimit.gauge().record(reading.usage.memoryLimit)
        ServerMetrics.openDescriptors.gauge().record(reading.usage.descriptors)
        ServerMetrics.descriptorLimit.gauge().record(reading.usage.descriptorLimit)
        ServerMetrics.connectionLimit.gauge().record(self.gateway.gate.limit)
        ServerMetrics.signInsInFlight.gauge().record(self.gateway.signIns.count)
        let now = NIODeadline.now()
        for (index, probe) in self.gateway.loops.lagProbes.enumerated() {
            let lag = Double(probe.lag(at: now).nanoseconds) / 1e9
            ServerMetrics.loopLag.gauge("\(index)").record(lag)
            ServerMetrics.loopBlocked.gauge("\(index)").record(probe.alarms)
            let age = Double(probe.sinceTick(at: now).nanoseconds) / 1e9
            ServerMetrics.loopHeartbeat.gauge("\(index)").record(age)
        }
        for (name, open, active) in self.gateway.loops.openConnections {
            ServerMetrics.openConnections.gauge(name, "active").record(active)
            ServerMetrics.openConnections.gauge(name, "idle").record(max(0, open - active))
        }
        ProcessMetrics.record(
            descriptors: reading.usage.descriptors,
            limit: reading.usage.descriptorLimit,
            start: self.gateway.startedAt
        )
    }

    private func overload() -> GatewayStatus.Overload {
        let reading = self.gateway.overload.reading
        var status = GatewayStatus.Overload()
        status.level = reading.level.name
        status.usedPercent = Int(saturating: reading.share * 100)
        status.memory = Int(reading.usage.memory)
        status.memoryAtStart = Int(reading.usage.memoryAtStart)
        status.memoryLimit = Int(reading.usage.memoryLimit)
        status.descriptors = reading.usage.descriptors
        status.descriptorLimit = reading.usage.descriptorLimit
        status.loopLag = Int(reading.usage.lag.nanoseconds / 1_000_000)
        status.connectionLimit = self.gateway.gate.limit
        status.signInsInFlight = self.gateway.signIns.count
        return status
    }

    private static let sheet = StaticAsset("text/css; charset=utf-8", Array(StatusPage.style.utf8))

    func page(at path: String) async -> Response? {
        switch path {
        case "/status": return Rendering.page(200, StatusPage.html(await self.gatewayStatus()))
        case StatusPage.assets.style: return StatusReport.sheet.response()
        case StatusPage.assets.icon: return Rendering.icon.response()
        default: return nil
        }
    }

    func status() async -> JSON { await self.gatewayStatus().json }

    private func gatewayStatus() async -> GatewayStatus {
        let state = self.gateway.state.withLock { $0 }
        let configuration = state.configuration
        let sessions = await self.sessionCount()
        let targets = await self.targetStatus()
        var status = GatewayStatus()
        status.at = WallClock.system.now
        status.gatewayVersion = self.gateway.options.version
        status.startedAt = self.gateway.startedAt
        status.configuration = self.gateway.options.configurationFile
        status.configurationHash = state.digest
        status.loadedAt = state.loadedAt
        status.lastReloadFailed = state.lastReloadFailed
        status.lastReload = state.lastReload
        status.refusedReload = state.confirmation.rejected?.status
        status.isDraining = state.isDraining
        status.publicURL = "\(configuration.gateway.publicURL)"
        status.listeners = configuration.gateway.listeners.map { "\($0.address)" }
        status.operations = "\(configuration.gateway.operations)"
        status.providers = configuration.providers.map(\.id)
        status.providerStates = state.runtime.providers.all.map { self.status(of: $0, state.runtime) }
        status.apps = configuration.apps.count
        status.appStates = targets.map { StatusReport.status(of: $0.route, $0.targets) }
        status.upstreams = StatusReport.watched(targets).map { StatusReport.status($0.app, $0.status) }
        status.connections = self.gateway.gate.count
        status.requestsInFlight = Int(self.gateway.loops.requestsInFlight)
        status.sessions = sessions
        status.isStoreAvailable = sessions != nil || !state.runtime.sessions.keepsSessions
        status.storeFailure = self.gateway.storeFailure()
        status.overload = self.overload()
        status.stuckLoops = self.stuckLoops()
        status.logLinesDropped = Int(OperationsMetrics.droppedLineCount)
        status.history = self.history
        status.listenerCertificates = self.gateway.certificates.listenerStatus
        status.providerHosts = self.gateway.pinWatch.hostStatus
        status.securityEvents = self.gateway.pinWatch.events
        status.denials = self.gateway.builder.incidents.denials(limit: GatewayStatus.maxDenials).map {
            StatusReport.status(of: $0, state.runtime)
        }
        status.warnings = StatusWarnings.of(status)
        return status
    }

    /// A denial, with its user as access lines show users; without those lines, by the hash.
    private static func status(of denial: Incident, _ runtime: RuntimeConfiguration) -> GatewayStatus.Denial {
        var status = GatewayStatus.Denial(at: denial.time, denial.reason)
        status.app = denial.request.app
        status.user = denial.request.user.map { runtime.access?.shown($0) ?? runtime.sealer.userHash(of: $0) }
        status.rule = denial.request.rule.map { "\($0)" }
        status.incident = denial.id
        return status
    }

    /// The sign-ins and rejections of the last hour, by minute.
    private var history: GatewayStatus.History {
        let columns = self.gateway.history.columns(totals: IngressMetrics.activity).map(GatewayStatus.Minutes.init)
        var history = GatewayStatus.History()
        for (column, member) in zip(columns, StatusReport.columns) { history[keyPath: member] = column }
        return history
    }

    /// The members of the history, in the order of `IngressMetrics.activity`.
    private static var columns: [WritableKeyPath<GatewayStatus.History, GatewayStatus.Minutes>] {
        [\.signIns, \.failedSignIns, \.rejections, \.requests]
    }

    private func status(of provider: RuntimeProvider, _ runtime: RuntimeConfiguration) -> GatewayStatus.Provider {
        let keys = provider.relyingParty?.keyAge
        var status = GatewayStatus.Provider(provider.id)
        self.gateway.builder.providerCalls.add(to: &status)
        status.isBreakerOpen = runtime.services.rechecks.pause(of: provider.id) != nil
        status.signInsWaiting = provider.relyingParty?.waitingSignIns ?? 0
        status.keyAge = keys.map { Int($0.age.wholeSeconds) }
        status.areKeysStale = keys?.isStale ?? false
        return status
    }

    /// The number of stored sessions; nil when the store does not respond, or keeps none.
    private func sessionCount() async -> Int? {
        try? await self.gateway.state.withLock { $0.runtime }.sessions.count(now: WallClock.system.now)
    }

    /// The targets of all apps.
    private func targetStatus() async -> [(route: RuntimeRoute, targets: [TargetStatus])] {
        // A loop that is blocked must not keep the rest from being seen.
        let responds = await self.gateway.loops.respond(within: .seconds(1), timer: self.gateway.operationsGroup.next())
        let known = responds ? await self.gateway.loops.upstreamStatus() : [:]
        return self.gateway.state.withLock(\.runtime).routes.all.map { route in
            guard route.directResponse == nil, route.forwardAuth == nil else { return (route, []) }
            return (route, known[route.upstream] ?? self.gateway.upstreams.unusedTargets(of: route.upstream))
        }
    }

    /// The targets of apps with several, and of those whose health is checked.
    private static func watched(
        _ targets: [(route: RuntimeRoute, targets: [TargetStatus])]
    ) -> [(app: String, status: TargetStatus)] {
        targets.filter {
            $0.route.upstream.settings.targets.count > 1 || $0.route.upstream.settings.health != nil
        }.flatMap { one in one.targets.map { (one.route.name, $0) } }
    }

    private static func status(of route: RuntimeRoute, _ targets: [TargetStatus]) -> GatewayStatus.App {
        var app = GatewayStatus.App(route.name)
        app.path = route.route.path
        app.hosts = route.route.origins.hosts.map { "\($0)" }
        app.isInMaintenance = route.isInMaintenance
        app.targets = targets.map { status in
            GatewayStatus.App.Target(
                "\(status.target)",
                isHealthy: status.isHealthy,
                isChecked: route.upstream.settings.health != nil,
                connections: status.load.connections,
                requests: status.load.active
            )
        }
        return app
    }

    private static func status(_ app: String, _ target: TargetStatus) -> GatewayStatus.Upstream {
        var upstream = GatewayStatus.Upstream(app: app, target: "\(target.target)")
        upstream.isHealthy = target.isHealthy
        upstream.isUp = target.isUp
        upstream.ejections = target.ejections
        upstream.connections = target.load.connections
        upstream.requests = target.load.active
        upstream.waiting = target.load.waiting
        return upstream
    }
}
