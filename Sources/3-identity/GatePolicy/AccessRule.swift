// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Which users may access an app.
package enum AccessRule: Sendable, Hashable {
    /// Every session of an accepted provider.
    case signedIn
    /// Users who match one of the entries.
    case entries([AccessEntry])

    package var entries: [AccessEntry] {
        guard case .entries(let entries) = self else { return [] }
        return entries
    }
}

/// One entry of an `allow` or a `deny` list: all its conditions must be met.
///
/// Only verified email addresses count. An entry without conditions matches no user.
package struct AccessEntry: Sendable, Hashable {
    /// Entries inside an entry.
    package enum Nested: Sendable, Hashable {
        /// The entry must not match.
        case not(AccessEntry)
        /// One of the entries must match.
        case any([AccessEntry])
        /// All of the entries must match.
        case all([AccessEntry])

        package var entries: [AccessEntry] {
            switch self {
            case .not(let entry): [entry]
            case .any(let entries), .all(let entries): entries
            }
        }
    }

    /// The provider's name in the file.
    package var provider: String?
    /// The user key, `provider:subject`.
    package var user: String?
    /// The verified email address.
    package var email: EmailAddress?
    /// The domain of the verified email address, in lower case; compared as a whole.
    package var emailDomain: String?
    /// A group of the user.
    package var group: String?
    /// A role of the user.
    package var role: String?
    /// The tenant of the user at the provider.
    package var tenant: String?
    /// An organization of the user: the tenant, or a group that is an organization.
    package var organization: String?
    /// The providers that must be the authority for the email address, among those that report whether they are.
    package var authorities: Set<String> = []
    /// The providers that return all roles of their users.
    package var rolesFrom: Set<String> = []
    /// The providers that return the tenant of every user who has one.
    package var tenantsFrom: Set<String> = []
    /// The providers that can return a tenant.
    package var mayHaveTenant: Set<String> = []
    /// The providers whose groups without a slash are the organizations of the user.
    package var organizationsFrom: Set<String> = []
    /// The claims of the user, of which each must have one of some values.
    package var claims: [ClaimCondition] = []
    package var request: [RequestCondition] = []
    /// The conditions that are entries.
    package var nested: [Nested] = []
    /// Where the entry is written.
    package var place: RulePlace?

    /// An entry without conditions.
    package init(at place: RulePlace? = nil) {
        self.place = place
    }

    /// Whether the user meets every condition on the user that the entry has itself.
    ///
    /// Without a verified email address the address is unknown, and so is a group that is missing from an incomplete
    /// list: not enough to admit a user, and not enough to pass a `deny` entry, since users can make a provider
    /// withhold both.
    ///
    /// An email address that the provider checked once may since belong to another user, or to a company that the user
    /// has left: enough to deny, not to admit.
    package func match(_ profile: Profile) -> MatchResult {
        guard self.hasCondition else { return .no }
        let user = self.matchOfUser(profile)
        guard user != .no else { return .no }
        return user.and(self.matchOfEmail(profile)).and(self.matchOfGroup(profile)).and(self.matchOfRole(profile))
            .and(self.matchOfTenant(profile)).and(self.matchOfOrganization(profile))
            .and(self.claims.reduce(.yes) { $0.and($1.match(profile)) })
    }

    /// The key of a connected account, by which apps know the user, is enough to deny, not to admit: a connection gives a user of
    /// the weaker provider no access.
    private func matchOfUser(_ profile: Profile) -> MatchResult {
        if let user, let key = profile.connectedKey, isIdentical(user, key) {
            guard let provider, !isIdentical(provider, profile.provider) else { return .unknown(.connectedAccount) }
            return key.hasPrefix("\(provider):") ? .unknown(.connectedAccount) : .no
        }
        if let provider, !isIdentical(provider, profile.provider) { return .no }
        return user.map { MatchResult(isIdentical($0, profile.user)) } ?? .yes
    }

    private func matchOfEmail(_ profile: Profile) -> MatchResult {
        guard self.email != nil || self.emailDomain != nil else { return .yes }
        guard let address = profile.verifiedEmail else { return .unknown(.email) }
        guard self.email ?? address == address, self.emailDomain ?? address.domain == address.domain else { return .no }
        guard !profile.emailAuthoritative, self.authorities.contains(profile.provider) else { return .yes }
        return .unknown(.emailAuthority)
    }

    private func matchOfGroup(_ profile: Profile) -> MatchResult {
        guard let group, !profile.isInside(group: group) else { return .yes }
        if profile.isOutside(group: group) { return .no }
        return .unknown(profile.groupsComplete ? .keptGroups : .groups)
    }

    private func matchOfRole(_ profile: Profile) -> MatchResult {
        guard let role, !profile.roles.contains(where: { isIdentical($0, role) }) else { return .yes }
        return profile.rolesComplete && self.rolesFrom.contains(profile.provider) ? .no : .unknown(.roles)
    }

    private func matchOfTenant(_ profile: Profile) -> MatchResult {
        guard let tenant else { return .yes }
        if let own = profile.tenant { return MatchResult(isIdentical(own, tenant)) }
        return self.tenantsFrom.contains(profile.provider) ? .no : .unknown(.tenant)
    }

    /// The tenant and the organizations among the groups are looked at; the user is outside only if both are known.
    private func matchOfOrganization(_ profile: Profile) -> MatchResult {
        guard let organization else { return .yes }
        if let tenant = profile.tenant, isIdentical(tenant, organization) { return .yes }
        let isKnown = profile.tenant != nil || self.tenantsFrom.contains(profile.provider)
        let isTenant =
            isKnown || !self.mayHaveTenant.contains(profile.provider) ? MatchResult.no : .unknown(.organization)
        if let group = self.group(of: profile.provider) {
            if profile.isInside(group: group) { return .yes }
            if !profile.isOutside(group: group) { return .unknown(profile.groupsComplete ? .keptGroups : .groups) }
            return isTenant
        }
        return isKnown || self.organizationsFrom.contains(profile.provider) ? isTenant : .unknown(.organization)
    }

    /// The group that the organization is at a provider; nil where it cannot be one.
    private func group(of provider: String) -> String? {
        guard let organization, !organization.contains("/"), self.organizationsFrom.contains(provider) else {
            return nil
        }
        return organization
    }

    /// The groups of a provider's users that the entry asks for itself.
    func namedGroups(of provider: String) -> [String] {
        [self.group, self.group(of: provider)].compactMap(\.self)
    }

    private var hasCondition: Bool { !self.isAboutRequestsOnly || !self.request.isEmpty || !self.nested.isEmpty }

    /// Whether none of its own conditions is about the user.
    var isAboutRequestsOnly: Bool {
        self.provider == nil && self.user == nil && self.email == nil && self.emailDomain == nil && self.group == nil
            && self.role == nil && self.tenant == nil && self.organization == nil && self.claims.isEmpty
    }

    /// What is left of the entry for a user.
    func condition(for profile: Profile) -> RuleCondition {
        guard self.hasCondition else { return .decided(.no) }
        let nested = self.nested.map { nested -> RuleCondition in
            switch nested {
            case .not(let entry): entry.condition(for: profile).negated
            case .any(let entries): .some(entries.map { $0.condition(for: profile) })
            case .all(let entries): .every(entries.map { $0.condition(for: profile) })
            }
        }
        let request: [RuleCondition] = self.request.isEmpty ? [] : [.request(self.request)]
        return .every([.decided(self.match(profile))] + request + nested)
    }

    /// The entry itself and all entries in it.
    package var withNested: [AccessEntry] {
        [self] + self.nested.flatMap(\.entries).flatMap(\.withNested)
    }
}
