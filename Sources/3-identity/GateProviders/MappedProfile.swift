// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A profile, and where each of its fields came from.
package struct MappedProfile: Sendable, Hashable {
    package internal(set) var profile: Profile
    /// The source of each field; an empty field has none.
    package internal(set) var sources: [ProfileField: String] = [:]

    /// The source of each claim; one that is absent has none.
    package internal(set) var claimSources: [String: String] = [:]

    /// The rows of a table: every field in order, then every claim by name, its value as text and its source, nil where they are
    /// absent.
    package var rows: [(field: String, value: String?, source: String?)] {
        let fields = ProfileField.allCases.map { ($0.rawValue, self.profile.text(of: $0), self.sources[$0]) }
        let claims = self.profile.claims.sorted { $0.key < $1.key }.map { name, value in
            ("claims.\(name)", value.shown, self.claimSources[name])
        }
        return fields + claims
    }
}

extension ClaimValue {
    /// The value as a table shows it: a text as it is, all else as JSON.
    fileprivate var shown: String {
        guard case .text(let text) = self else { return self.json.text }
        return text
    }
}

extension Profile {
    /// The value of a field as text; nil if the user has none.
    package func text(of field: ProfileField) -> String? {
        switch field {
        case .provider: self.provider
        case .issuer: self.issuer
        case .subject: self.subject
        case .tenant: self.tenant
        case .username: self.username
        case .name: self.name
        case .givenName: self.givenName
        case .familyName: self.familyName
        case .email: self.email
        case .emailVerified: "\(self.emailVerified)"
        case .emailAuthoritative: "\(self.emailAuthoritative)"
        case .picture: self.picture
        case .locale: self.locale
        case .groups: JSON.array(self.groups.map(JSON.string)).text
        case .roles: JSON.array(self.roles.map(JSON.string)).text
        case .groupsComplete: "\(self.groupsComplete)"
        case .authTime: self.authTime.map { "\($0.seconds)" }
        }
    }
}
