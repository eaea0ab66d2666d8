// SPDX-License-Identifier: Apache-2.0

/// SHA-256 over a public key (its SubjectPublicKeyInfo) or over a whole certificate, by which a peer is recognized.
///
/// RFC 7469 §2.4.
package struct Pin: Sendable, Hashable, CustomStringConvertible {
    /// The length of the hash, in bytes.
    package static let length = 32

    /// The hash, 32 bytes.
    package let bytes: [UInt8]

    /// A hash, or nil unless it has 32 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Pin.length else { return nil }
        self.bytes = bytes
    }

    /// The hash that a text encodes, or nil unless the text is the one canonical base64 of 32 bytes.
    ///
    /// RFC 4648 §4 and §3.5: padded, without white space and without stray bits.
    package init?(base64 text: String) {
        guard text.utf8.count == 44, text.hasSuffix("="), !text.utf8.contains(where: { "-_".utf8.contains($0) }) else {
            return nil
        }
        let unpadded = text.dropLast().replacing("+", with: "-").replacing("/", with: "_")
        guard let bytes = Base64URL.decode(String(unpadded)) else { return nil }
        self.init(bytes)
    }

    /// The hash in base64, as the file writes it.
    package var description: String { Base64URL.padded(self.bytes) }
}
