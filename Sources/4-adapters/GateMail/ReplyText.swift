// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Removes from a server's reply what must not reach a log: servers repeat email addresses, and may repeat a command.
enum ReplyText {
    /// A reply as a transport returns it: nothing of it if it has the password.
    static func withoutPassword(_ text: String, of login: MailLogin?) -> String {
        guard let login else { return text }
        let bytes = Array(text.utf8)
        // As AUTH LOGIN and AUTH PLAIN send it. RFC 4616 §2.
        let hasPassword = login.password.withBytes { password in
            let plain = [0] + Array(login.username.utf8) + [0] + password
            let forms = [password, Array(Base64URL.padded(password).utf8), Array(Base64URL.padded(plain).utf8)]
            return forms.contains { bytes.firstRange(of: $0) != nil }
        }
        return hasPassword ? "the reply is not logged because it has the password" : text
    }

    /// A reply with `<email address>` instead of each word with an `@` or with the local part of the recipient.
    static func withoutAddresses(_ text: String, recipient: EmailAddress? = nil) -> String {
        let local = recipient?.local.lowercased()
        let words = text.split(separator: " ", omittingEmptySubsequences: false).map { word in
            let isAddress = word.utf8.contains(UInt8(ascii: "@"))
            let isLocal = local.map { self.has($0, in: word.lowercased()) } ?? false
            return isAddress || isLocal ? "<email address>" : String(word)
        }
        return words.joined(separator: " ")
    }

    /// Whether a word has a part that is not within a longer name: `ann` is in `mailbox=ann;` and not in `cannot`.
    private static func has(_ part: String, in word: String) -> Bool {
        word.ranges(of: part).contains { range in
            let ends = [word[..<range.lowerBound].last, word[range.upperBound...].first]
            return ends.allSatisfy { $0.map { !$0.isLetter && !$0.isNumber } ?? true }
        }
    }
}
