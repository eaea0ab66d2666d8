// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import GateProxy
internal import NIOCore

/// Keeps one connection to a Redis server open and sends commands over it; confined to its event loop.
///
/// A lost connection is replaced at once, then with growing pauses. While there is none, commands wait as long as a
/// connection attempt lasts and fail at once in between, so that no caller waits for a server that is gone.
final class RedisLink {
    /// How often an idle connection is tested.
    static let testInterval = TimeAmount.seconds(5)
    /// The maximum number of batches that wait for a connection.
    static let maxWaiting = 10_000
    /// The maximum pause between two connection attempts.
    static let maxPause = TimeAmount.seconds(2)

    private enum State {
        /// There is no connection, for this reason; the next attempt is scheduled.
        case down(RedisFailure)
        case connecting
        case up(RedisConnection)
        case closed
    }

    private let connector: UpstreamConnector
    private let commandTime: TimeAmount
    private let connectTime: TimeAmount
    private let greeting: [RedisCommand]
    private let channel: String
    private let published: ([UInt8]) -> Void
    private let loop: any EventLoop
    private var state = State.down(RedisFailure(reason: "not connected yet"))
    private var waiting: [RedisBatch] = []
    private var failedAttempts = 0
    private var upSince = NIODeadline.uptimeNanoseconds(0)
    private var test: RepeatedTask?

    /// A link without a connection.
    ///
    /// - Parameters:
    ///   - connector: How to connect.
    ///   - settings: The server and the time-outs.
    ///   - loop: The event loop of the connector.
    ///   - greeting: What to send first: the protocol, the user, the database. An error ends the attempt.
    ///   - channel: The publish/subscribe channel to listen to.
    ///   - published: Called with each message of the channel.
    init(
        _ connector: UpstreamConnector,
        of settings: RedisSettings,
        on loop: any EventLoop,
        greeting: [RedisCommand],
        channel: String,
        published: @escaping ([UInt8]) -> Void
    ) {
        self.connector = connector
        self.commandTime = TimeAmount(settings.commandTime)
        self.connectTime = TimeAmount(settings.connectTime)
        self.greeting = greeting
        self.channel = channel
        self.published = published
        self.loop = loop
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

    /// Sends commands.
    func send(_ commands: [RedisCommand], completion: @escaping (Result<[RESPValue], RedisFailure>) -> Void) {
        let batch = RedisBatch(commands: commands, deadline: .now() + self.commandTime, completion: completion)
        switch self.state {
        case .up(let connection): connection.send(batch)
        case .connecting:
            guard self.waiting.count < RedisLink.maxWaiting else {
                return completion(.failure(RedisFailure(reason: "too many commands wait for a connection")))
            }
            self.waiting.append(batch)
        case .down(let failure): completion(.failure(failure))
        case .closed: completion(.failure(RedisFailure(reason: "the store is closed", isConnection: false)))
        }
    }

    /// Closes the connection; all later commands fail.
    func close() {
        let before = self.state
        self.state = .closed
        self.test?.cancel()
        if case .up(let connection) = before { connection.close("the store is closed") }
        self.failWaiting(RedisFailure(reason: "the store is closed", isConnection: false))
    }

    private func testConnection() {
        guard case .up(let connection) = self.state, connection.isIdle else { return }
        self.send([RedisCommand("PING")]) { _ in }
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
        self.state = .connecting
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        self.connector.connect().whenComplete { bound.value.connected($0) }
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
            self.down(RedisFailure(reason: "\(error)"))
        }
    }

    private func greet(_ connection: RedisConnection) {
        let deadline = NIODeadline.now() + self.connectTime
        let commands = self.greeting + [RedisCommand("SUBSCRIBE", self.channel)]
        let batch = RedisBatch(commands: commands, deadline: deadline) { [weak self] result in
            guard let self, case .connecting = self.state else { return connection.close("not needed any more") }
            // If it failed, `lost` reports it.
            guard case .success(let replies) = result else { return }
            for case .error(let text) in replies { return connection.close(RedisLink.reason(text)) }
            self.up(connection)
        }
        connection.send(batch)
    }

    /// The code of an error only: some servers repeat the command, which has the password.
    private static func reason(_ text: String) -> String {
        let kind = String(text.prefix { $0 != " " })
        guard ["WRONGPASS", "NOAUTH", "NOPERM", "NOPROTO", "LOADING"].contains(kind) else {
            return "the server does not accept HELLO, SELECT or SUBSCRIBE; Redis 7 is needed, and an existing database"
        }
        return "the server rejects the user or what it may do: \(kind)"
    }

    private func up(_ connection: RedisConnection) {
        self.upSince = .now()
        self.state = .up(connection)
        let left = self.waiting
        self.waiting = []
        for var batch in left {
            batch.deadline = .now() + self.commandTime
            connection.send(batch)
        }
    }

    /// A connection that worked for a while is replaced at once.
    private func lost(_ failure: RedisFailure) {
        switch self.state {
        case .up where NIODeadline.now() - self.upSince > .seconds(1):
            self.failedAttempts = 0
            self.connect()
        case .up: self.down(failure)
        case .connecting: self.down(failure)
        case .down, .closed: break
        }
    }

    private func down(_ failure: RedisFailure) {
        self.state = .down(failure)
        self.failWaiting(failure)
        let pause = min(.milliseconds(50) * (1 << min(self.failedAttempts, 6)), RedisLink.maxPause)
        self.failedAttempts += 1
        // At random, so that the gateways do not come back to a restarted server at the same time.
        let delay = TimeAmount.nanoseconds(.random(in: (pause.nanoseconds / 2)...pause.nanoseconds))
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        self.loop.scheduleTask(in: delay) {
            guard case .down = bound.value.state else { return }
            bound.value.connect()
        }
    }

    private func pushed(_ values: [RESPValue]) {
        guard values.count == 3, values[0].bytes == Array("message".utf8), let message = values[2].bytes else { return }
        self.published(message)
    }
}
