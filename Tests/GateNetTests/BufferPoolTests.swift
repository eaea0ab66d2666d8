// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateNet

@Suite struct BufferPoolTests {
    @Test func `a released buffer is reused after the next flush, not before, and is empty`() {
        let memory = BufferPool(maxSpare: 1)
        // Known again by its size.
        var first = memory.acquire(capacity: 5000)
        first.writeString("one user's")
        memory.release(first)
        first = ByteBuffer()
        #expect(memory.acquire(capacity: 10).storageCapacity < 5000)
        memory.reclaim()
        let again = memory.acquire(capacity: 10)
        #expect(again.storageCapacity >= 5000 && again.readableBytes == 0)
    }

    @Test func `a buffer that is still referenced is never written to`() {
        let memory = BufferPool(maxSpare: 1)
        var held = memory.acquire(capacity: 100)
        held.writeString("one user's")
        memory.release(held)
        memory.reclaim()
        var other = memory.acquire(capacity: 100)
        other.writeString("another user's")
        #expect(String(buffer: held) == "one user's" && String(buffer: other) == "another user's")
    }

    @Test(arguments: [0, 2]) func `a limited number of buffers is kept, flushed or not, and none that is large`(
        most: Int
    ) {
        let memory = BufferPool(maxSpare: most)
        for _ in 0..<2 {
            memory.release(ByteBuffer(repeating: 7, count: 17 * 1024))
            #expect(memory.used.isEmpty)
            for piece in (0..<4).map({ _ in memory.acquire(capacity: 100) }) { memory.release(piece) }
            #expect(memory.used.count == most)
            memory.reclaim()
            #expect(memory.used.isEmpty && memory.spare.count == most)
        }
    }
}
