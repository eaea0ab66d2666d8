// SPDX-License-Identifier: Apache-2.0

internal import GateAppConfiguration
internal import GateCore

/// The headers with identity fields that a product sends to an app, as far as the file has the same.
struct ImportedHeaders: Sendable {
    /// What became of a header.
    enum Outcome: Equatable {
        /// It is among the headers, or the gateway sends it to each app.
        case carried
        /// It is not sent, and why.
        case left(String)
    }

    /// For the key `headers` of an app.
    private(set) var mapping = YAMLMapping()
    /// The headers that the product sets and the gateway cannot: without it an app would take those of the client for them.
    private var dropped: [String] = []

    /// The names for the key `remove` of `request_headers`.
    ///
    /// - Parameter set: What the same app has in `set`.
    /// - Returns: The names, without those that the gateway or the app sets.
    func removed(besides set: YAMLMapping) -> [ConfigText] {
        let written = Set((self.mapping.entries + set.entries).map { $0.key.lowercased() })
        var seen: Set<String> = []
        return self.dropped.filter { name in
            HeaderEdits.reason(against: name, isSet: false) == nil && !written.contains(name.lowercased())
                && seen.insert(name.lowercased()).inserted
        }
        .compactMap { ConfigText($0) }
    }

    /// Notes a header that is not sent, so that the client's is removed.
    mutating func drop(_ name: String) { self.dropped.append(name) }

    /// The identity field of a claim; nil without one.
    ///
    /// Of `user` the value is another one, the user key.
    static func field(ofClaim claim: String) -> IdentityField? {
        switch claim {
        case "email", "name", "preferred_username", "groups", "user", "roles", "given_name", "family_name", "picture",
            "locale",
            "email_verified", "auth_time", "acr", "amr":
            IdentityField(rawValue: claim)
        default: nil
        }
    }

    /// Adds a header with a claim.
    mutating func add(_ name: String, claim: String) -> Outcome {
        guard let field = ImportedHeaders.field(ofClaim: claim) else {
            self.drop(name)
            return .left("there is no field for the claim")
        }
        return self.add(name, field)
    }

    /// Adds a header with a field; the first one of a name counts.
    mutating func add(_ name: String, _ field: IdentityField) -> Outcome {
        if let sent = ImportedHeaders.standard[name.lowercased()] {
            return sent == field
                ? .carried : .left("it always has the field '\(sent.rawValue)', not '\(field.rawValue)'")
        }
        if let reason = HeaderSetting.reason(against: name) { return .left(reason) }
        if !self.mapping.entries.contains(where: { $0.key.lowercased() == name.lowercased() }) {
            self.mapping.add(name, .word(field.rawValue))
        }
        return .carried
    }

    /// The headers that the gateway sends to every app, and their fields.
    private static let standard: [String: IdentityField] = [
        "x-forwarded-user": .user, "x-forwarded-email": .email, "x-forwarded-groups": .groups,
        "x-forwarded-preferred-username": .preferredUsername, "x-forwarded-name": .name,
    ]
}
