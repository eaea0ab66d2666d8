// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

/// The messages that wait for the mail server, in memory, and the thread that sends them one after the other.
///
/// A message that the server accepts is sent once. It may be sent twice if the connection is lost between the server's
/// acceptance and its reply; both copies have the same message ID.
package final class MailQueue: Sendable {
    /// What bounds a queue.
    package struct Limits: Sendable {
        /// How many messages may wait, the one in progress included.
        package var messages = 1000
        /// How many of these for one recipient.
        package var messagesPerRecipient = 20
        /// How long a message is retried.
        package var lifetime = Duration.seconds(3600)
        /// The delay after the first failure, which doubles with each further one.
        package var firstDelay = Duration.seconds(5)
        /// The maximum delay of a message that the server rejects for now.
        package var maxDelay = Duration.seconds(600)
        /// The maximum delay of all messages while the server is not reachable.
        package var maxServerDelay = Duration.seconds(60)

        package init() {}
    }

    /// What a queue uses; a test has its own.
    package struct Environment: Sendable {
        /// Sends the messages.
        package var transport: any MailTransport
        /// The thread and the clock.
        package var scheduler: any MailScheduler
        /// The source of message IDs and jitter.
        package var random: RandomBytes
        /// The clock for `Date`.
        package var clock: WallClock

        /// An environment; without arguments but the first, that of the system.
        package init(
            transport: any MailTransport,
            scheduler: any MailScheduler = MailThread(),
            random: RandomBytes = .system,
            clock: WallClock = .system
        ) {
            self.transport = transport
            self.scheduler = scheduler
            self.random = random
            self.clock = clock
        }
    }

    private struct State {
        var schedule: MailSchedule
        var counts = MailCounts()
        var isClosed = false
        /// Whether work on the sending thread is queued or in progress.
        var isActive = false
        /// When the earliest timer fires.
        var timer: ContinuousClock.Instant?
        /// Waits for the message in progress, at shutdown.
        var waiter: CheckedContinuation<Bool, Never>?
    }

    private let from: Mailbox
    private let environment: Environment
    private let state: Mutex<State>
    private let report: @Sendable (MailResult) -> Void

    /// A queue for a server.
    ///
    /// - Parameters:
    ///   - server: The server.
    ///   - limits: What bounds the queue.
    ///   - environment: What it uses; by default libcurl and a thread of its own.
    ///   - report: Called on that thread with the first failure and the final result of each message; not with those that are
    ///     dropped at shutdown.
    package init(
        to server: MailServer,
        limits: Limits = Limits(),
        environment: Environment? = nil,
        report: @escaping @Sendable (MailResult) -> Void
    ) {
        self.from = server.from
        self.environment = environment ?? Environment(transport: SMTPTransport(to: server))
        self.state = Mutex(State(schedule: MailSchedule(limits)))
        self.report = report
    }

    /// What the queue has done so far.
    package var counts: MailCounts {
        self.state.withLock { state in
            var counts = state.counts
            counts.waiting = state.schedule.count
            return counts
        }
    }

    /// Takes a message; never waits, so that the time of the call does not depend on the server.
    ///
    /// - Parameter message: The message.
    /// - Throws: `mail.queue_full`, `mail.recipient_queue_full`, `mail.shut_down`.
    package func send(_ message: MailMessage) throws(MailFailure) {
        let origin = MailOrigin(date: self.environment.clock.now, id: self.environment.random.identifier(18))
        let now = self.environment.scheduler.now
        try self.state.withLock { state throws(MailFailure) in
            guard !state.isClosed else {
                throw MailFailure(.shutDown, "the gateway shuts down, or uses another mail server by now")
            }
            try state.schedule.add(message, origin, at: now)
        }
        self.activate()
    }

    /// Closes the queue but for the message in progress and returns all others, for the queue of another server.
    package func takeWaiting() -> [MailMessage] {
        self.state.withLock { state in
            state.isClosed = true
            return state.schedule.removeAll()
        }
    }

    /// Closes the queue: lets the message in progress finish, without a retry, and drops all others.
    ///
    /// - Parameter limit: How long to wait for the message in progress; the time-outs of its transfer still apply after that.
    /// - Returns: The number of messages that were dropped or did not finish in time.
    package func shutDown(within limit: Duration = .seconds(10)) async -> Int {
        let dropped = self.state.withLock { state in
            state.isClosed = true
            let dropped = state.schedule.removeAll().count
            state.counts.dropped += dropped
            return dropped
        }
        let isFinished = await withCheckedContinuation { continuation in
            let waits = self.state.withLock { state in
                guard state.schedule.count > 0, state.waiter == nil else { return false }
                state.waiter = continuation
                return true
            }
            guard waits else { return continuation.resume(returning: true) }
            self.environment.scheduler.notify(after: limit) { self.releaseWaiter(isFinished: false) }
        }
        return isFinished ? dropped : dropped + 1
    }

    private func releaseWaiter(isFinished: Bool) {
        self.state.withLock { $0.waiter.take() }?.resume(returning: isFinished)
    }

    private func activate() {
        let isNew = self.state.withLock { state in
            defer { state.isActive = true }
            return !state.isActive
        }
        if isNew { self.environment.scheduler.send(after: .zero) { self.sendDue() } }
    }
}

