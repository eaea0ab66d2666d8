// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension ProviderType {
    /// Google accounts and Workspace.
    ///
    /// ID tokens carry all that the profile needs, and their issuer may come without its scheme. The callback's `iss`
    /// is sent since 2026, but the metadata do not announce it. Groups are in no token; Cloud Identity lists them.
    /// https://developers.google.com/identity/openid-connect
    package static let google = ProviderType(
        "google",
        title: "Google",
        settings: ProviderSetting.openID.union([.baseURL, .apiURL, .hostedDomains]),
        lookups: ["direct", "transitive"],
        redirects: RedirectRule(
            plainHosts: ["localhost", "127.0.0.1", "[::1]"],
            takesAddresses: false,
            takesPrivateNames: false
        ),
        acceptsAnyAccount: { $0.hostedDomains.isEmpty },
        entry: CatalogEntry.google
    )
}

extension CatalogEntry {
    fileprivate static func google(_ settings: ProviderSettings) throws(Failure) -> CatalogEntry {
        let base = self.base(settings.baseURL, else: "https://accounts.google.com")
        let schemeEnd = base.firstRange(of: "://")?.upperBound ?? base.startIndex
        var entry = CatalogEntry(
            brand: "Google",
            signIn: try self.discovery(below: base),
            issuer: .aliased(base, alias: String(base[schemeEnd...])),
            scopes: ["openid", "email", "profile"],
            clientAuthentication: .secretPost,
            // A refresh token, which Google issues when the user consents, at the first sign-in; no page more for it.
            authorizationParameters: [Form.Field("prompt", "select_account"), Form.Field("access_type", "offline")],
            accountChoice: Form.Field("prompt", "select_account"),
            chains: self.googleChains,
            trust: EmailTrust(authority: .domainsAndTenants(["gmail.com", "googlemail.com"]))
        )
        entry.apiBase = self.apiBase(settings, else: "https://cloudidentity.googleapis.com")
        // It withdraws the user's consent, and with it the tokens of all browsers.
        entry.revokesTokens = false
        if let domain = settings.hostedDomains.first {
            let hint = settings.hostedDomains.count == 1 ? domain : "*"
            entry.authorizationParameters.append(Form.Field("hd", hint))
            entry.admission = [self.hostedDomain(settings.hostedDomains)]
        }
        if let kind = settings.groups.first {
            entry.scopes.append(self.groupsScope)
            entry.lookups = [try self.cloudIdentity(kind, at: entry.apiBase ?? base)]
            entry.chains[.groups] = [.lookedUp]
        }
        return entry
    }

    /// Google's `hd` parameter is a hint that a user can remove; only the claim counts, and its absence is a
    /// consumer account, whatever the address ends with.
    private static func hostedDomain(_ domains: [String]) -> AdmissionRule {
        AdmissionRule(
            source: .idToken("/hd"),
            allowed: domains,
            comparison: .host,
            denial: Failure(.providerHostedDomain, "the account is in none of the hosted domains")
        )
    }

    /// The groups of a Workspace account; the transitive search needs certain editions of Workspace.
    ///
    /// https://cloud.google.com/identity/docs/reference/rest/v1/groups.memberships
    private static func cloudIdentity(_ kind: String, at base: String) throws(Failure) -> GroupLookup {
        let search = kind == "transitive" ? "searchTransitiveGroups" : "searchDirectGroups"
        let label = "'cloudidentity.googleapis.com/groups.discussion_forum' in labels"
        return GroupLookup(
            address: try self.address("\(base)/v1/groups/-/memberships:\(search)"),
            query: [Form.Field("query", "member_key_id == '{email}' && \(label)")],
            paging: .token(member: "nextPageToken", parameter: "pageToken"),
            elements: "/memberships",
            name: ["/groupKey/id"],
            scopes: [self.groupsScope]
        )
    }

    private static let groupsScope = "https://www.googleapis.com/auth/cloud-identity.groups.readonly"

    private static var googleChains: [ProfileField: [ProfileStep]] {
        [
            .subject: [.claim(.idToken("/sub"))],
            .tenant: [.claim(.idToken("/hd"))],
            .username: [.localPart(.idToken("/email"))],
            .name: [
                .claim(.idToken("/name")),
                .joined([.idToken("/given_name"), .idToken("/family_name")], separator: " ", all: false),
                .claim(.idToken("/email")),
            ],
            .givenName: [.claim(.idToken("/given_name"))],
            .familyName: [.claim(.idToken("/family_name"))],
            .email: [.claim(.idToken("/email"))],
            .emailVerified: [.claim(.idToken("/email_verified")), .claim(.idToken("/verified_email"))],
            .picture: [.claim(.idToken("/picture"))],
            .locale: [.claim(.idToken("/locale"))],
            .authTime: [.claim(.idToken("/auth_time"))],
        ]
    }
}
