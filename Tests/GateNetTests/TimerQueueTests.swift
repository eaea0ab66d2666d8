// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateNet

@Suite struct TimerQueueTests {
    /// Runs everything that is due and returns the order.
    private func run(_ deadlines: [Int64], cancelling cancelled: Set<Int> = [], until: Int64) -> [Int] {
        final class Log {
            var done: [Int] = []
        }
        let log = Log()
        let start = NIODeadline.uptimeNanoseconds(1000)
        var queue = TimerQueue()
        for (index, delay) in deadlines.enumerated() {
            queue.insert(UInt64(index), at: start + .nanoseconds(delay)) { _ in log.done.append(index) }
        }
        for index in cancelled { queue.cancel(UInt64(index)) }
        while let work = queue.due(at: start + .nanoseconds(until)) { work(true) }
        return log.done
    }

    @Test(
        "work is done in the order of its deadlines, and of its making where they are equal",
        arguments: [
            ([5, 3, 9, 1, 7], [3, 1, 0, 4, 2]),
            ([4, 4, 4], [0, 1, 2]),
            ([], []),
        ] as [([Int64], [Int])]
    )
    func order(deadlines: [Int64], expected: [Int]) {
        #expect(self.run(deadlines, until: 100) == expected)
    }

    @Test func `work that is not due does not run`() {
        #expect(self.run([10, 20, 30], until: 20) == [0, 1])
    }

    @Test func `cancelled work never runs`() {
        #expect(self.run([10, 20, 30], cancelling: [1], until: 100) == [0, 2])
    }

    @Test func `a cancelled first entry does not hide the next deadline`() {
        var queue = TimerQueue()
        let start = NIODeadline.uptimeNanoseconds(1000)
        queue.insert(1, at: start) { _ in }
        queue.insert(2, at: start + .seconds(1)) { _ in }
        queue.cancel(1)
        #expect(queue.nextDeadline == start + .seconds(1))
    }
}
