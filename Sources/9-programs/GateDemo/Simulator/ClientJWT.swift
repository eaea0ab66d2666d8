// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import GateCore

/// A JWT by which a client authenticates, signed with ES256 by the gateway or its platform, its signature verified.
///
/// RFC 7515 §5.2.
struct ClientJWT {
    /// The id under which providers know the gateway's key, in Apple's form.
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

    /// Whether this is its only audience.
    func isFor(_ audience: String) -> Bool {
        let value = self.claims["aud"]
        return value?.string == audience || value?.array == [.string(audience)]
    }

    /// Whether it is valid now and its lifetime is within the limit.
    func lives(at now: Instant, atMost limit: Duration) -> Bool {
        guard let start = self.claims["iat"]?.numericDate, let end = self.claims["exp"]?.numericDate else {
            return false
        }
        let hasBegun = start <= now.advanced(by: .seconds(60))
        return hasBegun && now < end && end.since(now) <= limit && end.since(start) <= limit
    }

    private static func document(_ part: Substring) -> JSON? {
        Base64URL.decode(part.utf8).flatMap { try? JSON(parsing: $0, depth: 8) }
    }
}
