// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Decides, without sending, which message is next and what follows from a reply.
///
/// A message that the server rejects for now waits alone, with exponential back-off. A server that is not reachable pauses all
/// of them: each try would take as long as its time-out.
struct MailSchedule {
    typealias Time = ContinuousClock.Instant

    /// A message that waits.
    struct Entry: Sendable {
        let message: MailMessage
        let origin: MailOrigin
        /// After which it is not retried.
        let expiry: Time
        /// Before which it is not tried.
        var due: Time
        var tries = 0
        /// What the last try led to.
        var reply: MailReply?
    }

    /// What to do now.
    enum Step {
        case send(Entry)
        case expire(Entry)
        case wait(until: Time)
        case idle
    }

    /// What follows from a reply.
    enum Resolution: Equatable {
        case final
        case retry(isFirst: Bool)
    }

    private let limits: MailQueue.Limits
    /// In the order in which they were added.
    private var entries: [Entry] = []
    private var isSending = false
    private var counts: [EmailAddress: Int] = [:]
    /// When the server may be tried again, and why not before.
    private var pause: (end: Time, reply: MailReply)?
    private var serverFailures = 0

    init(_ limits: MailQueue.Limits) {
        self.limits = limits
    }

    /// How many messages wait, the one in progress included.
    var count: Int { self.entries.count + (self.isSending ? 1 : 0) }

    /// Adds a message.
    ///
    /// - Throws: `mail.queue_full`, `mail.recipient_queue_full`.
    mutating func add(_ message: MailMessage, _ origin: MailOrigin, at now: Time) throws(MailFailure) {
        guard self.count < self.limits.messages else {
            throw MailFailure(.queueFull, "\(self.count) messages wait for the mail server already")
        }
        let count = self.counts[message.recipient, default: 0]
        guard count < self.limits.messagesPerRecipient else {
            throw MailFailure(.tooManyForRecipient, "\(count) messages for one recipient wait already")
        }
        self.counts[message.recipient] = count + 1
        self.entries.append(Entry(message: message, origin: origin, expiry: now + self.limits.lifetime, due: now))
    }

    /// The next step; a message to send is in progress until ``resolve(_:with:at:jitter:)``.
    mutating func next(at now: Time) -> Step {
        guard let expiry = self.entries.map(\.expiry).min() else { return .idle }
        if expiry <= now, let index = self.entries.firstIndex(where: { $0.expiry <= now }) {
            var entry = self.remove(at: index)
            entry.reply = entry.reply ?? self.pause?.reply
            return .expire(entry)
        }
        // `min` returns the first of equals: those that were added first.
        guard let index = self.entries.indices.min(by: { self.entries[$0].due < self.entries[$1].due }) else {
            return .idle
        }
        let start = max(self.entries[index].due, self.pause?.end ?? now)
        guard start <= now else { return .wait(until: min(start, expiry)) }
        self.isSending = true
        var entry = self.entries.remove(at: index)
        entry.tries += 1
        return .send(entry)
    }

    /// What follows from the reply to the message in progress; jitter is from 0 to 1.
    mutating func resolve(_ entry: Entry, with reply: MailReply, at now: Time, jitter: Double) -> Resolution {
        self.isSending = false
        if reply.outcome.isOfServer {
            self.serverFailures += 1
            let delay = self.delay(self.serverFailures, limit: self.limits.maxServerDelay, jitter: jitter)
            self.pause = (now + delay, reply)
        } else {
            self.serverFailures = 0
            self.pause = nil
        }
        var entry = entry
        entry.reply = reply
        entry.due = self.pause?.end ?? now + self.delay(entry.tries, limit: self.limits.maxDelay, jitter: jitter)
        guard reply.outcome.isTemporary, entry.due < entry.expiry else {
            self.release(entry.message.recipient)
            return .final
        }
        self.entries.append(entry)
        return .retry(isFirst: entry.tries == 1)
    }

    /// Removes all messages but the one in progress and returns them.
    mutating func removeAll() -> [MailMessage] {
        let messages = self.entries.map(\.message)
        while !self.entries.isEmpty { _ = self.remove(at: self.entries.count - 1) }
        return messages
    }

    private mutating func remove(at index: Int) -> Entry {
        let entry = self.entries.remove(at: index)
        self.release(entry.message.recipient)
        return entry
    }

    private mutating func release(_ recipient: EmailAddress) {
        let left = self.counts[recipient, default: 1] - 1
        self.counts[recipient] = left == 0 ? nil : left
    }

    /// Twice as long after each failure, with 20 % jitter.
    private func delay(_ failures: Int, limit: Duration, jitter: Double) -> Duration {
        // 2^20 times the first delay is more than any limit.
        let delay = min(self.limits.firstDelay * (1 << min(max(failures, 1) - 1, 20)), limit)
        return delay * (0.8 + 0.4 * jitter)
    }
}
