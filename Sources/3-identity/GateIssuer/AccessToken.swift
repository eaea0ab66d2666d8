// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
package import GateCore
package import GateSessions

/// An access token of this gateway whose signature and times were verified.
///
/// RFC 9068 §2.2.
package struct AccessToken: Sendable, Hashable {
    /// The client that it was issued to.
    package let client: String
    /// Whom it is for: URLs of apps, or of the gateway.
    package let audiences: [String]
    /// What it is for.
    package let scopes: [String]
    package let issued: Instant
    package let expires: Instant
    /// The thumbprint of the key that its sender must prove to have; nil for any sender.
    package let keyThumbprint: String?
    /// The client that acts for the user, and those before it; nil if the token was not exchanged.
    ///
    /// RFC 8693 §4.1.
    package let actor: JSON?
    /// The ticket of the client's session.
    package let ticket: Ticket

    /// Whether it is for an app, or for the gateway.
    package func isFor(_ audience: String) -> Bool { self.audiences.contains { isIdentical($0, audience) } }
}

extension Issuer {
    /// How much the clocks of several gateways may differ.
    private static let clockLeeway = Duration.seconds(5)

    /// An access token of a client's session.
    ///
    /// Its claim `grant` has the ticket of the session, so that the gateway finds that without an index of tokens; only the gateway
    /// can open it.
    ///
    /// - Parameters:
    ///   - client: The session.
    ///   - audiences: Whom it is for, some of those of the grant.
    ///   - scopes: What it is for; nil for all scopes of the grant.
    ///   - keyThumbprint: The key that its sender must prove to have; nil for any sender.
    ///   - actor: The claim about who acts for the user; nil for the client that the user signed in at.
    ///   - lifetime: How long it is valid.
    ///   - now: The time.
    /// - Returns: The token.
    /// - Throws: `assertion.not_signed` if the key cannot sign.
    package func accessToken(
        of client: ClientSession,
        for audiences: [String],
        scopes: [String]? = nil,
        boundTo keyThumbprint: String? = nil,
        actor: JSON? = nil,
        lifetime: Duration,
        now: Instant
    ) throws(Failure) -> String {
        let grant = client.grant
        let id = self.random.token(16)
        var claims: [String: JSON] = [
            "sub": .string(client.session.profile.forwardedKey), "client_id": .string(grant.client),
            "scope": .string((scopes ?? grant.scopes).joined(separator: " ")), "iat": .int(now.seconds),
            "exp": .int(now.advanced(by: lifetime).seconds), "jti": .string(id),
            "grant": .string(client.ticket.masked(for: id, by: self.sealer)),
        ]
        claims["aud"] = audiences.count == 1 ? .string(audiences[0]) : .array(audiences.map(JSON.string))
        claims["auth_time"] = grant.authenticated.map { .int($0.seconds) }
        claims["act"] = actor
        claims["cnf"] = keyThumbprint.map { ["jkt": .string($0)] }
        return try self.signer.sign(claims, as: .accessToken)
    }

    /// The access token that a text is; nil unless this gateway issued it and it is valid now.
    ///
    /// Whether its session still lives is another matter.
    package func accessToken(_ text: some Sequence<UInt8>, now: Instant) -> AccessToken? {
        var ticket: Ticket?
        let claims = self.signer.claims(of: text, as: .accessToken) { claims in
            guard let expires = claims["exp"]?.numericDate, let issued = claims["iat"]?.numericDate, now < expires,
                issued <= now.advanced(by: Issuer.clockLeeway)
            else { return false }
            guard let masked = claims["grant"]?.string, let id = claims["jti"]?.string,
                let client = claims["client_id"]?.string
            else { return false }
            ticket = Ticket(masked: masked, for: id, host: ClientGrant.host(of: client), by: self.sealer)
            return ticket != nil
        }
        guard let claims, let ticket, let client = claims["client_id"]?.string,
            let expires = claims["exp"]?.numericDate,
            let issued = claims["iat"]?.numericDate
        else { return nil }
        return AccessToken(
            client: client,
            audiences: claims["aud"]?.array?.compactMap(\.string) ?? [claims["aud"]?.string ?? ""],
            scopes: (claims["scope"]?.string ?? "").split(separator: " ").map(String.init),
            issued: issued,
            expires: expires,
            keyThumbprint: claims["cnf"]?["jkt"]?.string,
            actor: claims["act"],
            ticket: ticket
        )
    }
}
