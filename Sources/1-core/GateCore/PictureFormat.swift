// SPDX-License-Identifier: Apache-2.0

/// A format of pictures that the gateway serves; its raw value is the ending of names.
package enum PictureFormat: String, Sendable, CaseIterable {
    /// Scalable Vector Graphics.
    case svg
    /// Portable Network Graphics.
    case png
    case jpeg
    /// WebP.
    case webp

    /// The maximum size of a file in bytes.
    package static let maxSize = 256 << 10

    /// The format of some bytes; nil for any other, by their beginning.
    package init?(_ bytes: [UInt8]) {
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if bytes.starts(with: "RIFF".utf8), bytes.dropFirst(8).starts(with: "WEBP".utf8) {
            self = .webp
        } else if let text = String(validating: bytes, as: UTF8.self), text.contains("<svg"),
            text.first(where: { !$0.isWhitespace && $0 != "\u{FEFF}" }) == "<"
        {
            self = .svg
        } else {
            return nil
        }
    }

    /// The format of a name such as `a1b2.svg`; nil for any other ending.
    package init?(ofName name: String) {
        guard let ending = name.split(separator: ".").last else { return nil }
        self.init(rawValue: String(ending))
    }

    package var mediaType: String { self == .svg ? "image/svg+xml" : "image/\(self.rawValue)" }
}
