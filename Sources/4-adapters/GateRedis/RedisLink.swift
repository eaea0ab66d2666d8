// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import NIOCore

/// What is called with each message of a publish/subscribe channel, on the thread of the connection.
typealias RedisSubscriptions = [String: @Sendable ([UInt8]) -> Void]

/// What runs commands: one server, or several; confined to an event loop.
protocol RedisTopology: AnyObject {
    /// Connects, and tests the connections regularly from now on.
    func start()
    /// Runs commands; calls back with one result for each.
    func run(_ commands: [RedisCommand], completion: @escaping ([RedisReply]) -> Void)
    /// The masters, of which each has a part of the keys.
    var parts: [any RedisTopology] { get }
    /// Closes the connections; all later commands fail.
    func close()
}

/// How a connection begins, and how it is tested.
struct RedisLinkPlan {
    /// Commands whose replies show whether the server is the right one.
    struct Check: Sendable {
        let commands: [RedisCommand]
        /// What is wrong with the server; nil if nothing is.
        let failure: @Sendable ([RESPValue]) -> RedisFailure?
    }

    /// What to send first, the protocol, the user and the database; an error ends the attempt.
    var greeting: [RedisCommand]
    /// A check before the first other command; nil for none.
    var firstCheck: Check?
    /// The regular check of a connection.
    var check = Check(commands: [RedisCommand("PING")]) { _ in nil }
    /// The channels to listen to.
    var subscriptions: RedisSubscriptions = [:]
    /// How long commands may take.
    let commandTime: TimeAmount
    /// How long the replies to the greeting may take.
    let connectTime: TimeAmount
}

/// Keeps one connection to a Redis server open and sends commands over it; confined to its event loop.
///
/// A lost connection is replaced at once, then with growing pauses. Without a connection, commands wait as long as a
/// connection attempt lasts and fail at once in between, so that no caller waits for a server that is gone.
final class RedisLink: RedisTopology {
    /// How often a connection is tested, so how long a master that has become a replica is read at most.
    static let testInterval = TimeAmount.seconds(1)
    /// The maximum number of batches that wait for a connection.
    static let maxWaiting = 10_000
    /// The maximum pause between two connection attempts.
    static let maxPause = TimeAmount.seconds(2)

    /// What a link reports; each is called on the event loop.
    struct Events {
        /// The link is ready for commands.
        var up: () -> Void = {}
        /// A connection that was ready is closed.
        var lost: () -> Void = {}
        /// A connection attempt has failed.
        var down: (RedisFailure) -> Void = { _ in }
    }

    private enum State {
        /// There is no connection, for this reason; the next attempt is scheduled.
        case down(RedisFailure)
        case connecting
        /// Connected; the replies to the greeting are not there yet.
        case greeting(RedisConnection)
        case up(RedisConnection)
        case closed
    }

    private let dial: () -> EventLoopFuture<any Channel>
    private let plan: RedisLinkPlan
    private let events: Events
    private let loop: any EventLoop
    private var state = State.down(RedisFailure(.unreachable, "not connected yet"))
    private var waiting: [RedisBatch] = []
    private var failedAttempts = 0
    /// When a lost connection was last replaced without a pause.
    private var replacedAt = NIODeadline.distantPast
    private var attempt: Scheduled<Void>?
    private var test: RepeatedTask?

    /// A link without a connection.
    ///
    /// - Parameters:
    ///   - plan: How a connection begins.
    ///   - loop: The event loop of the connections.
    ///   - events: What the link reports.
    ///   - dial: Connects to the server.
    init(
        _ plan: RedisLinkPlan,
        on loop: any EventLoop,
        events: Events = Events(),
        dial: @escaping () -> EventLoopFuture<any Channel>
    ) {
        self.plan = plan
        self.loop = loop
        self.events = events
        self.dial = dial
    }

    /// Connects, and tests the connection regularly from now on.
    func start() {
        self.connect()
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        self.test = self.loop.scheduleRepeatedTask(initialDelay: RedisLink.testInterval, delay: RedisLink.testInterval)
        {
            _ in bound.value.testConnection()
        }
    }

    func send(_ commands: [RedisCommand], completion: @escaping (Result<[RESPValue], RedisFailure>) -> Void) {
        let deadline = NIODeadline.now() + self.plan.commandTime
        let batch = RedisBatch(commands: commands, deadline: deadline, completion: completion)
        switch self.state {
        case .up(let connection): connection.send(batch)
        case .connecting, .greeting:
            guard self.waiting.count < RedisLink.maxWaiting else {
                return completion(.failure(RedisFailure(.unreachable, "too many commands wait for a connection")))
            }
            self.waiting.append(batch)
        case .down(let failure): completion(.failure(failure))
        case .closed: completion(.failure(.closed))
        }
    }

    func run(_ commands: [RedisCommand], completion: @escaping ([RedisReply]) -> Void) {
        self.send(commands) { result in
            switch result {
            case .success(let replies): completion(replies.map(RedisReply.success))
            case .failure(let failure): completion(commands.map { _ in .failure(failure) })
            }
        }
    }

    var parts: [any RedisTopology] { [self] }

    /// Replaces the connection at once; an attempt in progress goes on.
    func reconnect(_ reason: String) {
        switch self.state {
        case .up(let connection), .greeting(let connection):
            self.replacedAt = .distantPast
            connection.close(RedisFailure(.lost, reason))
        case .down:
            self.failedAttempts = 0
            self.connect()
        case .connecting: self.failedAttempts = 0
        case .closed: break
        }
    }

