// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy
internal import GateYAML

/// Checks who may access one app, or sign in at one client, and builds its rule.
struct AccessCheck {
    let known: KnownProviders
    let rules: RuleSets
    let app: Named<AppDraft>
    /// The app or the client, as messages name it.
    let subject: String
    /// Where the users of the app can come from: providers, issuers, service tokens.
    private var callers: Set<String> = []

    init(known: KnownProviders, rules: RuleSets, app: Named<AppDraft>, subject: String = "the app") {
        self.known = known
        self.rules = rules
        self.app = app
        self.subject = subject
    }

    /// The providers that the app accepts and its rule; an invalid rule denies every user.
    mutating func rule(_ reading: inout DecodingContext) -> (providers: Set<String>, rule: AccessRule) {
        let accepted = self.accepted(&reading)
        self.callers = accepted.union(self.machines(&reading))
        self.checkAuthorization(accepted, &reading)
        self.checkClaims(accepted, &reading)
        guard let allow = self.app.value.allow else { return (accepted, .entries([])) }
        switch allow.value {
        case .signedIn:
            self.warnOfOpenProviders(
                self.known.openProviders.filter(accepted.contains),
                "signed_in",
                at: allow.mark,
                &reading
            )
            return (accepted, .signedIn)
        case .entries(let entries):
            return (accepted, .entries(self.entries(entries, self.callers, isAllowing: true, &reading)))
        }
    }

    /// The entries of `deny`; after ``rule(_:)``.
    func denied(_ reading: inout DecodingContext) -> [AccessEntry] {
        guard let deny = self.app.value.deny else { return [] }
        if deny.value.isEmpty {
            reading.error("'deny' is an empty list; remove it", at: deny.mark)
        }
        return self.entries(deny.value, self.callers, isAllowing: false, &reading)
    }

    /// Entries with those of rule sets in the place of `use`.
    private func entries(
        _ drafts: [EntryDraft],
        _ accepted: Set<String>,
        isAllowing: Bool,
        _ reading: inout DecodingContext
    ) -> [AccessEntry] {
        var entries: [AccessEntry] = []
        for draft in drafts {
            if draft.isUse, let use = draft.use {
                entries += self.rules.entries(of: use, &reading).map {
                    self.entry($0, accepted, isAllowing: isAllowing, &reading)
                }
            } else {
                entries.append(self.entry(draft, accepted, isAllowing: isAllowing, &reading))
            }
        }
        guard entries.count <= AccessCheck.maxEntries else {
            if let mark = drafts.first?.mark {
                reading.error("more than \(AccessCheck.maxEntries) entries, rule sets included", at: mark)
            }
            return []
        }
        return entries
    }

    /// How many entries one list may have.
    private static let maxEntries = 10_000

    private func accepted(_ reading: inout DecodingContext) -> Set<String> {
        guard let written = self.app.value.providers?.value else { return self.known.all }
        var accepted: Set<String> = []
        for provider in written where self.isKnown(provider, &reading) {
            guard accepted.insert(provider.value).inserted else {
                reading.error("\(Scalar.quoted(provider.value)) is in the list already", at: provider.mark)
                continue
            }
        }
        return accepted
    }

    /// The issuers that the app accepts, and `token` if it accepts service tokens.
    private func machines(_ reading: inout DecodingContext) -> Set<String> {
        guard let machines = self.app.value.machines?.value else { return [] }
        for issuer in machines.allIssuers where !self.known.issuers.contains(issuer.value) {
            let nearest = reading.nearest(to: issuer.value, in: self.known.issuers)
            let help = nearest.map { "did you mean '\($0)'?" } ?? "'issuers' of the file has them"
            reading.error("there is no issuer \(Scalar.quoted(issuer.value)); \(help)", at: issuer.mark)
        }
        for token in machines.serviceTokens ?? [] where !self.known.serviceTokens.contains(token.value) {
            let nearest = reading.nearest(to: token.value, in: self.known.serviceTokens)
            let help = nearest.map { "did you mean '\($0)'?" } ?? "'gatehouse tokens create' makes one"
            reading.error("there is no service token \(Scalar.quoted(token.value)); \(help)", at: token.mark)
        }
        let tokens = machines.serviceTokens ?? []
        return Set(machines.allIssuers.map(\.value)).union(tokens.isEmpty ? [] : [Profile.serviceTokenProvider])
    }

