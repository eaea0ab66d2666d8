// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A kind of provider that the catalogue knows: what may be set for it and how its definition is made.
///
/// Two types are the same if they have the same name.
package struct ProviderType: Sendable {
    /// The `type` in the file.
    package let name: String
    /// How a message names the provider.
    package let title: String
    /// Which of the settings that not every type has this one has.
    package let settings: Set<ProviderSetting>
    /// The settings that it requires.
    package let required: Set<ProviderSetting>
    /// What `groups` may list, the names of look-ups at the provider.
    package let lookups: [String]
    /// Whether the provider's responses list groups without a lookup.
    package let listsGroups: Bool
    /// What the provider accepts as a callback.
    package let redirects: RedirectRule
    /// Whether any member of the public can sign in with these settings.
    package let acceptsAnyAccount: @Sendable (ProviderSettings) -> Bool
    let entry: @Sendable (ProviderSettings) throws(Failure) -> CatalogEntry

    init(
        _ name: String,
        title: String,
        settings: Set<ProviderSetting> = [],
        required: Set<ProviderSetting> = [],
        lookups: [String] = [],
        listsGroups: Bool = false,
        redirects: RedirectRule = .anything,
        acceptsAnyAccount: @escaping @Sendable (ProviderSettings) -> Bool = { _ in false },
        entry: @escaping @Sendable (ProviderSettings) throws(Failure) -> CatalogEntry
    ) {
        self.name = name
        self.title = title
        self.settings = settings.union(required).union(lookups.isEmpty ? [] : [.groups])
        self.required = required
        self.lookups = lookups
        self.listsGroups = listsGroups
        self.redirects = redirects
        self.acceptsAnyAccount = acceptsAnyAccount
        self.entry = entry
    }

    /// Whether the provider identifies users by ID tokens.
    package var isOpenID: Bool { self.settings.isSuperset(of: ProviderSetting.openID) }
}

extension ProviderType: Hashable {
    /// Whether both have the same name.
    package static func == (left: ProviderType, right: ProviderType) -> Bool { left.name == right.name }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.name) }
}
