// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// One way to fill a field of a profile; a field has a chain of them, of which the first that answers wins.
enum ProfileStep: Sendable, Hashable {
    /// The value as it is.
    case claim(ClaimSource)
    /// Those of the values that are there, joined; with `all`, only if all are there.
    case joined([ClaimSource], separator: String, all: Bool)
    /// The part of an address before its `@`.
    case localPart(ClaimSource)
    /// The value, unless it is the made-up principal name of a guest in another organization.
    case principalName(ClaimSource)
    /// The address in a list of `{email, primary, verified}` that is verified, the primary one before all others.
    case verifiedEntry(ClaimSource)

    /// What the step reads.
    var sources: [ClaimSource] {
        switch self {
        case .claim(let source), .localPart(let source), .principalName(let source), .verifiedEntry(let source):
            [source]
        case .joined(let sources, _, _):
            sources
        }
    }

    /// The text that the step finds, not yet checked; nil if it is missing or empty.
    func text(in payloads: ProviderPayloads) -> String? {
        switch self {
        case .claim(let source):
            return payloads.value(at: source)?.profileText
        case .joined(let sources, let separator, let all):
            let texts = sources.compactMap { payloads.value(at: $0)?.profileText }
            guard all ? texts.count == sources.count : !texts.isEmpty else { return nil }
            return texts.joined(separator: separator)
        case .localPart(let source):
            return payloads.value(at: source)?.string.flatMap(EmailAddress.init)?.local
        case .principalName(let source):
            return payloads.value(at: source)?.profileText.flatMap { $0.contains("#EXT#") ? nil : $0 }
        case .verifiedEntry(let source):
            let verified = payloads.value(at: source)?.array?.filter { $0["verified"]?.bool == true } ?? []
            let chosen = verified.first { $0["primary"]?.bool == true } ?? verified.first
            return chosen?["email"]?.profileText
        }
    }
}

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
        guard let text = self.profileText, let seconds = Int64(text), seconds <= 1 << 53 else { return nil }
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
