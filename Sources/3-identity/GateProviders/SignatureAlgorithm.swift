// SPDX-License-Identifier: Apache-2.0

/// The algorithms an ID token may be signed with, by their names in RFC 7518 §3.1 and RFC 8037 §3.1.
///
/// `none` is not here, so no header can ask for it.
package enum SignatureAlgorithm: String, Sendable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = "RS256"
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    case rs384 = "RS384"
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    case rs512 = "RS512"
    /// RSASSA-PSS with SHA-256.
    case ps256 = "PS256"
    /// RSASSA-PSS with SHA-384.
    case ps384 = "PS384"
    /// RSASSA-PSS with SHA-512.
    case ps512 = "PS512"
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
    /// ECDSA on P-384 with SHA-384.
    case es384 = "ES384"
    /// ECDSA on P-521 with SHA-512.
    case es512 = "ES512"
    /// Ed25519, by the name that leaves the curve to the key.
    case edDSA = "EdDSA"
    /// Ed25519, by its name since RFC 9864 §2.2.
    case ed25519 = "Ed25519"
    /// HMAC with SHA-256 under the client secret.
    case hs256 = "HS256"
    /// HMAC with SHA-384 under the client secret.
    case hs384 = "HS384"
    /// HMAC with SHA-512 under the client secret.
    case hs512 = "HS512"

    /// The hash functions of the algorithms.
    package enum Hash: Sendable {
        /// SHA-256.
        case sha256
        /// SHA-384.
        case sha384
        /// SHA-512.
        case sha512
    }

    /// What a provider of no particular kind may use without being asked in the file.
    package static let standard: Set<SignatureAlgorithm> = [.rs256, .ps256, .es256, .es384, .edDSA, .ed25519]

    /// The fewest bytes of a client secret that verifies tokens: 256 bits.
    package static let minSecretLength = 32

    /// Whether the key is the client secret.
    package var isSymmetric: Bool {
        switch self {
        case .hs256, .hs384, .hs512: true
        default: false
        }
    }

    /// The hash that the signature uses; Ed25519 uses SHA-512, RFC 8032 §5.1.
    package var hash: Hash {
        switch self {
        case .rs256, .ps256, .es256, .hs256: .sha256
        case .rs384, .ps384, .es384, .hs384: .sha384
        case .rs512, .ps512, .es512, .hs512, .edDSA, .ed25519: .sha512
        }
    }
}
