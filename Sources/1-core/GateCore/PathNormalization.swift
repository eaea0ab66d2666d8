// SPDX-License-Identifier: Apache-2.0

/// What servers do to a path before they compare it: decode escapes and ignore letter case.
///
/// Pure.
package enum PathNormalization {
    /// How many times a path is decoded at most.
    package static let maxDecodings = 3

    /// A prefix or rule of the configuration file in the form that decoded paths have.
    package static func decoded(_ path: String) -> String {
        var bytes = Array(path.utf8)
        for _ in 0..<self.maxDecodings where PercentEncoding.isEscaped(bytes) { bytes = self.decodedOnce(bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Decodes each escape once; all other bytes stay.
    package static func decodedOnce(_ path: [UInt8]) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(path.count)
        var position = 0
        while position < path.count {
            if let value = PercentEncoding.escaped(at: position, in: path) {
                decoded.append(value)
                position += 3
            } else {
                decoded.append(path[position])
                position += 1
            }
        }
        return decoded
    }

    /// A path with its letters folded, as case-insensitive servers do.
    ///
    /// Letters outside of ASCII whose other case is an ASCII letter, such as the Kelvin sign, are folded too, also where only
    /// simple case mapping does so (U+0130 to `i`).
    package static func folded(_ path: [UInt8]) -> [UInt8] {
        guard path.contains(where: { $0 >= 0x80 }) else {
            return path.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }
        }
        var text = String.UnicodeScalarView()
        for scalar in String(decoding: path, as: UTF8.self).unicodeScalars {
            text.append(scalar == "\u{130}" ? "i" : scalar)
        }
        return Array(String(text).uppercased().lowercased().utf8)
    }
}
