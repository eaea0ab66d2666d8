// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateMail
package import GatePages

/// Sends links to the users of local accounts.
package struct AccountMailer: Sendable {
    /// What all runtime configurations share, so that a reload opens no limit.
    package final class Limits: Sendable {
        /// What links are for; each has limits of its own, so that requests for one stop no other.
        package enum Purpose: String, Sendable, CaseIterable {
            /// To choose another password.
            case recovery = "recoveries"
            /// To register.
            case registration = "registrations"
        }

        /// A mailbox gets at most five messages an hour that users have asked for.
        private static let perMailbox = TokenBucket.Rate(5, in: .seconds(3600), burst: 5)
        /// A client network asks for at most twenty an hour.
        private static let perNetwork = TokenBucket.Rate(20, in: .seconds(3600), burst: 20)
        /// The mailboxes of one domain together.
        private static let perDomain = TokenBucket.Rate(100, in: .seconds(3600), burst: 100)
        /// All users together, so that the queue has space for operators.
        private static let inTotal = TokenBucket.Rate(300, in: .seconds(3600), burst: 300)
        private static let tracked = 16_384

        fileprivate struct Key: Sendable, Hashable {
            let purpose: Purpose
            /// A mailbox or a domain; empty for all.
            let text: String
        }

        private let mailboxes: AttemptLimiter<Key>
        private let domains: AttemptLimiter<Key>
        private let totals: AttemptLimiter<Key>
        private let networks: AttemptLimiter<ClientNetwork>
        /// The requests whose messages are being made.
        private let pending = ConcurrencyLimiter(limit: 64)

        /// Limits under which nothing was sent yet.
        package convenience init() {
            let began = ContinuousClock.now
            self.init { began.duration(to: .now) }
        }

        /// Limits with their own clock.
        init(elapsed: @escaping @Sendable () -> Duration) {
            self.mailboxes = AttemptLimiter(capacity: Limits.tracked, elapsed: elapsed)
            self.domains = AttemptLimiter(capacity: Limits.tracked, elapsed: elapsed)
            self.totals = AttemptLimiter(capacity: 2 * Purpose.allCases.count, elapsed: elapsed)
            self.networks = AttemptLimiter(capacity: Limits.tracked, elapsed: elapsed)
        }

        /// Lets a client ask for a message; each request counts, whatever it is about, so that the limit reveals nothing.
        ///
        /// - Throws: `account.too_many`, whether or not there is an account.
        package func admit(_ client: IPAddress?) throws(Failure) {
            do throws(TooManyAttempts) {
                _ = try self.networks.begin(client.map { ClientNetwork(of: $0) }, within: Limits.perNetwork)
            } catch {
                throw Failure(.accountTooMany, "over 20 links an hour for one client network", retryAfter: error.wait)
            }
        }

        /// A message that is counted, unless it is released.
        package struct Message: Sendable {
            fileprivate var counts: [AttemptLimiter<Key>.Attempt] = []

            /// Takes it off the counts: it was not sent.
            package func release() { for count in self.counts { count.release() } }
        }

        /// Lets a message go to a mailbox that a user has asked for; `name+tag` is the mailbox of `name`.
        ///
        /// - Throws: `mail.not_sent`.
        package func admit(to address: EmailAddress, for purpose: Purpose) throws(Failure) -> Message {
            let local = address.local.prefix { $0 != "+" }.lowercased()
            let mailbox = Key(purpose: purpose, text: "\(local)@\(address.domain)")
            let domain = Key(purpose: purpose, text: address.domain)
            let why = "an hour for \(purpose.rawValue)"
            let steps = [
                (
                    self.mailboxes, mailbox, Limits.perMailbox,
                    "over five messages \(why) to one mailbox of \(address.domain)"
                ),
                (self.domains, domain, Limits.perDomain, "over 100 messages \(why) to \(address.domain)"),
                (self.totals, Key(purpose: purpose, text: ""), Limits.inTotal, "over 300 messages \(why)"),
            ]
            var message = Message()
            for (limiter, key, rate, detail) in steps {
                do throws(TooManyAttempts) {
                    message.counts.append(try limiter.begin(key, within: rate))
                } catch {
                    message.release()
                    throw Failure(.mailNotSent, detail)
                }
            }
            return message
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
