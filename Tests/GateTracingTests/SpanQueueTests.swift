// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateTracing

@Suite struct SpanQueueTests {
    private static let span = TraceSpan(
        "a",
        .inside,
        context: TraceContext(trace: .random(), span: .random(), isSampled: true),
        parent: nil,
        began: 0
    )

    @Test func `Q-24 spans that are being exported count for the limit until they are released`() {
        var queue = SpanQueue(limit: 5, batch: 2)
        func add(_ count: Int) -> Int {
            for _ in 0..<count { _ = queue.add(Self.span) }
            return queue.takeDropped()
        }
        #expect(add(3) == 0)
        #expect(queue.takeAll().count == 3)
        #expect(add(3) == 1)
        #expect(queue.takeAll().count == 2)
        #expect(add(1) == 1)
        queue.release(3)
        #expect(add(4) == 1)
        queue.release(2)
        #expect(add(3) == 1)
        #expect(queue.takeAll().count == 5)
    }
}
