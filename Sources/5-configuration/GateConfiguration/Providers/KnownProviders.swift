// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders
package import GateYAML

/// The providers of a file, its issuers and service tokens, as apps refer to them.
package struct KnownProviders: Sendable {
    /// The names, in the order of the file.
    package let names: [String]
    /// The names, without an order.
    package let all: Set<String>
    private let drafts: [String: ProviderDraft]
    /// The issuers whose tokens machines bring.
    package let issuers: Set<String>
    package let serviceTokens: Set<String>
    /// The providers whose type reports for which email addresses the provider is the authority.
    package let emailAuthorities: Set<String>
    /// The providers that return the roles of their users.
    package let rolesFrom: Set<String>
    /// The providers that return the tenant of every user who has one.
    package let tenantsFrom: Set<String>
    /// The providers that define each claim, in the order of the file.
    package let claims: [String: [String]]
    /// The providers whose groups without a slash are the organizations of their users.
    package let organizationsFrom: Set<String>
    package let withTenants: Set<String>
    /// The providers that return no email address.
    private let withoutEmail: Set<String>
    /// The names of providers with which anyone can get an account and sign in, in the order of the file.
    package let openProviders: [String]

    /// Whether the list of providers was invalid, so that no name can be reported as unknown.
    package let isUnreadable: Bool

    /// Keeps what the file has; `written` is nil if its list of providers was invalid.
    package init(
        _ written: [Named<ProviderDraft>]?,
        issuers: [Named<IssuerDraft>] = [],
        serviceTokens: [Named<ServiceTokenDraft>] = []
    ) {
        let providers = written ?? []
        self.issuers = Set(issuers.map(\.name))
        self.serviceTokens = Set(serviceTokens.map(\.name))
        self.isUnreadable = written == nil
        self.names = providers.map(\.name)
        self.all = Set(self.names)
        self.drafts = Dictionary(providers.map { ($0.name, $0.value) }) { first, _ in first }
        // An incomplete provider has been reported already.
        let definitions = providers.compactMap { one in
            one.value.settings(id: one.name).flatMap { try? ProviderDefinition($0) }.map { (one.name, $0) }
        }
        let issuing = issuers.compactMap { one in
            one.value.settings(id: one.name).flatMap { try? ProviderDefinition($0.provider) }.map { (one.name, $0) }
        }
        func names(_ isIncluded: (ProviderDefinition) -> Bool) -> Set<String> {
            Set((definitions + issuing).filter { isIncluded($0.1) }.map(\.0))
        }
        // What the file has about a service token is all that there is.
        let tokens: Set = [Profile.serviceTokenProvider]
        self.emailAuthorities = names(\.knowsEmailAuthority)
        self.rolesFrom = names { !$0.mapping.chain(of: .roles).isEmpty }.union(tokens)
        self.withoutEmail = names { $0.mapping.chain(of: .email).isEmpty }.union(tokens)
        self.tenantsFrom = Set(
            providers.filter { one in
                let isMapped = one.value.profile?.contains { $0.name == "tenant" } ?? false
                return [.google, .microsoft].contains(one.value.type) && !isMapped
            }.map(\.name)
        )
        self.withTenants = names { !$0.mapping.chain(of: .tenant).isEmpty }
        self.claims = Dictionary(
            providers.flatMap { one in (one.value.claims ?? []).map { ($0.name, [one.name]) } },
            uniquingKeysWith: +
        )
        self.organizationsFrom = Set(providers.filter(\.value.sendsOrganizations).map(\.name))
        self.openProviders = providers.filter { $0.value.acceptsAnyAccount }.map(\.name)
    }

    /// Whether the users of a provider can have an email address.
    package func returnsEmail(_ name: String) -> Bool { !self.withoutEmail.contains(name) }

    package func issuesIDTokens(_ name: String) -> Bool { self.drafts[name]?.type?.isOpenID ?? true }

    /// Whether every user with a Google account can sign in, with any email address that is verified there.
    package func isOpenGoogle(_ name: String) -> Bool {
        self.drafts[name]?.type == .google && self.openProviders.contains(name)
            && self.emailAuthorities.contains(name)
    }

    /// Why a subject cannot be one of a provider, in words that follow it; nil if it can.
    package func reason(against subject: String, of name: String) -> String? {
        guard let draft = self.drafts[name], let type = draft.type?.name else { return nil }
        guard !(draft.profile?.contains { $0.name == "subject" } ?? false) else { return nil }
        let email = EmailAddress(subject).map { "; for an email address write 'email: \($0)'" } ?? ""
        if ["google", "github", "gitlab", "discord", "facebook"].contains(type) {
            let isNumber = subject.utf8.allSatisfy { (0x30...0x39).contains($0) }
            return isNumber ? nil : "is not a \(type) id, which is a number\(email)"
        }
        guard ["microsoft", "apple", "slack", "linkedin"].contains(type), !email.isEmpty else { return nil }
        return "is not a \(type) id\(email)"
    }

    /// The key that enables group look-ups at a provider, as it could be written; nil without such a key.
    package func lookup(of name: String) -> String? {
        guard let first = self.drafts[name]?.type?.lookups.first else { return nil }
        return "groups: [\(first)]"
    }

    /// The key that makes a provider return the organizations of its users, as it could be written; nil without such a key.
    package func organizationLookup(of name: String) -> String? {
        guard self.drafts[name]?.type == .github else { return nil }
        let lookups = ["organizations"] + (self.drafts[name]?.groups?.value ?? []).map(\.value)
        return "groups: [\(lookups.joined(separator: ", "))]"
    }

    /// Whether a user of this provider can be in an organization of this name.
    ///
    /// Unlike a tenant, an organization among the groups has no slash.
    package func bringsOrganization(_ organization: String, _ name: String) -> Bool {
        self.withTenants.contains(name) || !organization.contains("/") && self.organizationsFrom.contains(name)
    }

    /// Whether a provider can define claims: accounts in the gateway have none.
    package func takesClaims(_ name: String) -> Bool { self.drafts[name]?.type.map { $0 != .local } ?? false }

    /// What to do about a claim that none of some providers defines, in words.
    package func help(forClaim name: String, from providers: [String]) -> String {
        let defined = self.claims.filter { !$0.value.isEmpty }.keys.sorted()
        if let others = self.claims[name] { return "it is in 'claims' of \(others.prefix(5).joined(separator: ", "))" }
        if let nearest = Hint.nearest(to: name, in: defined) { return "did you mean '\(nearest)'?" }
        return "add it to 'claims' of \(providers.first ?? "a provider")"
    }

    /// Whether a user of this provider can have groups.
    package func bringsGroups(_ name: String) -> Bool {
        guard let draft = self.drafts[name], let type = draft.type, !type.listsGroups else { return true }
        return !(draft.groups?.value ?? []).isEmpty || draft.profile?.contains { $0.name == "groups" } ?? false
    }
}

extension ProviderDraft {
    /// Whether those of its groups that have no slash are the organizations of a user.
    fileprivate var sendsOrganizations: Bool {
        guard !(self.profile?.contains { $0.name == "groups" } ?? false) else { return false }
        guard self.type == .github else { return self.type == .gitlab }
        return self.groups?.value.contains { $0.value == "organizations" } ?? false
    }

    /// Whether anyone can get an account with the provider and sign in.
    fileprivate var acceptsAnyAccount: Bool {
        // Also for an incomplete provider: whom it accepts does not depend on what is missing.
        guard let type = self.type else { return false }
        return type.acceptsAnyAccount(self.settings(id: "", type: type, clientID: self.clientID ?? ""))
    }
}
