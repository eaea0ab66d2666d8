// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// How one provider behaves, as data: the code flow and the profile mapping have no other knowledge of providers.
package struct ProviderDefinition: Sendable {
    /// The name in the configuration.
    package let id: String
    package let label: ProviderLabel
    /// How the user is signed in.
    package let signIn: SignInProtocol
    /// Where the browser is sent instead of to the authorization endpoint that the provider names; nil for that one.
    package let authorizationEndpoint: WebURL?
    /// What the gateway calls instead of the endpoints that the provider names.
    package let ownEndpoints: OwnEndpoints
    /// Which issuers are accepted.
    package let issuer: IssuerRule
    /// Whether a callback must name its issuer, whatever the metadata are; nil if they decide.
    package let requiresCallbackIssuer: Bool?
    /// The scopes to ask for.
    package let scopes: [String]
    /// How the gateway proves who it is.
    package let clientAuthentication: ClientAuthentication
    /// When a challenge is sent.
    package let pkce: PKCERule
    /// What holds for the nonce.
    package let nonce: NonceRule
    /// How the provider sends the browser back.
    package let responseMode: ResponseMode
    /// Whether the authorization request is sent ahead, RFC 9126.
    package let pushesAuthorization: Bool
    /// Whether tokens are revoked when the user signs out, where the metadata have an endpoint for it; RFC 7009.
    package let revokesTokens: Bool
    /// What is added to the authorization request.
    package let authorizationParameters: [Form.Field]
    /// What makes the provider offer another account than the one it knows; nil if nothing does.
    package let accountChoice: Form.Field?
    /// What makes the provider authenticate the user again; nil if nothing is known to do so.
    package let reauthentication: Form.Field?
    /// The algorithms that ID tokens may be signed with.
    package let signatureAlgorithms: Set<SignatureAlgorithm>
    /// The audiences that an ID token may name beside us.
    package let trustedAudiences: Set<String>
    /// How long an ID token may live; an older one is refused anyway, since it must have been issued just now.
    package let idTokenLifetime: Duration
    /// How long keys are used that could not be fetched again, beyond their freshness.
    package let keysMaxStale: Duration
    /// How many connections to the provider there may be.
    package let maxConnections: Int
    /// How far the clocks of the provider and of the gateway may differ; RFC 7519 §4.1.4 allows "some small leeway".
    package let clockLeeway: Duration
    /// How long a key is used after it was last seen in the provider's key set.
    package let keyRetention: Duration
    /// The shortest time between two re-checks of a user that the provider takes; zero for any.
    package let recheckPause: Duration
    /// The calls that may be made with the access token; ``wantedCalls(for:made:)`` selects those that are needed.
    package let apiCalls: [APICall]
    /// The fields that each of ``apiCalls`` and ``lookups`` carries.
    package let apiHeaders: [Form.Field]
    /// What each of them carries besides the token.
    package let apiProof: APIProof
    /// The lookups of groups that no response lists.
    package let lookups: [GroupLookup]
    /// How payloads become a profile.
    package let mapping: ProfileMapping
    let admission: [AdmissionRule]

    /// How many connections there may be unless configured.
    package static let standardConnections = 16
    /// How long ID tokens live, and keys are used that cannot be fetched, unless configured.
    package static let standardLifetime = Duration.seconds(86_400)

    /// Where the metadata is; nil for a provider without one.
    package var discovery: WebURL? {
        guard case .openID(let address) = self.signIn else { return nil }
        return address
    }

    /// Whether ID tokens are verified with the client secret instead of with published keys.
    package var usesSecretForTokens: Bool { self.signatureAlgorithms.contains(where: \.isSymmetric) }

    /// Whether the type knows for which email addresses the provider is the authority.
    package var knowsEmailAuthority: Bool { self.mapping.knowsEmailAuthority }

    /// Whether the profile reads the subject from the userinfo response.
    package var readsUserinfoForSubject: Bool {
        self.mapping.steps(.subject).flatMap(\.sources).contains { $0.document == .userinfo }
    }

    /// Whether the subject of profiles is the `sub` claim of ID tokens, and nothing else.
    package var usesSubjectClaim: Bool { self.mapping.steps(.subject) == [.claim(.idToken("/sub"))] }

    /// Whether any field of the profile reads the userinfo response.
    package var readsUserinfo: Bool {
        self.mapping.sources.contains { $0.document == .userinfo }
    }

    /// Whether the profile needs the userinfo response, because the ID token has no value for a field that reads it next.
    ///
    /// - Parameters:
    ///   - payloads: The ID token.
    ///   - groups: Whether a rule or an app needs groups.
    /// - Returns: Whether userinfo has to be called.
    package func readsUserinfo(after payloads: ProviderPayloads, groups: Bool) -> Bool {
        self.mapping.readsUserinfo(after: payloads, groups: groups)
    }

    /// The profile of the user whom these payloads describe, if this provider's rules admit them.
    package func profile(from payloads: ProviderPayloads) throws(Failure) -> MappedProfile {
        for rule in self.admission where !rule.admits(payloads) { throw rule.denial }
        return try self.mapping.profile(from: payloads)
    }

    /// The calls that some field needs now; what was made before is not made again.
    package func wantedCalls(for payloads: ProviderPayloads, made: Set<String>) -> [APICall] {
        let wanted = self.mapping.wantedCalls(for: payloads, made: made)
        return self.apiCalls.filter { wanted.contains($0.path) }
    }
}

