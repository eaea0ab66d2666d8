// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension CatalogEntry {
    /// Microsoft Entra ID and personal accounts, version 2.0 of the endpoints.
    ///
    /// One issuer per tenant; metadata that do not list S256 although it works; keys that come and go between two
    /// fetches; an `email` that any tenant's administrator can make up, so that only `xms_edov` or a personal account
    /// proves it. https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference
    static func microsoft(_ settings: ProviderSettings) throws(Failure) -> CatalogEntry {
        let base = self.base(settings.baseURL, else: "https://login.microsoftonline.com")
        let tenant = settings.tenant ?? "common"
        return CatalogEntry(
            buttonText: "Sign in with Microsoft",
            signIn: try self.discovery(below: "\(base)/\(PercentEncoding.encode(tenant))/v2.0"),
            issuer: .tenanted(template: "\(base)/{tenantid}/v2.0", self.tenantRule(tenant)),
            scopes: ["openid", "profile", "email"],
            clientAuthentication: .secretPost,
            authorizationParameters: [Form.Field("prompt", "select_account")],
            keyRetention: .seconds(86_400),
            chains: self.microsoftChains,
            trust: EmailTrust(verifiedTenants: [IssuerRule.consumerTenant], authority: .verifiedClaim)
        )
    }

    private static func tenantRule(_ tenant: String) -> IssuerRule.TenantRule {
        switch tenant.lowercased() {
        case "common": .any
        case "organizations": .organizations
        case "consumers": .only(IssuerRule.consumerTenant)
        case let id where IssuerRule.isGUID(id): .only(id)
        default: .discovered
        }
    }

    private static var microsoftChains: [ProfileField: [ProfileStep]] {
        [
            .subject: [
                .joined([.idToken("/tid"), .idToken("/oid")], separator: ":", all: true), .claim(.idToken("/sub")),
            ],
            .tenant: [.claim(.idToken("/tid"))],
            .username: [.principalName(.idToken("/preferred_username"))],
            .name: self.claim("/name"),
            .givenName: self.claim("/given_name"),
            .familyName: self.claim("/family_name"),
            .email: self.claim("/email"),
            .emailVerified: [.claim(.idToken("/xms_edov"))],
            .locale: [.claim(.idToken("/xms_pl"))],
            .groups: [.claim(.idToken("/groups"))],
            .roles: [.claim(.idToken("/roles"))],
            .authTime: [.claim(.idToken("/auth_time"))],
        ]
    }
}
