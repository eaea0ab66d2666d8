// SPDX-License-Identifier: Apache-2.0

internal import GateYAML

extension NameRule {
    /// The scopes of OpenID Connect, which clients ask for to learn about the user (Core §5.4 and §11), and `groups`.
    private static let reserved = ["openid", "profile", "email", "address", "phone", "groups", "offline_access"]

    /// The names of the scopes of an app: a part of what RFC 6749 §3.3 has, so that no character needs quoting anywhere.
    static let scope = NameRule(subject: "the name of a scope", pattern: "^[A-Za-z0-9._:/\\-]{1,64}$") { name in
        let isLegal = name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "._:/-".utf8.contains(byte)
        }
        guard isLegal, (1...64).contains(name.utf8.count) else {
            return "it may have 1 to 64 of A to Z, a to z, 0 to 9, '.', '_', ':', '/', '-'"
        }
        return NameRule.reserved.contains(name) ? "OpenID Connect has one of this name" : nil
    }
}

extension Shape<String> {
    /// What a scope permits, for users.
    static let scopeText = single("what the scope permits", pattern: "^[^\\u0000-\\u001F\\u007F-\\u009F]{1,200}$") {
        text throws(InvalidValue) in
        let isPrintable = text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
        guard isPrintable, (1...200).contains(text.count) else {
            throw InvalidValue("is not one line of 1 to 200 characters such as 'Change and delete notes'")
        }
        return text
    }
}
