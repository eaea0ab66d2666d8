// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Reusable buffers for heads and other small output; confined to its event loop.
///
/// The owner calls ``reclaim()`` after each flush.
package final class BufferPool {
    /// How many buffers an event loop keeps.
    package static let maxPerLoop = 192
    /// Larger buffers are not kept.
    private static let maxBytes = 16 * 1024

    private(set) var spare: [ByteBuffer] = []
    /// Buffers that become spare after the next flush.
    private(set) var used: [ByteBuffer] = []

    /// How many released buffers are kept.
    private let maxSpare: Int

    /// A pool that keeps `maxSpare` buffers; 0 keeps none.
    package init(maxSpare: Int) { self.maxSpare = maxSpare }

    /// An empty buffer with at least this capacity, used by nothing else.
    package func acquire(capacity: Int) -> ByteBuffer {
        var buffer = self.spare.popLast() ?? ByteBuffer()
        buffer.clear(minimumCapacity: capacity)
        return buffer
    }

    /// Releases a buffer that was written to a channel; it is reused after the channels have been flushed.
    package func release(_ buffer: consuming ByteBuffer) {
        guard buffer.storageCapacity <= BufferPool.maxBytes, self.used.count < self.maxSpare else { return }
        self.used.append(buffer)
    }

    /// Makes released buffers available; call it after a flush.
    ///
    /// A buffer that is still referenced elsewhere is copied on its next write, by `clear(minimumCapacity:)`.
    package func reclaim() {
        while let buffer = self.used.popLast(), self.spare.count < self.maxSpare {
            self.spare.append(buffer)
        }
        self.used.removeAll(keepingCapacity: true)
    }
}
