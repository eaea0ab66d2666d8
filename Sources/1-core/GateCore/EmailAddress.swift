// SPDX-License-Identifier: Apache-2.0

/// An e-mail address with exactly one reading: one `@`, no white space or control characters, a plain domain.
///
/// Comparisons use the lower-case form; a text with two `@` such as `a@b@c` is rejected.
package struct EmailAddress: Sendable, Hashable, CustomStringConvertible {
    /// The part before the `@`, as it was written.
    package let local: String
    /// The domain in lower case without a trailing dot.
    package let domain: String

    /// Reads an address of at most 254 bytes, or nil if it is not one.
    ///
    /// RFC 5321 §4.5.3.1.
    package init?(_ text: String) {
        // By bytes: an `@` with a combining mark behind it is another character, but no other `@` to a mail server.
        let sides = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false).map(Substring.init)
        guard text.utf8.count <= 254, sides.count == 2, let domain = Origin.normalHost(sides[1]) else { return nil }
        guard !sides[0].isEmpty, domain.contains("."), !domain.hasPrefix("[") else { return nil }
        guard sides[0].unicodeScalars.allSatisfy({ EmailAddress.isPlain($0) }) else { return nil }
        self.local = String(sides[0])
        self.domain = domain
    }

    /// Whether a scalar may be in the part before the `@`: nothing invisible, and none of the special characters of
    /// RFC 5322 §3.2.3 but the dot.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\"", "(", ")", ",", ":", ";", "<", ">", "[", "\\", "]": return false
        // Most addresses need no look at the tables of Unicode.
        case _ where scalar.isASCII: return scalar.value > 0x20 && scalar.value != 0x7F
        default:
            let properties = scalar.properties
            let category = properties.generalCategory
            return !properties.isWhitespace && category != .control && category != .format
        }
    }

    /// The address with its domain in normal form.
    package var description: String { "\(self.local)@\(self.domain)" }

    /// Whether both name the same mailbox, case of the letters A to Z aside.
    ///
    /// Other letters count as they are: the lower case of the Kelvin sign is `k`, and the owner of one mailbox does not
    /// own the other.
    package static func == (left: EmailAddress, right: EmailAddress) -> Bool {
        left.domain == right.domain && left.comparedLocal == right.comparedLocal
    }

    /// Hashes what ``==(_:_:)`` compares.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.domain)
        hasher.combine(self.comparedLocal)
    }

    private var comparedLocal: [UInt8] {
        self.local.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 + 0x20 : $0 }
    }
}