    /// A token of the provider that the app would never get.
    private func checkAuthorization(_ accepted: Set<String>, _ reading: inout DecodingContext) {
        guard let token = self.app.value.providerToken else { return }
        let written = "'authorization: \(token.value)'"
        if let providers = self.app.value.providers?.value, providers.isEmpty {
            let reason = "only users who signed in with a provider have one, and 'providers' is empty"
            return reading.error("\(written) would never be sent: \(reason); remove it", at: token.mark)
        }
        guard token.value == "id_token", !self.known.isUnreadable else { return }
        let silent = self.known.names.filter { accepted.contains($0) && !self.known.issuesIDTokens($0) }
        guard !silent.isEmpty else { return }
        let list = silent.prefix(5).joined(separator: ", ")
        guard silent.count < accepted.count else {
            let help = "choose 'access_token' or 'assertion'"
            return reading.error("\(written) would never be sent: \(list) issues no ID tokens; \(help)", at: token.mark)
        }
        reading.warning("\(written) is not sent for users of \(list), which issues no ID tokens", at: token.mark)
    }

    /// Claims for the app that no provider defines whose users it accepts.
    private func checkClaims(_ accepted: Set<String>, _ reading: inout DecodingContext) {
        let providers = self.named(accepted)
        guard !providers.isEmpty, !self.known.isUnreadable else { return }
        let headers = (self.app.value.headers ?? []).compactMap { header -> Located<String>? in
            guard case .claim(let name) = header.value else { return nil }
            return Located(value: name, mark: header.mark)
        }
        for claim in headers + (self.app.value.identity?.claims ?? [])
        where Set(self.known.claims[claim.value] ?? []).isDisjoint(with: accepted) {
            let list = providers.prefix(5).joined(separator: ", ")
            let help = self.known.help(forClaim: claim.value, from: providers)
            reading.error("no claim '\(claim.value)' comes from \(list); \(help)", at: claim.mark)
        }
    }

    private func isKnown(_ provider: Located<String>, _ reading: inout DecodingContext) -> Bool {
        guard !self.known.all.contains(provider.value), !self.callers.contains(provider.value),
            !self.known.isUnreadable
        else { return true }
        let nearest = reading.nearest(to: provider.value, in: self.known.names)
        let names = self.known.names.prefix(12).joined(separator: ", ")
        let help = nearest.map { "did you mean '\($0)'?" } ?? "the file has \(names.isEmpty ? "none" : names)"
        reading.error("there is no provider \(Scalar.quoted(provider.value)); \(help)", at: provider.mark)
        return false
    }

    /// Some callers, the providers first and in the order of the file.
    private func named(_ accepted: Set<String>) -> [String] {
        self.known.names.filter(accepted.contains) + accepted.subtracting(self.known.all).sorted()
    }

    private func warnOfOpenProviders(
        _ names: [String],
        _ rule: String,
        at mark: YAMLMark,
        _ reading: inout DecodingContext
    ) {
        guard !names.isEmpty else { return }
        let list = names.prefix(5).joined(separator: ", ") + (names.count > 5 ? ", …" : "")
        let message = "'\(rule)' allows anyone in the world, since anyone can have an account with \(list)"
        reading.warning("\(message); list the users, domains or groups to allow", at: mark)
    }

