// SPDX-License-Identifier: Apache-2.0

internal import GateProxy
internal import NIOCore

/// A link to the master that Redis Sentinel names; confined to an event loop.
///
/// One of the sentinels is asked before each connection, and reports each change of the master. Whether the server is a
/// master is checked before the first command and in intervals: after a fail-over, the master of before comes back as a
/// replica.
final class RedisSentinels: RedisTopology {
    /// The number of failed connection attempts after which another sentinel is asked.
    private static let patience = 4
    private static let channel = "+switch-master"

    private let dialer: RedisDialer
    private let sentinels: [UpstreamTarget]
    private let master: String
    private let loop: any EventLoop
    /// The link to one of the sentinels.
    private var watch: RedisLink?
    /// The link to the master.
    private var link: RedisLink?
    private var nextSentinel: Int
    private var failedAttempts = 0
    /// The master that the last connection attempt led to.
    private var current: UpstreamTarget?

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
        self.nextSentinel = .random(in: 0..<sentinels.count)
        let isMaster = RedisLinkPlan.Check(
            command: RedisCommand("ROLE"),
            isGood: { $0.values?.first?.bytes == Array("master".utf8) },
            rejection: "the server is not a master; waiting for the fail-over"
        )
        var (sentinelPlan, masterPlan) = plans
        (masterPlan.firstCheck, masterPlan.check) = (isMaster, isMaster)
        let bound = NIOLoopBound(WeakSentinels(self), eventLoop: loop)
        sentinelPlan.subscriptions = [Self.channel: { bound.value.sentinels?.switched($0) }]
        let closed: EventLoopFuture<any Channel> = loop.makeFailedFuture(RedisFailure.closed)
        self.watch = RedisLink(sentinelPlan, on: loop, events: .init(up: { [weak self] in self?.compare() })) {
            [weak self] in self?.dialSentinel() ?? closed
        }
        self.link = RedisLink(
            masterPlan,
            on: loop,
            events: .init(up: { [weak self] in self?.failedAttempts = 0 }, down: { [weak self] _ in self?.failed() })
        ) { [weak self] in
            self?.dialMaster() ?? closed
        }
    }

    /// Connects.
    func start() {
        self.watch?.start()
        self.link?.start()
    }

    /// Sends commands to the master.
    func send(_ commands: [RedisCommand], completion: @escaping (Result<[RESPValue], RedisFailure>) -> Void) {
        self.link?.send(commands, completion: completion)
    }

    /// Closes both connections.
    func close() {
        self.watch?.close()
        self.link?.close()
    }

    /// Connects to the sentinels in turn.
    private func dialSentinel() -> EventLoopFuture<any Channel> {
        self.nextSentinel = (self.nextSentinel + 1) % self.sentinels.count
        return self.dialer.connect(to: self.sentinels[self.nextSentinel])
    }

    private func dialMaster() -> EventLoopFuture<any Channel> {
        let promise = self.loop.makePromise(of: UpstreamTarget.self)
        self.ask { promise.completeWith($0.mapError { $0 }) }
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        return promise.futureResult.flatMap { target in
            bound.value.current = target
            return bound.value.dialer.connect(to: target)
        }
    }

    /// Asks a sentinel for the master.
    private func ask(_ completion: @escaping (Result<UpstreamTarget, RedisFailure>) -> Void) {
        let (dialer, master) = (self.dialer, self.master)
        self.watch?.send([RedisCommand("SENTINEL", "GET-MASTER-ADDR-BY-NAME", master)]) { result in
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

    /// The connection to a sentinel was interrupted, and a change may have been missed.
    private func compare() {
        guard let current = self.current else { return }
        self.ask { [weak self] result in
            guard case .success(let target) = result, target != current else { return }
            self?.link?.reconnect("a sentinel names another master")
        }
    }

    /// A stale sentinel may name a server that is gone or no master.
    private func failed() {
        self.failedAttempts += 1
        guard self.failedAttempts.isMultiple(of: Self.patience) else { return }
        self.watch?.reconnect("it may have missed a fail-over")
    }

    /// A message has the name of the master, its old and its new address.
    private func switched(_ message: [UInt8]) {
        guard message.split(separator: UInt8(ascii: " ")).first?.elementsEqual(self.master.utf8) == true else { return }
        self.link?.reconnect("the sentinels have named another master")
    }
}

/// A reference that does not keep the sentinels.
private struct WeakSentinels {
    weak var sentinels: RedisSentinels?

    init(_ sentinels: RedisSentinels) {
        self.sentinels = sentinels
    }
}
