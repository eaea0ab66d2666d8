// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateMail
import Synchronization
import Testing

/// A server that replies as a test wants, without any connection.
final class ScriptedTransport: MailTransport {
    private let replies = Mutex<[MailReply]>([])
    private let transfers = Mutex<[MailTransfer]>([])
    /// Called while a message is in progress.
    private let during: @Sendable () -> Void

    init(_ replies: [MailReply] = [], during: @escaping @Sendable () -> Void = {}) {
        self.during = during
        self.replies.withLock { $0 = replies }
    }

    /// The transfers in the order of their tries.
    var sent: [MailTransfer] { self.transfers.withLock { $0 } }

    /// Replies with the first of the replies that are left.
    ///
    /// The last one stays. Without any, the message is accepted.
    func send(_ transfer: MailTransfer) -> MailReply {
        self.transfers.withLock { $0.append(transfer) }
        self.during()
        return self.replies.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? MailReply(.sent, code: 250) }
    }
}

/// Runs work when the test moves the clock.
final class ManualScheduler: MailScheduler {
    private struct Work {
        let time: ContinuousClock.Instant
        let isNotice: Bool
        let work: @Sendable () -> Void
    }

    private struct State {
        var now = ContinuousClock.now
        var work: [Work] = []
    }

    private let state = Mutex(State())

    var now: ContinuousClock.Instant { self.state.withLock { $0.now } }

    /// How many timers and pieces of work wait.
    var count: Int { self.state.withLock { $0.work.count } }

    func send(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        self.state.withLock { $0.work.append(Work(time: $0.now + delay, isNotice: false, work: work)) }
    }

    func notify(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        self.state.withLock { $0.work.append(Work(time: $0.now + delay, isNotice: true, work: work)) }
    }

    /// Runs all that is due until then, in the order of time.
    func advance(by duration: Duration = .zero) {
        let end = self.now + duration
        while let next = self.next(before: end, noticesOnly: false) { next() }
        self.state.withLock { $0.now = end }
    }

    /// Runs only what does not need the sending thread, as while that is blocked.
    func advanceWhileBlocked(by duration: Duration) {
        let end = self.now + duration
        while let next = self.next(before: end, noticesOnly: true) { next() }
        self.state.withLock { $0.now = end }
    }

    private func next(before end: ContinuousClock.Instant, noticesOnly: Bool) -> (@Sendable () -> Void)? {
        self.state.withLock { state in
            let due = state.work.indices.filter { index in
                state.work[index].time <= end && (state.work[index].isNotice || !noticesOnly)
            }
            guard let index = due.min(by: { state.work[$0].time < state.work[$1].time }) else { return nil }
            let work = state.work.remove(at: index)
            state.now = max(state.now, work.time)
            return work.work
        }
    }
}

/// A queue with a server, a thread and a clock that the test controls.
struct TestQueue {
    let queue: MailQueue
    let transport: ScriptedTransport
    let scheduler: ManualScheduler
    private let reported: Reports

    init(
        _ replies: [MailReply] = [],
        limits: MailQueue.Limits = MailQueue.Limits(),
        scheduler: ManualScheduler = ManualScheduler(),
        during: @escaping @Sendable () -> Void = {}
    ) throws {
        let (transport, reported) = (ScriptedTransport(replies, during: during), Reports())
        // 0x80 makes the jitter zero, as nearly as a byte can.
        let environment = MailQueue.Environment(
            transport: transport,
            scheduler: scheduler,
            random: RandomBytes { [UInt8](repeating: 0x80, count: $0) },
            clock: .fixed(Instant(seconds: 784_111_777))
        )
        self.queue = MailQueue(
            to: try MailServer(url: MailServerURL("smtps://mail.test"), from: testMailbox()),
            limits: limits,
            environment: environment,
            report: { reported.append($0) }
        )
        (self.transport, self.scheduler, self.reported) = (transport, scheduler, reported)
    }

    /// What was reported so far.
    var results: [MailResult] { self.reported.all }

    func send(to address: String = "ann@example.com", subject: String = "Hello") throws {
        try self.queue.send(testMessage(to: address, subject: subject))
    }
}

/// Collects what queues report.
final class Reports: Sendable {
    private let results = Mutex<[MailResult]>([])

    var all: [MailResult] { self.results.withLock { $0 } }

    func append(_ result: MailResult) { self.results.withLock { $0.append(result) } }
}

func testMailbox(name: String = "") throws -> Mailbox {
    try Mailbox(#require(EmailAddress("gateway@sender.test")), name: name)
}

func testMessage(
    to address: String = "ann@example.com",
    subject: String = "Hello",
    text: String = "Hi.\n"
) throws -> MailMessage {
    try MailMessage(to: #require(EmailAddress(address)), subject: subject, text: text)
}

/// The failure of a call; nil if it succeeds.
func failure<Value>(of body: () throws(MailFailure) -> Value) -> MailFailure.Reason? {
    do throws(MailFailure) {
        _ = try body()
        return nil
    } catch {
        return error.reason
    }
}
