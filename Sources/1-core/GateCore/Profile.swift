// SPDX-License-Identifier: Apache-2.0

/// A user as a provider describes them, in the same fields for every provider.
///
/// `provider` and `subject` identify; everything else is a fact that may change. The e-mail address is only such a
/// fact, to be trusted when `emailVerified` is true.
package struct Profile: Sendable, Hashable {
    /// The provider's name in the configuration file.
    package var provider: String
    /// The issuer that vouches, in its canonical spelling.
    package var issuer: String
    /// The user's stable id at the issuer, at most 255 bytes; never parsed as a number.
    package var subject: String
    /// The organization at the provider: Google `hd`, Microsoft `tid`.
    package var tenant: String?
    /// A name to show; changeable.
    package var username: String?
    /// The full name.
    package var name: String?
    package var givenName: String?
    package var familyName: String?
    /// The e-mail address, domain in lower case.
    package var email: String?
    /// Whether the provider has proved that the address belongs to the user.
    package var emailVerified = false
    /// Whether the provider is the authority for the address, beyond having verified it once.
    package var emailAuthoritative = false
    /// An https address of a picture.
    package var picture: String?
    /// The language, BCP 47.
    package var locale: String?
    /// The groups, sorted, each once.
    package var groups: [String] = []
    /// The roles, sorted, each once.
    package var roles: [String] = []
    /// Whether `roles` is all that the provider sent; a session keeps a bounded number.
    package var rolesComplete = true
    /// Whether `groups` is all of them; false is "unknown" to a rule that denies.
    package var groupsComplete = true
    /// Which groups were looked for in all that the provider listed, if `groups` keeps only part of it; nil if it keeps
    /// everything.
    package var groupsRequested: Set<String>?
    /// When the user last authenticated at the provider.
    package var authTime: Instant?
    /// The class of that authentication, as the provider names it: OpenID Connect Core §2.
    package var acr: String?
    /// How the user authenticated, by the names of RFC 8176, in the provider's order.
    package var amr: [String] = []
    /// The claims of the operator's own, by their names; only those that the configuration uses.
    package var claims: [String: ClaimValue] = [:]
    /// The user key of another account of the user, by which apps know them; nil for ``user``.
    package var connectedKey: String?

    /// A profile with the three fields that every profile has.
    package init(provider: String, issuer: String, subject: String) {
        self.provider = provider
        self.issuer = issuer
        self.subject = subject
    }

    /// The provider's name of service tokens, which do not come from a provider: `token:NAME`.
    package static let serviceTokenProvider = "token"

    /// The key of the user everywhere: `provider:subject`.
    package var user: String { "\(self.provider):\(self.subject)" }

    /// The user key that apps and clients get.
    package var forwardedKey: String { self.connectedKey ?? self.user }

    /// Whether the user is known to be in a group.
    package func isInside(group: String) -> Bool {
        self.groups.contains { isIdentical($0, group) }
    }

    /// Whether the user is known not to be in a group; false if unknown.
    package func isOutside(group: String) -> Bool {
        guard self.groupsComplete, !self.isInside(group: group) else { return false }
        return self.groupsRequested?.contains { isIdentical($0, group) } ?? true
    }

    /// The address if it is verified and has one reading; the only one that a rule may look at.
    package var verifiedEmail: EmailAddress? {
        self.emailVerified ? self.email.flatMap(EmailAddress.init) : nil
    }
}
