// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// An email address with a display name.
///
/// RFC 5322 §3.4.
package struct Mailbox: Sendable, Hashable {
    package let address: EmailAddress
    /// What clients show with it; empty for none.
    package let name: String
    /// The email address as header fields and SMTP commands have it.
    let specification: String

    /// Creates a mailbox whose name has at most 128 bytes and only printable characters.
    ///
    /// - Throws: `mail.server`.
    package init(_ address: EmailAddress, name: String = "") throws(MailFailure) {
        guard let specification = address.specification else {
            throw MailFailure(.server, "the email address of the sender has to be ASCII")
        }
        guard name.utf8.count <= 128, PrintableText.isPrintable(name) else {
            throw MailFailure(.server, "the display name has control characters or more than 128 bytes")
        }
        self.address = address
        self.name = name
        self.specification = specification
    }
}

extension EmailAddress {
    /// The email address as header fields and SMTP commands have it; nil unless it is ASCII.
    ///
    /// A local part with an empty atom, such as `a..b`, is quoted. RFC 5322 §3.4.1, RFC 5321 §4.1.2.
    var specification: String? {
        let isASCII = self.local.utf8.allSatisfy { (0x21..<0x7F).contains($0) }
        guard isASCII, self.local.utf8.count <= 64 else { return nil }
        let atoms = self.local.split(separator: ".", omittingEmptySubsequences: false)
        return atoms.contains(where: \.isEmpty) ? "\"\(self.local)\"@\(self.domain)" : self.description
    }
}
