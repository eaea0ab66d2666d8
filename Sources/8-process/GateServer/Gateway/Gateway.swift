// SPDX-License-Identifier: Apache-2.0

internal import Foundation
package import GateConfiguration
package import GateCore
package import GateHTTP
internal import GateIngress
internal import GateNet
package import GateOperations
internal import GatePages
package import GatePolicy
internal import GateProxy
internal import GateRuntime
internal import GateSessions
internal import GateWire
package import Logging
internal import Metrics
internal import NIOCore
internal import Synchronization
internal import UnixSignals

/// How a gateway is run, beside its configuration file.
package struct GatewayOptions: Sendable {
    /// The path of the configuration file.
    package var configurationFile: String
    /// What `${env:NAME}` refers to.
    package var environment: [String: String]
    /// How long the gateway goes on accepting connections after SIGTERM, so that load balancers have time to notice;
    /// nil for the value of the file.
    package var drainDelay: Duration?
    /// Sockets that are listened on already; nil to open them.
    package var inherited: [InheritedSocket]?
    /// The process of systemd's service, if it has started this one.
    package var service: ServiceLink?
    /// The version of the program.
    package var version = "unknown"
    /// The log, which takes the settings of the file; nil if another program owns it.
    package var logs: LogRouter?
    /// From how many users of an app a reload may take access without being confirmed; nil for any number.
    package var maxLoss: AccessShare?

    /// Options with the default times.
    package init(configurationFile: String, environment: [String: String]) {
        self.configurationFile = configurationFile
        self.environment = environment
    }
}

