// SPDX-License-Identifier: Apache-2.0

extension NameRule {
    package static let providerName = NameRule(
        subject: "the name of a provider",
        pattern: "^[a-z0-9][a-z0-9_\\-]{0,62}$"
    ) {
        name in
        NameRule.reason(against: name, extra: "_-")
    }

    package static let appName = NameRule(subject: "the name of an app", pattern: "^[a-z0-9][a-z0-9_.\\-]{0,62}$") {
        name in
        NameRule.reason(against: name, extra: "_.-")
    }

    package static let ruleSetName = NameRule(
        subject: "the name of a rule set",
        pattern: "^[a-z0-9][a-z0-9_.\\-]{0,62}$"
    ) {
        name in
        NameRule.reason(against: name, extra: "_.-")
    }

    private static func reason(against name: String, extra: String) -> String? {
        func isLetter(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) }
        let isLegal = name.utf8.allSatisfy { isLetter($0) || extra.utf8.contains($0) }
        guard isLegal, let first = name.utf8.first, isLetter(first) else {
            let help = extra.map { "'\($0)'" }.joined(separator: ", ")
            return "it may hold a to z, 0 to 9, \(help), and starts with a letter or digit"
        }
        return name.utf8.count <= 63 ? nil : "it may have at most 63 characters"
    }
}
