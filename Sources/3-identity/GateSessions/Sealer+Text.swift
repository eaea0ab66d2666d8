// SPDX-License-Identifier: Apache-2.0

internal import GateCore

// Small sealed values that travel through the browser in a URL.
extension Sealer {
    /// Longer texts are rejected before they are decoded.
    private static let maxTextBytes = 8192

    /// The members as URL-safe text that only this gateway can open.
    func sealText(_ members: [String: JSON], for purpose: String) -> String {
        Base64URL.encode(self.seal(JSON.object(members).encoded, for: purpose))
    }

    /// The members of a text that ``sealText(_:for:)`` returned for the same purpose; nil for everything else.
    func openText(_ text: String, for purpose: String) -> JSON? {
        guard text.utf8.count <= Sealer.maxTextBytes, let sealed = Base64URL.decode(text) else { return nil }
        guard let plain = self.open(sealed, for: purpose) else { return nil }
        return try? JSON(parsing: plain, depth: 1)
    }
}

extension JSON {
    /// The bytes of a base64url string of exactly `count` bytes, or nil.
    func bytes(_ count: Int) -> [UInt8]? {
        self.string.flatMap(Base64URL.decode).flatMap { $0.count == count ? $0 : nil }
    }

    /// The origin that a string spells in its normal form, or nil.
    var origin: Origin? {
        guard let text = self.string, let origin = WebURL(text)?.origin, origin.description == text else {
            return nil
        }
        return origin
    }
}