/// A running gateway: its listeners, event loops and operations listener.
package final class Gateway: Sendable {
    /// What changes while it runs.
    struct State {
        var configuration: Configuration
        var files: FileStates
        /// The files as they were read and not used yet, since they may be in the middle of a change.
        var doubtful: FileStates?
        var runtime: RuntimeConfiguration
        var loadedAt: Instant
        var lastReloadFailed = false
        /// The last reload since the start; nil before the first.
        var lastReload: GatewayStatus.Reload?
        var isDraining = false
        /// Whether everything is open.
        var hasStarted = false
        /// Names the content of the configuration file.
        var digest: String
        /// Names the content of all files of the configuration.
        var content: String
        /// How many reloads there were.
        var reloads = 0
        /// The reload that was refused for what it takes from users.
        var confirmation = ReloadConfirmation()
    }

    let options: GatewayOptions
    private let logger: Logger
    let log: ServerLog
    private let group: SocketLoopGroup
    let operationsGroup: SocketLoopGroup
    let builder: RuntimeBuilder
    let pinWatch: PinWatch
    /// The listeners' own certificates.
    let certificates: CertificateWatch
    let upstreams: UpstreamFactory
    let gate: ConnectionLimiter
    let signIns: SignInLimiter
    let overload = OverloadMonitor(signs: MachineResourceUsage())
    private let systemd: SystemdNotifier
    /// How many file descriptors the process may have open.
    private let descriptors: Int
    /// Connections that were not accepted.
    private let rejectedConnections: AtomicCounter
    let state: Mutex<State>
    let startedAt = WallClock.system.now
    let loops: IngressLoops
    private let listeners = Mutex<[Listener]>([])
    private let operations = Mutex<[Listener]>([])
    private let operationsSocket = Mutex<UnixSocket?>(nil)
    /// Where events go while it runs.
    private let events = Mutex<AsyncStream<Event>.Continuation?>(nil)
    private let storeWatch = StoreWatch()
    /// Exports spans; nil while tracing is off.
    private let tracing: Tracing?
    /// The sign-ins and rejections of the last hour, by minute.
    let history = MinuteHistory(totals: IngressMetrics.activity)

    private init(
        options: GatewayOptions,
        logger: Logger,
        groups: (main: SocketLoopGroup, operations: SocketLoopGroup),
        builder: RuntimeBuilder,
        pinWatch: PinWatch,
        upstreams: UpstreamFactory,
        signIns: SignInLimiter,
        descriptors: Int,
        state: State,
        loops: IngressLoops,
        tracing: Tracing?
    ) {
        self.options = options
        self.logger = logger
        self.log = ServerLog(logger: logger)
        self.group = groups.main
        self.operationsGroup = groups.operations
        self.builder = builder
        self.pinWatch = pinWatch
        self.certificates = CertificateWatch(logger: logger, clock: .system)
        self.upstreams = upstreams
        self.signIns = signIns
        self.descriptors = descriptors
        self.state = Mutex(state)
        self.loops = loops
        self.tracing = tracing
        self.systemd = SystemdNotifier(environment: options.environment, service: options.service)
        let (rejected, counters) = (AtomicCounter(), ServerMetrics.acceptCounters())
        let handshakes = ServerMetrics.handshakeCounters()
        self.rejectedConnections = rejected
        self.gate = ConnectionLimiter(
            state.runtime.limits.connections,
            rejected: { failure in
                rejected.add()
                counters[failure]?.increment()
            },
            handshakeFailed: { handshakes[$0]?.increment() }
        )
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
        _ = PrometheusRegistry.shared
        ServerMetrics.revocationsPending.gauge().record(0)
        Allocator.configure()
        try options.logs?.configure(configuration.logs)
        let tracing = try Tracing(environment: options.environment, version: options.version, logger: logger)
        let files = FileStates(of: result.files + [options.configurationFile])
        let signIns = SignInLimiter()
        let feed = RevocationFeed()
        let log = ServerLog(logger: logger)
        let pinWatch = PinWatch(logger: logger, clock: .system)
        let descriptors = MachineResourceUsage.raisedDescriptorLimit()
        let builder = RuntimeBuilder(
            logger: logger,
            logs: options.logs,
            feed: feed,
            watch: pinWatch,
            signIns: signIns,
            descriptors: descriptors,
            tracer: tracing?.tracer
        )
        let runtime = try await builder.runtime(for: configuration)
        let plans = try RuntimeBuilder.plans(for: configuration)
        let group = try SocketLoopGroup.started(MachineResourceUsage.allowedProcessors)
        let operationsGroup = try SocketLoopGroup.started(1)
        let upstreams = UpstreamFactory(on: operationsGroup.next()) { event in
            log.upstream(event)
            ServerMetrics.upstream(event)
        }
        upstreams.adopt(Set(runtime.routes.all.map(\.upstream)))
        let loops = await IngressLoops.start(
            on: group,
            runtime: runtime,
            upstreams: upstreams,
            tracer: tracing?.tracer
        ) { loop, lag in
            log.blocked(lag, loop: loop)
        }
        feed.subscribe { loops.sessionEnded($0) }
        feed.subscribeToChanges { loops.sessionChanged($0) }
        let now = WallClock.system.now
        let gateway = Gateway(
            options: options,
            logger: logger,
            groups: (group, operationsGroup),
            builder: builder,
            pinWatch: pinWatch,
            upstreams: upstreams,
            signIns: signIns,
            descriptors: descriptors,
            state: State(
                configuration: configuration,
                files: files,
                runtime: runtime,
                loadedAt: now,
                digest: result.fileContent,
                content: result.content
            ),
            loops: loops,
            tracing: tracing
        )
        try await gateway.open(plans)
        await gateway.began()
        gateway.certificates.adopt(plans, configuration)
        ServerMetrics.reloaded(ok: true)
        gateway.state.withLock { $0.hasStarted = true }
        return gateway
    }

    /// Whether the file of the session store has failed; a change is logged.
    func storeFailure() -> StoreFileFailure? {
        self.storeWatch.look(at: self.state.withLock(\.runtime).store, log: self.log)
    }

    /// The URLs of the listeners.
    package var addresses: [String] {
        self.state.withLock { state in
            state.configuration.gateway.listeners.map { listener in
                guard listener.address.path == nil else { return "\(listener.address)" }
                return "\(listener.certificates.isEmpty ? "http" : "https")://\(listener.address)"
            }
        }
    }

    private func open(_ plans: [ListenerPlan]) async throws(Failure) {
        let settings = self.state.withLock { $0.configuration.gateway }
        let operations = settings.operations
        // Unix sockets are opened here in any case.
        let addresses = plans.map(\.address).filter { $0.path == nil }
        let sockets = try SocketAssignment(self.options.inherited, to: addresses + [operations])
        let loops = self.loops
        for var plan in plans {
            plan.inherited = sockets[plan.address]
            let (redirects, address) = (plan.redirectsToHTTPS, plan.address)
            let listener = try await Listener.open(plan, on: self.group, limiter: self.gate) { channel, client, tls in
                try loops.connection(on: channel.eventLoop, of: client, over: tls, at: address, redirects: redirects)
            }
            self.listeners.withLock { $0.append(listener) }
        }
        let report = StatusReport(gateway: self)
        let api = self.operationsAPI()
        let listener = try await Listener.openPlain(
            host: operations.host,
            port: operations.port,
            on: self.operationsGroup,
            maxConnections: 256,
            inherited: sockets[operations]
        ) { request, body, client in
            guard OperationsAPI.isMeant(by: request), report.isServed(request.authority.host),
                let token = report.operationsToken
            else { return await report.response(to: request) }
            return await api.response(to: request, body: body, needing: token, from: client.text)
        }
        self.operations.withLock { $0 = [listener] }
        do throws(Failure) {
            try await self.openSocket(settings, api, report)
        } catch {
            guard settings.operationsSocket?.isRequired == false else { throw error }
            self.log.operationsSocketFailed(error)
        }
    }

    private func operationsAPI() -> OperationsAPI {
        let environment = OperationsAPI.Environment(
            sessions: { [unowned self] in self.state.withLock(\.runtime).sessions },
            configuration: { [unowned self] in self.state.withLock(\.configuration) },
            incidents: self.builder.incidents,
            times: { [unowned self] in (self.startedAt, self.state.withLock(\.loadedAt)) },
            keysChanged: { [unowned self] in _ = self.events.withLock { $0 }?.yield(.lookAtKeys(by: $0)) },
            policy: { [unowned self] in self.policyState },
            confirmReload: { [unowned self] (content) throws(OperationsRejection) in
                try self.confirmReload(content)
            },
            logger: self.logger,
            clock: .system,
            owner: geteuid(),
            accounts: { [unowned self] in self.state.withLock(\.runtime).providers.all.compactMap(\.accounts) },
            passkeys: { [unowned self] in self.state.withLock(\.runtime).users.passkeys },
            mailer: { [unowned self] in self.state.withLock(\.runtime).users.mailer },
            language: { [unowned self] in self.state.withLock(\.runtime).rendering.pages.languages.first },
            connections: { [unowned self] in self.state.withLock(\.runtime).users.connections }
        )
        return OperationsAPI(environment: environment)
    }

    /// Opens the Unix socket of the operations API, which has the health of the gateway as well.
    private func openSocket(
        _ settings: GatewaySettings,
        _ api: OperationsAPI,
        _ report: StatusReport
    ) async throws(Failure) {
        guard let path = settings.operationsSocket?.path else { return }
        let socket: UnixSocket
        do throws(Failure) {
            let folder = PrivateFile.folder(of: path)
            try? PrivateFile.makeFolder(folder)
            socket = try PrivateFile.locking(folder) { () throws(Failure) in
                do throws(SocketError) {
                    return try UnixSocket.listen(at: path)
                } catch {
                    throw Failure(.operationsSocket, error.reasonOfUnixSocket)
                }
            }
        } catch {
            throw Failure(.operationsSocket, "cannot listen on \(path): \(error.detail)")
        }
        let listener = try await Listener.openPlain(socket, on: self.operationsGroup, maxConnections: 32) {
            guard OperationsAPI.isMeant(by: $0) else { return await report.response(to: $0) }
            return await api.response(to: $0, body: $1, fromPeer: $2)
        }
        self.operations.withLock { $0.append(listener) }
        self.operationsSocket.withLock { $0 = socket }
    }

    /// Ends everything; the gateway cannot be used any more.
    package func stop() async {
        await self.loops.close()
        for listener in self.listeners.withLock({ $0 }) + self.operations.withLock({ $0 }) {
            await listener.close()
        }
        self.operationsSocket.withLock { $0 }?.removeFile()
        await self.upstreams.stop()
        await self.builder.close()
        await self.tracing?.stop()
        try? await self.group.shutdownGracefully()
        try? await self.operationsGroup.shutdownGracefully()
    }
}

