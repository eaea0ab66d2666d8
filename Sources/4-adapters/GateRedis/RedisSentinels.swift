// SPDX-License-Identifier: Apache-2.0

internal import GateProxy
internal import NIOCore

/// A link to the master that Redis Sentinel names; confined to an event loop.
///
/// A sentinel is asked before each connection. Whether the server is a master is checked before the first command and in
/// intervals: after a fail-over, the master of before comes back as a replica.
///
/// What is written to a master after its replica was promoted is lost. So all sentinels are listened to, of which only one
/// reports the beginning of a fail-over: writes wait from then on until there is a master that accepts them, and reads go on.
/// A new master gets the writes of the last seconds once more, in case the report was missed.
final class RedisSentinels: RedisTopology {
    /// How long a write waits for the end of a fail-over.
    static let maxHold = TimeAmount.seconds(5)
    /// How long a fail-over may go on without news.
    private static let maxFailover = TimeAmount.seconds(15)
    /// The maximum number of calls that wait for the end of a fail-over.
    private static let maxHeld = 10_000
    /// How long to wait before a new master that lacks replicas is tried again.
    private static let probePause = TimeAmount.milliseconds(10)
    /// The same once the time is over for which writes wait.
    private static let slowProbePause = TimeAmount.milliseconds(500)
    /// How long writes wait after that for the other gateways, which give the new master what they have written: one of them
    /// may have replaced the session that is to be replaced next.
    private static let settleTime = TimeAmount.milliseconds(100)

    /// Writes that wait for the end of a fail-over.
    private final class Held {
        let commands: [RedisCommand]
        let completion: ([RedisReply]) -> Void

        init(_ commands: [RedisCommand], _ completion: @escaping ([RedisReply]) -> Void) {
            (self.commands, self.completion) = (commands, completion)
        }

        func fail(_ failure: RedisFailure) { self.completion(self.commands.map { _ in .failure(failure) }) }
    }

    private let dialer: RedisDialer
    private let sentinels: [UpstreamTarget]
    private let master: String
    private let loop: any EventLoop
    /// The links to the sentinels, in the order of these.
    private var watches: [RedisLink] = []
    private var link: RedisMasterLink?
    /// The sentinel that is asked next.
    private var next: Int
    /// The master that the last connection attempt led to.
    private var current: UpstreamTarget?
    /// The server that the connection for commands leads to; the master of before, if it was begun before that was known.
    private var server: UpstreamTarget?
    /// The master that has the writes of the last seconds.
    private var settled: UpstreamTarget?
    private var recent = RecentWrites()
    /// Whether writes wait: a fail-over goes on, or a new master lacks earlier writes.
    private var isHolding = false
    private var held: [Held] = []
    /// Ends the wait; nil if it is over.
    private var holdTimer: Scheduled<Void>?
    /// Whether a new master is given the writes of the last seconds.
    private var isSettling = false
    /// The number of times that this was begun; only the last one goes on.
    private var settlings = 0

    /// A link that is not connected.
    ///
    /// - Parameters:
    ///   - sentinels: The sentinels; at least one.
    ///   - master: The name of the master there.
    ///   - dialer: How to connect.
    ///   - loop: The event loop.
    ///   - plans: How a connection to a sentinel, and one to the master begins.
    init(
        _ sentinels: [UpstreamTarget],
        master: String,
        over dialer: RedisDialer,
        on loop: any EventLoop,
        plans: (sentinel: RedisLinkPlan, master: RedisLinkPlan)
    ) {
        self.sentinels = sentinels
        self.master = master
        self.dialer = dialer
        self.loop = loop
        self.next = .random(in: 0..<sentinels.count)
        var masterPlan = plans.master
        (masterPlan.firstCheck, masterPlan.check) = (.isMaster, .isMaster)
        let closed: EventLoopFuture<any Channel> = loop.makeFailedFuture(RedisFailure.closed)
        let events = RedisLink.Events(
            up: { [weak self] in self?.connected() },
            down: { [weak self] _ in self?.failed() }
        )
        self.link = RedisMasterLink(
            masterPlan,
            on: loop,
            events: events,
            dial: { [weak self] in self?.dialMaster() ?? closed },
            again: { [weak self] in self?.dialAgain() ?? closed }
        )
        self.watches = sentinels.indices.map { index in
            var plan = plans.sentinel
            let bound = NIOLoopBound(WeakSentinels(self), eventLoop: loop)
            for event in SentinelEvent.allCases {
                plan.subscriptions[event.rawValue] = { bound.value.sentinels?.heard(event, $0, from: index) }
            }
            let target = sentinels[index]
            return RedisLink(plan, on: loop, events: .init(up: { [weak self] in self?.compare(with: index) })) {
                [dialer] in dialer.connect(to: target)
            }
        }
    }

