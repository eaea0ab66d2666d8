// SPDX-License-Identifier: Apache-2.0

/// The fields of a profile, by their names in the configuration and in everything that shows one, in that order.
package enum ProfileField: String, Sendable, CaseIterable {
    /// The provider's name in the file.
    case provider
    /// The issuer that vouches.
    case issuer
    /// The stable id of the user at the provider.
    case subject
    /// The organization at the provider.
    case tenant
    /// A name to show; changeable.
    case username
    /// The full name.
    case name
    case givenName = "given_name"
    case familyName = "family_name"
    /// The e-mail address.
    case email
    /// Whether the address is proved.
    case emailVerified = "email_verified"
    /// Whether the provider is the authority for the address.
    case emailAuthoritative = "email_authoritative"
    /// The https address of a picture.
    case picture
    /// The language.
    case locale
    case groups
    case roles
    /// Whether the groups are all of them.
    case groupsComplete = "groups_complete"
    /// When the user last authenticated.
    case authTime = "auth_time"

    /// The fields whose sources the configuration may name; the others follow from these or are fixed.
    package static let mapped = ProfileField.allCases.filter { !$0.isDerived }

    /// Whether the field is never read from a claim alone.
    package var isDerived: Bool {
        switch self {
        case .provider, .issuer, .emailAuthoritative, .groupsComplete: true
        default: false
        }
    }

    /// Whether unsigned data from the browser may fill the field.
    package var takesUnsigned: Bool { self == .name || self == .givenName || self == .familyName }

    /// Whether the scope `profile` of OpenID Connect asks for the field together with the name.
    var comesWithName: Bool {
        switch self {
        case .givenName, .familyName, .picture, .locale: true
        default: false
        }
    }
}
