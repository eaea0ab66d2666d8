// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension CatalogEntry {
    /// Any OpenID Connect provider, by discovery, with the standard claims.
    ///
    /// OpenID Connect Core §5.1.
    static func openIDConnect(_ settings: ProviderSettings) throws(Failure) -> CatalogEntry {
        guard let issuer = settings.issuer, let address = WebAddress(issuer), address.query == nil else {
            throw Failure(.internalFault, "provider.definition", "issuer: missing or no address")
        }
        return CatalogEntry(
            buttonText: "Sign in with \(settings.id)",
            signIn: try self.discovery(below: issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer),
            issuer: .exact(issuer),
            scopes: ["openid", "email", "profile"],
            clientAuthentication: .advertised,
            forcesPKCE: false,
            signatureAlgorithms: Set(SignatureAlgorithm.allCases),
            chains: self.standardChains
        )
    }

    private static var standardChains: [ProfileField: [ProfileStep]] {
        [
            .subject: [.claim(.idToken("/sub"))],
            .username: self.claim("/preferred_username") + self.claim("/nickname") + self.claim("/email"),
            .name: self.claim("/name") + [
                .joined([.idToken("/given_name"), .idToken("/family_name")], separator: " ", all: false),
                .joined([.userinfo("/given_name"), .userinfo("/family_name")], separator: " ", all: false),
            ] + self.claim("/preferred_username"),
            .givenName: self.claim("/given_name"),
            .familyName: self.claim("/family_name"),
            .email: self.claim("/email"),
            .emailVerified: self.claim("/email_verified"),
            .picture: self.claim("/picture"),
            .locale: self.claim("/locale"),
            .groups: self.claim("/groups"),
            .authTime: [.claim(.idToken("/auth_time"))],
        ]
    }
}