// What runs on the sending thread.
extension MailQueue {
    private func sendDue() {
        while let step = self.nextStep() {
            switch step {
            case .send(let entry): self.send(entry)
            case .expire(let entry):
                self.state.withLock { $0.counts.failed += 1 }
                self.report(entry, entry.reply ?? MailReply(.timedOut), isFinal: true)
            case .wait(let time): self.setTimer(at: time)
            case .idle: break
            }
        }
    }

    /// The next step; nil after the last one, when the thread has nothing left to do.
    private func nextStep() -> MailSchedule.Step? {
        let now = self.environment.scheduler.now
        return self.state.withLock { state in
            let step = state.schedule.next(at: now)
            switch step {
            case .send, .expire: return step
            case .idle:
                state.isActive = false
                return nil
            case .wait(let time):
                state.isActive = false
                // One that fires no later does as well.
                if let timer = state.timer, timer <= time, timer > now { return nil }
                state.timer = time
                return step
            }
        }
    }

    private func setTimer(at time: ContinuousClock.Instant) {
        self.environment.scheduler.send(after: time - self.environment.scheduler.now) { self.activate() }
    }

    private func send(_ entry: MailSchedule.Entry) {
        let reply = self.environment.transport.send(MailTransfer(entry.message, from: self.from, entry.origin))
        let now = self.environment.scheduler.now
        let jitter = Double(self.environment.random.bytes(1)[0]) / 255
        let resolution = self.state.withLock { state in
            var resolution = state.schedule.resolve(entry, with: reply, at: now, jitter: jitter)
            if state.isClosed {
                _ = state.schedule.removeAll()
                resolution = .final
            }
            switch resolution {
            case .retry: break
            case .final where reply.outcome == .sent: state.counts.sent += 1
            case .final: state.counts.failed += 1
            }
            return resolution
        }
        switch resolution {
        case .final: self.report(entry, reply, isFinal: true)
        case .retry(isFirst: true): self.report(entry, reply, isFinal: false)
        case .retry: break
        }
        self.releaseWaiter(isFinished: true)
    }

    private func report(_ entry: MailSchedule.Entry, _ reply: MailReply, isFinal: Bool) {
        let recipient = entry.message.recipient
        let text = ReplyText.withoutAddresses(reply.text, recipient: recipient)
        self.report(
            MailResult(
                domain: recipient.domain,
                reply: MailReply(reply.outcome, code: reply.code, text: text),
                tries: entry.tries,
                isFinal: isFinal
            )
        )
    }
}
