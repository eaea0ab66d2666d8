// SPDX-License-Identifier: Apache-2.0

/// A fact about a user that an app can receive.
package enum IdentityFact: Sendable, Hashable {
    /// A field that every configuration has.
    case field(IdentityField)
    /// A claim of the operator's own, by its name.
    case claim(String)
}

/// A fact about a user that every configuration has, by its name in the file and in the assertion.
package enum IdentityField: String, Sendable, CaseIterable {
    /// The user key, `provider:subject`.
    case user
    /// The email address; in a header only if it is verified.
    case email
    /// The full name.
    case name
    /// The display name: `username` of the profile.
    case preferredUsername = "preferred_username"
    case groups
    /// The provider's name in the file.
    case provider
    case roles
    case givenName = "given_name"
    case familyName = "family_name"
    /// The https URL of a picture.
    case picture
    /// The language, BCP 47.
    case locale
    /// The organization at the provider.
    case tenant
    /// Whether the provider has verified the email address.
    case emailVerified = "email_verified"
    /// Whether the provider is the authority for the email address.
    case emailAuthoritative = "email_authoritative"
    /// Whether the groups are known to be all of them.
    case groupsComplete = "groups_complete"
    /// The issuer that vouches for the user.
    case issuer
    /// The user's id at the issuer.
    case subject
    /// When the user last authenticated at the provider, in seconds since 1970.
    case authTime = "auth_time"
    /// The class of the authentication, as the provider names it.
    case acr
    /// How the user authenticated, by the names of RFC 8176.
    case amr
    case assertion

    /// The fields that have a standard header, and what they are in the assertion.
    package static let facts = IdentityField.allCases.filter { $0 != .assertion }
    /// The fields whose standard headers an app gets that chooses none.
    package static let standard: Set<IdentityField> = [.user, .email, .name, .preferredUsername, .groups, .provider]
    /// The fields that every assertion has.
    package static let signed = standard.union([.emailVerified, .roles, .authTime, .acr, .amr])

    /// The field of a name that a token for a client can have; nil for any other.
    ///
    /// The user is always in one, as `sub`.
    package init?(forClient name: String) {
        guard let field = IdentityField(rawValue: name), field != .assertion, field != .user else { return nil }
        self = field
    }

    /// The name of the standard header: `X-Forwarded-Given-Name`.
    package var header: String {
        let words = self.rawValue.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }
        return "X-Forwarded-" + words.joined(separator: "-")
    }

    /// The name of the claim in the assertion.
    package var claim: String { self == .user ? "sub" : self.rawValue }

    /// The value for an app, of the type that it has in the assertion; nil for one that the user does not have.
    ///
    /// - Parameters:
    ///   - profile: The user.
    ///   - methods: How the user authenticated, at the provider and at the gateway.
    /// - Returns: The value; nil for the assertion as well.
    package func value(of profile: Profile, methods: [String]) -> JSON? {
        switch self {
        case .user: .string(profile.forwardedKey)
        case .email: profile.email.map(JSON.string)
        case .name: profile.name.map(JSON.string)
        case .preferredUsername: profile.username.map(JSON.string)
        case .groups: .array(profile.groups.map(JSON.string))
        case .provider: .string(profile.provider)
        case .roles: .array(profile.roles.map(JSON.string))
        case .givenName: profile.givenName.map(JSON.string)
        case .familyName: profile.familyName.map(JSON.string)
        case .picture: profile.picture.map(JSON.string)
        case .locale: profile.locale.map(JSON.string)
        case .tenant: profile.tenant.map(JSON.string)
        case .emailVerified: profile.email.map { _ in .bool(profile.emailVerified) }
        case .emailAuthoritative: profile.email.map { _ in .bool(profile.emailAuthoritative) }
        case .groupsComplete: .bool(profile.groupsComplete)
        case .issuer: .string(profile.issuer)
        case .subject: .string(profile.subject)
        case .authTime: profile.authTime.map { .int($0.seconds) }
        case .acr: profile.acr.map(JSON.string)
        case .amr: methods.isEmpty ? nil : .array(methods.map(JSON.string))
        case .assertion: nil
        }
    }
}

extension IdentityFact {
    /// The value for an app, of the type that it has in the assertion; nil for one that the user does not have.
    package func value(of profile: Profile, methods: [String]) -> JSON? {
        switch self {
        case .field(let field): field.value(of: profile, methods: methods)
        case .claim(let name): profile.claims[name]?.json
        }
    }
}
