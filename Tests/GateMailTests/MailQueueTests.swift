// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import Testing

@testable import GateMail

@Suite(.timeLimit(.minutes(1))) struct MailQueueTests {
    @Test func `sending returns before anything is sent, and the thread sends in order`() throws {
        let test = try TestQueue()
        for number in 1...3 { try test.send(subject: "\(number)") }
        #expect(test.transport.sent.isEmpty)
        #expect(test.queue.counts == MailCounts(waiting: 3))
        test.scheduler.advance()
        let subjects = test.transport.sent.compactMap { transfer in
            String(decoding: transfer.bytes, as: UTF8.self).split(separator: "\r\n").first { $0.hasPrefix("Subject:") }
        }
        #expect(subjects == ["Subject: 1", "Subject: 2", "Subject: 3"])
        #expect(test.queue.counts == MailCounts(sent: 3))
        #expect(test.results.map(\.isFinal) == [true, true, true])
        #expect(test.scheduler.count == 0)
    }

    @Test func `a full queue rejects messages until one is sent`() throws {
        var limits = MailQueue.Limits()
        limits.messages = 3
        let test = try TestQueue(limits: limits)
        for number in 1...3 { try test.send(to: "\(number)@example.com") }
        let message = try testMessage(to: "4@example.com")
        #expect(failure { () throws(MailFailure) in try test.queue.send(message) } == .queueFull)
        test.scheduler.advance()
        #expect(failure { () throws(MailFailure) in try test.queue.send(message) } == nil)
    }

    @Test func `one recipient cannot fill the queue, however the email address is spelled`() throws {
        let test = try TestQueue([MailReply(.rejectedForNow, code: 451)])
        for number in 1...20 { try test.send(to: number % 2 == 0 ? "Ann@example.com" : "ann@EXAMPLE.com") }
        let (message, other) = (try testMessage(to: "ANN@example.com"), try testMessage(to: "bob@example.com"))
        #expect(failure { () throws(MailFailure) in try test.queue.send(message) } == .tooManyForRecipient)
        #expect(failure { () throws(MailFailure) in try test.queue.send(other) } == nil)
        // Those that wait for a retry count as well.
        test.scheduler.advance()
        #expect(failure { () throws(MailFailure) in try test.queue.send(message) } == .tooManyForRecipient)
        test.scheduler.advance(by: .seconds(3600))
        #expect(test.queue.counts == MailCounts(failed: 21))
        #expect(failure { () throws(MailFailure) in try test.queue.send(message) } == nil)
    }

    @Test(arguments: MailOutcome.allCases.filter { !$0.isTemporary && $0 != .sent })
    func `a failure that does not pass is final`(outcome: MailOutcome) throws {
        let test = try TestQueue([MailReply(outcome, code: 550, text: "no")])
        try test.send()
        test.scheduler.advance(by: .seconds(7200))
        #expect(test.transport.sent.count == 1)
        #expect(test.results.map(\.isFinal) == [true])
        #expect(test.results.map(\.reply) == [MailReply(outcome, code: 550, text: "no")])
        #expect(test.queue.counts == MailCounts(failed: 1))
    }

    @Test(arguments: MailOutcome.allCases.filter(\.isTemporary))
    func `a failure that may pass is retried, with the same message ID and date`(outcome: MailOutcome) throws {
        let test = try TestQueue([MailReply(outcome, code: 451), MailReply(outcome), MailReply(.sent, code: 250)])
        try test.send()
        test.scheduler.advance()
        #expect(test.results.map(\.isFinal) == [false])
        test.scheduler.advance(by: .seconds(4))
        #expect(test.transport.sent.count == 1)
        test.scheduler.advance(by: .seconds(20))
        #expect(test.transport.sent.count == 3)
        #expect(Set(test.transport.sent).count == 1)
        // The second failure is not reported.
        #expect(test.results.map(\.isFinal) == [false, true])
        #expect(test.results.map(\.tries) == [1, 3])
        #expect(test.queue.counts == MailCounts(sent: 1))
    }

    @Test func `a message is dropped after an hour of failures`() throws {
        let test = try TestQueue([MailReply(.rejectedForNow, code: 451, text: "greylisted")])
        try test.send()
        test.scheduler.advance(by: .seconds(3599))
        #expect((11...13).contains(test.transport.sent.count))
        test.scheduler.advance(by: .seconds(7200))
        #expect((11...13).contains(test.transport.sent.count))
        #expect(test.results.map(\.isFinal) == [false, true])
        #expect(test.results.last?.reply == MailReply(.rejectedForNow, code: 451, text: "greylisted"))
        #expect(test.queue.counts == MailCounts(failed: 1))
        #expect(test.scheduler.count == 0)
    }

    @Test func `a server that is not reachable is tried with one message at a time`() throws {
        let test = try TestQueue([MailReply(.unreachable)])
        for number in 1...100 { try test.send(to: "\(number)@example.com") }
        test.scheduler.advance()
        #expect(test.transport.sent.count == 1)
        test.scheduler.advance(by: .seconds(3500))
        // Once a minute, after the first few.
        #expect((55...70).contains(test.transport.sent.count))
        test.scheduler.advance(by: .seconds(200))
        #expect(test.queue.counts == MailCounts(failed: 100))
        #expect(test.results.filter(\.isFinal).count == 100)
        #expect(test.results.filter(\.isFinal).allSatisfy { $0.reply.outcome == .unreachable })
    }

    @Test func `after the server is reachable again, all messages are sent`() throws {
        let test = try TestQueue([MailReply(.timedOut), MailReply(.unreachable), MailReply(.sent, code: 250)])
        for number in 1...50 { try test.send(to: "\(number)@example.com") }
        test.scheduler.advance(by: .seconds(20))
        #expect(test.queue.counts == MailCounts(sent: 50))
    }

    @Test func `a rejected recipient does not delay others`() throws {
        let replies = [MailReply(.rejectedForNow, code: 451), MailReply(.sent, code: 250)]
        let test = try TestQueue(replies)
        try test.send(to: "busy@example.com")
        try test.send(to: "ann@example.com")
        test.scheduler.advance()
        #expect(test.transport.sent.map(\.to) == ["busy@example.com", "ann@example.com"])
        #expect(test.queue.counts == MailCounts(waiting: 1, sent: 1))
    }

    @Test func `reports have the domain of the recipient, and neither the email address nor the message`() throws {
        let text = "5.1.1 <ann.lee@example.com>: no mailbox ann.lee here (Ann.Lee) for ann.lee@example.com"
        let test = try TestQueue([MailReply(.rejected, code: 550, text: text)])
        try test.queue.send(testMessage(to: "ann.lee@example.com", subject: "Secret subject", text: "secret text"))
        test.scheduler.advance()
        let result = try #require(test.results.first)
        #expect(result.domain == "example.com")
        let dump = "\(result)".lowercased()
        for word in ["ann", "lee", "secret"] { #expect(!dump.contains(word), "\(dump)") }
        #expect(result.reply.text.hasPrefix("5.1.1 <email address>"))
    }

    @Test func `shutdown drops what waits and rejects more`() async throws {
        let test = try TestQueue()
        for _ in 1...5 { try test.send() }
        #expect(await test.queue.shutDown() == 5)
        #expect(test.queue.counts == MailCounts(dropped: 5))
        let message = try testMessage()
        #expect(failure { () throws(MailFailure) in try test.queue.send(message) } == .shutDown)
        test.scheduler.advance(by: .seconds(3600))
        #expect(test.transport.sent.isEmpty)
        #expect(await test.queue.shutDown() == 0)
    }

    @Test func `shutdown waits for the message in progress`() async throws {
        let fixture = try await ShutdownFixture(MailReply(.sent, code: 250))
        #expect(await fixture.dropped { fixture.release() } == 2)
        await fixture.end()
        #expect(fixture.test.queue.counts == MailCounts(sent: 1, dropped: 2))
    }

    @Test func `a message in progress at shutdown is not retried`() async throws {
        let fixture = try await ShutdownFixture(MailReply(.rejectedForNow, code: 451))
        #expect(await fixture.dropped { fixture.release() } == 2)
        await fixture.end()
        #expect(fixture.test.queue.counts == MailCounts(failed: 1, dropped: 2))
        #expect(fixture.test.results.map(\.isFinal) == [true])
    }

    @Test func `shutdown waits no longer than its limit`() async throws {
        let fixture = try await ShutdownFixture(MailReply(.sent, code: 250))
        #expect(await fixture.dropped { fixture.test.scheduler.advanceWhileBlocked(by: .seconds(10)) } == 3)
        fixture.release()
        await fixture.end()
        #expect(fixture.test.queue.counts == MailCounts(sent: 1, dropped: 2))
    }
}

/// A queue with three messages, the first of which is in progress until the test releases it.
private struct ShutdownFixture {
    let test: TestQueue
    private let blocker: DispatchSemaphore
    private let ended: AsyncStream<Void>

    init(_ reply: MailReply) async throws {
        let blocker = DispatchSemaphore(value: 0)
        let (started, start) = AsyncStream<Void>.makeStream()
        let (ended, end) = AsyncStream<Void>.makeStream()
        let test = try TestQueue([reply]) {
            start.finish()
            blocker.wait()
        }
        for _ in 1...3 { try test.send() }
        Thread.detachNewThread {
            test.scheduler.advance()
            end.finish()
        }
        for await _ in started {}
        (self.test, self.blocker, self.ended) = (test, blocker, ended)
    }

    func release() { self.blocker.signal() }

    /// Waits until the thread has nothing left to do.
    func end() async { for await _ in self.ended {} }

    /// What shutdown returns if this happens while it waits.
    func dropped(_ event: () -> Void) async -> Int {
        async let dropped = self.test.queue.shutDown()
        // Its time limit is the only work of the scheduler.
        while self.test.scheduler.count == 0 { await Task.yield() }
        event()
        return await dropped
    }
}
