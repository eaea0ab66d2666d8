// SPDX-License-Identifier: Apache-2.0

internal import GateWire
internal import NIOCore

/// Asks one target for its health, again and again; confined to its event loop.
///
/// Each question goes over a connection of its own, made as those of requests are, so that it fails where they would.
final class HealthChecker {
    private let target: UpstreamTarget
    private let question: HealthCheckSettings
    private let setting: UpstreamEnvironment
    private let health: TargetHealth
    private let pool: any UpstreamPool
    private let head: ByteBuffer
    private var state: HealthState
    private var timer: Scheduled<Void>?
    private var probe: Probe?
    private var isStopped = false

    init(
        _ target: UpstreamTarget,
        of upstream: LoadedUpstream,
        question: HealthCheckSettings,
        setting: UpstreamEnvironment,
        health: TargetHealth
    ) {
        self.target = target
        self.question = question
        self.setting = setting
        self.health = health
        var upstream = upstream
        upstream.settings.limits.connect = min(upstream.settings.limits.connect, question.timeout)
        upstream.settings.limits.connections = 1
        self.pool = Upstream.pool(for: target, of: upstream, setting: setting, outcomes: nil)
        self.state = HealthState(question)
        self.head = ByteBuffer(
            string: "GET \(question.path) HTTP/1.1\r\nHost: \(question.host ?? target.authority)\r\n"
                + "User-Agent: gatehouse-health\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        )
    }

    /// Begins soon; not all at the same moment.
    func start() {
        let span = min(self.question.interval.nanoseconds / 10, 1_000_000_000)
        self.ask(in: .nanoseconds(Int64.random(in: 0...max(1, span))))
    }

    /// Asks no more.
    func stop() {
        self.isStopped = true
        self.timer?.cancel()
        self.probe?.giveUp()
        self.probe = nil
        self.pool.shutDown()
    }

    private func ask(in delay: TimeAmount) {
        guard !self.isStopped else { return }
        let bound = NIOLoopBound(self, eventLoop: self.setting.loop)
        self.timer = self.setting.loop.scheduleTask(in: delay) { bound.value.ask() }
    }

    private func ask() {
        guard !self.isStopped else { return }
        let probe = Probe(self.head, question: self.question, pool: self.pool) { [weak self] isGood, why in
            self?.answered(isGood, why)
        }
        self.probe = probe
        let bound = NIOLoopBound(probe, eventLoop: self.setting.loop)
        self.timer = self.setting.loop.scheduleTask(in: self.question.timeout) {
            bound.value.end(false, "no answer in time")
        }
        self.pool.lease(to: probe, fresh: true)
    }

    private func answered(_ isGood: Bool, _ why: String) {
        self.timer?.cancel()
        self.probe = nil
        guard !self.isStopped else { return }
        if self.state.note(isGood: isGood) {
            self.health.set(isGood)
            self.setting.report(.health(self.target, isUp: isGood, why))
        }
        self.ask(in: self.question.interval)
    }
}

/// One question; only the head of the answer is read.
private final class Probe: UpstreamSink {
    private let head: ByteBuffer
    private let question: HealthCheckSettings
    private let pool: any UpstreamPool
    private var done: ((Bool, String) -> Void)?
    private var link: (any UpstreamStream)?

    init(
        _ head: ByteBuffer,
        question: HealthCheckSettings,
        pool: any UpstreamPool,
        done: @escaping (Bool, String) -> Void
    ) {
        self.head = head
        self.question = question
        self.pool = pool
        self.done = done
    }

    func end(_ isGood: Bool, _ why: String) {
        guard let done else { return }
        self.giveUp()
        done(isGood, why)
    }

    func giveUp() {
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
        self.end(self.question.accepts(head.status), "status \(head.status)")
    }

    func upstreamFailed(_ problem: UpstreamFailure) {
        self.link = nil
        self.end(false, "\(problem)")
    }

    func upstreamReceivedBody(_ body: ByteBuffer) {}
    func upstreamFinished() {}
    func upstreamReadComplete() {}
    func upstreamWritabilityChanged(isWritable: Bool) {}
}