    /// Connects.
    func start() {
        for watch in self.watches { watch.start() }
        self.link?.start()
    }

    /// Sends commands to the master; writes wait while no master keeps them.
    func run(_ commands: [RedisCommand], completion: @escaping ([RedisReply]) -> Void) {
        guard commands.contains(where: \.isWrite) else { return self.send(commands, completion) }
        guard self.isHolding else { return self.write(commands, completion) }
        let batch = Held(commands, completion)
        guard self.held.count < Self.maxHeld else { return batch.fail(Self.failingOver) }
        self.held.append(batch)
        let bound = NIOLoopBound((self, batch), eventLoop: self.loop)
        self.loop.scheduleTask(in: Self.maxHold) {
            let (sentinels, batch) = bound.value
            guard let index = sentinels.held.firstIndex(where: { $0 === batch }) else { return }
            sentinels.held.remove(at: index).fail(Self.failingOver)
        }
    }

    /// The master.
    var parts: [any RedisTopology] { [self] }

    /// Closes all connections.
    func close() {
        for watch in self.watches { watch.close() }
        self.link?.close()
        self.holdTimer?.cancel()
        for batch in self.takeHeld() { batch.fail(.closed) }
    }

    private func send(_ commands: [RedisCommand], _ completion: @escaping ([RedisReply]) -> Void) {
        self.link?.run(commands) { results in completion(results.map { $0.flatMap(RedisFailure.checked) }) }
    }

    private func write(_ commands: [RedisCommand], _ completion: @escaping ([RedisReply]) -> Void) {
        self.send(commands) { [weak self] results in
            self?.recent.note(zip(commands, results).filter { $0.isWrite && $1.failure == nil }.map(\.0), at: .now())
            completion(results)
        }
    }

    private func takeHeld() -> [Held] {
        let left = self.held
        self.held = []
        return left
    }

    private static let failingOver = RedisFailure(.unreachable, "the fail-over takes longer than a write waits for it")
}

// MARK: Fail-overs

/// What sentinels publish about a fail-over.
private enum SentinelEvent: String, CaseIterable {
    case begins = "+try-failover"
    case promoted = "+promoted-slave"
    case switched = "+switch-master"
    case notElected = "-failover-abort-not-elected"
    case noGoodReplica = "-failover-abort-no-good-slave"
    case replicaTimeout = "-failover-abort-slave-timeout"

    /// The name of the master that a message is about.
    func master(in message: [UInt8]) -> ArraySlice<UInt8>? {
        let words = message.split(separator: UInt8(ascii: " "))
        switch self {
        // `slave NAME IP PORT @ MASTER IP PORT`
        case .promoted: return words.firstIndex(of: [UInt8(ascii: "@")]).map { words[($0 + 1)...] }?.first
        // `MASTER OLD-IP OLD-PORT NEW-IP NEW-PORT`
        case .switched: return words.first
        // `master MASTER IP PORT`
        case .begins, .notElected, .noGoodReplica, .replicaTimeout: return words.dropFirst().first
        }
    }
}

extension RedisSentinels {
    private func heard(_ event: SentinelEvent, _ message: [UInt8], from index: Int) {
        guard event.master(in: message)?.elementsEqual(self.master.utf8) == true else { return }
        switch event {
        case .begins: self.hold()
        case .promoted, .switched: self.follow(index)
        case .notElected, .noGoodReplica, .replicaTimeout: self.endHold()
        }
    }

