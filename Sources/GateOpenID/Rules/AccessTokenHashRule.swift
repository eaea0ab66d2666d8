// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import GateCore
internal import GateProviders

/// A token that names the access token it came with must have come with it.
///
/// The left half of the hash that the signature uses. OpenID Connect Core §3.1.3.6, §3.1.3.8.
struct AccessTokenHashRule: IDTokenRule {
    let accessToken: String

    func refusal(of token: UnverifiedIDToken, at now: Instant) -> Refusal? {
        guard let claim = token.claims["at_hash"] else { return nil }
        let digest = AccessTokenHashRule.digest(Array(self.accessToken.utf8), token.algorithm)
        let expected = Base64URL.encode(digest.prefix(digest.count / 2))
        guard let hash = claim.string, constantTimeEquals(hash.utf8, expected.utf8) else {
            return Refusal("id_token.access_token_hash", "OpenID Connect Core §3.1.3.8")
        }
        return nil
    }

    /// Ed25519 hashes with SHA-512, RFC 8032 §5.1.
    private static func digest(_ bytes: [UInt8], _ algorithm: SignatureAlgorithm) -> [UInt8] {
        switch algorithm {
        case .rs256, .ps256, .es256: Array(SHA256.hash(data: bytes))
        case .es384: Array(SHA384.hash(data: bytes))
        case .edDSA, .ed25519: Array(SHA512.hash(data: bytes))
        }
    }
}
