// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The settings of a provider of type `local` that others do not have.
package struct LocalAccountSettings: Sendable, Hashable {
    /// How long a link is valid by which a user chooses a password.
    package var linkLifetime = LocalAccountSettings.defaultLinkLifetime
    /// A file with the SHA-1 of passwords that are publicly known; nil for none.
    package var breachedPasswords: String?
    /// Who may register; nil if only operators add accounts.
    package var registration: RegistrationSettings?

    /// Unless configured, a link is valid for seven days.
    package static let defaultLinkLifetime = Duration.seconds(7 * 86_400)

    package init() {}
}

/// Who may register for a local account.
package struct RegistrationSettings: Sendable, Hashable {
    /// The domains of email addresses that may, in lower case.
    package var domains: [String] = []
    /// The groups that such accounts get.
    package var groups: [String] = []

    /// Settings without a domain, by which no user may register.
    package init() {}
}

extension ProviderType {
    /// Accounts in the gateway's own store; not in ``all``, since it has no server and so no definition.
    package static let local = ProviderType(
        "local",
        title: "The gateway",
        settings: [.linkLifetime, .breachedPasswords, .registration],
        listsGroups: true
    ) { settings throws(Failure) in
        throw Failure(.providerDefinition, "\(settings.id) has local accounts, which no server defines")
    }
}
