// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What brings a message to the mail server; called on the thread of a ``MailQueue``, which it may block.
package protocol MailTransport: Sendable {
    /// Sends an encoded message.
    func send(_ transfer: MailTransfer) -> MailReply
}

/// A message as SMTP transfers it.
package struct MailTransfer: Sendable, Hashable {
    /// The sender's email address in `MAIL FROM`, without angle brackets.
    package let from: String
    /// The recipient's in `RCPT TO`.
    package let to: String
    /// The header fields and the body.
    package let bytes: [UInt8]

    init(_ message: MailMessage, from mailbox: Mailbox, _ origin: MailOrigin) {
        self.from = mailbox.specification
        self.to = message.recipientSpecification
        self.bytes = message.encoded(from: mailbox, origin)
    }
}
