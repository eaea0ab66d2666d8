// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation

/// Seals small values so that only this gateway can open them, and only for the purpose they were sealed for.
///
/// One format for cookies, session transfer codes and session records: version byte, 8 bytes of key id, 32 bytes of salt,
/// AES-256-GCM ciphertext and tag. The key of each message is `HKDF-SHA256(secret ‖ part, salt, purpose)`, so the number
/// of messages is not limited (NIST SP 800-38D §8.3), and the purpose is authenticated with it. Every failure to open is
/// the same nil.
package struct Sealer: Sendable {
    private static let version: UInt8 = 1
    private static let overhead = 1 + 8 + 32 + 16
    private let keys: [Key]
    private let random: RandomBytes

    private struct Key: Sendable {
        let id: [UInt8]
        let secret: Secret
        /// Creates and verifies tags.
        let authentication: SymmetricKey
    }

    /// A sealer with one secret or more, each at least 32 bytes: the first seals, all open.
    package init(_ secrets: [Secret], random: RandomBytes = .system) {
        self.keys = secrets.map { secret in
            let id = secret.withBytes { Array(SHA256.hash(data: Array("gatehouse/key-id/".utf8) + $0).prefix(8)) }
            let authentication = Sealer.derive(secret, part: [], salt: [], purpose: "authentication")
            return Key(id: id, secret: secret, authentication: authentication)
        }
        self.random = random
    }

    /// Whether this one has every secret of another one, and so opens all that the other opens.
    package func hasSecrets(of other: Sealer) -> Bool {
        other.keys.allSatisfy { key in self.keys.contains { $0.id == key.id } }
    }

    /// Seals `plain` for one purpose; `part` is a part of the key that only the owner of a ticket has.
    package func seal(_ plain: [UInt8], for purpose: String, part: [UInt8] = []) -> [UInt8] {
        self.seal(plain, for: purpose, part: part, salt: self.random.bytes(32))
    }

    /// Seals `plain` so that gateways with the same secret give the same bytes for the same text and purpose.
    ///
    /// The salt is a message authentication code of the text, so other texts have other keys; equal seals show that the
    /// texts are equal, and nothing else. ``open(_:for:part:)`` opens them.
    package func sealAlike(_ plain: [UInt8], for purpose: String) -> [UInt8] {
        self.seal(plain, for: purpose, part: [], salt: self.tag(of: plain, for: "salt/\(purpose)", count: 32))
    }

    private func seal(_ plain: [UInt8], for purpose: String, part: [UInt8], salt: [UInt8]) -> [UInt8] {
        guard let key = self.keys.first else { return [] }
        let header = [Sealer.version] + key.id + salt
        let derived = Sealer.derive(key.secret, part: part, salt: salt, purpose: purpose)
        guard
            let box = try? AES.GCM.seal(
                plain,
                using: derived,
                nonce: Sealer.nonce(),
                authenticating: header + Array(purpose.utf8)
            )
        else { return [] }
        return header + box.ciphertext + box.tag
    }

    /// Opens what ``seal(_:for:part:)`` made for the same purpose and part; nil for everything else.
    package func open(_ sealed: some Collection<UInt8>, for purpose: String, part: [UInt8] = []) -> [UInt8]? {
        let sealed = Array(sealed)
        guard sealed.count >= Sealer.overhead, sealed[0] == Sealer.version else { return nil }
        guard let key = self.keys.first(where: { $0.id == Array(sealed[1..<9]) }) else { return nil }
        let derived = Sealer.derive(key.secret, part: part, salt: Array(sealed[9..<41]), purpose: purpose)
        guard
            let nonce = Sealer.nonce(),
            let box = try? AES.GCM.SealedBox(
                nonce: nonce,
                ciphertext: sealed[41..<(sealed.count - 16)],
                tag: sealed[(sealed.count - 16)...]
            )
        else { return nil }
        let plain = try? AES.GCM.open(box, using: derived, authenticating: sealed[..<41] + Array(purpose.utf8))
        return plain.map(Array.init)
    }

    /// Whether the secret that seals now has sealed this.
    package func sealsWithSecret(of sealed: [UInt8]) -> Bool {
        sealed.count >= 9 && self.keys.first?.id == Array(sealed[1..<9])
    }

    /// A tag that ``authenticates(_:of:for:)`` verifies: HMAC-SHA256, truncated to `count` bytes (RFC 2104 §5).
    package func tag(of message: [UInt8], for purpose: String, count: Int) -> [UInt8] {
        guard let key = self.keys.first else { return [] }
        return Array(HMAC<SHA256>.authenticationCode(for: Sealer.input(message, purpose), using: key.authentication))
            .prefix(count).map { $0 }
    }

    /// The tags of a message and a purpose with each of the secrets, the one that seals first.
    package func tags(of message: [UInt8], for purpose: String, count: Int) -> [[UInt8]] {
        let input = Sealer.input(message, purpose)
        return self.keys.map { key in
            Array(HMAC<SHA256>.authenticationCode(for: input, using: key.authentication).prefix(count))
        }
    }

    /// Whether a tag was made for a message and a purpose, with any of the secrets.
    package func authenticates(_ tag: [UInt8], of message: [UInt8], for purpose: String) -> Bool {
        guard !tag.isEmpty else { return false }
        let input = Sealer.input(message, purpose)
        return self.keys.contains { key in
            let code = Array(HMAC<SHA256>.authenticationCode(for: input, using: key.authentication))
            return constantTimeEquals(Array(code.prefix(tag.count)), tag)
        }
    }

    private static func input(_ message: [UInt8], _ purpose: String) -> [UInt8] {
        Array("gatehouse/v1/\(purpose)/".utf8) + message
    }

    /// The key is used for one message only, so the nonce may be constant.
    private static func nonce() -> AES.GCM.Nonce? {
        try? AES.GCM.Nonce(data: [UInt8](repeating: 0, count: 12))
    }

    private static func derive(_ secret: Secret, part: [UInt8], salt: [UInt8], purpose: String) -> SymmetricKey {
        let length = lengthPrefix(of: part)
        return secret.withBytes { bytes in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: length + part + bytes),
                salt: salt,
                info: Array("gatehouse/v1/\(purpose)".utf8),
                outputByteCount: 32
            )
        }
    }

    /// The length of the part in eight bytes, so that part and secret cannot be shifted against each other.
    private static func lengthPrefix(of part: [UInt8]) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: part.count >> (8 * $0)) }
    }
}
