// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import Testing

@testable import GateNet

@Suite struct SocketOutputTests {
    private let loop = EmbeddedEventLoop()

    private func piece(_ count: Int) -> ByteBuffer { ByteBuffer(repeating: 7, count: count) }

    @Test(
        "what the kernel takes in steps is gone in order, and who waits for a piece hears of its last byte",
        arguments: [
            ([5], [5]), ([5], [2, 3]), ([5, 4, 3], [12]), ([5, 4, 3], [2, 4, 5, 1]), ([0], [0]), ([3, 0, 2], [3, 2]),
        ]
    )
    func steps(sizes: [Int], taken: [Int]) {
        for waited in [Set<Int>(), [0], [sizes.count - 1], Set(sizes.indices)] {
            var output = SocketOutput()
            var ends: [Int: Int] = [:]
            for (index, size) in sizes.enumerated() {
                guard waited.contains(index) else {
                    output.append(self.piece(size), nil)
                    continue
                }
                let promise = self.loop.makePromise(of: Void.self)
                output.append(self.piece(size), promise)
                ends[sizes[...index].reduce(0, +), default: 0] += 1
            }
            output.markFlushed()
            var gone = 0
            for count in taken {
                #expect(output.bytes == sizes.reduce(0, +) - gone && output.hasFlushed)
                let promises = output.sent(count)
                let heard = ends.filter { ($0.key > gone || $0.key == 0) && $0.key <= gone + count }.values.reduce(0, +)
                #expect(promises.count == heard)
                for promise in promises { promise.succeed() }
                gone += count
            }
            #expect(output.isEmpty && !output.hasFlushed && output.bytes == 0)
        }
    }

    @Test func `a buffer after one that is partly sent waits for its own flush`() {
        var output = SocketOutput()
        output.append(self.piece(5), nil)
        output.markFlushed()
        #expect(output.sent(2).isEmpty)
        output.append(self.piece(4), nil)
        #expect(output.bytes == 7)
        #expect(output.sent(3).isEmpty)
        #expect(!output.hasFlushed && !output.isEmpty)
        output.markFlushed()
        #expect(output.sent(4).isEmpty)
        #expect(output.isEmpty)
    }

    @Test func `dropping returns all promises`() {
        for hasFirst in [true, false] {
            var output = SocketOutput()
            if hasFirst { output.append(self.piece(5), nil) }
            output.append(self.piece(4), self.loop.makePromise(of: Void.self))
            output.markFlushed()
            let dropped = output.dropAll()
            #expect(dropped.count == 1)
            for promise in dropped { promise.succeed() }
            #expect(output.isEmpty && !output.hasFlushed && output.bytes == 0)
        }
    }

    @Test func `an emptied buffer is reused for the next read`() {
        var (waiting, read) = (ByteBuffer(), self.piece(100))
        waiting.appendRead(&read)
        #expect(waiting.readableBytes == 100 && read.storageCapacity == 0)
        waiting.moveReaderIndex(forwardBy: 100)
        waiting.returnStorage(in: &read)
        #expect(waiting.storageCapacity == 0 && read.storageCapacity >= 100)
        // Bytes that wait are kept where they are, with what follows behind them.
        waiting = self.piece(3)
        read = self.piece(50)
        waiting.appendRead(&read)
        #expect(waiting.readableBytes == 53 && read.readableBytes == 0)
        waiting.returnStorage(in: &read)
        #expect(waiting.readableBytes == 53 && read.storageCapacity >= 50)
        waiting.moveReaderIndex(forwardBy: 53)
        waiting.returnStorage(in: &read)
        #expect(waiting.storageCapacity == 0 && read.storageCapacity >= 50)
    }
}
