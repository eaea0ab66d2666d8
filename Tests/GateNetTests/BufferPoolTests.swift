// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateNet

@Suite struct BufferPoolTests {
    @Test func `what was given back is used again after the next flush, not before, and is empty then`() {
        let memory = BufferPool(maxSpare: 1)
        // Known again by its size.
        var first = memory.take(capacity: 5000)
        first.writeString("one person's")
        memory.giveBack(first)
        first = ByteBuffer()
        #expect(memory.take(capacity: 10).storageCapacity < 5000)
        memory.reclaim()
        let again = memory.take(capacity: 10)
        #expect(again.storageCapacity >= 5000 && again.readableBytes == 0)
    }

    @Test func `what somebody still holds is never written to`() {
        let memory = BufferPool(maxSpare: 1)
        var held = memory.take(capacity: 100)
        held.writeString("one person's")
        memory.giveBack(held)
        memory.reclaim()
        var other = memory.take(capacity: 100)
        other.writeString("another person's")
        #expect(String(buffer: held) == "one person's" && String(buffer: other) == "another person's")
    }

    @Test(arguments: [0, 2]) func `only so many pieces are kept, flushed or not, and none that is large`(most: Int) {
        let memory = BufferPool(maxSpare: most)
        for _ in 0..<2 {
            memory.giveBack(ByteBuffer(repeating: 7, count: 17 * 1024))
            #expect(memory.used.isEmpty)
            for piece in (0..<4).map({ _ in memory.take(capacity: 100) }) { memory.giveBack(piece) }
            #expect(memory.used.count == most)
            memory.reclaim()
            #expect(memory.used.isEmpty && memory.spare.count == most)
        }
    }
}