    private func hold() {
        self.isHolding = true
        self.holdTimer?.cancel()
        let bound = NIOLoopBound(WeakSentinels(self), eventLoop: self.loop)
        self.holdTimer = self.loop.scheduleTask(in: Self.maxFailover) { bound.value.sentinels?.endHold() }
    }

    /// The fail-over does not take place, or takes too long: writes go on, but for the moments in which a new master is given
    /// earlier ones.
    private func endHold() {
        self.holdTimer?.cancel()
        self.holdTimer = nil
        if !self.isSettling { self.release() }
    }

    /// Sends what has waited.
    private func release() {
        self.isHolding = false
        self.holdTimer?.cancel()
        self.holdTimer = nil
        for batch in self.takeHeld() { self.write(batch.commands, batch.completion) }
    }

    /// The link is up; a new master gets the writes of the last seconds before any other.
    private func connected() {
        guard let server = self.server else { return }
        guard server != self.settled, self.settled != nil else {
            self.settled = server
            // The sentinel may have named it before the promotion.
            return self.isHolding ? self.compare(with: self.next) : ()
        }
        self.hold()
        self.settle(server)
    }

    /// Gives a new master what it may lack as soon as it accepts writes: with `min-replicas-to-write` that needs a replica.
    private func settle(_ target: UpstreamTarget) {
        self.settlings += 1
        self.isSettling = true
        self.probe(target, settling: self.settlings)
    }

    /// Tries whether the new master accepts writes.
    ///
    /// No other write is sent meanwhile. So none is on its way when the earlier ones are sent, which could undo it.
    private func probe(_ target: UpstreamTarget, settling: Int) {
        guard settling == self.settlings else { return }
        guard self.server == target else { return self.stopSettling() }
        self.isHolding = true
        self.send([.probeWrite]) { [weak self] results in
            guard let self, settling == self.settlings else { return }
            switch results.first?.failure?.kind {
            case nil, .rejected: self.resend(to: target, settling: settling)
            case .unusable: self.probeLater(target, settling: settling)
            case .unreachable, .lost, .readOnly, .closed: self.stopSettling()
            }
        }
    }

    private func probeLater(_ target: UpstreamTarget, settling: Int) {
        // Writes are rejected by the master itself.
        if self.holdTimer == nil { self.release() }
        let bound = NIOLoopBound(WeakSentinels(self), eventLoop: self.loop)
        // Fast only while writes wait for it.
        let pause = self.holdTimer == nil ? Self.slowProbePause : Self.probePause
        self.loop.scheduleTask(in: pause) { bound.value.sentinels?.probe(target, settling: settling) }
    }

    /// Sends the writes of the last seconds once more.
    private func resend(to target: UpstreamTarget, settling: Int) {
        let writes = self.recent.commands
        guard !writes.isEmpty else { return self.hasSettled(target, settling: settling) }
        self.send(writes) { [weak self] results in
            guard let self, settling == self.settlings else { return }
            let kinds = results.compactMap { $0.failure?.kind }
            guard kinds.allSatisfy({ $0 == .unusable || $0 == .rejected }) else { return self.stopSettling() }
            guard !kinds.contains(.unusable) else { return self.probeLater(target, settling: settling) }
            self.hasSettled(target, settling: settling)
        }
    }

    private func hasSettled(_ target: UpstreamTarget, settling: Int) {
        self.settled = target
        let bound = NIOLoopBound(WeakSentinels(self), eventLoop: self.loop)
        self.loop.scheduleTask(in: Self.settleTime) {
            guard let sentinels = bound.value.sentinels, settling == sentinels.settlings else { return }
            sentinels.isSettling = false
            sentinels.release()
        }
    }

    /// The connection is lost; the next one leads to ``connected()`` again, at the same master or another one.
    private func stopSettling() {
        self.isSettling = false
        if self.holdTimer == nil { self.release() }
    }
}

// MARK: Connecting

