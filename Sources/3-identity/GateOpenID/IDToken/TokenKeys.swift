// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import GateCore
internal import GateProviders

/// What the signatures of a provider's tokens are verified with.
///
/// A provider has one of the two: a published key is never the key of an HMAC, and the client secret never verifies
/// anything else. RFC 8725 §3.1.
enum TokenKeys: Sendable {
    /// The keys that the provider publishes.
    case published(KeyCache)
    /// The client secret. OpenID Connect Core §10.1.
    case secret(Secret)

    /// Verifies the signature of a token.
    ///
    /// - Throws: `id_token.key_unknown`, `id_token.key_issuer`, `id_token.signature`, or why there are no keys.
    func verify(_ token: UnverifiedIDToken, of issuers: IssuerRule) async throws(Failure) {
        switch self {
        case .secret(let secret):
            guard token.isAuthenticated(by: secret) else { throw TokenKeys.wrongSignature(token).failure }
        case .published(let cache):
            let keys = try await TokenKeys.keys(for: token, in: cache)
            guard !keys.isEmpty else { throw await TokenKeys.unknownKey(token, cache).failure }
            let issuer = token.claims["iss"]?.string ?? ""
            let candidates = keys.filter { issuers.admits(keyIssuer: $0.key.issuer, for: issuer) }
            guard !candidates.isEmpty else {
                let detail = "the key belongs to another issuer than iss, which is \(ReceivedText.quoted(issuer))"
                let source: StaticString = "Microsoft identity platform, signing key rollover"
                throw TokenRejection(.idTokenKeyIssuer, source, detail: detail).failure
            }
            guard candidates.contains(where: \.hasSigned) else { throw TokenKeys.wrongSignature(token).failure }
        }
    }

    /// The keys that may have signed a token; those of a newer key set if none of them has, because nothing else shows that
    /// a provider without names has changed its key, or one that gave an old name to a new key.
    ///
    /// Whether a key has signed the token is checked once, since that is most of what a token costs.
    private static func keys(
        for token: UnverifiedIDToken,
        in cache: KeyCache
    ) async throws(Failure) -> [(key: JSONWebKey, hasSigned: Bool)] {
        let keys = try await cache.candidates(id: token.keyID, algorithm: token.algorithm)
        let candidates = keys.map { (key: $0, hasSigned: token.isSigned(by: $0)) }
        guard !candidates.contains(where: \.hasSigned) else { return candidates }
        let newer = await cache.newerCandidates(id: token.keyID, algorithm: token.algorithm)
        return newer?.map { (key: $0, hasSigned: token.isSigned(by: $0)) } ?? candidates
    }

    private static func unknownKey(_ token: UnverifiedIDToken, _ cache: KeyCache) async -> TokenRejection {
        let received = token.keyID.map { ReceivedText.quoted($0) } ?? "absent"
        let known = ReceivedText.list(await cache.names)
        let detail =
            "kid is \(received) with \(token.algorithm.rawValue), the provider's keys are \(known), fetched again for an "
            + "unknown one at most once in \(UnknownKeyLimiter.cooldown.wholeSeconds) s"
        return TokenRejection(.idTokenKeyUnknown, "OpenID Connect Core §10.1", detail: detail)
    }

    private static func wrongSignature(_ token: UnverifiedIDToken) -> TokenRejection {
        let received = token.keyID.map { ReceivedText.quoted($0) } ?? "absent"
        let advice = token.algorithm.isSymmetric ? "; is client_secret the one that the provider has?" : ""
        let detail = "the signature with \(token.algorithm.rawValue) is wrong, kid is \(received)\(advice)"
        return TokenRejection(.idTokenSignature, "RFC 7515 §5.2", detail: detail)
    }
}

extension UnverifiedIDToken {
    fileprivate func isSigned(by key: JSONWebKey) -> Bool {
        key.verifies(self.signature, over: self.signingInput, as: self.algorithm)
    }

    /// RFC 7518 §3.2; the comparison takes the same time whatever differs.
    fileprivate func isAuthenticated(by secret: Secret) -> Bool {
        guard self.algorithm.isSymmetric, secret.count >= SignatureAlgorithm.minSecretLength else { return false }
        let code = secret.withBytes { bytes in
            let key = SymmetricKey(data: bytes)
            return switch self.algorithm.hash {
            case .sha256: Array(HMAC<SHA256>.authenticationCode(for: self.signingInput, using: key))
            case .sha384: Array(HMAC<SHA384>.authenticationCode(for: self.signingInput, using: key))
            case .sha512: Array(HMAC<SHA512>.authenticationCode(for: self.signingInput, using: key))
            }
        }
        return constantTimeEquals(code, self.signature)
    }
}
