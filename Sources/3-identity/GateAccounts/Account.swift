// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A local account as the store keeps it.
package struct Account: Sendable, Hashable {
    /// The id, a random UUID in lower case: the subject of the user's profile.
    package let id: String
    /// The email address in its normal form.
    package var email: String?
    /// Whether the email address is known to be the user's.
    package var isEmailVerified = false
    /// The user name.
    package var username: String?
    /// The full name.
    package var name: String?
    /// The groups, as the operator has set them: sorted, each once.
    package var groups: [String] = []
    /// Whether the operator has disabled the account.
    package var isDisabled = false
    package let created: Instant
    /// The hash of the password; nil as long as the user has chosen none.
    package var password: PasswordHash?
    /// When the password was chosen.
    package var passwordChanged: Instant?
    /// The link with which the user chooses a password; nil if it does not exist.
    var link: AccountLink?
    /// The links with which a user who has forgotten the password chooses another; the password is valid until then.
    var recovery: [AccountLink] = []
    /// The second factor; nil if it does not exist.
    var codes: SecondFactor?
    /// A number that each change of the credentials raises, so that what was issued before is void.
    package var generation: Int64 = 0

    /// The maximum number of groups.
    package static let maxGroups = 100
    /// The maximum length of a name or a group, in bytes.
    package static let maxText = 255

    /// An account without anything.
    package init(id: String, created: Instant) {
        (self.id, self.created) = (id, created)
    }

    /// Whether codes are asked for after the password.
    package var hasSecondFactor: Bool { self.codes != nil }

    /// The number of recovery codes that are left.
    package var recoveryCodesLeft: Int { self.codes?.recovery.count ?? 0 }

    /// The names under which the account is found.
    var names: [AccountName] {
        [self.email.map(AccountName.email), self.username.map(AccountName.username)].compactMap(\.self)
    }

    /// When the link ends by which the user may choose a password; nil if it does not exist.
    package var linkExpires: Instant? { self.link?.expires }

    /// The issuer of the profiles of local accounts.
    static let issuer = "local"

    /// The profile of the user.
    package func profile(at provider: String) -> Profile {
        var profile = Profile(provider: provider, issuer: Account.issuer, subject: self.id)
        profile.email = self.email
        profile.emailVerified = self.email != nil && self.isEmailVerified
        profile.username = self.username
        profile.name = self.name
        profile.groups = self.groups
        return profile
    }
}

/// A link with which a user chooses a password, once.
struct AccountLink: Sendable, Hashable {
    /// The hash of the random part of the link.
    let hash: [UInt8]
    /// When the link ends.
    let expires: Instant
    /// Whether the link was given to the owner of the email address, which its use proves.
    let verifiesEmail: Bool
}

/// The second factor of an account: time-based codes and codes for the loss of the device.
struct SecondFactor: Sendable, Hashable {
    /// The secret that the app of the user shares.
    let secret: Secret
    /// The latest time step whose code was used, so that each works once.
    var lastStep: Int64
    /// The hashes of the recovery codes that are left.
    var recovery: [[UInt8]]
}

extension Account {
    /// How far the clocks of two gateways may differ.
    private static let leeway = Duration.seconds(60)

    /// Whether the password was changed after a sign-in, which the change should have ended.
    package func hasChangedPassword(since signIn: Instant) -> Bool {
        self.passwordChanged.map { signIn.advanced(by: Account.leeway) < $0 } ?? false
    }
}