// MARK: Running

extension Gateway {
    /// Serves until it is stopped: SIGHUP or a changed file reloads; SIGTERM drains; SIGINT, or a second signal, ends it
    /// at once.
    ///
    /// - Parameters:
    ///   - trap: The signals, if they were trapped before the gateway was started.
    ///   - show: Called with the diagnostics of the file at a reload.
    /// - Returns: Whether every request came to its end.
    package func run(
        _ trap: SignalTrap? = nil,
        show: @escaping @Sendable ([Diagnostic]) -> Void
    ) async -> Bool {
        // Trapped before systemd learns that the gateway is ready: an untrapped SIGHUP would end it.
        let signals = if let trap { trap.signals } else { await SignalTrap().signals }
        let (events, source) = AsyncStream.makeStream(of: Event.self)
        self.events.withLock { $0 = source }
        let reloads = ReloadQueue { source.yield(.reload) }
        let background = [
            Task { await self.watchFiles { reloads.request() } },
            Task { await self.tidyRepeatedly() },
            Task { await self.sealAccountsRepeatedly() },
            Task { await self.watchStoreRepeatedly() },
            Task { await self.surveyRepeatedly() },
        ]
        // What a gateway that drains goes on with.
        let work = [
            Task { await self.watchOverload() },
            Task { await self.feedWatchdog() },
            Task { await self.endMinutes() },
            // It still signs assertions, and must not use a key that the other gateways no longer publish.
            Task { await self.lookAtKeysRepeatedly { source.yield(.lookAtKeys(by: "schedule")) } },
            Task {
                for await signal in signals {
                    switch signal {
                    case .sighup: reloads.request(bySignal: true)
                    // systemd may send it to the processes of the service, which one of them passes on.
                    case .sigterm: source.yield(self.options.service == nil ? .stop : .drain)
                    default: source.yield(.stopNow)
                    }
                }
            },
        ]
        self.options.service?.watch { source.yield(.drain) }
        self.systemd.send(.ready, status: self.statusLine)
        let isComplete = await self.serve(events, source, reloads, background, show: show)
        for task in background + work {
            task.cancel()
        }
        await self.stop()
        return isComplete
    }

