// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Signs the claims of tokens for clients as JWTs, and verifies them.
///
/// Its keys are not those of assertions: no app takes a token for an assertion, and the gateway takes no assertion for a token
/// (RFC 8725 §3.11, §3.12).
package struct TokenSigner: Sendable {
    /// What a token is for, as `typ` in its header.
    package enum Purpose: String, Sendable {
        /// RFC 9068 §2.1.
        case accessToken = "at+jwt"
        /// OpenID Connect Core §2.
        case idToken = "JWT"
        /// OpenID Connect Back-Channel Logout §2.4.
        case logoutToken = "logout+jwt"
    }

    /// The `iss` of the tokens, the URL of the gateway.
    package let issuer: String
    /// The keys that verify the tokens.
    package let keys: AssertionKeys

    /// What access tokens of these keys begin with.
    private let heads: [String]

    /// The longest token that is verified, in bytes.
    private static let maxBytes = 8192

    package init(keys: AssertionKeys, issuer: String) {
        self.keys = keys
        self.issuer = issuer
        self.heads = keys.entries.filter { $0.role != .expired }.map {
            String(decoding: $0.key.head(ofType: Purpose.accessToken.rawValue), as: UTF8.self)
        }
    }

    /// Whether a text begins as the access tokens of this gateway do, and no other gateway's; it may be none all the same.
    package func begins(_ text: Span<UInt8>) -> Bool {
        for head in self.heads where text.starts(with: head) { return true }
        return false
    }

    /// The token with these claims and `iss`.
    ///
    /// - Throws: `assertion.not_signed` if the key cannot sign.
    package func sign(_ claims: [String: JSON], as purpose: Purpose) throws(Failure) -> String {
        var members = claims
        members["iss"] = .string(self.issuer)
        let key = self.keys.signing
        return String(
            decoding: try key.signed(key.head(ofType: purpose.rawValue), claims: .object(members)),
            as: UTF8.self
        )
    }

    /// The claims of a token that this gateway has signed for a purpose; nil for everything else.
    ///
    /// Times and audience are the caller's to check.
    ///
    /// - Parameters:
    ///   - token: The token in compact form.
    ///   - purpose: What it must be for.
    ///   - isWorthVerifying: Called with the claims before the signature is verified, which costs more than all else.
    /// - Returns: The claims.
    package func claims(
        of token: some Sequence<UInt8>,
        as purpose: Purpose,
        ifAny isWorthVerifying: (JSON) -> Bool = { _ in true }
    ) -> JSON? {
        let bytes = Array(token)
        guard bytes.count <= TokenSigner.maxBytes else { return nil }
        let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, let header = TokenSigner.object(parts[0], depth: 1),
            isIdentical(header["alg"]?.string ?? "", "ES256"),
            isIdentical(header["typ"]?.string ?? "", purpose.rawValue), header["crit"] == nil,
            let id = header["kid"]?.string,
            let key = self.keys.entries.first(where: { isIdentical($0.key.id, id) && $0.role != .expired })?.key,
            let claims = TokenSigner.object(parts[1], depth: 4), isIdentical(claims["iss"]?.string ?? "", self.issuer),
            isWorthVerifying(claims), let signature = Base64URL.decode(parts[2]), signature.count == 64,
            key.isValid(signature, of: bytes[..<parts[1].endIndex])
        else { return nil }
        return claims
    }

    private static func object(_ part: ArraySlice<UInt8>, depth: Int) -> JSON? {
        guard let plain = Base64URL.decode(part), let json = try? JSON(parsing: plain, depth: depth),
            json.object != nil
        else { return nil }
        return json
    }
}
