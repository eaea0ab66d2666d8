// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateMail
package import GatePages
internal import Synchronization

/// Sends links to the users of local accounts.
package struct AccountMailer: Sendable {
    /// What all runtime configurations share, so that a reload opens no limit.
    package final class Limits: Sendable {
        /// A mailbox gets at most five messages an hour that users have asked for.
        private static let perMailbox = TokenBucket.Rate(5, in: .seconds(3600), burst: 5)
        /// A client network asks for at most twenty an hour.
        private static let perNetwork = TokenBucket.Rate(20, in: .seconds(3600), burst: 20)
        /// All users together, so that the queue has space for operators.
        private static let inTotal = TokenBucket.Rate(300, in: .seconds(3600), burst: 300)
        private static let tracked = 16_384

        private let mailboxes = Mutex(RateLimiter<String>(capacity: Limits.tracked))
        private let total = Mutex(TokenBucket())
        private let networks = Mutex(RateLimiter<ClientNetwork>(capacity: Limits.tracked))
        /// The requests whose messages are being made.
        private let pending = ConcurrencyLimiter(limit: 64)
        private let began = ContinuousClock.now

        /// Limits under which nothing was sent yet.
        package init() {}

        /// Lets a client ask for a message.
        ///
        /// - Throws: `account.too_many`, whether or not there is an account.
        package func admit(_ client: IPAddress?) throws(Failure) {
            guard let client else { return }
            let now = self.began.duration(to: .now)
            let wait = self.networks.withLock { $0.take(ClientNetwork(of: client), Limits.perNetwork, at: now) }
            guard let wait else { return }
            throw Failure(.accountTooMany, "over 20 links an hour for one client network", retryAfter: wait)
        }

        /// Lets a message go to a mailbox that a user has asked for; `name+tag` is the mailbox of `name`.
        ///
        /// - Throws: `mail.not_sent`.
        package func admit(to address: EmailAddress) throws(Failure) {
            let now = self.began.duration(to: .now)
            let local = address.local.prefix { $0 != "+" }.lowercased()
            let mailbox = "\(local)@\(address.domain)"
            guard self.mailboxes.withLock({ $0.take(mailbox, Limits.perMailbox, at: now) }) == nil else {
                throw Failure(.mailNotSent, "over five messages an hour to one mailbox of \(address.domain)")
            }
            guard self.total.withLock({ $0.take(Limits.inTotal, at: now) }) == nil else {
                throw Failure(.mailNotSent, "over 300 messages an hour that users have asked for")
            }
        }

        /// Runs work after the response, whose time then shows nothing of it.
        ///
        /// - Returns: Whether it runs; more than 64 at a time do not.
        package func afterwards(_ work: @escaping @Sendable () async -> Void) -> Bool {
            guard self.pending.acquire() else { return false }
            Task.detached {
                await work()
                self.pending.release()
            }
            return true
        }
    }

    /// The limits.
    package let limits: Limits
    private let queue: MailQueue
    private let sender: String

    /// A mailer.
    ///
    /// - Parameters:
    ///   - queue: The queue of the messages.
    ///   - sender: The organization, or the host of the gateway, as messages have it.
    ///   - limits: The limits.
    package init(over queue: MailQueue, as sender: String, within limits: Limits) {
        (self.queue, self.sender, self.limits) = (queue, sender, limits)
    }

    /// Sends a message with a link.
    ///
    /// - Parameters:
    ///   - text: The message.
    ///   - address: The email address.
    ///   - link: The link.
    ///   - lifetime: How long the link is valid.
    ///   - language: The language.
    /// - Throws: `mail.not_sent` if it cannot be queued.
    package func send(
        _ text: MailText,
        to address: EmailAddress,
        link: String,
        validFor lifetime: Duration,
        in language: PageLanguage
    ) throws(Failure) {
        let values: [MailText.Variable: String] = [
            .organization: self.sender, .link: link, .time: MailText.words(for: lifetime, in: language),
        ]
        let message = text.message(in: language, values)
        do throws(MailFailure) {
            try self.queue.send(try MailMessage(to: address, subject: message.subject, text: message.text))
        } catch {
            throw Failure(.mailNotSent, error.detail)
        }
    }
}