    /// What happens to a running gateway from outside its connections.
    private enum Event: Sendable {
        case reload
        case confirmed
        case lookAtKeys(by: String)
        case drain
        /// Drain, or end if it drains already.
        case stop
        case stopNow
        case drained(complete: Bool)
    }

    private func serve(
        _ events: AsyncStream<Event>,
        _ source: AsyncStream<Event>.Continuation,
        _ reloads: ReloadQueue,
        _ background: [Task<Void, Never>],
        show: @Sendable ([Diagnostic]) -> Void
    ) async -> Bool {
        var isDraining = false
        for await event in events {
            switch event {
            case .reload:
                let cause = reloads.begin()
                self.options.logs?.reopen()
                guard !isDraining, await self.reload(by: cause, show: show) else { continue }
                // Beside the next event, which may be the end.
                Task { await self.survey() }
            case .confirmed:
                guard !isDraining, await self.reload(by: "confirm", show: show) else { continue }
                Task { await self.survey() }
            case .lookAtKeys(let cause):
                await self.lookAtKeys(by: cause)
            case .drained(let complete):
                return complete
            case .drain where isDraining:
                continue
            case .stop where isDraining, .stopNow:
                return await self.loops.unfinished() == 0
            case .drain, .stop:
                isDraining = true
                for task in background {
                    task.cancel()
                }
                Task { source.yield(.drained(complete: await self.drain())) }
            }
        }
        return false
    }

