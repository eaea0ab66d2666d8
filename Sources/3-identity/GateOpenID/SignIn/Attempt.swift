// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A sign-in that a browser has begun; it is stored in a cookie of that browser until the callback.
package struct Attempt: Sendable, Hashable {
    /// How long a user may take at the provider.
    package static let lifetime = Duration.seconds(600)
    /// The maximum length of the return path; a longer one becomes the front page, so that the cookie's value
    /// stays below 2.5 KB.
    package static let maxReturnPathLength = 1280
    /// The maximum length of the ticket of the replaced session.
    package static let maxTicketLength = 256

    /// The random id, 22 characters of base64url, by which the cookie and a spent attempt are found.
    package let id: String
    /// The `state` parameter: the id, a dot and 256 random bits.
    ///
    /// RFC 6749 §10.12.
    package let state: String
    /// The `nonce` parameter.
    ///
    /// OpenID Connect Core §3.1.2.1.
    package let nonce: String
    /// The PKCE verifier, 43 characters.
    ///
    /// RFC 7636 §4.1.
    package let verifier: String
    /// The provider that was chosen.
    package let provider: String
    /// The URL that the user requested.
    package let returnPath: ReturnPath
    /// The ticket of the session that this sign-in replaces, for callbacks that come without the session cookie.
    package let replacedTicket: String?
    /// When the attempt ends.
    package let expiry: Instant
    /// Whether the provider must not show a page: the user is signed in already, and the session is due for a re-check.
    package let isSilent: Bool
    /// What the sign-in is asked for; nil if nothing is, as always for a silent attempt.
    package let demand: AuthenticationDemand?

    /// What the attempts of a browser have in common that it begins while another is open: the last characters of their ids.
    package var browser: String { String(self.id.suffix(10)) }

    init(
        id: String,
        state: String,
        nonce: String,
        verifier: String,
        provider: String,
        returnPath: ReturnPath,
        replacedTicket: String?,
        expiry: Instant,
        isSilent: Bool,
        demand: AuthenticationDemand?
    ) {
        self.id = id
        self.state = state
        self.nonce = nonce
        self.verifier = verifier
        self.provider = provider
        self.returnPath = returnPath
        self.replacedTicket = replacedTicket
        self.expiry = expiry
        self.isSilent = isSilent
        self.demand = isSilent ? nil : demand
    }

    /// A new attempt with fresh secrets; `browser` is that of an attempt which the same browser has open, nil if it has none.
    package init(
        provider: String,
        returnPath: ReturnPath,
        replacedTicket: String?,
        isSilent: Bool = false,
        demand: AuthenticationDemand? = nil,
        browser: String? = nil,
        now: Instant,
        random: RandomBytes
    ) {
        // 9 bytes are 12 characters, so that the 7 bytes of the browser have 10 of their own.
        let id = random.token(9) + (browser ?? random.token(7))
        self.init(
            id: id,
            state: "\(id).\(random.token(32))",
            nonce: random.token(32),
            verifier: random.token(32),
            provider: provider,
            returnPath: returnPath.value.utf8.count <= Attempt.maxReturnPathLength ? returnPath : .root,
            replacedTicket: replacedTicket,
            expiry: now.advanced(by: Attempt.lifetime),
            isSilent: isSilent,
            demand: demand
        )
    }

    /// The id of the attempt that a callback's `state` names, or nil if it cannot be one of ours.
    package static func id(inState state: String) -> String? {
        let parts = state.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard state.utf8.count == 66, parts.count == 2, parts[0].count == 22 else { return nil }
        guard Base64URL.decode(parts[0]) != nil, Base64URL.decode(parts[1]) != nil else { return nil }
        return String(decoding: parts[0], as: UTF8.self)
    }
}
