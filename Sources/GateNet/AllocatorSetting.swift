// SPDX-License-Identifier: Apache-2.0

internal import CEventPoll

/// How the C library keeps memory that was given back; mallopt(3).
package enum AllocatorSetting {
    /// So many bytes at the end of each heap are kept for the next requests.
    ///
    /// By default it is 128 KiB, which a few dozen requests at once use up and give back: each turn of an event loop then
    /// returned pages to the kernel and faulted them in again.
    private static let kept: Int32 = 8 << 20
    /// A block from this size on has pages of its own; setting the other ends the adjustment by which the C library
    /// would come to that.
    private static let ownPages: Int32 = 1 << 20

    /// Puts this in force for the whole process; to be called once, at the start.
    package static func apply() {
        _ = mallopt(M_TRIM_THRESHOLD, self.kept)
        _ = mallopt(M_MMAP_THRESHOLD, self.ownPages)
    }
}
