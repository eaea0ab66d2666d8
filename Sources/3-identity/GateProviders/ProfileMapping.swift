// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Maps the responses of a provider to a profile: for each field a chain of sources, of which the first with a value
/// wins.
///
/// What comes out is bounded and has no control characters, so that it can go into header lines, logs and pages.
package struct ProfileMapping: Sendable {
    private let provider: String
    let issuer: IssuerRule
    private let chains: [ProfileField: [ProfileStep]]
    let trust: EmailTrust
    /// The fields whose chains the operator wrote.
    private let overridden: Set<ProfileField>
    /// The fields that some app or client gets because it names them.
    private let usedFields: Set<ProfileField>
    /// The chains of the claims of the operator's own, by name.
    private let claims: [String: [ClaimSource]]
    /// Every source that some field reads.
    package let sources: Set<ClaimSource>
    /// The chains of the fields that read userinfo, up to that step.
    private let beforeUserinfo: [ProfileField: [ProfileStep]]

    init(
        provider: String,
        issuer: IssuerRule,
        chains: [ProfileField: [ProfileStep]],
        trust: EmailTrust,
        overrides: [ProfileField: [ClaimSource]],
        claims: [String: [ClaimSource]] = [:],
        usedFields: Set<ProfileField> = []
    ) {
        self.provider = provider
        self.issuer = issuer
        let chains = chains.merging(overrides.mapValues { $0.map(ProfileStep.claim) }) { $1 }
        self.chains = chains
        self.claims = claims
        self.sources = Set(chains.values.joined().flatMap(\.sources)).union(claims.values.joined())
        self.beforeUserinfo = chains.compactMapValues { steps in
            let userinfo = steps.firstIndex(where: \.readsUserinfo)
            return userinfo.map { Array(steps[..<$0]) }
        }
        self.trust = trust
        self.overridden = Set(overrides.keys)
        self.usedFields = usedFields
    }

    /// Reads the `profile` setting.
    static func overrides(_ profile: [String: [String]]) throws(Failure) -> [ProfileField: [ClaimSource]] {
        var overrides: [ProfileField: [ClaimSource]] = [:]
        for (name, texts) in profile {
            let sources = texts.compactMap(ClaimSource.init)
            guard let field = ProfileField(rawValue: name), !field.isDerived, sources.count == texts.count,
                field.takesUnsigned || !sources.contains(where: { $0.document == .callback })
            else { throw Failure(.providerDefinition, "profile: a field or a source is not known") }
            overrides[field] = sources
        }
        return overrides
    }

    /// Reads the `claims` setting.
    static func claims(_ written: [String: [String]]) throws(Failure) -> [String: [ClaimSource]] {
        var claims: [String: [ClaimSource]] = [:]
        for (name, texts) in written {
            let sources = texts.compactMap(ClaimSource.init)
            // What the browser sends is not signed.
            guard sources.count == texts.count,
                !sources.contains(where: { $0.document == .callback || ($0.call != nil && $0.filter != nil) })
            else {
                throw Failure(.providerDefinition, "claims: a source of '\(name)' is not known")
            }
            claims[name] = sources
        }
        return claims
    }

    /// The API calls that the subject needs; without one of them the user could get another subject.
    var callsForSubject: Set<String> { Set(self.steps(.subject).flatMap(\.sources).compactMap(\.call)) }

    /// Whether some field reads what look-ups at the provider find.
    package var readsLookups: Bool { self.chains.values.contains { $0.contains(.lookedUp) } }

    /// Whether the provider's type knows for which email addresses the provider is the authority; not where an operator
    /// wrote where addresses come from.
    var knowsEmailAuthority: Bool {
        self.trust.authority != .none && self.overridden.isDisjoint(with: [.email, .emailVerified, .tenant])
    }

    /// The chain of a field as documents show it: step by step; empty if nothing fills it.
    package func chain(of field: ProfileField) -> [String] { self.steps(field).map(\.description) }

    /// The API calls whose responses a chain reads next, because the sources before them have no value.
    func wantedCalls(for payloads: ProviderPayloads, made: Set<String>) -> Set<String> {
        var wanted: Set<String> = []
        for field in self.chains.keys {
            for step in self.steps(field, payloads) {
                let calls = step.sources.compactMap(\.call).filter { !made.contains($0) }
                wanted.formUnion(calls)
                guard calls.isEmpty, !step.hasValue(for: field, in: payloads) else { break }
            }
        }
        for sources in self.claims.values {
            for source in sources {
                if let call = source.call, !made.contains(call) {
                    wanted.insert(call)
                    break
                }
                guard payloads.claim(at: source) == .absent else { break }
            }
        }
        return wanted
    }

    /// Whether some field has no value in the ID token and reads userinfo next.
    ///
    /// A provider that puts the name into ID tokens puts everything there that the scope `profile` asks for and it has: for
    /// the parts of the name, picture and language alone, userinfo is not worth a call (OpenID Connect Core §5.4), unless
    /// an app names the field: ID tokens of Microsoft have the name and not its parts.
    ///
    /// - Parameters:
    ///   - payloads: The ID token.
    ///   - groups: Whether a rule or an app needs groups.
    /// - Returns: Whether userinfo has to be called.
    func readsUserinfo(after payloads: ProviderPayloads, groups: Bool) -> Bool {
        let claim = self.claims.values.contains { sources in
            let found = sources.first { $0.document == .userinfo || payloads.claim(at: $0) != .absent }
            return found?.document == .userinfo
        }
        guard !claim else { return true }
        let isNamed = !self.readsUserinfo(.name, after: payloads)
        return self.beforeUserinfo.keys.contains { field in
            guard groups || field != .groups else { return false }
            let isWanted = self.overridden.contains(field) || self.usedFields.contains(field)
            guard !isNamed || !field.comesWithName || isWanted else { return false }
            return self.readsUserinfo(field, after: payloads)
        }
    }

    private func readsUserinfo(_ field: ProfileField, after payloads: ProviderPayloads) -> Bool {
        // A flag speaks of the address beside it, so userinfo has one only for an address from userinfo.
        if field == .emailVerified, !self.readsUserinfo(.email, after: payloads) { return false }
        return self.beforeUserinfo[field]?.allSatisfy { !$0.hasValue(for: field, in: payloads) } ?? false
    }

    /// The profile of the user whom these payloads describe, with the source of each field.
    ///
    /// - Throws: `provider.subject` if there is no usable id; nothing else can make a profile impossible.
    package func profile(from payloads: ProviderPayloads) throws(Failure) -> MappedProfile {
        guard let subject = self.found(.subject, payloads, limit: 255), PrintableText.isVisible(subject.text) else {
            let chain = self.chain(of: .subject).joined(separator: ", ")
            throw Failure(
                .providerSubject,
                "the provider sent no usable id of the user (\(chain))"
            )
        }
        let issuer = self.issuer.canonical(for: payloads.idToken)
        var mapped = MappedProfile(
            profile: Profile(provider: self.provider, issuer: issuer, subject: subject.text),
            sources: [
                .provider: "the file",
                .issuer: self.issuer.isTaken(from: payloads.idToken) ? "id_token:/iss" : "the file",
            ]
        )
        mapped.sources[.subject] = subject.source
        self.addTexts(to: &mapped, from: payloads)
        self.addNames(to: &mapped, from: payloads)
        self.addEmail(to: &mapped, from: payloads)
        self.addAuthentication(to: &mapped, from: payloads)
        self.addClaims(to: &mapped, from: payloads)
        return mapped
    }
}

