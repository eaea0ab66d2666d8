// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension JSON {
    /// A text that is not empty, or a whole number exactly as its decimal digits.
    var profileText: String? {
        switch self {
        case .string(let text): text.isEmpty ? nil : text
        case .number(let text): text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? text : nil
        case .null, .bool, .array, .object: nil
        }
    }

    /// A truth value in any of the spellings that providers use; nil for all else.
    var profileBool: Bool? {
        switch self {
        case .bool(let value): value
        case .string("true"), .string("1"), .number("1"): true
        case .string("false"), .string("0"), .number("0"): false
        case .string, .number, .null, .array, .object: nil
        }
    }

    /// A number or a text of digits as a time.
    var profileTime: Instant? {
        guard let text = self.profileText, let seconds = Int64(text), (0...(1 << 53)).contains(seconds) else {
            return nil
        }
        return Instant(seconds: seconds)
    }

    /// A language tag, or an object of `language` and `country`, as BCP 47.
    var profileLocale: String? {
        let parts = [self["language"], self["country"]].compactMap { $0?.string }
        let tag = (self.string ?? parts.joined(separator: "-")).replacing("_", with: "-")
        let subtags = tag.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        let alphanumeric = subtags.allSatisfy { subtag in
            (1...8).contains(subtag.count)
                && subtag.allSatisfy { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "~") && $0 != UInt8(ascii: "_") }
                && subtag.allSatisfy(PercentEncoding.isUnreserved)
        }
        return alphanumeric && tag.utf8.count <= 35 ? tag : nil
    }
}
