// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import GateCore

/// `Sec-WebSocket-Key` and `Sec-WebSocket-Accept` of the handshake.
///
/// RFC 6455 §1.3. SHA-1 is the protocol's; nothing here is a secret.
enum WebSocketKey {
    static func fresh(from random: RandomBytes = .system) -> String {
        Base64URL.padded(random.bytes(16))
    }

    /// Whether the text is the one canonical base64 of 16 bytes.
    static func isValid(_ text: String) -> Bool {
        guard text.utf8.count == 24, text.hasSuffix("=="), !text.utf8.contains(where: { "-_".utf8.contains($0) }) else {
            return false
        }
        let unpadded = text.dropLast(2).replacing("+", with: "-").replacing("/", with: "_")
        return Base64URL.decode(String(unpadded))?.count == 16
    }

    /// The `Sec-WebSocket-Accept` value for a key.
    static func accept(_ key: String) -> String {
        Base64URL.padded(Array(Insecure.SHA1.hash(data: Array("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))))
    }
}
