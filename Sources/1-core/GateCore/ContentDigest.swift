// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// A short name for content, the same wherever the content is the same.
package enum ContentDigest {
    /// The first 12 hexadecimal digits of the SHA-256 of some bytes: enough to compare, too few to find secrets by.
    package static func name(of bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef")
        return String(SHA256.hash(data: bytes).prefix(6).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }

    /// The SHA-256 of some bytes.
    package static func sha256(of bytes: some Sequence<UInt8>) -> [UInt8] { Array(SHA256.hash(data: Array(bytes))) }
}
