// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension ProviderType {
    /// Any OAuth 2.0 provider without ID tokens: its endpoints and its profile are written in the file.
    ///
    /// The configuration names the source of the subject; the profile is fetched from the provider's API at each
    /// sign-in. RFC 6749 §4.1.
    package static let oauth2 = ProviderType(
        "oauth2",
        title: "the provider",
        settings: [.issuer, .apiURL],
        required: [.authorizationEndpoint, .tokenEndpoint],
        entry: CatalogEntry.oauth2
    )
}

extension CatalogEntry {
    /// Without an issuer in the file, the profile names the origin of the token endpoint, and a callback that names an
    /// issuer must name that one.
    fileprivate static func oauth2(_ settings: ProviderSettings) throws(Failure) -> CatalogEntry {
        guard let authorization = settings.authorizationEndpoint, let token = settings.tokenEndpoint else {
            let detail = "an oauth2 provider needs authorization_endpoint and token_endpoint"
            throw Failure(.providerDefinition, detail)
        }
        return CatalogEntry(
            brand: settings.id,
            signIn: .oauth2(
                ProviderDefinition.OAuth2Endpoints(
                    authorization: try self.checked(authorization),
                    token: try self.checked(token)
                )
            ),
            issuer: .exact(settings.issuer ?? token.origin.description),
            scopes: [],
            clientAuthentication: .secretBasic,
            signatureAlgorithms: [],
            apiBase: settings.apiURL.map { self.base($0, else: "") },
            chains: [:]
        )
    }
}
