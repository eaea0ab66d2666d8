// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Signs claims as a JWT that an app verifies with the published keys.
///
/// RFC 7515, RFC 7519.
package struct AssertionSigner: Sendable {
    /// How long an assertion is valid.
    package let lifetime: Duration
    private let issuer: String
    private let key: AssertionKey
    private let head: [UInt8]
    private let random: RandomBytes

    /// A signer that uses the newest key.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - issuer: The `public_url` of the gateway, as `iss`.
    ///   - lifetime: How long an assertion is valid.
    ///   - random: The random source of `jti`.
    package init(keys: AssertionKeys, issuer: String, lifetime: Duration, random: RandomBytes = .system) {
        self.lifetime = lifetime
        self.issuer = issuer
        self.key = keys.signing
        self.random = random
        self.head = keys.signing.head(ofType: "JWT")
    }

    /// The id of the key that signs, as in the JWK set.
    package var keyID: String { self.key.id }

    /// The 64 bytes `r ‖ s` of the signature over some bytes.
    ///
    /// RFC 9421 §3.3.4.
    package func signature(of bytes: [UInt8]) throws(Failure) -> [UInt8] { try self.key.signature(of: bytes) }

    /// When what is signed at a time expires: after its lifetime, or with the access of the user if that ends before.
    package func expiry(at now: Instant, accessUntil end: Instant?) -> Instant {
        let expiry = now.advanced(by: self.lifetime)
        return end.map { min($0, expiry) } ?? expiry
    }

    /// The JWT in compact form, with a unique id.
    ///
    /// RFC 7515 §7.1.
    package func sign(
        _ claims: AssertionClaims,
        at now: Instant,
        accessUntil end: Instant? = nil
    ) throws(Failure) -> [UInt8] {
        var members = claims.members
        members["iss"] = .string(self.issuer)
        members["iat"] = .int(now.seconds)
        members["nbf"] = .int(now.seconds)
        members["exp"] = .int(self.expiry(at: now, accessUntil: end).seconds)
        members["jti"] = .string(self.random.token(16))
        return try self.key.signed(self.head, claims: .object(members))
    }
}
