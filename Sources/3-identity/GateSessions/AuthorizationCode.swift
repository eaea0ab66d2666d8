// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// An authorization code: valid once, for a minute, for one client and one redirect URI.
///
/// RFC 6749 §4.1.2; it is sealed, so that nothing is stored before it is redeemed.
package struct AuthorizationCode: Sendable, Hashable {
    /// How long a code is valid.
    package static let lifetime = Duration.seconds(60)
    private static let purpose = "client/code"

    /// What the client asked for and the user granted.
    package struct Terms: Sendable, Hashable {
        package var client: String
        /// The redirect URI that the code was sent to.
        package var redirectURI: String
        /// The challenge for which the client has the verifier, SHA-256 in base64url.
        ///
        /// RFC 7636 §4.2.
        package var challenge: String
        /// The scopes, in the order of the request.
        package var scopes: [String]
        /// The audiences that access tokens may have.
        package var audiences: [String]
        /// What the client wants in the ID token.
        package var nonce: String?
        /// The thumbprint of the key that must redeem the code; nil for any.
        ///
        /// RFC 9449 §10.
        package var keyThumbprint: String?

        /// Terms without audiences and scopes.
        package init(client: String, redirectURI: String, challenge: String) {
            self.client = client
            self.redirectURI = redirectURI
            self.challenge = challenge
            self.scopes = []
            self.audiences = []
        }
    }

    package let terms: Terms
    package let expires: Instant
    /// The id that is spent when the code is redeemed.
    let id: String
    /// The ticket of the user's session at the gateway's host.
    let ticket: Ticket

    /// A code for the browser that has this ticket at the gateway's host.
    package init(for terms: Terms, ticket: Ticket, random: RandomBytes, now: Instant) {
        self.terms = terms
        self.ticket = ticket
        self.id = random.token(16)
        self.expires = now.advanced(by: AuthorizationCode.lifetime)
    }

    /// Opens a code that this gateway sealed, expired or not; nil for everything else.
    package init?(sealed text: String, by sealer: Sealer) {
        guard let json = sealer.openText(text, for: AuthorizationCode.purpose) else { return nil }
        guard let id = json["id"]?.string, let client = json["client"]?.string,
            let redirectURI = json["redirect"]?.string, let challenge = json["challenge"]?.string,
            let scopes = json["scopes"]?.string, let audiences = json["audiences"]?.string,
            let ticket = json["ticket"]?.string.flatMap({ Ticket($0.utf8) }), let expires = json["expires"]?.integer
        else { return nil }
        var terms = Terms(client: client, redirectURI: redirectURI, challenge: challenge)
        terms.scopes = AuthorizationCode.list(scopes)
        terms.audiences = AuthorizationCode.list(audiences)
        terms.nonce = json["nonce"]?.string
        terms.keyThumbprint = json["jkt"]?.string
        self.terms = terms
        self.id = id
        self.ticket = ticket
        self.expires = Instant(seconds: expires)
    }

    /// The code as text for a URL.
    package func sealed(by sealer: Sealer) -> String {
        var members: [String: JSON] = [
            "id": .string(self.id), "client": .string(self.terms.client), "redirect": .string(self.terms.redirectURI),
            "challenge": .string(self.terms.challenge), "scopes": .string(self.terms.scopes.joined(separator: " ")),
            "audiences": .string(self.terms.audiences.joined(separator: " ")), "ticket": .string(self.ticket.text),
            "expires": .int(self.expires.seconds),
        ]
        members["nonce"] = self.terms.nonce.map(JSON.string)
        members["jkt"] = self.terms.keyThumbprint.map(JSON.string)
        return sealer.sealText(members, for: AuthorizationCode.purpose)
    }

    private static func list(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }
}