extension RedisSentinels {
    private func dialMaster() -> EventLoopFuture<any Channel> {
        let promise = self.loop.makePromise(of: UpstreamTarget.self)
        self.ask(self.sentinels.count) { promise.completeWith($0.mapError { $0 }) }
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        return promise.futureResult.flatMap { target in
            bound.value.current = target
            return bound.value.dialer.connect(to: target)
        }
    }

    /// Connects to the server that ``dialMaster()`` has led to.
    private func dialAgain() -> EventLoopFuture<any Channel>? {
        guard let current else { return nil }
        self.server = current
        return self.dialer.connect(to: current)
    }

    /// Asks sentinels for the master, one after the other, until one responds.
    private func ask(_ count: Int, _ completion: @escaping (Result<UpstreamTarget, RedisFailure>) -> Void) {
        let index = self.next
        self.ask(sentinel: index) { [weak self] result in
            guard case .failure = result, count > 1, let self else { return completion(result) }
            self.next = (index + 1) % self.sentinels.count
            self.ask(count - 1, completion)
        }
    }

    private func ask(sentinel index: Int, _ completion: @escaping (Result<UpstreamTarget, RedisFailure>) -> Void) {
        let (dialer, master) = (self.dialer, self.master)
        self.watches[index].send([RedisCommand("SENTINEL", "GET-MASTER-ADDR-BY-NAME", master)]) { result in
            switch result {
            case .failure(let failure): completion(.failure(failure.at("a sentinel")))
            case .success(let replies):
                if case .error(let text)? = replies.first {
                    return completion(.failure(RedisFailure(reply: text).at("a sentinel")))
                }
                guard let values = replies.first?.values, values.count == 2, let host = values[0].bytes,
                    let port = values[1].number, let target = dialer.target(host: host, port: port)
                else {
                    return completion(.failure(RedisFailure(.unreachable, "a sentinel knows no master '\(master)'")))
                }
                completion(.success(target))
            }
        }
    }

    /// The connection to a sentinel was interrupted, so a change may have been missed.
    private func compare(with index: Int) {
        guard self.current != nil else { return }
        self.ask(sentinel: index) { [weak self] result in
            guard case .success(let target) = result else { return }
            self?.move(to: target, namedBy: index)
        }
    }

    /// A sentinel has another master.
    private func follow(_ index: Int) {
        self.ask(sentinel: index) { [weak self] result in
            guard let self, case .success(let target) = result else { return }
            guard target == self.current else { return self.move(to: target, namedBy: index) }
            // A connection that is not there yet leads there by itself.
            guard self.isHolding, !self.isSettling, target == self.server else { return }
            self.settle(target)
        }
    }

    private func move(to target: UpstreamTarget, namedBy index: Int) {
        guard target != self.current else { return }
        self.next = index
        self.link?.reconnect("a sentinel names another master")
    }

    /// A stale sentinel may name a server that is gone or no master, so another one is asked next.
    private func failed() { self.next = (self.next + 1) % self.sentinels.count }
}

/// The writes of the last seconds, which a master may have accepted after its replica was promoted.
private struct RecentWrites {
    /// How long a write is kept before the last one.
    private static let time = TimeAmount.seconds(10)
    /// The maximum size of all.
    private static let maxBytes = 16 << 20

    private var writes = CircularBuffer<(command: RedisCommand, at: NIODeadline)>()
    private var bytes = 0

    var commands: [RedisCommand] { self.writes.map(\.command) }

    mutating func note(_ commands: [RedisCommand], at now: NIODeadline) {
        for command in commands where command != .probeWrite {
            self.writes.append((command, now))
            self.bytes += command.size
        }
        while let first = self.writes.first, first.at + Self.time < now || self.bytes > Self.maxBytes {
            self.writes.removeFirst()
            self.bytes -= first.command.size
        }
    }
}

/// A reference that does not keep the sentinels.
private struct WeakSentinels {
    weak var sentinels: RedisSentinels?

    init(_ sentinels: RedisSentinels) {
        self.sentinels = sentinels
    }
}