    /// Looks twice a second at the files that the configuration depends on; a change that has settled reloads.
    private func watchFiles(changed: @Sendable () -> Void) async {
        var watch = FileWatch()
        while !Task.isCancelled {
            try? await Task.sleep(for: FileWatch.interval)
            let (read, doubtful) = self.state.withLock { ($0.files, $0.doubtful) }
            if watch.isTime(read: read, now: read.now, doubtful: doubtful) { changed() }
        }
    }

    /// Looks every hour for providers whose survey is due, which it is after a day or after one that failed.
    private func surveyRepeatedly() async {
        while !Task.isCancelled {
            await self.survey()
            try? await Task.sleep(for: .seconds(3600))
        }
    }

    private func survey() async {
        self.certificates.look()
        await self.builder.survey(self.state.withLock { $0.runtime })
    }

    /// Requests a look at the key files so often that every gateway that shares them knows a key before it is used.
    private func lookAtKeysRepeatedly(_ look: @Sendable () -> Void) async {
        while !Task.isCancelled {
            let configuration = self.state.withLock(\.configuration)
            try? await Task.sleep(for: KeyMaterial.interval(for: configuration))
            look()
        }
    }

    /// Removes sessions that are over.
    private func tidyRepeatedly() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(60))
            // A store does nothing for a task that is cancelled, which would count as its failure.
            guard !Task.isCancelled else { return }
            let runtime = self.state.withLock { $0.runtime }
            let idle = runtime.sessions.lifetimes.idle
            let count = (try? await runtime.store.removeExpired(at: WallClock.system.now, idle: idle)) ?? 0
            IngressMetrics().ended(.expired, count: count)
        }
    }

    /// Notes once a minute how many sign-ins and rejections there were.
    private func endMinutes() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(60))
            self.history.endMinute(totals: IngressMetrics.activity)
        }
    }

    /// Looks whether the file of the session store is still the one that was opened.
    private func watchStoreRepeatedly() async {
        while !Task.isCancelled {
            _ = self.storeFailure()
            try? await Task.sleep(for: .seconds(10))
        }
    }
}

// MARK: Reloading

extension Gateway {
    /// Reads the file again and puts it in force; if anything is wrong the old one goes on.
    ///
    /// - Parameters:
    ///   - cause: What has caused it, for the log.
    ///   - show: Called with the diagnostics of the file.
    /// - Returns: Whether the new configuration is in force.
    @discardableResult
    package func reload(by cause: String = "file", show: ([Diagnostic]) -> Void) async -> Bool {
        self.systemd.send(.reloading)
        defer {
            self.systemd.send(.ready, status: self.statusLine)
        }
        let began = Date()
        let before = self.state.withLock { $0.files }.now
        let result = Configuration.load(
            path: self.options.configurationFile,
            environment: self.options.environment
        )
        let files = before.extended(to: result.files + [self.options.configurationFile], readSince: began)
        if cause == "file", let new = result.configuration, self.isDoubtful(new, before) {
            self.log.reloadPostponed(until: FileWatch.Stillness.doubtful)
            return false
        }
        show(result.diagnostics)
        do throws(Failure) {
            guard let configuration = result.configuration else {
                throw Failure(.gatewayConfiguration, result.firstError)
            }
            try await self.checkLoss(by: configuration, content: result.content)
            let plans = try RuntimeBuilder.plans(for: configuration)
            try self.options.logs?.configure(configuration.logs)
            let runtime = try await self.builder.runtime(for: configuration)
            self.warnOfFixedSettings(configuration)
            self.adopt(plans)
            await self.adopt(runtime)
            self.state.withLock { state in
                state.configuration = configuration
                state.files = files
                state.doubtful = nil
                state.runtime = runtime
                state.loadedAt = WallClock.system.now
                state.lastReloadFailed = false
                state.lastReload = GatewayStatus.Reload(at: state.loadedAt, isGood: true, cause: cause, detail: "")
                state.digest = result.fileContent
                state.content = result.content
                state.reloads += 1
                state.confirmation = ReloadConfirmation()
            }
            self.certificates.adopt(plans, configuration)
            self.warnOfMemory()
            ServerMetrics.reloaded(ok: true)
            self.log.reloaded(configuration, by: cause)
            return true
        } catch {
            let isRejected = error.reason == .policyLoss
            self.state.withLock { state in
                state.lastReloadFailed = true
                state.reloads += 1
                // The files are others than those that were refused.
                if !isRejected { state.confirmation = ReloadConfirmation() }
                state.lastReload = GatewayStatus.Reload(
                    at: WallClock.system.now,
                    isGood: false,
                    cause: cause,
                    detail: ServerLog.plain(error.detail)
                )
                state.files = files
                state.doubtful = nil
            }
            ServerMetrics.reloaded(ok: false, isRejected: isRejected)
            // Its files are open, so nothing can fail.
            if let logs = self.options.logs { try? logs.configure(self.state.withLock(\.configuration).logs) }
            if isRejected {
                self.log.reloadRefused(error, by: cause, content: result.content)
            } else {
                self.log.reloadFailed(error, by: cause)
            }
            return false
        }
    }

