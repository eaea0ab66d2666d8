// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import NIOCore

/// Commands that are sent together, and what to call with their replies.
struct RedisBatch {
    /// The commands; at least one.
    let commands: [RedisCommand]
    /// When the replies have to be there.
    var deadline: NIODeadline
    /// Called once, with one reply for each command.
    let completion: (Result<[RESPValue], RedisFailure>) -> Void
}

/// One connection to a Redis server; confined to its event loop.
///
/// Replies are matched to commands by their order. So the connection is closed as soon as a reply is late, unreadable or
/// not expected: no reply can reach the caller of another command.
final class RedisConnection: ByteHandler {
    /// What a connection reports; each is called on the event loop.
    struct Events {
        /// A message that does not belong to a command.
        var pushed: ([RESPValue]) -> Void
        /// The connection is closed; called once.
        var closed: (RedisFailure) -> Void
    }

    private struct Awaited {
        let batch: RedisBatch
        var replies: [RESPValue] = []

        /// The command whose reply is due.
        var command: RedisCommand { self.batch.commands[self.replies.count] }
    }

    /// How long a reply that is too large may pause while it is skipped: other replies wait for its end.
    private static let skipPause = TimeAmount.milliseconds(300)

    private let channel: any Channel
    private let events: Events
    private var reader = RESPReader()
    private var awaited = CircularBuffer<Awaited>()
    private var timer: Scheduled<Void>?
    /// Whether more of a reply that is skipped has come since the timer was set.
    private var hasSkipped = false
    private var isClosed = false

    init(_ channel: any Channel, events: Events) {
        self.channel = channel
        self.events = events
    }

    /// Sends commands; fails them at once if the connection is closed.
    func send(_ batch: RedisBatch) {
        guard !self.isClosed else {
            return batch.completion(.failure(RedisFailure(.lost, "the connection is closed")))
        }
        self.awaited.append(Awaited(batch: batch))
        self.write(batch.commands)
        self.watch()
    }

    private func close(_ reason: String) { self.close(RedisFailure(.lost, reason)) }

    /// Closes the connection and fails what waits: it may have run.
    func close(_ cause: RedisFailure) {
        guard !self.isClosed else { return }
        self.isClosed = true
        self.timer?.cancel()
        self.channel.close(mode: .all, promise: nil)
        let failure = RedisFailure(.lost, cause.reason)
        let left = self.awaited
        self.awaited = []
        for waiting in left { waiting.batch.completion(.failure(failure)) }
        self.events.closed(cause)
    }

    private func write(_ commands: [RedisCommand]) {
        var buffer = self.channel.allocator.buffer(capacity: 512)
        for command in commands { command.write(to: &buffer) }
        self.channel.writeAndFlush(buffer, promise: nil)
    }

    /// Closes the connection when the reply that is due first is late.
    private func watch() {
        guard self.timer == nil, let first = self.awaited.first else { return }
        self.hasSkipped = false
        let deadline = self.reader.isSkipping ? .now() + Self.skipPause : first.batch.deadline
        let bound = NIOLoopBound(self, eventLoop: self.channel.eventLoop)
        self.timer = self.channel.eventLoop.scheduleTask(deadline: deadline) {
            bound.value.timer = nil
            guard let first = bound.value.awaited.first else { return }
            let isLate = first.batch.deadline <= .now() && !bound.value.hasSkipped
            guard isLate else { return bound.value.watch() }
            bound.value.close("no reply in time")
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.hasSkipped = self.hasSkipped || self.reader.isSkipping
        self.reader.append(self.unwrapInboundIn(data))
        do throws(RESPViolation) {
            while !self.isClosed, let value = try self.reader.next(self.awaited.first?.command.replyLimits ?? .standard)
            {
                self.received(value)
            }
        } catch {
            self.close("not a Redis server, or a broken one: \(error.reason)")
        }
    }

    private func received(_ value: RESPValue) {
        // The confirmation of SUBSCRIBE is a push message in the place of a reply; an error is an ordinary reply.
        if case .push(let values) = value, !self.confirms(values) { return self.events.pushed(values) }
        guard !self.awaited.isEmpty else { return self.close("a reply without a command") }
        self.awaited[self.awaited.startIndex].replies.append(value)
        let first = self.awaited[self.awaited.startIndex]
        guard first.replies.count == first.batch.commands.count else { return }
        self.awaited.removeFirst()
        self.timer?.cancel()
        self.timer = nil
        self.watch()
        first.batch.completion(.success(first.replies))
        // A server that cannot write, or has not read its data yet: its name may lead to another one by now.
        for case .error(let text) in first.replies where RedisFailure.needsConnection(text) {
            self.close(RedisFailure(reply: text))
        }
    }

    /// Whether a push message confirms the subscription that is due.
    private func confirms(_ push: [RESPValue]) -> Bool {
        guard push.first?.bytes == Array("subscribe".utf8), let first = self.awaited.first else { return false }
        return first.command.isSubscription
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.close("the server closed the connection")
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.close("the connection failed: \(error)")
    }
}
