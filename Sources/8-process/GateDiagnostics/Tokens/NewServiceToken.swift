// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateProviders
internal import GateYAML

/// A service token that was just made, with the lines for the file; the only place that has the token itself.
package struct NewServiceToken: Sendable {
    /// Why no token can be made, in a sentence.
    package struct InvalidArgument: Error, CustomStringConvertible {
        /// The sentence.
        package let description: String
    }

    package let token: String
    private let name: String
    private let hash: String
    private let lastDay: String?
    private let groups: [String]

    /// Makes a token.
    ///
    /// - Parameters:
    ///   - name: Its name in the file.
    ///   - lifetime: How long it is accepted, such as `30d`, or `never` for no end.
    ///   - groups: The groups of its user.
    ///   - now: The time.
    ///   - random: The source of random bytes.
    /// - Throws: `InvalidArgument` if one of them cannot be in the file.
    package init(
        name: String,
        lifetime: String,
        groups: [String],
        now: Instant = WallClock.system.now,
        random: RandomBytes = .system
    ) throws(InvalidArgument) {
        if let reason = NameRule.ruleSetName.reason(name) {
            throw InvalidArgument(description: "'\(name)' cannot be the name of a token; \(reason)")
        }
        if let group = groups.first(where: { $0.isEmpty || !PrintableText.isPrintable($0) }) {
            throw InvalidArgument(description: "'\(group)' cannot be a group")
        }
        self.lastDay = try NewServiceToken.lastDay(lifetime, now: now)
        self.token = ServiceToken.make(random)
        self.hash = ServiceToken.text(of: ServiceToken.hash(of: self.token))
        self.name = name
        self.groups = groups
    }

    private static func lastDay(_ lifetime: String, now: Instant) throws(InvalidArgument) -> String? {
        guard lifetime != "never" else { return nil }
        guard let time = Duration(yamlText: lifetime), (.seconds(86_400)...(.seconds(3650 * 86_400))) ~= time else {
            let help = "write a time such as 30d, at least 1d and at most 3650d, or 'never'"
            throw InvalidArgument(description: "'\(lifetime)' is not a lifetime of a token; \(help)")
        }
        return now.advanced(by: time).date
    }

    /// The lines for the file.
    package var yaml: String {
        var lines = ["service_tokens:", "  \(self.name):", "    hash: \(self.hash)"]
        if let lastDay { lines.append("    expires: \(lastDay)") }
        if !self.groups.isEmpty { lines.append("    groups: \(JSON.array(self.groups.map(JSON.string)).text)") }
        return lines.joined(separator: "\n")
    }

    /// The token and its entry.
    package var json: JSON {
        var members: [String: JSON] = [
            "name": .string(self.name), "token": .string(self.token), "hash": .string(self.hash),
        ]
        members["expires"] = self.lastDay.map(JSON.string)
        if !self.groups.isEmpty { members["groups"] = .array(self.groups.map(JSON.string)) }
        return .object(members)
    }
}
