// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GateYAML

extension NameRule {
    /// The name of a claim that providers define, as apps, rules and clients write it.
    package static let claimName = NameRule(
        subject: "the name of a claim",
        pattern: "^[a-z][a-z0-9_]{0,63}$"
    ) { text in
        let isPlain = text.utf8.allSatisfy {
            (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_")
        }
        guard isPlain, (1...64).contains(text.utf8.count), text.utf8.first.map({ $0 >= 0x61 }) == true else {
            return "it begins with a lower-case letter and has lower-case letters, digits and '_', at most 64"
        }
        guard !NameRule.reserved.contains(text) else { return "the profile or every token has it; choose another name" }
        return nil
    }

    /// What names something else in assertions, ID tokens or userinfo: RFC 7519 §4.1, OpenID Connect Core §2 and §5.1.
    private static let reserved = Set(IdentityField.allCases.map(\.rawValue)).union([
        "iss", "sub", "aud", "exp", "nbf", "iat", "jti", "sid", "nonce", "azp", "at_hash", "c_hash", "s_hash", "cnf",
        "act",
        "scope", "client_id", "username", "claims", "typ", "events",
    ])
}

extension Shape<String> {
    package static let claimName = single("the name of a claim", pattern: NameRule.claimName.pattern) {
        text throws(InvalidValue) in
        if let reason = NameRule.claimName.reason(text) { throw InvalidValue("is not the name of a claim; \(reason)") }
        return text
    }

    /// The name of a claim, or of a field that tokens for clients can have.
    package static let claimOrFieldName = single(
        "the name of a claim or of a field",
        pattern: NameRule.claimName.pattern
    ) { text throws(InvalidValue) in
        guard IdentityField(forClient: text) == nil else { return text }
        if let reason = NameRule.claimName.reason(text) {
            throw InvalidValue("is not the name of a claim or of a field; \(reason)")
        }
        return text
    }

    /// The value of a claim as rules compare it: a text, the digits of a number, `true` or `false`, with or without quotes.
    package static let claimValue: Shape = {
        let one = single("a value of a claim") { text throws(InvalidValue) in
            guard PrintableText.checked(text, limit: ClaimValue.maxTextBytes) != nil else {
                throw InvalidValue(
                    "cannot be the value of a claim, which has 1 to \(ClaimValue.maxTextBytes) printable bytes"
                )
            }
            return text
        }
        return Shape(one.kind, schema: ["type": ["string", "number", "boolean"]]) { node, reading in
            if case .scalar(let text, true) = node.content, text == "true" || text == "false" { return text }
            return one.read(node, &reading)
        }
    }()
}
