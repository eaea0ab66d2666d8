// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What a message has in addition to its content, the same for each try, so that servers and clients know it again.
struct MailOrigin: Sendable, Hashable {
    /// When the gateway created it.
    let date: Instant
    /// The part of the message ID before the `@`: unpredictable, and of letters, digits, `-` and `_`.
    let id: String
}

extension MailMessage {
    /// The message as SMTP transfers it, with CRLF line ends and before dots are doubled.
    ///
    /// RFC 5322; the last two fields keep automatic replies away, RFC 3834 §5 and Exchange.
    ///
    /// - Parameters:
    ///   - mailbox: The mailbox that it comes from.
    ///   - origin: Its date and id.
    /// - Returns: ASCII lines of at most 76 characters, or 330 where an email address is as long.
    func encoded(from mailbox: Mailbox, _ origin: MailOrigin) -> [UInt8] {
        let phrase = mailbox.name.isEmpty ? [] : HeaderEncoding.phrase(mailbox.name)
        let fields = [
            HeaderEncoding.field("Date", words: [origin.date.httpDate.replacing("GMT", with: "+0000")]),
            HeaderEncoding.field("From", words: phrase + ["<\(mailbox.specification)>"]),
            HeaderEncoding.field("To", words: ["<\(self.recipientSpecification)>"]),
            HeaderEncoding.field("Message-ID", words: ["<\(origin.id)@\(mailbox.address.domain)>"]),
            HeaderEncoding.field("Subject", text: self.subject),
            "MIME-Version: 1.0\r\n",
            "Content-Type: text/plain; charset=utf-8\r\n",
            "Content-Transfer-Encoding: quoted-printable\r\n",
            "Auto-Submitted: auto-generated\r\n",
            "X-Auto-Response-Suppress: All\r\n",
        ]
        return Array(fields.joined().utf8) + "\r\n".utf8 + QuotedPrintable.encode(self.text)
    }
}
