// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import GateCore
internal import GateProviders

/// A token that names the access token it came with must have come with it.
///
/// The left half of the hash that the signature uses. OpenID Connect Core §3.1.3.6, §3.1.3.8.
struct AccessTokenHashRule: IDTokenRule {
    let accessToken: String

    func rejection(of token: UnverifiedIDToken, at now: Instant) -> TokenRejection? {
        guard let claim = token.claims["at_hash"] else { return nil }
        let digest = AccessTokenHashRule.digest(Array(self.accessToken.utf8), token.algorithm)
        let expected = Base64URL.encode(digest.prefix(digest.count / 2))
        guard let hash = claim.string, constantTimeEquals(hash.utf8, expected.utf8) else {
            let detail =
                "at_hash is not that of the access token beside it, with the hash of \(token.algorithm.rawValue)"
            return TokenRejection(.idTokenAccessTokenHash, "OpenID Connect Core §3.1.3.8", detail: detail)
        }
        return nil
    }

    private static func digest(_ bytes: [UInt8], _ algorithm: SignatureAlgorithm) -> [UInt8] {
        switch algorithm.hash {
        case .sha256: Array(SHA256.hash(data: bytes))
        case .sha384: Array(SHA384.hash(data: bytes))
        case .sha512: Array(SHA512.hash(data: bytes))
        }
    }
}
