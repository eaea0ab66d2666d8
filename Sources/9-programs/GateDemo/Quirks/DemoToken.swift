// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import GateCore

/// A decoded ID token, to be changed and encoded again.
struct DemoToken {
    /// The source of its signature.
    enum Signer {
        /// The provider's key, RS256.
        case provider
        /// HMAC with bytes that are not a shared secret, HS256.
        case shared([UInt8])
        /// No signature: the third part is empty.
        case unsigned
        /// A signature that the key does not verify.
        case invalid
    }

    var header: [String: JSON]
    var claims: [String: JSON]
    var signer = Signer.provider

    /// Decodes a compact JWS; nil for any other text.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let documents = parts.prefix(2).map { part in
            Base64URL.decode(part.utf8).flatMap { try? JSON(parsing: $0) }?.object
        }
        guard let header = documents[0], let claims = documents[1] else { return nil }
        self.header = header
        self.claims = claims
    }

    /// The compact JWS.
    func text(signedBy key: RSASigningKey) throws -> String {
        let parts = [self.header, self.claims].map { Base64URL.encode(JSON.object($0).encoded) }
        let input = parts.joined(separator: ".")
        let signature: [UInt8] =
            switch self.signer {
            case .provider: try key.signature(over: input)
            case .shared(let bytes): Self.code(of: input, bytes)
            case .unsigned: []
            case .invalid: Array(try key.signature(over: input).reversed())
            }
        return "\(input).\(Base64URL.encode(signature))"
    }

    private static func code(of input: String, _ bytes: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Data(input.utf8), using: SymmetricKey(data: bytes)))
    }
}
