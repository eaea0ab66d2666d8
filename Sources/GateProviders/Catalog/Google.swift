// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension CatalogEntry {
    /// Google accounts and Workspace.
    ///
    /// ID tokens carry all that the profile needs, and their issuer may come without its scheme. The callback's `iss`
    /// is sent since 2026, but the metadata do not say so. https://developers.google.com/identity/openid-connect
    static func google(_ settings: ProviderSettings) throws(Failure) -> CatalogEntry {
        let base = self.base(settings.baseURL, else: "https://accounts.google.com")
        let schemeEnd = base.firstRange(of: "://")?.upperBound ?? base.startIndex
        var parameters = [Form.Field("prompt", "select_account")]
        if let domain = settings.hostedDomains.first {
            parameters.append(Form.Field("hd", settings.hostedDomains.count == 1 ? domain : "*"))
        }
        return CatalogEntry(
            buttonText: "Sign in with Google",
            signIn: try self.discovery(below: base),
            issuer: .aliased(base, alias: String(base[schemeEnd...])),
            scopes: ["openid", "email", "profile"],
            clientAuthentication: .secretPost,
            authorizationParameters: parameters,
            chains: self.googleChains,
            trust: EmailTrust(authority: .domainsAndTenants(["gmail.com"]))
        )
    }

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