extension ProviderDefinition {
    /// How the user is signed in.
    package enum SignInProtocol: Sendable, Hashable {
        /// OpenID Connect; the endpoints are in the document at this address. OpenID Connect Discovery §4.
        case openID(discovery: WebURL)
        /// Plain OAuth 2.0 with known endpoints; the identity comes from calls to the provider's API.
        case oauth2(OAuth2Endpoints)
    }

    /// Endpoints of the file, for a provider that the gateway reaches by another name than its metadata have; nil for theirs.
    package struct OwnEndpoints: Sendable, Hashable {
        /// Where the code is redeemed.
        package let token: WebURL?
        /// Where the claims about a user are.
        package let userinfo: WebURL?
        package let keys: WebURL?
    }

    /// The fixed endpoints of a provider without discovery.
    package struct OAuth2Endpoints: Sendable, Hashable {
        /// Where the browser is sent.
        package let authorization: WebURL
        /// Where the code is redeemed.
        package let token: WebURL
    }

    /// How the gateway proves at the token endpoint who it is.
    ///
    /// RFC 6749 §2.3.1, RFC 7523 §2.2.
    package enum ClientAuthentication: String, Sendable, Hashable, CaseIterable {
        /// Id and secret in the body.
        case secretPost = "client_secret_post"
        /// Id and secret, each form-encoded, in the `Authorization` field.
        case secretBasic = "client_secret_basic"
        /// A JWT signed with our key, in the body.
        case privateKeyJWT = "private_key_jwt"
        /// In the body, a JWT signed with our key in the place of the secret; so it is with Apple.
        case signedSecret = "signed_secret"
        /// A JWT in the body that another party signs and keeps in a file, such as the token of a Kubernetes service account.
        ///
        /// RFC 7521 §4.2, RFC 7523 §2.2.
        case assertionFile = "client_assertion_file"
        /// The id in the body, and a certificate that an authority of the provider's choice has signed. RFC 8705 §2.1.
        case certificate = "tls_client_auth"
        /// The id in the body, and a certificate that the provider knows as such. RFC 8705 §2.2.
        case ownCertificate = "self_signed_tls_client_auth"
        /// The id alone, of a public client: who redeems a code is proved by PKCE. RFC 6749 §2.1, RFC 7636.
        case none
        /// What the metadata announce, else `secretBasic`. OpenID Connect Discovery §3.
        case advertised
    }

    /// How a provider sends the browser back.
    ///
    /// OAuth 2.0 Form Post Response Mode §1.
    package enum ResponseMode: String, Sendable, Hashable, CaseIterable {
        /// By a redirect with a query.
        case query
        /// By a form that the browser posts from the provider's site.
        case formPost = "form_post"
    }

    /// When a challenge is sent.
    ///
    /// RFC 7636 §4.3.
    package enum PKCERule: String, Sendable, Hashable, CaseIterable {
        /// Always, whatever the metadata are.
        case required
        /// Always, and a provider that lists its methods without S256 is refused.
        case auto
        /// Never, for a provider that fails with it.
        case off
    }

    /// What holds for the nonce of an ID token.
    ///
    /// OpenID Connect Core §3.1.3.7, rule 11.
    package enum NonceRule: String, Sendable, Hashable, CaseIterable {
        /// The token must carry it.
        case required
        /// The token may leave it out, but not carry another.
        case ifPresent = "if_present"
    }

    /// What a provider wants with each call to its API besides the access token.
    package enum APIProof: Sendable, Hashable {
        /// Nothing.
        case none
        /// `appsecret_proof`, the HMAC of the access token under our secret; so it is with Facebook.
        case appSecretProof
    }
}

/// One call to a provider's API with the user's access token.
package struct APICall: Sendable, Hashable {
    /// The path as the sources of the mapping name it.
    package let path: String
    /// The whole address.
    package let address: WebURL
    /// Whether a sign-in fails when the provider refuses the call; else the fields stay empty.
    package let isRequired: Bool
}
