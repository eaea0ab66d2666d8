// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

extension RandomBytes {
    /// Bytes that never repeat within a test and are the same in every run: SplitMix64.
    package static func seeded() -> RandomBytes {
        let source = SplitMix()
        return RandomBytes { count in (0..<count).map { _ in source.next() } }
    }
}

private final class SplitMix: Sendable {
    private let state = Mutex<UInt64>(42)

    func next() -> UInt8 {
        self.state.withLock { state in
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return UInt8(truncatingIfNeeded: word ^ (word >> 31))
        }
    }
}
