// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateIngress
internal import GateNet
internal import GateOpenID
internal import GateOperations
internal import GateOverload
internal import GatePages
internal import GatePolicy
internal import GateProviders
internal import GateProxy
internal import GateRuntime
internal import GateSessions
internal import GateStatusPage
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
        for provider in state.runtime.providers { self.record(provider, state.runtime) }
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
        let isOpen = runtime.rechecks.pause(of: provider.id) != nil
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

    private func overload() -> JSON {
        let reading = self.gateway.overload.reading
        return [
            "stage": .string(reading.level.name),
            "used_percent": .int(Int64(saturating: reading.share * 100)),
            "memory": .int(reading.usage.memory),
            "memory_at_start": .int(reading.usage.memoryAtStart),
            "memory_limit": .int(reading.usage.memoryLimit),
            "descriptors": .int(Int64(reading.usage.descriptors)),
            "descriptor_limit": .int(Int64(reading.usage.descriptorLimit)),
            "loop_lag_ms": .int(reading.usage.lag.nanoseconds / 1_000_000),
            "connection_limit": .int(Int64(self.gateway.gate.limit)),
            "sign_ins_in_flight": .int(Int64(self.gateway.signIns.count)),
        ]
    }

    /// The style sheet of the page.
    private static let sheet = StaticAsset("text/css; charset=utf-8", Array(StatusPage.style.utf8))

    func page(at path: String) async -> Response? {
        switch path {
        case "/status": return Rendering.page(200, StatusPage.html(await self.status()))
        case StatusPage.assets.style: return StatusReport.sheet.response()
        case StatusPage.assets.icon: return Rendering.icon.response()
        default: return nil
        }
    }

    func status() async -> JSON {
        let state = self.gateway.state.withLock { $0 }
        let configuration = state.configuration
        let sessions = await self.sessionCount()
        let targets = await self.targetStatus()
        var members: [String: JSON] = [
            "version": .int(1),
            "at": .int(WallClock.system.now.seconds),
            "operations": .string("\(configuration.gateway.operations)"),
            "last_reload": StatusReport.json(state.lastReload),
            "refused_reload": state.confirmation.rejected?.status ?? .null,
            "history": self.history,
            "provider_states": .array(state.runtime.providers.map { self.json($0, state.runtime) }),
            "app_states": .array(targets.map { StatusReport.json($0.route, $0.targets) }),
            "stuck_loops": .array(self.stuckLoops().map { .int(Int64($0)) }),
            "log_lines_dropped": .int(OperationsMetrics.droppedLineCount),
            "gateway_version": .string(self.gateway.options.version),
            "started_at": .int(self.gateway.startedAt.seconds),
            "configuration_hash": .string(state.digest),
            "configuration": .string(self.gateway.options.configurationFile),
            "loaded_at": .int(state.loadedAt.seconds),
            "last_reload_failed": .bool(state.lastReloadFailed),
            "draining": .bool(state.isDraining),
            "public_url": .string("\(configuration.gateway.publicURL)"),
            "listeners": .array(configuration.gateway.listeners.map { .string("\($0.address)") }),
            "providers": .array(configuration.providers.map { .string($0.id) }),
            "apps": .int(Int64(configuration.apps.count)),
            "connections": .int(Int64(self.gateway.gate.count)),
            "requests_in_flight": .int(self.gateway.loops.requestsInFlight),
            "overload": self.overload(),
            "sessions": sessions.map { .int(Int64($0)) } ?? .null,
            "store_available": .bool(sessions != nil || !state.runtime.sessions.keepsSessions),
            "store_fault": self.gateway.storeFailure().map { .string($0.rawValue) } ?? .null,
            "upstreams": .array(StatusReport.watched(targets).map { StatusReport.json($0.app, $0.status) }),
            "listener_certificates": self.gateway.certificates.json,
            "provider_hosts": self.gateway.pinWatch.hostsJSON,
            "security_events": self.gateway.pinWatch.eventsJSON,
            "denials": .array(
                self.gateway.builder.incidents.denials(limit: StatusReport.maxDenials).map {
                    StatusReport.json($0, state.runtime)
                }
            ),
        ]
        members["warnings"] = StatusWarnings.json(of: members)
        return .object(members)
    }

    /// How many of the latest denials `/status` has.
    private static let maxDenials = 50

    /// A denial, with its user as access lines show users; without those lines, by the hash.
    private static func json(_ denial: Incident, _ runtime: RuntimeConfiguration) -> JSON {
        let user = denial.request.user.map { runtime.access?.shown($0) ?? runtime.sealer.userHash(of: $0) }
        return [
            "at": .int(denial.time.seconds),
            "app": denial.request.app.map(JSON.string) ?? .null,
            "user": user.map(JSON.string) ?? .null,
            "code": .string(denial.reason.code),
            "rule": denial.request.rule.map { .string("\($0)") } ?? .null,
            "incident": denial.id.map(JSON.string) ?? .null,
        ]
    }

    /// The sign-ins and rejections of the last hour, by minute.
    private var history: JSON {
        let columns = self.gateway.history.columns(totals: IngressMetrics.activity)
        let lists = columns.map { JSON.array($0.map(JSON.int)) }
        let names = ["sign_ins", "failed_sign_ins", "rejections", "requests"]
        return .object(Dictionary(zip(names, lists)) { first, _ in first })
    }

    static func json(_ reload: (at: Instant, isGood: Bool, cause: String, detail: String)?) -> JSON {
        guard let reload else { return .null }
        return [
            "at": .int(reload.at.seconds), "ok": .bool(reload.isGood), "by": .string(reload.cause),
            "detail": .string(ServerLog.plain(reload.detail)),
        ]
    }

    private func json(_ provider: RuntimeProvider, _ runtime: RuntimeConfiguration) -> JSON {
        let keys = provider.relyingParty?.keyAge
        var members = self.gateway.builder.providerCalls.json(of: provider.id)
        members["name"] = .string(provider.id)
        members["breaker_open"] = .bool(runtime.rechecks.pause(of: provider.id) != nil)
        members["sign_ins_waiting"] = .int(Int64(provider.relyingParty?.waitingSignIns ?? 0))
        members["keys_age_seconds"] = keys.map { .int($0.age.wholeSeconds) } ?? .null
        members["keys_stale"] = .bool(keys?.isStale ?? false)
        return .object(members)
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
        return self.gateway.state.withLock(\.runtime).routes.map { route in
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

    /// One app for `/status`.
    private static func json(_ route: RuntimeRoute, _ targets: [TargetStatus]) -> JSON {
        [
            "name": .string(route.name), "path": .string(route.route.path),
            "hosts": .array(route.route.origins.hosts.map { .string("\($0)") }),
            "maintenance": .bool(route.isInMaintenance),
            "targets": .array(
                targets.map { status in
                    [
                        "target": .string("\(status.target)"), "healthy": .bool(status.isHealthy),
                        "checked": .bool(route.upstream.settings.health != nil),
                        "connections": .int(Int64(status.load.connections)),
                        "requests": .int(Int64(status.load.active)),
                    ]
                }
            ),
        ]
    }

    /// One target for `/status`.
    private static func json(_ app: String, _ status: TargetStatus) -> JSON {
        [
            "app": .string(app),
            "target": .string("\(status.target)"),
            "healthy": .bool(status.isHealthy),
            "checked_healthy": .bool(status.isUp),
            "ejected_by_loops": .int(Int64(status.ejections)),
            "connections": .int(Int64(status.load.connections)),
            "requests": .int(Int64(status.load.active)),
            "waiting": .int(Int64(status.load.waiting)),
        ]
    }
}