    /// Whether a file may be in the middle of a change: it is written in place, and takes an app or changes its rules.
    ///
    /// It is read again when it has kept still for longer.
    private func isDoubtful(_ new: Configuration, _ files: FileStates) -> Bool {
        self.state.withLock { state in
            let isKept = AppRules.areKept(state.configuration.apps.map(\.rules), in: new.apps.map(\.rules))
            guard !isKept, state.doubtful != files, files.isWrittenInPlace(since: state.files) else { return false }
            state.doubtful = files
            return true
        }
    }

    /// Refuses a configuration that takes access from too many users, unless an operator has confirmed it.
    private func checkLoss(by new: Configuration, content: String) async throws(Failure) {
        guard let share = self.options.maxLoss else { return }
        let now = WallClock.system.now
        let (old, sessions, isConfirmed) = self.state.withLock { state in
            (state.configuration, state.runtime.sessions, state.confirmation.takeConfirmation(of: content, at: now))
        }
        guard !isConfirmed else { return }
        let check = LossCheck(old: old.apps.map(\.rules), new: new.apps.map(\.rules), share: share)
        guard let loss = await check.loss(of: sessions, at: now) else { return }
        let rejected = ReloadConfirmation.RejectedReload(content: content, at: now, loss: loss)
        self.state.withLock { $0.confirmation.rejected = rejected }
        throw Failure(.policyLoss, rejected.detail)
    }

    /// Loads the configuration that was refused, if its files still have the content that an operator names.
    private func confirmReload(_ content: String) throws(OperationsRejection) {
        try self.state.withLock { (state) throws(OperationsRejection) in
            try state.confirmation.confirm(content, at: WallClock.system.now)
        }
        _ = self.events.withLock { $0 }?.yield(.confirmed)
    }

    /// What the operations API reports about the configuration in force and a refused one.
    private var policyState: JSON {
        let state = self.state.withLock { $0 }
        return [
            "configuration": .string(self.options.configurationFile), "content": .string(state.content),
            "configuration_hash": .string(state.digest), "reloads": .int(Int64(state.reloads)),
            "guard": self.options.maxLoss.map { .string("\($0)") } ?? .null,
            "last_reload": state.lastReload.json,
            "refused_reload": state.confirmation.rejected?.json ?? .null,
        ]
    }

    private func adopt(_ runtime: RuntimeConfiguration) async {
        self.upstreams.adopt(Set(runtime.routes.all.map(\.upstream)))
        self.gate.update(runtime.limits.connections)
        await self.loops.replace(with: runtime)
    }

    /// Puts other keys in force, without reading the configuration file, which may be in the middle of a change.
    private func lookAtKeys(by cause: String) async {
        let configuration = self.state.withLock(\.configuration)
        do throws(Failure) {
            guard try await self.builder.keysHaveChanged(for: configuration, by: cause) else { return }
            let runtime = try await self.builder.runtime(for: configuration)
            await self.adopt(runtime)
            self.state.withLock { $0.runtime = runtime }
        } catch {
            self.log.keysFailed(error)
        }
    }

