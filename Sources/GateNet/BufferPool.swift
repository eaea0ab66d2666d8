// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Memory for heads and other small pieces of output, so that it is seldom allocated; confined to its event loop.
///
/// Whoever makes one sees to it that ``reclaim()`` is called after each flush.
package final class BufferPool {
    /// How many pieces an event loop keeps.
    package static let maxPerLoop = 192
    /// Larger pieces are given back to the process.
    private static let mostBytes = 16 * 1024

    private(set) var spare: [ByteBuffer] = []
    /// What will be spare after the next flush.
    private(set) var used: [ByteBuffer] = []

    /// How many pieces wait for their next use at most.
    private let maxSpare: Int

    /// Memory of which so many pieces are kept; 0 keeps none.
    package init(maxSpare: Int) { self.maxSpare = maxSpare }

    /// Memory for a head of so many bytes, all its own for whoever asks.
    package func take(capacity: Int) -> ByteBuffer {
        var memory = self.spare.popLast() ?? ByteBuffer()
        memory.clear(minimumCapacity: capacity)
        return memory
    }

    /// Takes memory back that has been handed to a channel; it is used again once the channels have been flushed.
    package func giveBack(_ memory: consuming ByteBuffer) {
        guard memory.storageCapacity <= BufferPool.mostBytes, self.used.count < self.maxSpare else { return }
        self.used.append(memory)
    }

    /// The channels have been flushed.
    ///
    /// What somebody still holds all the same is left to him by ``take(capacity:)``.
    package func reclaim() {
        while let memory = self.used.popLast(), self.spare.count < self.maxSpare {
            self.spare.append(memory)
        }
        self.used.removeAll(keepingCapacity: true)
    }
}
