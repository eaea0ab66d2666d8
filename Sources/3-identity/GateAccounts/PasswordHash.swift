// SPDX-License-Identifier: Apache-2.0

/// An Argon2id hash of a password as a PHC string, such as `$argon2id$v=19$m=19456,t=2,p=1$SALT$HASH`.
///
/// https://github.com/P-H-C/phc-string-format. Only version 19 (RFC 9106), with bounded cost, salt and length.
package struct PasswordHash: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The PHC string.
    let text: String
    /// What a verification costs.
    package let cost: PasswordCost

    /// Reads a PHC string; nil for other algorithms and versions, and for what is out of bounds.
    package init?(phc text: String) {
        guard text.utf8.count <= 256, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].isEmpty, parts[1] == "argon2id", parts[2] == "v=19" else { return nil }
        let settings = parts[3].split(separator: ",", omittingEmptySubsequences: false)
        guard settings.count == 3, let memory = PasswordHash.number(settings[0], "m="),
            let passes = PasswordHash.number(settings[1], "t="), let lanes = PasswordHash.number(settings[2], "p=")
        else { return nil }
        let cost = PasswordCost(memory: memory, passes: passes, lanes: lanes)
        guard cost.isAcceptable, PasswordHash.isBase64(parts[4], 11...86), PasswordHash.isBase64(parts[5], 22...86)
        else { return nil }
        (self.text, self.cost) = (text, cost)
    }

    private static func number(_ text: Substring, _ prefix: String) -> UInt32? {
        guard text.hasPrefix(prefix) else { return nil }
        let digits = text.dropFirst(prefix.count)
        guard (1...7).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return digits.hasPrefix("0") ? nil : UInt32(digits)
    }

    private static func isBase64(_ text: Substring, _ lengths: ClosedRange<Int>) -> Bool {
        lengths.contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
            }
    }

    /// A mark instead of the hash.
    package var description: String { "<password hash>" }

    /// Hides the hash from `dump` and test output as well.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
