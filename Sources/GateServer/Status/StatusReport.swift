// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateNet
internal import GateOpenID
internal import GateProviders
internal import GateProxy
internal import GateSessions
internal import GateWire
internal import HTTPTypes
internal import Metrics
internal import NIOCore
internal import Synchronization

/// Tells on the operations address how a gateway is.
final class StatusReport: Sendable {
    private unowned let gateway: Gateway

    init(gateway: Gateway) {
        self.gateway = gateway
    }

    /// Whether requests for a host are served: IP addresses, names of this machine, and what the file lists.
    ///
    /// A page of another site can have its own name resolve to this machine, but the browser sends that name.
    func isServed(_ host: String) -> Bool {
        guard IPAddress(host) == nil, !host.hasPrefix("[") else { return true }
        if Origin(scheme: "http", host: host)?.isLoopback ?? false { return true }
        return self.gateway.state.withLock { state in
            let settings = state.configuration.gateway
            return settings.operations.host == host || settings.operationsHosts.contains(host)
        }
    }

    /// The answer to a path.
    func answer(_ path: String) async -> Response {
        switch path {
        case "/ping": .text(200, "pong\n")
        case "/livez", "/healthz": await self.alive()
        case "/readyz": self.ready()
        case "/metrics": await self.metrics()
        case "/status": await self.status()
        default: .text(404, "there are /livez /readyz /healthz /ping /metrics /status here\n")
        }
    }

    /// Alive is: every event loop runs what it is given within five seconds.
    ///
    /// Stores and providers do not matter.
    private func alive() async -> Response {
        for bound in self.gateway.loops {
            let tick = bound.eventLoop.submit {}
            let timeout = self.gateway.operationsGroup.next().makePromise(of: Void.self)
            let timer = self.gateway.operationsGroup.next().scheduleTask(in: .seconds(5)) {
                timeout.fail(ChannelError.connectTimeout(.seconds(5)))
            }
            tick.cascade(to: timeout)
            guard (try? await timeout.futureResult.get()) != nil else { return .text(503, "an event loop is stuck\n") }
            timer.cancel()
        }
        return .text(200, "ok\n")
    }

    private func ready() -> Response {
        let isDraining = self.gateway.state.withLock { $0.isDraining }
        guard !isDraining else { return .text(503, "draining\n") }
        return self.gateway.overload.sight.stage.holdsAccepting ? .text(503, "overloaded\n") : .text(200, "ok\n")
    }

    private func metrics() async -> Response {
        Gauge(label: "gatehouse_connections").record(self.gateway.gate.count)
        Gauge(label: "gatehouse_tunnels").record(await self.gateway.tunnels())
        Gauge(label: "gatehouse_requests_in_flight").record(await self.gateway.requestsInFlight())
        self.recordOverload()
        if let sessions = await self.sessionCount() { Gauge(label: "gatehouse_sessions").record(sessions) }
        Gauge(label: "gatehouse_session_store_fault").record(self.gateway.storeFault() == nil ? 0 : 1)
        self.gateway.pinWatch.record()
        for provider in self.gateway.state.withLock({ $0.site.providers }) {
            let party = provider.relyingParty
            self.gateway.metrics.provider(provider.id, waiting: party.waitingSignIns, keys: party.keyAge)
        }
        self.gateway.certificates.record()
        for (app, status) in await self.gateway.upstreamStatus() {
            Gauge(
                label: "gatehouse_upstream_healthy",
                dimensions: [("app", app), ("target", "\(status.target)")]
            ).record(status.isHealthy ? 1 : 0)
        }
        let loaded = self.gateway.state.withLock { $0.loadedAt }
        Gauge(label: "gatehouse_config_loaded_timestamp_seconds").record(loaded.seconds)
        let fields: HTTPFields = [.contentType: "text/plain; version=0.0.4; charset=utf-8"]
        return Response(200, fields: fields, body: Array(Gateway.registry.text.utf8))
    }

