// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
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
    /// The names of the claims that are sent.
    private(set) var claimNames: Set<String> = []
    /// The headers that the product sets and the gateway cannot: without it an app would take those of the client for them.
    private var dropped: [String] = []
    private let claims: ImportedClaims
    private let user: IdentityField?

    /// No headers yet.
    ///
    /// - Parameters:
    ///   - claims: The claims that headers may have.
    ///   - user: The field that is what the product takes for the user's ID; nil if none is.
    init(claims: ImportedClaims = ImportedClaims([], from: []), user: IdentityField? = .subject) {
        self.claims = claims
        self.user = user
    }

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
    /// Fields of which the gateway has checked or completed the value, such as `picture`, may differ from the claim.
    private func field(ofClaim claim: String) -> IdentityField? {
        switch claim {
        case "email", "name", "preferred_username", "groups", "given_name", "family_name":
            IdentityField(rawValue: claim)
        case "user", "sub": self.user
        default: nil
        }
    }

    mutating func add(_ name: String, claim: String) -> Outcome {
        if let field = self.field(ofClaim: claim) { return self.add(name, field) }
        guard let own = self.claims.name(of: claim) else {
            self.drop(name)
            return .left("there is no field for the claim")
        }
        if let sent = ImportedHeaders.standard[name.lowercased()] {
            return .left("it always has the field '\(sent.rawValue)', not the claim")
        }
        let outcome = self.add(name, word: "claims.\(own)")
        if outcome == .carried { self.claimNames.insert(own) }
        return outcome
    }

    /// Adds a header with a field; the first one of a name counts.
    mutating func add(_ name: String, _ field: IdentityField) -> Outcome {
        guard let sent = ImportedHeaders.standard[name.lowercased()] else {
            return self.add(name, word: field.rawValue)
        }
        // The user key has the ID within it.
        return sent == field || sent == .user && field == self.user
            ? .carried : .left("it always has the field '\(sent.rawValue)', not '\(field.rawValue)'")
    }

    private mutating func add(_ name: String, word: String) -> Outcome {
        if let reason = HeaderSetting.reason(against: name) { return .left(reason) }
        if !self.mapping.entries.contains(where: { $0.key.lowercased() == name.lowercased() }) {
            self.mapping.add(name, .word(word))
        }
        return .carried
    }

    /// A warning about the form of the claims that are sent, if there are any.
    ///
    /// - Parameters:
    ///   - difference: What else is different from the product.
    ///   - place: Where the headers are.
    ///   - notes: The notes, to which it is added.
    func warnOfForm(_ difference: String? = nil, at place: ImportPlace?, _ notes: inout ImportNotes) {
        guard !self.claimNames.isEmpty else { return }
        let more = difference.map { "; \($0)" } ?? ""
        notes.warning(
            "of headers with claims, all but visible ASCII, '%' and a comma within an element of a list are percent-encoded, and an object "
                + "is not sent; see 'identity.encoding'\(more)",
            at: place
        )
    }

    /// The headers that the gateway sends to every app, and their fields.
    private static let standard: [String: IdentityField] = [
        "x-forwarded-user": .user, "x-forwarded-email": .email, "x-forwarded-groups": .groups,
        "x-forwarded-preferred-username": .preferredUsername, "x-forwarded-name": .name,
    ]
}
