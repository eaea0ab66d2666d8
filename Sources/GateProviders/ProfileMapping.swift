// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Turns what a provider says about a person into a profile: for each field a chain of sources, the first that answers
/// wins.
///
/// What comes out is bounded and has no control characters, so that it can go into header lines, logs and pages.
package struct ProfileMapping: Sendable {
    private let provider: String
    private let issuer: IssuerRule
    private let chains: [ProfileField: [ProfileStep]]
    private let trust: EmailTrust
    /// The fields whose chains the operator wrote.
    private let overridden: Set<ProfileField>

    init(
        provider: String,
        issuer: IssuerRule,
        chains: [ProfileField: [ProfileStep]],
        trust: EmailTrust,
        overrides: [ProfileField: [ClaimSource]]
    ) {
        self.provider = provider
        self.issuer = issuer
        self.chains = chains.merging(overrides.mapValues { $0.map(ProfileStep.claim) }) { $1 }
        self.trust = trust
        self.overridden = Set(overrides.keys)
    }

    /// Reads the `profile` setting.
    static func overrides(_ profile: [String: [String]]) throws(Failure) -> [ProfileField: [ClaimSource]] {
        var overrides: [ProfileField: [ClaimSource]] = [:]
        for (name, texts) in profile {
            let sources = texts.compactMap(ClaimSource.init)
            guard let field = ProfileField(rawValue: name), sources.count == texts.count else {
                throw Failure(.internalFault, "provider.definition", "profile: a field or a source is not known")
            }
            overrides[field] = sources
        }
        return overrides
    }

    /// Every source that some field reads.
    package var sources: Set<ClaimSource> {
        Set(self.chains.values.joined().flatMap(\.sources))
    }

    /// The profile of the person whom these payloads describe.
    ///
    /// - Throws: `provider.subject` if there is no usable id; nothing else can make a profile impossible.
    package func profile(from payloads: ProviderPayloads) throws(Failure) -> Profile {
        let found = self.steps(.subject).lazy.compactMap { $0.text(in: payloads) }.first
        guard let subject = PlainText.checked(found, limit: 255) else {
            throw Failure(.providerFailed, "provider.subject", "the provider gave no usable id of the person")
        }
        var profile = Profile(
            provider: self.provider,
            issuer: self.issuer.canonical(for: payloads.idToken),
            subject: subject
        )
        profile.tenant = self.text(.tenant, payloads, limit: 255)
        profile.username = self.text(.username, payloads)
        profile.name = self.text(.name, payloads)
        profile.givenName = self.text(.givenName, payloads)
        profile.familyName = self.text(.familyName, payloads)
        profile.picture = self.text(.picture, payloads, limit: 2048).flatMap(ProfileMapping.httpsAddress)
        profile.locale = self.values(.locale, payloads).compactMap(\.profileLocale).first
        profile.authTime = self.values(.authTime, payloads).compactMap(\.profileTime).first
        self.addNames(to: &profile, from: payloads)
        self.addEmail(to: &profile, from: payloads)
        return profile
    }
}

extension ProfileMapping {
    private func steps(_ field: ProfileField) -> [ProfileStep] { self.chains[field] ?? [] }

    private func text(_ field: ProfileField, _ payloads: ProviderPayloads, limit: Int = 1024) -> String? {
        self.steps(field).lazy.compactMap { PlainText.checked($0.text(in: payloads), limit: limit) }.first
    }

    private func values(_ field: ProfileField, _ payloads: ProviderPayloads) -> [JSON] {
        self.steps(field).flatMap(\.sources).compactMap { payloads.value(at: $0) }
    }

    private static func httpsAddress(_ text: String) -> String? {
        guard let address = WebAddress(text), address.origin.isSecure else { return nil }
        return text
    }

    /// Groups are complete only if something lists them and it did not say that there are more of them elsewhere.
    ///
    /// OpenID Connect Core §5.6.2; the addresses of such sources are never called.
    private func addNames(to profile: inout Profile, from payloads: ProviderPayloads) {
        let groups = NameList(self.values(.groups, payloads).first)
        let roles = NameList(self.values(.roles, payloads).first)
        let overflowed =
            payloads.idToken?.value(at: "/_claim_names/groups") != nil
            || payloads.idToken?["hasgroups"]?.profileBool == true
        profile.groups = groups.names
        profile.roles = roles.names
        profile.groupsComplete = groups.isComplete && !overflowed && !self.steps(.groups).isEmpty
    }

    /// An address that is none is left out; it is not replaced by what another source says.
    private func addEmail(to profile: inout Profile, from payloads: ProviderPayloads) {
        for step in self.steps(.email) {
            guard let text = step.text(in: payloads) else { continue }
            guard let address = EmailAddress(text), PlainText.isPlain(text) else { return }
            profile.email = address.description
            let claimed = self.claimsVerified(step, payloads)
            let tenantVerified = profile.tenant.map { self.trust.verifiedTenants.contains($0.lowercased()) } ?? false
            profile.emailVerified = claimed || (tenantVerified && !self.overridden.contains(.email))
            profile.emailAuthoritative = self.isAuthoritative(address, claimed: claimed, tenant: profile.tenant)
            return
        }
    }

    /// A provider's flag speaks of the address beside it: not of one in another document, and not of another claim that
    /// an operator chose as the address.
    ///
    /// An operator's own flag speaks of what the operator says it does.
    private func claimsVerified(_ step: ProfileStep, _ payloads: ProviderPayloads) -> Bool {
        let flags = self.steps(.emailVerified).flatMap(\.sources)
        if self.overridden.contains(.emailVerified) {
            return flags.lazy.compactMap { payloads.value(at: $0)?.profileBool }.first ?? false
        }
        if case .verifiedEntry = step { return true }
        guard !self.overridden.contains(.email), let document = step.sources.first?.document else { return false }
        return flags.lazy.filter { $0.document == document }
            .compactMap { payloads.value(at: $0)?.profileBool }.first ?? false
    }

    private func isAuthoritative(_ address: EmailAddress, claimed: Bool, tenant: String?) -> Bool {
        guard claimed, self.overridden.isDisjoint(with: [.email, .emailVerified]) else { return false }
        return switch self.trust.authority {
        case .none: false
        case .domainsAndTenants(let domains): tenant != nil || domains.contains(address.domain)
        case .verifiedClaim: true
        }
    }
}