    private func entry(
        _ draft: EntryDraft,
        _ accepted: Set<String>,
        isAllowing: Bool,
        isInside: Bool = false,
        isNegated: Bool = false,
        _ reading: inout DecodingContext
    ) -> AccessEntry {
        var entry = AccessEntry(at: reading.place(of: draft.mark))
        entry.provider = draft.provider?.value
        entry.user = draft.user?.value
        entry.email = draft.email?.value
        entry.emailDomain = draft.emailDomain?.value
        entry.group = draft.group?.value
        entry.role = draft.role?.value
        entry.tenant = draft.tenant?.value
        entry.organization = draft.organization?.value
        entry.claims = (draft.claim ?? []).map { ClaimCondition(name: $0.name, values: Set($0.value)) }
        if entry.role != nil { entry.rolesFrom = self.known.rolesFrom.intersection(accepted) }
        if entry.tenant != nil || entry.organization != nil {
            entry.tenantsFrom = self.known.tenantsFrom.intersection(accepted)
        }
        if entry.organization != nil {
            entry.mayHaveTenant = self.known.withTenants.intersection(accepted)
            entry.organizationsFrom = self.known.organizationsFrom.intersection(accepted)
        }
        // An address that is not proven admits no user, and does not except one from a denial.
        if isAllowing != isNegated || isAllowing, entry.email != nil || entry.emailDomain != nil,
            draft.authoritative?.value ?? true
        {
            entry.authorities = accepted.filter(self.known.emailAuthorities.contains)
        }
        entry.request = draft.requestConditions
        func inner(_ drafts: [EntryDraft], isNegated: Bool) -> [AccessEntry] {
            drafts.map {
                self.entry($0, accepted, isAllowing: isAllowing, isInside: true, isNegated: isNegated, &reading)
            }
        }
        if let use = draft.use {
            entry.nested.append(.any(inner(self.rules.entries(of: use, &reading), isNegated: isNegated)))
        }
        if let not = draft.not { entry.nested += inner(not.value, isNegated: !isNegated).map { .not($0) } }
        if let any = draft.any { entry.nested.append(.any(inner(any.value, isNegated: isNegated))) }
        if let all = draft.all { entry.nested.append(.all(inner(all.value, isNegated: isNegated))) }
        // Whether an entry can match does not matter where it must not.
        if !isNegated || draft.provider != nil || draft.user != nil {
            self.check(draft, accepted, isAllowing: isAllowing, isInside: isInside, &reading)
        }
        self.checkMessages(draft, &reading)
        self.checkScopes(draft, isLimit: isAllowing != isNegated, &reading)
        self.checkFingerprints(draft, isLimit: isAllowing != isNegated, &reading)
        if let path = draft.path { self.checkPaths(path, isDenying: !isAllowing && !isNegated, &reading) }
        return entry
    }

    /// Rejects conditions on MCP messages of an app whose messages the gateway does not read, and warns of paths where it does not.
    private func checkMessages(_ draft: EntryDraft, _ reading: inout DecodingContext) {
        // A client has its own message about conditions on requests.
        guard self.subject == "the app" else { return }
        let asked = [("mcp_method", draft.mcpMethod?.mark), ("mcp_tool", draft.mcpTool?.mark)]
        for case (let key, let mark?) in asked {
            if !self.app.value.isMCP {
                reading.error("'\(key)' is for apps with 'mcp: true', which '\(self.app.name)' is not", at: mark)
            } else if self.app.value.forwardAuth != nil {
                let reason = "the proxy of 'forward_auth' asks without the body, so the gateway cannot read the message"
                reading.error("'\(key)' is for apps with 'upstream': \(reason)", at: mark)
            } else if let rules = self.app.value.publicRules, !rules.isEmpty {
                let help = "keep the endpoint of the server out of them"
                reading.warning("'\(key)' does not apply to 'public' paths, which ask for no user; \(help)", at: mark)
            }
        }
    }

