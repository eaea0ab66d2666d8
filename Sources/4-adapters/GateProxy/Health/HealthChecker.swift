// SPDX-License-Identifier: Apache-2.0

internal import GateWire
internal import NIOCore

/// Checks the health of one target periodically; confined to its event loop.
///
/// Each check opens its own connection in the same way as requests do, so that it fails where they would.
final class HealthChecker {
    private let target: UpstreamTarget
    private let settings: HealthCheckSettings
    private let environment: UpstreamEnvironment
    private let health: TargetHealth
    private let pool: any UpstreamPool
    private let head: ByteBuffer
    private var state: HealthState
    private var timer: Scheduled<Void>?
    private var probe: Probe?
    private var isStopped = false

    /// A checker that has not started.
    ///
    /// - Parameters:
    ///   - target: The target.
    ///   - settings: How to check it.
    ///   - pool: Opens the connections; shut down with the checker.
    ///   - environment: Services of its loop.
    ///   - health: Where the result is kept.
    init(
        _ target: UpstreamTarget,
        settings: HealthCheckSettings,
        pool: any UpstreamPool,
        environment: UpstreamEnvironment,
        health: TargetHealth
    ) {
        self.target = target
        self.settings = settings
        self.environment = environment
        self.health = health
        self.pool = pool
        self.state = HealthState(settings)
        self.head = ByteBuffer(
            string: "GET \(settings.path) HTTP/1.1\r\nHost: \(settings.host ?? target.authority)\r\n"
                + "User-Agent: gatehouse-health\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        )
    }

    /// Starts after a random delay, so that not all checks coincide.
    func start() {
        let span = min(self.settings.interval.nanoseconds / 10, 1_000_000_000)
        self.check(in: .nanoseconds(Int64.random(in: 0...max(1, span))))
    }

    /// Stops checking.
    func stop() {
        self.isStopped = true
        self.timer?.cancel()
        self.probe?.cancel()
        self.probe = nil
        self.pool.shutDown()
    }

    private func check(in delay: TimeAmount) {
        guard !self.isStopped else { return }
        let bound = NIOLoopBound(self, eventLoop: self.environment.loop)
        self.timer = self.environment.loop.scheduleTask(in: delay) { bound.value.check() }
    }

    private func check() {
        guard !self.isStopped else { return }
        let probe = Probe(self.head, settings: self.settings, pool: self.pool) { [weak self] isHealthy, why in
            self?.completed(isHealthy, why)
        }
        self.probe = probe
        let bound = NIOLoopBound(probe, eventLoop: self.environment.loop)
        self.timer = self.environment.loop.scheduleTask(in: self.settings.timeout) {
            bound.value.end(false, "no response in time")
        }
        self.pool.lease(to: probe, fresh: true)
    }

    private func completed(_ isHealthy: Bool, _ why: String) {
        self.timer?.cancel()
        self.probe = nil
        guard !self.isStopped else { return }
        if self.state.note(isHealthy: isHealthy) {
            self.health.set(isHealthy)
            self.environment.report(.health(self.target, isUp: isHealthy, why))
        }
        self.check(in: self.settings.interval)
    }
}

/// One check; only the head of the response is read.
private final class Probe: UpstreamSink {
    private let head: ByteBuffer
    private let settings: HealthCheckSettings
    private let pool: any UpstreamPool
    private var done: ((Bool, String) -> Void)?
    private var link: (any UpstreamStream)?

    init(
        _ head: ByteBuffer,
        settings: HealthCheckSettings,
        pool: any UpstreamPool,
        done: @escaping (Bool, String) -> Void
    ) {
        self.head = head
        self.settings = settings
        self.pool = pool
        self.done = done
    }

    func end(_ isHealthy: Bool, _ why: String) {
        guard let done else { return }
        self.cancel()
        done(isHealthy, why)
    }

    func cancel() {
        self.done = nil
        self.pool.cancel(self)
        self.link?.cancel()
        self.link = nil
    }

    func upstreamReady(_ link: any UpstreamStream) {
        guard self.done != nil else { return link.cancel() }
        self.link = link
        link.send(self.head, for: UpstreamRequest(.get))
        link.finishRequest()
        link.flush()
    }

    func upstreamReceivedHead(_ head: ResponseHead) {
        self.end(self.settings.accepts(head.status), "status \(head.status)")
    }

    func upstreamFailed(_ failure: UpstreamFailure) {
        self.link = nil
        self.end(false, "\(failure)")
    }

    func upstreamReceivedBody(_ body: ByteBuffer) {}
    func upstreamFinished() {}
    func upstreamReadComplete() {}
    func upstreamWritabilityChanged(isWritable: Bool) {}
}
