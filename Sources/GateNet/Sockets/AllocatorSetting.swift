// SPDX-License-Identifier: Apache-2.0

internal import CEventPoll

/// Sets how much freed memory the C library keeps; mallopt(3).
package enum AllocatorSetting {
    /// How many free bytes each heap keeps at its end.
    ///
    /// The default is 128 KiB. A few dozen concurrent requests exceed that, and each turn of an event loop then
    /// returned pages to the kernel and faulted them in again.
    private static let kept: Int32 = 8 << 20
    /// The size from which an allocation has its own mapping; setting one threshold stops the adjustment of the other.
    private static let ownPages: Int32 = 1 << 20

    /// Applies both settings to the whole process; call it once, at the start.
    package static func apply() {
        _ = mallopt(M_TRIM_THRESHOLD, self.kept)
        _ = mallopt(M_MMAP_THRESHOLD, self.ownPages)
    }
}
