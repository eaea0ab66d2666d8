// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// How one provider behaves, as data: the code flow and the profile mapping have no other knowledge of providers.
package struct ProviderDefinition: Sendable {
    /// How the person is signed in.
    package enum SignInProtocol: Sendable, Hashable {
        /// OpenID Connect; the endpoints are in the document at this address. OpenID Connect Discovery §4.
        case openID(discovery: WebAddress)
        /// Plain OAuth 2.0 with known endpoints; the identity comes from calls to the provider's API.
        case oauth2(OAuth2Endpoints)
    }

    /// The fixed endpoints of a provider without discovery.
    package struct OAuth2Endpoints: Sendable, Hashable {
        /// Where the browser is sent.
        package let authorization: WebAddress
        /// Where the code is redeemed.
        package let token: WebAddress
        /// What the paths of ``APICall`` are appended to, without a trailing slash.
        package let apiBase: String
    }

    /// How the gateway proves at the token endpoint who it is.
    ///
    /// RFC 6749 §2.3.1.
    package enum ClientAuthentication: Sendable, Hashable {
        /// Id and secret in the body.
        case secretPost
        /// Id and secret, each form-encoded, in the `Authorization` field.
        case secretBasic
        /// What the metadata says; without a word `secretBasic`. OpenID Connect Discovery §3.
        case advertised
    }

    /// The name in the configuration.
    package let id: String
    /// What the button says.
    package let buttonText: String
    /// How the person is signed in.
    package let signIn: SignInProtocol
    /// Where the browser is sent instead of to the authorization endpoint that the provider names; nil for that one.
    package let authorizationEndpoint: WebAddress?
    /// Which issuers are believed.
    package let issuer: IssuerRule
    /// The scopes to ask for.
    package let scopes: [String]
    /// How the gateway proves who it is.
    package let clientAuthentication: ClientAuthentication
    /// Whether S256 is used whatever the metadata says of it; RFC 7636 §4.2.
    package let forcesPKCE: Bool
    /// What is added to the authorization request.
    package let authorizationParameters: [Form.Field]
    /// The algorithms that ID tokens may be signed with.
    package let signatureAlgorithms: Set<SignatureAlgorithm>
    /// How long a key is still believed after it was last seen in the provider's key set.
    package let keyRetention: Duration
    /// The calls to make with the access token; empty for OpenID providers.
    package let apiCalls: [APICall]
    /// The fields that each of ``apiCalls`` carries.
    package let apiHeaders: [Form.Field]
    /// The Workspace domains of which the `hd` claim must be one; empty admits all.
    package let hostedDomains: [String]
    /// How payloads become a profile.
    package let mapping: ProfileMapping

    /// Whether any field of the profile reads the userinfo answer.
    package var readsUserinfo: Bool {
        self.mapping.sources.contains { $0.document == .userinfo }
    }

    /// The definition for what the configuration says about one provider.
    ///
    /// - Throws: A failure whose detail names the setting that is missing or cannot be used.
    package init(_ settings: ProviderSettings) throws(Failure) {
        let entry =
            switch settings.type {
            case .google: try CatalogEntry.google(settings)
            case .github: try CatalogEntry.gitHub(settings)
            case .microsoft: try CatalogEntry.microsoft(settings)
            case .oidc: try CatalogEntry.openIDConnect(settings)
            }
        let overrides = try ProfileMapping.overrides(settings.profile)
        self.id = settings.id
        self.buttonText = settings.name ?? entry.buttonText
        self.signIn = entry.signIn
        self.authorizationEndpoint = try settings.authorizationEndpoint.map { (address) throws(Failure) in
            try CatalogEntry.checked(address)
        }
        self.issuer = entry.issuer
        self.scopes = ProviderDefinition.scopes(settings.scopes ?? entry.scopes, for: entry.signIn)
        self.clientAuthentication = entry.clientAuthentication
        self.forcesPKCE = entry.forcesPKCE
        self.authorizationParameters = entry.authorizationParameters
        self.signatureAlgorithms = entry.signatureAlgorithms
        self.keyRetention = entry.keyRetention
        self.hostedDomains = settings.hostedDomains
        self.mapping = ProfileMapping(
            provider: settings.id,
            issuer: entry.issuer,
            chains: entry.chains,
            trust: entry.trust,
            overrides: overrides
        )
        self.apiHeaders = entry.apiHeaders
        self.apiCalls = try ProviderDefinition.calls(for: self.mapping, at: entry)
    }

    /// The profile of the person whom these payloads describe, if this provider's rules admit them.
    package func profile(from payloads: ProviderPayloads) throws(Failure) -> Profile {
        try self.admit(payloads)
        return try self.mapping.profile(from: payloads)
    }

    /// Google's `hd` parameter is a hint that a visitor can remove; only the claim counts, and its absence is a
    /// consumer account, whatever the address ends with.
    private func admit(_ payloads: ProviderPayloads) throws(Failure) {
        guard !self.hostedDomains.isEmpty else { return }
        let domain = payloads.idToken?["hd"]?.string.flatMap { Origin.normalHost($0) }
        guard let domain, self.hostedDomains.contains(where: { Origin.normalHost($0) == domain }) else {
            throw Failure(.forbidden, "provider.hosted_domain", "the account is in none of the hosted domains")
        }
    }

    private static func scopes(_ scopes: [String], for signIn: SignInProtocol) -> [String] {
        guard case .openID = signIn, !scopes.contains("openid") else { return scopes }
        return ["openid"] + scopes
    }

    /// One call for each API path that the mapping reads.
    private static func calls(for mapping: ProfileMapping, at entry: CatalogEntry) throws(Failure) -> [APICall] {
        var calls: [String: APICall] = [:]
        for source in mapping.sources {
            guard case .api(let path) = source.document else { continue }
            guard case .oauth2(let endpoints) = entry.signIn,
                let address = WebAddress("\(endpoints.apiBase)\(path)?per_page=100")
            else { throw Failure(.internalFault, "provider.definition", "profile: this provider has no API to call") }
            calls[path] = APICall(path: path, address: address, isRequired: entry.requiredAPIPaths.contains(path))
        }
        return calls.values.sorted { $0.path < $1.path }
    }
}

/// One call to a provider's API with the person's access token.
package struct APICall: Sendable, Hashable {
    /// The path as the sources of the mapping name it.
    package let path: String
    /// The whole address.
    package let address: WebAddress
    /// Whether a sign-in fails when the provider refuses the call; else the fields stay empty.
    package let isRequired: Bool
}
