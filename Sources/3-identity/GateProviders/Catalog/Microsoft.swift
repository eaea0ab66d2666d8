// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension ProviderType {
    /// Microsoft Entra ID and personal accounts, version 2.0 of the endpoints.
    ///
    /// One issuer per tenant; metadata that do not list S256 although it works; keys that come and go between two
    /// fetches; an `email` that any tenant's administrator can make up, so that only `xms_edov` or a personal account
    /// proves it. https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference
    package static let microsoft = ProviderType(
        "microsoft",
        title: "Microsoft",
        settings: ProviderSetting.openID.union([.baseURL, .apiURL, .tenant, .tenants, .trustEmail, .certificate]),
        lookups: ["graph"],
        listsGroups: true,
        redirects: RedirectRule(plainHosts: ["localhost"], takesAddresses: true, takesPrivateNames: true),
        acceptsAnyAccount: { settings in
            let open: Set = ["common", "consumers", "organizations", IssuerRule.consumerTenant]
            let isOpen = open.contains(settings.tenant ?? "common")
            return isOpen && (settings.tenants.isEmpty || settings.tenants.contains(IssuerRule.consumerTenant))
        },
        entry: CatalogEntry.microsoft
    )
}

extension CatalogEntry {
    fileprivate static func microsoft(_ settings: ProviderSettings) throws(Failure) -> CatalogEntry {
        let base = self.base(settings.baseURL, else: "https://login.microsoftonline.com")
        let tenant = settings.tenant ?? "common"
        let graph = self.apiBase(settings, else: "https://graph.microsoft.com")
        let looksUp = !settings.groups.isEmpty
        let readsGraph = looksUp || settings.scopes?.contains { $0.hasSuffix("User.Read") } ?? false
        var entry = CatalogEntry(
            brand: "Microsoft",
            signIn: try self.discovery(below: "\(base)/\(PercentEncoding.encode(tenant))/v2.0"),
            issuer: .tenanted(template: "\(base)/{tenantid}/v2.0", self.tenantRule(tenant, settings.tenants)),
            // Without `offline_access` there is no refresh token; every first consent includes it anyway.
            scopes: ["openid", "profile", "email", "offline_access"] + (looksUp ? ["User.Read"] : []),
            clientAuthentication: .secretPost,
            authorizationParameters: [Form.Field("prompt", "select_account")],
            accountChoice: Form.Field("prompt", "select_account"),
            reauthentication: Form.Field("prompt", "login"),
            keyRetention: .seconds(86_400),
            apiBase: graph,
            chains: self.microsoftChains,
            trust: EmailTrust(
                verifiedTenants: [IssuerRule.consumerTenant],
                authority: .verifiedClaim(personal: self.personalDomains)
            )
        )
        entry.trust.trustsUnmarked = settings.trustsEmail && self.isSingle(tenant)
        if readsGraph { entry.chains.merge(self.graphSteps) { $0 + $1 } }
        if looksUp { entry.lookups = [try self.overage(at: graph)] }
        return entry
    }

    /// The domains in which Microsoft itself gives out addresses; any other address of a personal account was only
    /// verified once.
    private static let personalDomains = ["outlook.com", "hotmail.com", "live.com", "msn.com"]

    private static func isSingle(_ tenant: String) -> Bool {
        !["common", "organizations", "consumers"].contains(tenant.lowercased())
    }

    private static func tenantRule(_ tenant: String, _ tenants: [String]) -> IssuerRule.TenantRule {
        switch tenant.lowercased() {
        case "common", "organizations":
            guard tenants.isEmpty else { return .among(Set(tenants.map { $0.lowercased() })) }
            return tenant.lowercased() == "common" ? .any : .organizations
        case "consumers": return .only(IssuerRule.consumerTenant)
        case let id where IssuerRule.isGUID(id): return .only(id)
        default: return .discovered
        }
    }

    /// All groups of the user, when they are too many for the token or not in it; never at the URL in the token.
    ///
    /// https://learn.microsoft.com/graph/api/directoryobject-getmemberobjects
    private static func overage(at graph: String) throws(Failure) -> GroupLookup {
        GroupLookup(
            address: try self.address("\(graph)/v1.0/me/getMemberObjects"),
            body: #"{"securityEnabledOnly":false}"#,
            occasion: .unlisted,
            paging: .address(member: "@odata.nextLink"),
            elements: "/value",
            name: [""]
        )
    }

    private static var microsoftChains: [ProfileField: [ProfileStep]] {
        [
            // Not `sub` without an `oid`: a user could choose between two subjects by the scopes in the URL.
            .subject: [.joined([.idToken("/tid"), .idToken("/oid")], separator: ":", all: true)],
            .tenant: [.claim(.idToken("/tid"))],
            .username: [.principalName(.idToken("/preferred_username"))],
            .name: self.claim("/name"),
            .givenName: self.claim("/given_name"),
            .familyName: self.claim("/family_name"),
            .email: self.claim("/email"),
            .emailVerified: [.claim(.idToken("/xms_edov"))],
            .locale: [.claim(.idToken("/xms_pl"))],
            .groups: [.claim(.idToken("/groups")), .lookedUp],
            .roles: [.claim(.idToken("/roles"))],
            .authTime: [.claim(.idToken("/auth_time"))],
        ]
    }

    /// What Graph adds where the tokens have nothing; asked only with the scope `User.Read`.
    private static var graphSteps: [ProfileField: [ProfileStep]] {
        [
            .username: [.principalName(.api("/v1.0/me", "/userPrincipalName"))],
            .name: [.claim(.api("/v1.0/me", "/displayName"))],
            .givenName: [.claim(.api("/v1.0/me", "/givenName"))],
            .familyName: [.claim(.api("/v1.0/me", "/surname"))],
            .email: [.claim(.api("/v1.0/me", "/mail"))],
            .locale: [.claim(.api("/v1.0/me", "/preferredLanguage"))],
        ]
    }
}
