// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A message to one recipient.
package struct MailMessage: Sendable, Hashable {
    /// The maximum length of a subject in bytes.
    package static let maxSubject = 500
    /// The maximum length of a text in bytes.
    package static let maxText = 65_536

    package let recipient: EmailAddress
    package let subject: String
    /// The text; lines end with LF, the last one included.
    package let text: String
    /// The recipient as header fields and SMTP commands have it.
    let recipientSpecification: String

    /// Creates a message that can be sent as it is.
    ///
    /// - Parameters:
    ///   - recipient: The recipient; it has to be ASCII, because SMTPUTF8 (RFC 6531) is not supported.
    ///   - subject: The subject, with printable characters only, so that it cannot become another header field.
    ///   - text: The text; CRLF and CR become LF, and a last line without line end gets one.
    /// - Throws: `mail.message`, `mail.recipient`.
    package init(to recipient: EmailAddress, subject: String, text: String) throws(MailFailure) {
        guard let specification = recipient.specification else {
            throw MailFailure(.recipient, "the recipient is not ASCII, or its local part has more than 64 bytes")
        }
        guard subject.utf8.count <= MailMessage.maxSubject, PrintableText.isPrintable(subject) else {
            let limit = MailMessage.maxSubject
            throw MailFailure(.message, "the subject has control characters or more than \(limit) bytes")
        }
        guard text.utf8.count <= MailMessage.maxText else {
            throw MailFailure(.message, "the text has more than \(MailMessage.maxText) bytes")
        }
        self.recipient = recipient
        self.recipientSpecification = specification
        self.subject = subject
        let lines = text.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
        self.text = lines.utf8.last == UInt8(ascii: "\n") ? lines : lines + "\n"
    }
}
