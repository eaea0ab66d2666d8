// SPDX-License-Identifier: Apache-2.0

/// Why a message is not accepted for sending, or a mail server cannot be configured.
package struct MailFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// What failed; the main program has a case of the failure catalogue for each.
    package enum Reason: String, Sendable, CaseIterable {
        /// As many messages wait as the queue takes.
        case queueFull = "mail.queue_full"
        /// As many messages wait as the queue takes for one recipient.
        case tooManyForRecipient = "mail.recipient_queue_full"
        /// The gateway shuts down, or uses another mail server by now.
        case shutDown = "mail.shut_down"
        /// The subject or the text cannot be sent.
        case message = "mail.message"
        /// The recipient's email address needs SMTPUTF8, which is not supported.
        case recipient = "mail.recipient"
        /// The configuration of the mail server is wrong.
        case server = "mail.server"
    }

    /// What failed.
    package let reason: Reason
    /// What happened, for the log; never an email address, a password or a text.
    package let detail: String

    package init(_ reason: Reason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }

    /// The failure in one log line.
    package var description: String { "\(self.reason.rawValue): \(self.detail)" }
}