extension ProfileMapping {
    func steps(_ field: ProfileField) -> [ProfileStep] { self.chains[field] ?? [] }

    /// The steps that can be taken with these payloads.
    ///
    /// Where userinfo did not respond, a chain ends before it: the next source could have another value than userinfo
    /// would have given, such as another username or address.
    private func steps(_ field: ProfileField, _ payloads: ProviderPayloads) -> [ProfileStep] {
        let steps = self.steps(field)
        guard payloads.isUserinfoUnavailable else { return steps }
        return Array(steps.prefix { !$0.readsUserinfo })
    }

    /// Whether a field without a value may have one in the userinfo response that is missing.
    private func isUnknown(_ field: ProfileField, _ payloads: ProviderPayloads) -> Bool {
        payloads.isUserinfoUnavailable && self.steps(field).contains(where: \.readsUserinfo)
    }

    private func found(
        _ field: ProfileField,
        _ payloads: ProviderPayloads,
        limit: Int = 1024
    ) -> (text: String, source: String)? {
        for step in self.steps(field, payloads) {
            guard let text = step.text(for: field, in: payloads) else { continue }
            // An id that cannot be used must not become the id that another source gives.
            guard let checked = PrintableText.checked(text, limit: limit) else {
                if field == .subject { return nil }
                continue
            }
            return (checked, step.description)
        }
        return nil
    }

