// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What a user types to name an account: an email address or a user name, in its normal form.
package enum AccountName: Sendable, Hashable {
    /// An email address, letters A to Z in lower case.
    case email(String)
    /// A user name: 1 to 64 of `a-z`, `0-9`, `.`, `_` and `-`, the first one a letter or digit.
    case username(String)

    /// Reads a name; nil if it cannot be one.
    package init?(_ typed: String) {
        guard typed.utf8.count <= 320 else { return nil }
        let text = String(typed.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        guard !text.utf8.contains(UInt8(ascii: "@")) else {
            guard let email = EmailAddress(text) else { return nil }
            self = .email(AccountName.normal(email))
            return
        }
        let name = AccountName.lowercased(text)
        guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy({ AccountName.isPlain($0) }),
            let first = name.utf8.first, first != UInt8(ascii: "."), first != UInt8(ascii: "_"),
            first != UInt8(ascii: "-")
        else { return nil }
        self = .username(name)
    }

    /// An email address in the form in which two that name the same mailbox are equal.
    static func normal(_ email: EmailAddress) -> String { "\(self.lowercased(email.local))@\(email.domain)" }

    /// The letters A to Z in lower case; others are other letters to a mail server.
    private static func lowercased(_ text: String) -> String {
        let bytes = text.utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || [0x2E, 0x5F, 0x2D].contains(byte)
    }

    package var text: String {
        switch self {
        case .email(let text), .username(let text): text
        }
    }
}
