// SPDX-License-Identifier: Apache-2.0

/// The algorithms an ID token may be signed with, by their names in RFC 7518 §3.1 and RFC 8037 §3.1.
///
/// `none` and the symmetric ones are not here, so no header can ask for them.
package enum SignatureAlgorithm: String, Sendable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = "RS256"
    /// RSASSA-PSS with SHA-256.
    case ps256 = "PS256"
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
    /// ECDSA on P-384 with SHA-384.
    case es384 = "ES384"
    /// Ed25519, by the name that leaves the curve to the key.
    case edDSA = "EdDSA"
    /// Ed25519, by its name since RFC 9864 §2.2.
    case ed25519 = "Ed25519"
}