    private func firstValue<Value>(
        _ field: ProfileField,
        _ payloads: ProviderPayloads,
        _ reading: (JSON) -> Value?
    ) -> (value: Value, source: String)? {
        for source in self.steps(field, payloads).flatMap(\.sources) {
            if let value = payloads.value(at: source).flatMap(reading) { return (value, source.description) }
        }
        return nil
    }

    /// How much later than the token the authentication may be, since clocks within a provider differ.
    private static let authTimeLeeway = Duration.seconds(300)

    private func addTexts(to mapped: inout MappedProfile, from payloads: ProviderPayloads) {
        let texts: [(ProfileField, WritableKeyPath<Profile, String?>, Int)] = [
            (.tenant, \.tenant, 255), (.username, \.username, 1024), (.name, \.name, 1024),
            (.givenName, \.givenName, 1024), (.familyName, \.familyName, 1024), (.picture, \.picture, 2048),
        ]
        for (field, path, limit) in texts {
            guard let found = self.found(field, payloads, limit: limit) else { continue }
            if field == .picture, WebURL(found.text)?.origin.isSecure != true { continue }
            mapped.profile[keyPath: path] = found.text
            mapped.sources[field] = found.source
        }
        if let locale = self.firstValue(.locale, payloads, \.profileLocale) {
            mapped.profile.locale = locale.value
            mapped.sources[.locale] = locale.source
        }
        // One after the token was issued, such as a number of milliseconds, would make every authentication recent for ever.
        let latest = (payloads.idToken?["iat"]?.numericDate ?? .distantFuture).advanced(
            by: ProfileMapping.authTimeLeeway
        )
        let time = self.firstValue(.authTime, payloads) { json in
            json.profileTime.flatMap { $0 <= latest ? $0 : nil }
        }
        if let time {
            mapped.profile.authTime = time.value
            mapped.sources[.authTime] = time.source
        }
    }

    /// How many methods of an authentication are read, and how long each may be.
    private static let maxMethods = 16
    private static let maxMethodBytes = 64

    /// What the ID token has about the authentication; OpenID Connect Core §2.
    private func addAuthentication(to mapped: inout MappedProfile, from payloads: ProviderPayloads) {
        mapped.profile.acr = PrintableText.checked(payloads.signedClaims?["acr"]?.profileText, limit: 255)
        let methods = payloads.signedClaims?["amr"].map { $0.array ?? [$0] } ?? []
        mapped.profile.amr = methods.prefix(ProfileMapping.maxMethods).compactMap {
            PrintableText.checked($0.profileText, limit: ProfileMapping.maxMethodBytes)
        }
    }

    /// How many bytes all claims of a user may have: each session keeps them.
    static let claimBudget = 32_768

    /// A claim that does not fit any more beside those before it, by name, is unknown.
    private func addClaims(to mapped: inout MappedProfile, from payloads: ProviderPayloads) {
        var spent = 0
        for (name, sources) in self.claims.sorted(by: { $0.key < $1.key }) {
            let found = sources.lazy.map { ($0, payloads.claim(at: $0)) }.first { $0.1 != .absent }
            guard case (let source, .value(let value))? = found else { continue }
            let size = value.texts.reduce(name.utf8.count) { $0 + $1.utf8.count + 1 }
            guard spent + size <= ProfileMapping.claimBudget else { continue }
            spent += size
            mapped.profile.claims[name] = value
            mapped.claimSources[name] = source.description
        }
    }

    private func names(_ field: ProfileField, _ payloads: ProviderPayloads) -> (list: NameList, source: String)? {
        for step in self.steps(field, payloads) {
            if let list = step.names(in: payloads) { return (list, step.description) }
        }
        return nil
    }

