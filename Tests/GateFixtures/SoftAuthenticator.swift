// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import GateCore

/// An authenticator that verifies its user, with one passkey for `example.com`, and the browser around it.
///
/// WebAuthn §6.1 and §7.
package final class SoftAuthenticator {
    private static let origin = "https://gate.example.com"

    private let id: [UInt8]
    private let key: P256.Signing.PrivateKey
    /// The number of signatures so far.
    private var counter: UInt32

    /// An authenticator with a key of its own; the number makes its id.
    package convenience init(_ number: UInt8 = 1) {
        self.init([UInt8](repeating: number, count: 16), P256.Signing.PrivateKey(), 1)
    }

    private init(_ id: [UInt8], _ key: P256.Signing.PrivateKey, _ counter: UInt32) {
        (self.id, self.key, self.counter) = (id, key, counter)
    }

    /// What a thief has copied from it, which does not know of later signatures.
    package func copy() -> SoftAuthenticator { SoftAuthenticator(self.id, self.key, self.counter) }

    private func data(flags: UInt8, _ credential: [UInt8] = []) -> [UInt8] {
        let count = (0..<4).map { UInt8(truncatingIfNeeded: self.counter >> (24 - 8 * $0)) }
        return Array(SHA256.hash(data: Array("example.com".utf8))) + [flags] + count + credential
    }

    private func clientData(_ type: JSON, _ challenge: String) -> [UInt8] {
        let members: JSON = [
            "type": type, "challenge": .string(challenge), "origin": .string(Self.origin), "crossOrigin": false,
        ]
        return members.encoded
    }

    private func response(_ members: [String: [UInt8]]) -> JSON {
        let name = JSON.string(Base64URL.encode(self.id))
        let response = members.mapValues { JSON.string(Base64URL.encode($0)) }
        return ["id": name, "rawId": name, "type": "public-key", "response": .object(response)]
    }

    /// The response to a request for a new passkey, with a challenge as base64url.
    package func registration(_ challenge: String) -> JSON {
        let point = Array(self.key.publicKey.rawRepresentation)
        // COSE: kty 2, alg -7, crv 1, x, y.
        let key = [0xA5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32] + point[..<32] + [0x22, 0x58, 32] + point[32...]
        // The user is present and verified, and there is a credential.
        let data = self.data(flags: 0x45, [UInt8](repeating: 0, count: 16) + [0, 16] + self.id + key)
        let object =
            [0xA3, 0x63] + Array("fmt".utf8) + [0x64] + Array("none".utf8) + [0x67] + Array("attStmt".utf8)
            + [0xA0, 0x68] + Array("authData".utf8) + [0x58, UInt8(data.count)] + data
        return self.response([
            "attestationObject": object, "clientDataJSON": self.clientData("webauthn.create", challenge),
        ])
    }

    /// The response to a request for a use of the passkey; `handle` is the user handle that it returns.
    package func assertion(_ challenge: String, handle: [UInt8]? = nil) throws -> JSON {
        self.counter += 1
        let client = self.clientData("webauthn.get", challenge)
        let data = self.data(flags: 0x05)
        let signature = try self.key.signature(for: data + Array(SHA256.hash(data: client))).derRepresentation
        var members = ["authenticatorData": data, "clientDataJSON": client, "signature": Array(signature)]
        members["userHandle"] = handle
        return self.response(members)
    }
}
