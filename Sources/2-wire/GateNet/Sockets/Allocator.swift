// SPDX-License-Identifier: Apache-2.0

internal import CEventPoll

/// The allocator of the C library: what it has given out, what it keeps, and how much freed memory it may keep.
package enum Allocator {
    /// How many free bytes each heap keeps at its end.
    ///
    /// The default is 128 KiB. A few dozen concurrent requests exceed that, and each turn of an event loop then
    /// returned pages to the kernel and faulted them in again.
    private static let keptAtEnd: Int32 = 8 << 20
    /// The size from which an allocation has its own mapping; setting one threshold stops the adjustment of the other.
    private static let ownPages: Int32 = 1 << 20

    /// Sets both thresholds for the whole process, mallopt(3); call it once, at the start.
    package static func configure() {
        _ = mallopt(M_TRIM_THRESHOLD, self.keptAtEnd)
        _ = mallopt(M_MMAP_THRESHOLD, self.ownPages)
    }

    /// What it has given out and what it keeps, mallinfo2(3).
    ///
    /// It visits every free block of every heap under that heap's lock, so it is not for the path of a request.
    package static var usage: AllocatorUsage {
        let info = mallinfo2()
        return AllocatorUsage(
            allocated: Int64(clamping: info.uordblks + info.hblkhd),
            free: Int64(clamping: info.fordblks)
        )
    }

    /// Returns all whole free pages to the kernel, malloc_trim(3); takes milliseconds, under the lock of each heap.
    package static func trim() { _ = malloc_trim(0) }
}

/// The bytes that an allocator manages.
package struct AllocatorUsage: Sendable, Equatable {
    /// Bytes that were allocated and not freed.
    package var allocated: Int64
    /// Bytes that were freed and are kept, in memory or only as a range of addresses.
    package var free: Int64

    /// An allocator that has given out and keeps these bytes.
    package init(allocated: Int64 = 0, free: Int64 = 0) {
        self.allocated = allocated
        self.free = free
    }
}