    /// Groups are complete only if something lists them, if no call for them failed, and if no response announces that there are
    /// more of them elsewhere or a look-up has brought those.
    private func addNames(to mapped: inout MappedProfile, from payloads: ProviderPayloads) {
        let groups = self.names(.groups, payloads)
        let roles = self.names(.roles, payloads)
        // A list that the operator chose is another one than that that the token continues elsewhere.
        let isElsewhere = payloads.hasGroupsElsewhere && !self.overridden.contains(.groups)
        let isResolved = !isElsewhere || groups?.source == ProfileStep.lookedUp.description
        mapped.profile.groups = groups?.list.names ?? []
        mapped.profile.roles = roles?.list.names ?? []
        mapped.profile.rolesComplete = roles != nil || !self.isUnknown(.roles, payloads)
        mapped.profile.groupsComplete = isResolved && groups?.list.isComplete ?? false
        mapped.sources[.groups] = groups?.source
        mapped.sources[.roles] = roles?.source
        mapped.sources[.groupsComplete] = groups?.source ?? "nothing lists groups"
    }
}

// MARK: E-mail

extension ProfileMapping {
    /// An invalid email address is removed, not replaced by another source.
    private func addEmail(to mapped: inout MappedProfile, from payloads: ProviderPayloads) {
        for step in self.steps(.email, payloads) {
            guard let text = step.text(in: payloads) else { continue }
            guard let address = EmailAddress(text), PrintableText.isPrintable(text) else { return }
            mapped.profile.email = address.description
            mapped.sources[.email] = step.description
            let claimed = self.claimsVerified(step, payloads)
            let tenant = mapped.profile.tenant
            let trusted = tenant.map { self.trust.verifiedTenants.contains($0.lowercased()) } ?? false
            // What a tenant vouches for, it does under the provider's own idea of the tenant only.
            let isUnmarked = self.overridden.isDisjoint(with: [.email, .emailVerified, .tenant])
            let isTrusted = isUnmarked && (trusted || (self.trust.trustsUnmarked && !claimed.isMarked))
            mapped.profile.emailVerified = claimed.verdict || isTrusted
            mapped.sources[.emailVerified] =
                claimed.verdict || !isTrusted ? claimed.source : trusted ? "the tenant" : "the file"
            let vouched = claimed.verdict || (isUnmarked && self.trust.trustsUnmarked && !claimed.isMarked)
            mapped.profile.emailAuthoritative =
                isUnmarked && self.isAuthoritative(address, vouched: vouched, tenant: tenant)
            mapped.sources[.emailAuthoritative] = "derived"
            return
        }
    }

    /// A provider's flag speaks of the address beside it: not of one in another document, and not of another claim that
    /// an operator chose as the address.
    ///
    /// An operator's own flag replaces the provider's; it speaks of the address beside it as well, or, as a constant, of
    /// all. A flag that is there and cannot be read is false.
    private func claimsVerified(
        _ step: ProfileStep,
        _ payloads: ProviderPayloads
    ) -> (verdict: Bool, source: String?, isMarked: Bool) {
        let flags = self.steps(.emailVerified, payloads).flatMap(\.sources)
        if case .verifiedEntry = step, !self.overridden.contains(.emailVerified) {
            return (true, step.description, true)
        }
        let isOwn = self.overridden.contains(.emailVerified)
        guard isOwn || !self.overridden.contains(.email) else { return (false, nil, false) }
        for flag in flags where step.sources.first.map({ flag.speaks(of: $0, isOwn: isOwn) }) ?? false {
            guard let value = payloads.value(at: flag) else { continue }
            return (value.profileBool ?? false, value.profileBool.map { _ in flag.description }, true)
        }
        return (false, nil, false)
    }

    private func isAuthoritative(_ address: EmailAddress, vouched: Bool, tenant: String?) -> Bool {
        switch self.trust.authority {
        case .none: return false
        case .domainsAndTenants(let domains): return vouched && (tenant != nil || domains.contains(address.domain))
        case .verifiedClaim(let personal):
            let isPersonal = tenant.map { self.trust.verifiedTenants.contains($0.lowercased()) } ?? false
            return isPersonal ? personal.contains(address.domain) : vouched
        }
    }
}
