// SPDX-License-Identifier: Apache-2.0

package import GateCore

extension ProviderDefinition {
    /// How the person is signed in.
    package enum SignInProtocol: Sendable, Hashable {
        /// OpenID Connect; the endpoints are in the document at this address. OpenID Connect Discovery §4.
        case openID(discovery: WebURL)
        /// Plain OAuth 2.0 with known endpoints; the identity comes from calls to the provider's API.
        case oauth2(OAuth2Endpoints)
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
        /// What the metadata says; without a word `secretBasic`. OpenID Connect Discovery §3.
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
        /// Always, whatever the metadata say.
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
