// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import GateCore

/// A key of a client, and the proofs that it makes.
///
/// RFC 9449 §4.
package struct ProofKey {
    private let key = P256.Signing.PrivateKey()

    /// A new key.
    package init() {}

    private var jwk: [String: JSON] {
        let raw = Array(self.key.publicKey.rawRepresentation)
        return [
            "kty": "EC", "crv": "P-256", "x": .string(Base64URL.encode(raw[..<32])),
            "y": .string(Base64URL.encode(raw[32...])),
        ]
    }

    /// The thumbprint of the key, RFC 7638.
    package var thumbprint: String { Base64URL.encode(Array(SHA256.hash(data: JSON.object(self.jwk).encoded))) }

    /// The header line with a proof for a request to a URL, beside an access token if there is one.
    package func line(_ method: String, _ url: String, beside token: String? = nil, at now: Instant) throws -> String {
        let header: JSON = ["typ": "dpop+jwt", "alg": "ES256", "jwk": .object(self.jwk)]
        var claims: [String: JSON] = [
            "htm": .string(method), "htu": .string(url), "iat": .int(now.seconds),
            "jti": .string(RandomBytes.system.token(16)),
        ]
        if let token { claims["ath"] = .string(Base64URL.encode(Array(SHA256.hash(data: Array(token.utf8))))) }
        let input = "\(Base64URL.encode(header.encoded)).\(Base64URL.encode(JSON.object(claims).encoded))"
        let signature = try self.key.signature(for: Array(input.utf8)).rawRepresentation
        return "DPoP: \(input).\(Base64URL.encode(Array(signature)))\r\n"
    }
}