    /// Closes the connection; all later commands fail.
    func close() { self.close(.closed) }

    /// Closes the connection and fails what waits for one.
    func close(_ failure: RedisFailure) {
        let before = self.state
        self.state = .closed
        self.test?.cancel()
        self.attempt?.cancel()
        switch before {
        case .up(let connection), .greeting(let connection): connection.close(failure)
        case .down, .connecting, .closed: break
        }
        self.failWaiting(failure)
    }

    private func testConnection() {
        guard case .up(let connection) = self.state else { return }
        let check = self.plan.check
        self.send(check.commands) { result in
            guard case .success(let replies) = result, let failure = check.failure(replies) else { return }
            connection.close(failure)
        }
    }

    private func failWaiting(_ failure: RedisFailure) {
        let left = self.waiting
        self.waiting = []
        for batch in left { batch.completion(.failure(failure)) }
    }
}

// MARK: Connecting

extension RedisLink {
    private func connect() {
        self.attempt?.cancel()
        self.attempt = nil
        self.state = .connecting
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        self.dial().whenComplete { bound.value.connected($0) }
    }

    private func connected(_ result: Result<any Channel, any Error>) {
        guard case .connecting = self.state else {
            if case .success(let channel) = result { channel.close(promise: nil) }
            return
        }
        do {
            let channel = try result.get()
            let pushed: ([RESPValue]) -> Void = { [weak self] in self?.pushed($0) }
            let connection = RedisConnection(
                channel,
                events: .init(pushed: pushed, closed: { [weak self] in self?.lost($0) })
            )
            try channel.pipeline.syncOperations.addHandler(connection)
            guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
            self.greet(connection)
        } catch {
            self.down((error as? RedisFailure) ?? RedisFailure(.unreachable, "\(error)"))
        }
    }

    private func greet(_ connection: RedisConnection) {
        let (greeting, check) = (self.plan.greeting, self.plan.firstCheck)
        let checks = check?.commands ?? []
        let subscriptions = self.plan.subscriptions.keys.sorted().map { RedisCommand("SUBSCRIBE", $0) }
        let commands = greeting + subscriptions + checks
        self.state = .greeting(connection)
        let deadline = NIODeadline.now() + self.plan.connectTime
        let batch = RedisBatch(commands: commands, deadline: deadline) { [weak self] result in
            guard let self, case .greeting = self.state else {
                return connection.close(RedisFailure(.lost, "not needed"))
            }
            // If it failed, `lost` reports it.
            guard case .success(let replies) = result else { return }
            let ours = replies.prefix(replies.count - checks.count)
            for case (let command, .error(let text)) in zip(commands, ours) {
                return connection.close(RedisFailure(.lost, RedisLink.reason(text, of: command)))
            }
            if let failure = check?.failure(Array(replies.suffix(checks.count))) { return connection.close(failure) }
            self.up(connection)
        }
        connection.send(batch)
    }

    /// The name of the command and the code of an error: some servers repeat the whole command, which has the password.
    private static func reason(_ text: String, of command: RedisCommand) -> String {
        let kind = String(text.prefix { $0 != " " })
        guard ["WRONGPASS", "NOAUTH", "NOPERM", "NOPROTO", "LOADING"].contains(kind) else {
            return "the server does not accept \(command.name); Redis 7 is needed, and an existing database"
        }
        return "the server rejects the user or what it may do: \(kind) for \(command.name)"
    }

    private func up(_ connection: RedisConnection) {
        self.failedAttempts = 0
        self.state = .up(connection)
        let left = self.waiting
        self.waiting = []
        // What it sends comes before what has waited.
        self.events.up()
        for var batch in left {
            batch.deadline = .now() + self.plan.commandTime
            connection.send(batch)
        }
    }

    /// A lost connection is replaced at once, but not more than once a second.
    private func lost(_ failure: RedisFailure) {
        let failure = failure.kind == .readOnly ? failure : RedisFailure(.unreachable, failure.reason)
        switch self.state {
        case .up:
            if NIODeadline.now() - self.replacedAt > .seconds(1) {
                self.replacedAt = .now()
                self.connect()
            } else {
                self.down(failure)
            }
            self.events.lost()
        case .greeting: self.down(failure)
        case .connecting, .down, .closed: break
        }
    }

    private func down(_ failure: RedisFailure) {
        self.state = .down(failure)
        let pause = min(.milliseconds(50) * (1 << min(self.failedAttempts, 6)), RedisLink.maxPause)
        self.failedAttempts += 1
        // At random, so that the gateways do not come back to a restarted server at the same time.
        let delay = TimeAmount.nanoseconds(.random(in: (pause.nanoseconds / 2)...pause.nanoseconds))
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        self.attempt?.cancel()
        self.attempt = self.loop.scheduleTask(in: delay) {
            guard case .down = bound.value.state else { return }
            bound.value.connect()
        }
        self.failWaiting(failure)
        self.events.down(failure)
    }

    private func pushed(_ values: [RESPValue]) {
        guard values.count == 3, values[0].bytes == Array("message".utf8) else { return }
        guard let channel = values[1].bytes, let message = values[2].bytes else { return }
        self.plan.subscriptions[String(decoding: channel, as: UTF8.self)]?(message)
    }
}