    /// A listener takes the certificates, time-outs and balancers of its address; whether it is TLS is fixed when it opens.
    private func adopt(_ plans: [ListenerPlan]) {
        for listener in self.listeners.withLock({ $0 }) {
            let plan = plans.first { $0.address == listener.plan.address }
            guard let plan, plan.identities.isEmpty == listener.plan.identities.isEmpty else { continue }
            listener.adopt(plan)
        }
    }

    private func warnOfFixedSettings(_ new: Configuration) {
        let old = self.state.withLock { $0.configuration }
        let addresses: (Configuration) -> [String] = {
            $0.gateway.listeners.map {
                "\($0.address) \($0.certificates.isEmpty) \($0.redirectsToHTTPS) \($0.socketMode)"
            }
        }
        guard
            addresses(old) != addresses(new) || old.gateway.operations != new.gateway.operations
                || old.gateway.operationsSocket != new.gateway.operationsSocket
        else { return }
        self.logger.warning("changed listener addresses take effect after a restart only")
    }
}

// MARK: Draining

extension Gateway {
    /// Drains: not ready at once; no new connections after the delay; requests in flight may end, idle connections are
    /// closed little by little.
    ///
    /// - Returns: Whether every request came to its end.
    private func drain() async -> Bool {
        let settings = self.state.withLock { state in
            state.isDraining = true
            return state.configuration.gateway.drain
        }
        self.loops.announceStop()
        self.systemd.send(.stopping, status: "draining")
        let delay = self.options.drainDelay ?? settings.delay
        self.logger.info("draining", metadata: ["delay": "\(delay)", "timeout": "\(settings.timeout)"])
        let began = ContinuousClock.now
        // A delay on the command line may leave no time; requests in flight get some in any case.
        let end = began + max(settings.timeout, delay == .zero ? .zero : delay + .seconds(1))
        try? await Task.sleep(for: delay)
        async let finished: Void = self.finishListeners()
        await self.loops.drain()
        await finished
        if let service = self.options.service {
            await self.closeOperations()
            service.released()
        }
        return await self.emptied(until: end, pace: DrainPace(spread: settings.timeout / 2))
    }

    /// Leaves the operations listener and its Unix socket to the next gateway, which starts while this one drains.
    private func closeOperations() async {
        self.operationsSocket.withLock { $0.take() }?.removeFile()
        for listener in self.operations.withLock({ $0 }) {
            await listener.close()
        }
    }

    /// Accepts the connections that are queued and no more; on all listeners at the same time, since each takes a while.
    private func finishListeners() async {
        await withTaskGroup { group in
            for listener in self.listeners.withLock({ $0 }) {
                group.addTask { await listener.drain() }
            }
        }
    }

    private func emptied(until end: ContinuousClock.Instant, pace: DrainPace) async -> Bool {
        let began = ContinuousClock.now
        var idle = [Int](repeating: 0, count: self.loops.count)
        var hasEndedTunnels = false
        while ContinuousClock.now < end, !Task.isCancelled {
            let passed = began.duration(to: .now)
            if !hasEndedTunnels, ContinuousClock.now >= end - DrainPace.tunnelTime {
                hasEndedTunnels = true
                self.loops.endTunnels()
            }
            let quiet = passed >= pace.spread ? TimeAmount.zero : DrainPace.quiet
            let before = idle
            idle = await self.loops.closeIdle(for: quiet) { pace.quota(idle: before[$0], passed: passed) }
            if idle.allSatisfy({ $0 == 0 }), await self.loops.unfinished() == 0 { return true }
            try? await Task.sleep(for: DrainPace.step)
        }
        return await self.loops.unfinished() == 0
    }
}

// MARK: Overload

