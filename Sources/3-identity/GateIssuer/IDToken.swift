// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import GateAssertion
package import GateClients
package import GateCore
package import GateSessions

extension Profile {
    /// The claims about a user that some scopes give, and those of the operator's own and fields that a client has; what is not known is
    /// left out.
    ///
    /// OpenID Connect Core §5.1 and §5.4. `sub` is the user key, the same for all clients and apps.
    ///
    /// - Parameters:
    ///   - scopes: The scopes that were granted.
    ///   - client: The client; nil for the user's own.
    ///   - methods: How the user authenticated, at the provider and at the gateway; nil for what the provider reported.
    /// - Returns: The claims.
    package func claims(
        for scopes: [String],
        of client: ClientSettings?,
        methods: [String]? = nil
    ) -> [String: JSON] {
        var claims: [String: JSON] = [:]
        // The names that have a meaning in tokens cannot be those of claims.
        for name in (client?.claims ?? []) + scopes.flatMap({ client?.scopes[$0] ?? [] }) {
            claims[name] =
                IdentityField(forClient: name).map { $0.value(of: self, methods: methods ?? self.amr) }
                ?? self.claims[name]?.json
        }
        claims["sub"] = .string(self.forwardedKey)
        if scopes.contains("profile") {
            claims["name"] = self.name.map(JSON.string)
            claims["preferred_username"] = self.username.map(JSON.string)
            claims["given_name"] = self.givenName.map(JSON.string)
            claims["family_name"] = self.familyName.map(JSON.string)
            claims["picture"] = self.picture.map(JSON.string)
            claims["locale"] = self.locale.map(JSON.string)
            claims["provider"] = .string(self.provider)
        }
        if scopes.contains("email"), let email = self.email {
            claims["email"] = .string(email)
            claims["email_verified"] = .bool(self.emailVerified)
        }
        if scopes.contains("groups") { claims["groups"] = .array(self.groups.map(JSON.string)) }
        return claims
    }
}

extension Issuer {
    /// The ID token of a client's session.
    ///
    /// OpenID Connect Core §2 and §3.1.3.6.
    ///
    /// - Parameters:
    ///   - client: The session.
    ///   - settings: The client.
    ///   - scopes: What the client learns about the user.
    ///   - nonce: What the client wants back; nil at a refresh.
    ///   - accessToken: The access token beside it, for `at_hash`.
    ///   - now: The time.
    /// - Returns: The token.
    /// - Throws: `assertion.not_signed` if the key cannot sign.
    package func idToken(
        of client: ClientSession,
        for settings: ClientSettings,
        scopes: [String],
        nonce: String?,
        beside accessToken: String,
        now: Instant
    ) throws(Failure) -> String {
        var claims = client.session.profile.claims(
            for: scopes,
            of: settings,
            methods: client.session.methods
        )
        claims["aud"] = .string(settings.id)
        claims["iat"] = .int(now.seconds)
        claims["exp"] = .int(now.advanced(by: settings.accessTokenLifetime).seconds)
        claims["auth_time"] = client.grant.authenticated.map { .int($0.seconds) }
        claims["sid"] = .string(client.session.signInID)
        claims["nonce"] = nonce.map(JSON.string)
        claims["at_hash"] = .string(Base64URL.encode(Array(SHA256.hash(data: Array(accessToken.utf8)).prefix(16))))
        return try self.signer.sign(claims, as: .idToken)
    }
}
