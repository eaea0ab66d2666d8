// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Memory for the heads of an event loop, so that it is seldom allocated; confined to that loop.
package final class HeadMemory {
    /// How many pieces wait for the next heads at most.
    private static let mostSpare = 192
    /// Larger pieces are given back to the process.
    private static let mostBytes = 16 * 1024

    private var spare: [ByteBuffer] = []
    /// What will be spare after the next flush.
    private var used: [ByteBuffer] = []

    /// None yet.
    package init() {}

    /// Memory for a head of so many bytes, all its own for whoever asks.
    package func take(capacity: Int) -> ByteBuffer {
        var memory = self.spare.popLast() ?? ByteBuffer()
        memory.clear(minimumCapacity: capacity)
        return memory
    }

    /// Takes memory back that has been handed to a channel; it is used again once the channels have been flushed.
    package func giveBack(_ memory: consuming ByteBuffer) {
        guard memory.storageCapacity <= HeadMemory.mostBytes, self.used.count < HeadMemory.mostSpare else { return }
        self.used.append(memory)
    }

    /// The channels have been flushed; what somebody still holds all the same is copied before it is written to.
    package func reclaim() {
        while let memory = self.used.popLast(), self.spare.count < HeadMemory.mostSpare {
            self.spare.append(memory)
        }
        self.used.removeAll(keepingCapacity: true)
    }
}