extension Gateway {
    /// Reads the resource usage four times a second and does what the overload level demands.
    private func watchOverload() async {
        var looks = 0
        var refusedBefore = 0
        var dropped = DroppedLineReport()
        while !Task.isCancelled {
            try? await Task.sleep(for: OverloadMonitor.interval)
            let limits = self.state.withLock { $0.runtime.limits }
            let (before, reading) = self.overload.look(at: self.loops.lagProbes, within: limits)
            if reading.level != before { self.enter(reading, from: before) }
            // Idle connections hold the descriptors that those in the kernel's queue wait for.
            if reading.level.pausesAccepting, OverloadLevel(at: reading.usage.descriptorShare).closesConnections {
                self.loops.closeIdle(for: .milliseconds(500))
            }
            looks += 1
            guard looks % 4 == 0 else { continue }
            if reading.level >= .shorterIdle { self.endIdle(reading, configured: limits.downstream.idle) }
            switch OverloadLevel(at: reading.usage.memoryShare) {
            case .normal: break
            case .shorterIdle, .noSignIns: self.loops.shrink(.expired)
            case .closing, .noAccept, .noRequests: self.loops.shrink(.all)
            }
            if let count = dropped.next(total: OperationsMetrics.droppedLineCount) { self.log.dropped(lines: count) }
            let refused = self.rejectedConnections.value
            if refused > refusedBefore, looks % 40 == 0 {
                self.logger.warning("connections refused", metadata: ["count": "\(refused - refusedBefore)"])
                refusedBefore = refused
            }
        }
    }

    /// Notes what the process uses before its first client: memory that is not counted as used, descriptors that are not to
    /// be given away.
    private func began() async {
        self.overload.begin()
        await self.builder.start(withDescriptors: self.overload.openDescriptors)
        let settings = self.state.withLock { $0.configuration.gateway }
        let limits = settings.limits.resolved(
            descriptors: self.descriptors,
            descriptorsAtStart: self.overload.openDescriptors
        )
        self.gate.update(limits.connections)
        self.warnOfMemory()
    }

    /// Notifies systemd as often as it wants that the event loops tick; it restarts a gateway that does not.
    private func feedWatchdog() async {
        guard let interval = self.systemd.watchdogInterval else { return }
        let report = StatusReport(gateway: self)
        while !Task.isCancelled {
            if report.stuckLoops().isEmpty { self.systemd.send(.alive) }
            try? await Task.sleep(for: interval)
        }
    }

    /// The state, as `systemctl status` shows it.
    private var statusLine: String {
        let state = self.state.withLock { $0 }
        let failure = state.lastReloadFailed ? "; the last reload failed, the old configuration stays in force" : ""
        return "serving, apps: \(state.configuration.apps.count)\(failure)"
    }

    /// Logs that the limit of memory leaves nothing for requests.
    private func warnOfMemory() {
        guard let limit = self.state.withLock({ $0.runtime.limits.memory }), limit < self.overload.minMemory else {
            return
        }
        self.logger.warning(
            "memory limit is too low",
            metadata: [
                "limit": "\(limit)", "at_start": "\(self.overload.memoryAtStart)",
                "used_instead": "\(self.overload.minMemory)",
                "detail": "the process itself needs nearly as much; raise gateway.limits.memory",
            ]
        )
    }

    private func enter(_ reading: OverloadMonitor.Reading, from before: OverloadLevel) {
        let level = reading.level
        self.logger.log(
            level: level > before ? .warning : .notice,
            "overload",
            metadata: [
                "stage": "\(level.name)", "before": "\(before.name)",
                "share": "\(Int(saturating: reading.share * 100))%",
                "memory": "\(reading.usage.memory)", "descriptors": "\(reading.usage.descriptors)",
                "lag_ms": "\(reading.usage.lag.nanoseconds / 1_000_000)", "requests": "\(reading.usage.requests)",
            ]
        )
        self.signIns.close(level.rejectsSignIns)
        // The loops first: a client that is accepted again must not meet the level before.
        self.loops.enter(level)
        for listener in self.listeners.withLock({ $0 }) {
            listener.setPaused(level.pausesAccepting)
        }
    }

    private func endIdle(_ reading: OverloadMonitor.Reading, configured: TimeAmount) {
        let time = OverloadMachine.idleTime(at: reading.share, configured: configured)
        guard time < configured else { return }
        self.loops.closeIdle(for: time)
    }
}

extension ConfigurationResult {
    /// The first error with its place in the file.
    fileprivate var firstError: String {
        let error = self.diagnostics.first { $0.severity == .error }
        return error?.rendered.split(separator: "\n").first.map(String.init) ?? "the configuration has errors"
    }
}
