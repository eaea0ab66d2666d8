// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension ProviderType {
    /// Facebook: plain OAuth 2.0 and the Graph API, whose version is part of every address.
    ///
    /// The id is another one for each app. The e-mail address comes without a word about whether it was verified, so it
    /// never is. Calls carry a proof that we know the secret.
    /// https://developers.facebook.com/docs/facebook-login
    package static let facebook = ProviderType(
        "facebook",
        title: "Facebook",
        settings: [.baseURL, .apiURL, .apiVersion],
        acceptsAnyAccount: { _ in true },
        entry: CatalogEntry.facebook
    )
}

extension CatalogEntry {
    fileprivate static func facebook(_ settings: ProviderSettings) throws(Failure) -> CatalogEntry {
        let base = self.base(settings.baseURL, else: "https://www.facebook.com")
        let version = try self.version(settings, else: "v23.0")
        let graph = "\(self.apiBase(settings, else: "https://graph.facebook.com"))/\(version)"
        return CatalogEntry(
            brand: "Facebook",
            signIn: .oauth2(
                ProviderDefinition.OAuth2Endpoints(
                    authorization: try self.address("\(base)/\(version)/dialog/oauth"),
                    token: try self.address("\(graph)/oauth/access_token")
                )
            ),
            issuer: .exact(base),
            scopes: ["public_profile", "email"],
            clientAuthentication: .secretPost,
            signatureAlgorithms: [],
            apiBase: graph,
            apiQueries: ["/me": "fields=id,name,first_name,last_name,email,picture.width(200)"],
            apiProof: .appSecretProof,
            chains: self.facebookChains
        )
    }

    private static var facebookChains: [ProfileField: [ProfileStep]] {
        [
            .subject: [.claim(.api("/me", "/id"))],
            .name: [.claim(.api("/me", "/name"))],
            .givenName: [.claim(.api("/me", "/first_name"))],
            .familyName: [.claim(.api("/me", "/last_name"))],
            .email: [.claim(.api("/me", "/email"))],
            .picture: [.claim(.api("/me", "/picture/data/url"))],
        ]
    }
}
