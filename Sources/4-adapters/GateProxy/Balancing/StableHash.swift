// SPDX-License-Identifier: Apache-2.0

/// A hash that is the same in every process.
package enum StableHash {
    /// FNV-1a of a text.
    package static func seed(of text: String) -> UInt64 {
        self.mix(text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 })
    }

    /// Mixes all bits: the last step of SplitMix64.
    package static func mix(_ value: UInt64) -> UInt64 {
        var mixed = value &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
