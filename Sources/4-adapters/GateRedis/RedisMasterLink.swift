// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Two connections to one server: one for messages, one for commands; confined to an event loop.
///
/// Redis closes the connection of a client that receives messages when more than some megabytes wait for it, replies
/// included (`client-output-buffer-limit pubsub`), so one large value would end it for all. Commands run only while messages
/// arrive: otherwise a cached session could outlive its revocation.
final class RedisMasterLink: RedisTopology {
    /// Connects to the server.
    typealias Dial = () -> EventLoopFuture<any Channel>

    private let loop: any EventLoop
    private var listener: RedisLink?
    private var commands: RedisLink?

    /// Links without connections.
    ///
    /// - Parameters:
    ///   - plan: How a connection begins, with the channels to listen to.
    ///   - loop: The event loop of the connections.
    ///   - events: What is reported: when commands run, and when no connection for messages can be opened.
    ///   - dial: Connects to the server.
    ///   - again: Connects to the server that `dial` has led to.
    init(
        _ plan: RedisLinkPlan,
        on loop: any EventLoop,
        events: RedisLink.Events = RedisLink.Events(),
        dial: @escaping Dial,
        again: @escaping Dial
    ) {
        self.loop = loop
        var commands = plan
        commands.subscriptions = [:]
        let interrupted: () -> Void = { [weak self] in self?.commands?.reconnect("messages are interrupted") }
        self.listener = RedisLink(
            plan,
            on: loop,
            events: .init(
                up: { [weak self] in self?.commands?.reconnect("messages arrive again") },
                lost: interrupted,
                down: events.down
            ),
            dial: dial
        )
        let second = NIOLoopBound(again, eventLoop: loop)
        self.commands = RedisLink(commands, on: loop, events: .init(up: events.up)) { [weak self] in
            self?.listening().flatMap { second.value() } ?? loop.makeFailedFuture(RedisFailure.closed)
        }
    }

    /// Connects.
    func start() {
        self.listener?.start()
        self.commands?.start()
    }

    func run(_ commands: [RedisCommand], completion: @escaping ([RedisReply]) -> Void) {
        self.commands?.run(commands, completion: completion)
    }

    var parts: [any RedisTopology] { [self] }

    /// Replaces the connections at once.
    func reconnect(_ reason: String) { self.listener?.reconnect(reason) }

    /// Closes the connections; all later commands fail.
    func close() {
        self.listener?.close()
        self.commands?.close()
    }

    /// Waits until messages arrive.
    private func listening() -> EventLoopFuture<Void> {
        let promise = self.loop.makePromise(of: Void.self)
        self.listener?.send([RedisCommand("PING")]) { result in
            promise.completeWith(result.map { _ in () }.mapError { $0 })
        }
        return promise.futureResult
    }
}