    /// Rejects a fingerprint by which a certificate takes something away.
    ///
    /// A client can give its certificate another one: a signature by ECDSA has a second form that is as valid.
    private func checkFingerprints(_ draft: EntryDraft, isLimit: Bool, _ reading: inout DecodingContext) {
        guard !isLimit, let mark = draft.certificate?.mark, draft.certificate?.value.fingerprint != nil else { return }
        let help = "revoke the certificate in a list of 'crl_files', or name its subject"
        reading.error(
            "'fingerprint' is for entries that admit: the client can change the fingerprint of its certificate; \(help)",
            at: mark
        )
    }

    /// Rejects a condition on a scope that the app does not have, and one by which a scope takes something away.
    private func checkScopes(_ draft: EntryDraft, isLimit: Bool, _ reading: inout DecodingContext) {
        guard self.subject == "the app", let scope = draft.scope else { return }
        if !isLimit {
            let help = "in 'deny' write 'not: { scope: … }', and in 'allow' no 'not'"
            reading.error(
                "this 'scope' admits a client that was granted less, and not one with more; \(help)",
                at: scope.mark
            )
        }
        let known = (self.app.value.scopes?.value ?? []).map(\.name)
        for name in scope.value where !known.contains(name) {
            let nearest = reading.nearest(to: name, in: known).map { "did you mean '\($0)'?" }
            let help = nearest ?? "'scopes' of the app has \(known.isEmpty ? "none" : known.joined(separator: ", "))"
            reading.error("'\(self.app.name)' has no scope \(Scalar.quoted(name)); \(help)", at: scope.mark)
        }
    }

    /// Warns of paths that no request has, and of a `deny` that leaves out the same path with a slash.
    private func checkPaths(
        _ paths: Located<[PathPattern]>,
        isDenying: Bool,
        _ reading: inout DecodingContext
    ) {
        let prefix = self.app.value.path?.value ?? "/"
        for pattern in paths.value {
            guard pattern.mayCoverPath(below: prefix) else {
                let help = "a path is a whole path, so write '\(prefix)\(pattern.text)'"
                let message = "'\(pattern.text)' is outside of the path '\(prefix)' of '\(self.app.name)'"
                reading.warning("\(message), so it can never match; \(help)", at: paths.mark)
                continue
            }
            guard isDenying, !pattern.text.contains("*"), pattern.text != "/" else { continue }
            let plain = pattern.isExact ? pattern.text : String(pattern.text.dropLast())
            let rest = pattern.isExact ? "'\(plain)/' and what is below it" : "'\(plain)' without a slash"
            reading.warning("'\(pattern.text)' does not deny \(rest); '\(plain)/**' denies both", at: paths.mark)
        }
    }

    private func check(
        _ draft: EntryDraft,
        _ accepted: Set<String>,
        isAllowing: Bool,
        isInside: Bool,
        _ reading: inout DecodingContext
    ) {
        if let provider = draft.provider { self.checkAccepted(provider, accepted, &reading) }
        if let user = draft.user {
            let name = Located(value: String(user.value.prefix { $0 != ":" }), mark: user.mark)
            self.checkAccepted(name, accepted, &reading)
            let subject = String(user.value.dropFirst(name.value.count + 1))
            if let reason = self.known.reason(against: subject, of: name.value) {
                reading.error("this entry can never match; \(Scalar.quoted(subject)) \(reason)", at: user.mark)
            }
            if let provider = draft.provider, provider.value != name.value {
                let message = "this entry can never match; the user is one of \(Scalar.quoted(name.value))"
                reading.error("\(message), not of \(Scalar.quoted(provider.value))", at: user.mark)
            }
        }
        if let email = draft.email, let domain = draft.emailDomain, email.value.domain != domain.value {
            reading.error(
                "this entry can never match; the email address is not of the domain '\(domain.value)'",
                at: email.mark
            )
        }
        if let group = draft.group {
            self.checkMembership(.group, group, draft, accepted, isAllowing: isAllowing, &reading)
        }
        if let organization = draft.organization {
            self.checkMembership(.organization, organization, draft, accepted, isAllowing: isAllowing, &reading)
        }
        self.checkAuthority(draft, accepted, isAllowing: isAllowing, &reading)
        self.checkFields(draft, accepted, isAllowing: isAllowing, &reading)
        guard isAllowing, !isInside else { return }
        let isBare =
            draft.user == nil && draft.email == nil && draft.emailDomain == nil && draft.group == nil
            && draft.role == nil && draft.tenant == nil && draft.organization == nil && draft.claim == nil
            && draft.nested.isEmpty && draft.use == nil
        guard isBare, let provider = draft.provider, self.known.openProviders.contains(provider.value) else { return }
        self.warnOfOpenProviders([provider.value], "provider: \(provider.value)", at: provider.mark, &reading)
    }

