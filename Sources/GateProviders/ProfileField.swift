// SPDX-License-Identifier: Apache-2.0

/// The fields of a profile whose sources the configuration may name, by their names there.
package enum ProfileField: String, Sendable, CaseIterable {
    /// The stable id of the person at the provider.
    case subject
    /// The organization at the provider.
    case tenant
    /// A name to show; changeable.
    case username
    /// The full name.
    case name
    /// The given name.
    case givenName = "given_name"
    /// The family name.
    case familyName = "family_name"
    /// The e-mail address.
    case email
    /// Whether the address is proved.
    case emailVerified = "email_verified"
    /// The https address of a picture.
    case picture
    /// The language.
    case locale
    /// The groups.
    case groups
    /// The roles.
    case roles
    /// When the person last proved who they are.
    case authTime = "auth_time"
}
