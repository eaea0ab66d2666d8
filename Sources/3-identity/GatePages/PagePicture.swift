// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A picture of the operator that pages show: a logo, an icon.
package struct PagePicture: Sendable, Hashable {
    /// The bytes of the file.
    package let bytes: [UInt8]
    /// The name in its URL: a part of a hash of the bytes, so that it may be cached for good.
    package let name: String

    /// The picture in a file.
    ///
    /// - Throws: A `Failure` naming the file that cannot be read or has another format.
    init(at path: String, by files: FileAccess) throws(Failure) {
        switch files.read(path, limit: PictureFormat.maxSize) {
        case .bytes(let bytes):
            guard let format = PictureFormat(bytes) else {
                throw Failure(.fileUnusable, "\(path) is not a picture; write SVG, PNG, JPEG or WebP")
            }
            (self.bytes, self.name) = (bytes, "\(ContentDigest.name(of: bytes)).\(format.rawValue)")
        case .missing: throw Failure(.fileUnusable, "there is no file \(path)")
        case .unreadable: throw Failure(.fileUnusable, "\(path) cannot be read")
        case .tooLarge: throw Failure(.fileUnusable, "\(path) is larger than \(PictureFormat.maxSize >> 10) KiB")
        }
    }
}