    /// Fields that no provider of an entry returns.
    private func checkFields(
        _ draft: EntryDraft,
        _ accepted: Set<String>,
        isAllowing: Bool,
        _ reading: inout DecodingContext
    ) {
        let user = draft.user.map { String($0.value.prefix { $0 != ":" }) }
        let sources = (draft.provider?.value ?? user).map { [$0] } ?? self.named(accepted)
        guard !sources.isEmpty, sources.allSatisfy({ self.known.all.contains($0) || accepted.contains($0) }),
            !self.known.isUnreadable
        else { return }
        let list = sources.prefix(5).joined(separator: ", ")
        let email = draft.email?.mark ?? draft.emailDomain?.mark
        if let email, !sources.contains(where: self.known.returnsEmail) {
            reading.warning("this entry can never match; no email address comes from \(list)", at: email)
        }
        if let role = draft.role, !sources.contains(where: self.known.rolesFrom.contains) {
            let help = "unless 'profile' maps 'roles'"
            reading.error("this entry can never match; no roles come from \(list), \(help)", at: role.mark)
        }
        for claim in draft.claim ?? [] where Set(self.known.claims[claim.name] ?? []).isDisjoint(with: sources) {
            let help = self.known.help(forClaim: claim.name, from: sources)
            reading.error(
                "this entry can never match; no claim '\(claim.name)' comes from \(list); \(help)",
                at: claim.mark
            )
        }
        self.warnOfUnknownClaims(draft, sources, isAllowing: isAllowing, &reading)
    }

    /// A `deny` entry that denies every user of a provider, since the provider does not define its claim.
    private func warnOfUnknownClaims(
        _ draft: EntryDraft,
        _ sources: [String],
        isAllowing: Bool,
        _ reading: inout DecodingContext
    ) {
        guard !isAllowing else { return }
        for claim in draft.claim ?? [] {
            let defined = self.known.claims[claim.name] ?? []
            guard !defined.isEmpty, let other = sources.first(where: { !defined.contains($0) }) else { continue }
            let only = "add 'provider: \(defined[0])' to this entry"
            let help =
                self.known.takesClaims(other) ? "define it there, such as with 'const:none', or \(only)" : only
            let callers = other == Profile.serviceTokenProvider ? "service token" : "user of '\(other)'"
            reading.warning(
                "every \(callers) is denied, since there is no claim '\(claim.name)'; \(help)",
                at: claim.mark
            )
        }
    }

    /// A rule on a domain together with a Google provider that accepts private accounts too.
    private func checkAuthority(
        _ draft: EntryDraft,
        _ accepted: Set<String>,
        isAllowing: Bool,
        _ reading: inout DecodingContext
    ) {
        if !isAllowing, let flag = draft.authoritative {
            reading.error(
                "'authoritative' is for entries of 'allow'; an entry of 'deny' matches every verified email address",
                at: flag.mark
            )
        }
        guard isAllowing, draft.email == nil, let domain = draft.emailDomain,
            !Self.domainsOfGoogle.contains(domain.value)
        else { return }
        let named = draft.provider?.value ?? draft.user.map { String($0.value.prefix { $0 != ":" }) }
        let sources = self.known.names.filter { accepted.contains($0) && (named ?? $0) == $0 }
        guard let open = sources.first(where: self.known.isOpenGoogle) else { return }
        let advice = "write 'hosted_domains: [\(domain.value)]' in \(open), if its users have Workspace accounts there"
        guard let flag = draft.authoritative, !flag.value else {
            let message =
                "private Google accounts with an email address of \(domain.value) sign in with \(open) and do not match"
            return reading.warning("\(message); \(advice)", at: domain.mark)
        }
        let message =
            "private Google accounts with an email address of \(domain.value) are allowed, also of users who have left"
        reading.warning("\(message); \(advice)", at: flag.mark)
    }