    private func recordOverload() {
        let sight = self.gateway.overload.sight
        Gauge(label: "gatehouse_overload_stage").record(sight.stage.rawValue)
        Gauge(label: "gatehouse_overload_share").record(sight.share)
        Gauge(label: "gatehouse_memory_bytes").record(sight.vitals.memory)
        Gauge(label: "gatehouse_memory_at_start_bytes").record(sight.vitals.memoryAtStart)
        Gauge(label: "gatehouse_memory_limit_bytes").record(sight.vitals.memoryLimit)
        Gauge(label: "gatehouse_open_descriptors").record(sight.vitals.descriptors)
        Gauge(label: "gatehouse_descriptor_limit").record(sight.vitals.descriptorLimit)
        Gauge(label: "gatehouse_connection_limit").record(self.gateway.gate.limit)
        Gauge(label: "gatehouse_sign_ins_in_flight").record(self.gateway.signIns.count)
        let now = NIODeadline.now()
        for (index, pulse) in self.gateway.pulses.enumerated() {
            let loop = [("loop", "\(index)")]
            Gauge(label: "gatehouse_loop_lag_seconds", dimensions: loop)
                .record(Double(pulse.lag(at: now).nanoseconds) / 1e9)
            Gauge(label: "gatehouse_loop_blocked", dimensions: loop).record(pulse.alarms)
        }
    }

    private func overload() -> JSON {
        let sight = self.gateway.overload.sight
        return [
            "stage": .string(sight.stage.name),
            "used_percent": .int(Int64(sight.share * 100)),
            "memory": .int(sight.vitals.memory),
            "memory_at_start": .int(sight.vitals.memoryAtStart),
            "memory_limit": .int(sight.vitals.memoryLimit),
            "descriptors": .int(Int64(sight.vitals.descriptors)),
            "descriptor_limit": .int(Int64(sight.vitals.descriptorLimit)),
            "loop_lag_ms": .int(sight.vitals.lag.nanoseconds / 1_000_000),
            "connection_limit": .int(Int64(self.gateway.gate.limit)),
            "sign_ins_in_flight": .int(Int64(self.gateway.signIns.count)),
        ]
    }

    private func status() async -> Response {
        let state = self.gateway.state.withLock { $0 }
        let configuration = state.configuration
        let sessions = await self.sessionCount()
        let value: JSON = [
            "configuration": .string(self.gateway.options.configurationFile),
            "loaded_at": .int(state.loadedAt.seconds),
            "last_reload_failed": .bool(state.lastReloadFailed),
            "draining": .bool(state.isDraining),
            "public_url": .string("\(configuration.gateway.publicURL)"),
            "listeners": .array(configuration.gateway.listeners.map { .string("\($0.address)") }),
            "providers": .array(configuration.providers.map { .string($0.id) }),
            "apps": .int(Int64(configuration.apps.count)),
            "connections": .int(Int64(self.gateway.gate.count)),
            "requests_in_flight": .int(Int64(await self.gateway.requestsInFlight())),
            "overload": self.overload(),
            "sessions": sessions.map { .int(Int64($0)) } ?? .null,
            "store_available": .bool(sessions != nil),
            "store_fault": self.gateway.storeFault().map { .string($0.rawValue) } ?? .null,
            "upstreams": .array(
                await self.gateway.upstreamStatus().map { UpstreamStatusReport.json($0.app, $0.status) }
            ),
            "listener_certificates": self.gateway.certificates.json,
            "provider_hosts": self.gateway.pinWatch.hostsJSON,
            "security_events": self.gateway.pinWatch.eventsJSON,
        ]
        return Response(200, fields: [.contentType: "application/json"], body: Array((value.pretty() + "\n").utf8))
    }

    /// The number of stored sessions; nil when the store cannot answer.
    private func sessionCount() async -> Int? {
        try? await self.gateway.state.withLock { $0.site }.sessions.count(now: WallClock.system.now)
    }
}

/// The names with a meaning on the operations address.
enum LoopNames {
    static let plain = FieldNames()
}
