// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import GateCore

/// A JWT that the gateway signed with ES256 to prove who it is, its signature verified.
///
/// RFC 7515 §5.2.
struct ClientJWT {
    /// The name under which providers know the gateway's key, of the form that Apple gives out.
    static let keyID = "DEM0KEY123"

    let header: JSON
    let claims: JSON

    init?(_ text: String, key: P256.Signing.PublicKey) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.document(parts[0]), let claims = Self.document(parts[1]),
            header["alg"] == "ES256", let bytes = Base64URL.decode(parts[2].utf8),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes),
            key.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8))
        else { return nil }
        self.header = header
        self.claims = claims
    }

    /// Whether it was made for this place and no other.
    func isFor(_ audience: String) -> Bool {
        let value = self.claims["aud"]
        return value?.string == audience || value?.array == [.string(audience)]
    }

    /// Whether it has begun, has not ended, and does not last too long.
    func lives(at now: Instant, atMost limit: Duration) -> Bool {
        guard let start = self.claims["iat"]?.numericDate, let end = self.claims["exp"]?.numericDate else {
            return false
        }
        let isBegun = start <= now.advanced(by: .seconds(60))
        return isBegun && now < end && end.since(now) <= limit && end.since(start) <= limit
    }

    private static func document(_ part: Substring) -> JSON? {
        Base64URL.decode(part.utf8).flatMap { try? JSON(parsing: $0, depth: 8) }
    }
}