    private static let domainsOfGoogle = ["gmail.com", "googlemail.com"]

    private func checkAccepted(_ provider: Located<String>, _ accepted: Set<String>, _ reading: inout DecodingContext) {
        guard self.isKnown(provider, &reading), !self.known.isUnreadable, !accepted.contains(provider.value) else {
            return
        }
        let shown = Scalar.quoted(provider.value)
        reading.error(
            "this entry can never match; \(self.subject) does not accept \(shown), add it to 'providers'",
            at: provider.mark
        )
    }

    /// What a user belongs to at a provider, as an entry asks for it.
    private enum Membership: String {
        case group
        case organization

        /// Whether users of a provider can have it, as the file is.
        func isSent(by provider: String, _ value: String, _ known: KnownProviders) -> Bool {
            switch self {
            case .group: known.bringsGroups(provider)
            case .organization: known.bringsOrganization(value, provider)
            }
        }

        /// What makes a provider send it, as it could be written.
        func remedy(in provider: String, _ known: KnownProviders) -> String? {
            switch self {
            case .group: known.lookup(of: provider)
            case .organization: known.organizationLookup(of: provider)
            }
        }

        /// The field of the profile that it can be mapped to.
        var field: String { self == .group ? "groups" : "tenant" }

        var withArticle: String { self == .group ? "a group" : "an organization" }
    }

    private func checkMembership(
        _ kind: Membership,
        _ value: Located<String>,
        _ draft: EntryDraft,
        _ accepted: Set<String>,
        isAllowing: Bool,
        _ reading: inout DecodingContext
    ) {
        let user = draft.user.map { String($0.value.prefix { $0 != ":" }) }
        let named = draft.provider.map { [$0.value] } ?? user.map { [$0] }
        let sources = named ?? self.named(accepted)
        let sending = sources.filter { kind.isSent(by: $0, value.value, self.known) }
        guard !sources.isEmpty, !self.known.isUnreadable else { return }
        guard let first = sending.first else {
            let list = sources.prefix(5).joined(separator: ", ")
            if kind == .organization, value.value.contains("/"),
                sources.contains(where: self.known.organizationsFrom.contains)
            {
                let help = "write 'group: \(value.value)'"
                return reading.error(
                    "this entry can never match; an organization of \(list) has no '/', \(help)",
                    at: value.mark
                )
            }
            let lookups = sources.compactMap { name in kind.remedy(in: name, self.known).map { "'\($0)' in '\(name)'" }
            }
            let help = lookups.isEmpty ? "'profile' maps '\(kind.field)'" : "\(lookups[0]) has them looked up"
            let reason = "no \(kind.rawValue)s come from \(list), unless \(help)"
            return reading.error("this entry can never match; \(reason)", at: value.mark)
        }
        if isAllowing, sending.count > 1 {
            let list = sending.prefix(5).joined(separator: ", ")
            let message = "every user who can create \(kind.withArticle) at any of \(list) is allowed"
            reading.warning(
                "\(message); name the provider of the \(kind.rawValue): 'provider: \(first)'",
                at: value.mark
            )
        }
        let silent = sources.filter { !kind.isSent(by: $0, value.value, self.known) }
        if !isAllowing, !silent.isEmpty {
            let list = silent.prefix(5).joined(separator: ", ")
            let message = "every user of \(list) is denied, since their \(kind.rawValue)s are not known"
            reading.warning("\(message); if that is not meant, add 'provider: \(first)'", at: value.mark)
        }
    }
}
