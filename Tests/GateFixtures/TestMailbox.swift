// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateMail
package import GateRuntime
internal import Testing

/// A mail server that accepts every message at once, for the test to read.
package final class TestMailbox: Sendable {
    /// A message as its recipient reads it.
    package struct Message: Sendable {
        /// The address of the recipient.
        package let recipient: String
        /// The head and the body, decoded.
        package let text: String

        /// The URL in it; nil without one.
        package var link: String? { self.text.firstMatch(of: /https:\/\/[^\s]+/).map { String($0.0) } }
    }

    private let arrived = AsyncStream<Message>.makeStream()

    /// A mailbox without messages.
    package init() {}

    /// The next message, once it has arrived.
    package func next() async throws -> Message {
        for await message in self.arrived.stream { return message }
        throw CancellationError()
    }

    /// A mailer that sends to this mailbox.
    package func mailer(_ limits: AccountMailer.Limits = AccountMailer.Limits()) throws -> AccountMailer {
        let sender = try #require(EmailAddress("gate@example.com"))
        let server = try MailServer(url: try MailServerURL("smtps://mail.example.com"), from: try Mailbox(sender))
        let post = Post(continuation: self.arrived.continuation)
        let environment = MailQueue.Environment(transport: post, scheduler: post)
        let queue = MailQueue(to: server, environment: environment) { _ in }
        return AccountMailer(over: queue, as: "Acme", within: limits)
    }

    /// What carries the messages, in the caller's thread.
    private struct Post: MailTransport, MailScheduler {
        let continuation: AsyncStream<Message>.Continuation

        var now: ContinuousClock.Instant { .now }

        func send(_ transfer: MailTransfer) -> MailReply {
            // RFC 2045 §6.7.
            let text = String(decoding: transfer.bytes, as: UTF8.self).replacing("=\r\n", with: "")
            self.continuation.yield(Message(recipient: transfer.to, text: text.replacing("=3D", with: "=")))
            return MailReply(.sent, code: 250)
        }

        func send(after delay: Duration, _ work: @escaping @Sendable () -> Void) { work() }

        func notify(after delay: Duration, _ work: @escaping @Sendable () -> Void) {}
    }
}
