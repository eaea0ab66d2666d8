// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import GateCore

/// An ID token taken apart, to be put together again differently.
struct DemoToken {
    /// Who signs it.
    enum Signer {
        /// The provider's key, RS256.
        case provider
        /// HMAC with bytes that are no secret between the two, HS256.
        case shared([UInt8])
        /// Nobody: the third part is empty.
        case nobody
        /// Somebody without the key.
        case stranger
    }

    var header: [String: JSON]
    var claims: [String: JSON]
    var signer = Signer.provider

    /// Takes a compact JWS apart; nil if it is none.
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

    /// The compact JWS again.
    func text(signedBy key: DemoKey) throws -> String {
        let parts = [self.header, self.claims].map { Base64URL.encode(JSON.object($0).encoded) }
        let input = parts.joined(separator: ".")
        let signature: [UInt8] =
            switch self.signer {
            case .provider: try key.signature(over: input)
            case .shared(let bytes): Self.code(of: input, bytes)
            case .nobody: []
            case .stranger: Array(try key.signature(over: input).reversed())
            }
        return "\(input).\(Base64URL.encode(signature))"
    }

    private static func code(of input: String, _ bytes: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Data(input.utf8), using: SymmetricKey(data: bytes)))
    }
}
