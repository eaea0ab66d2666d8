// SPDX-License-Identifier: Apache-2.0

package import Dispatch
package import NIOCore
internal import Synchronization

/// Event loops, one per thread that serves connections.
package final class SocketLoopGroup: EventLoopGroup, Sendable {
    package let loops: [SocketLoop]
    private let turn = Atomic<Int>(0)

    /// Starts `count` loops.
    ///
    /// - Throws: A ``SocketError`` when the process has no descriptor left.
    package init(count: Int) throws(SocketError) {
        var loops: [SocketLoop] = []
        for index in 0..<max(1, count) { loops.append(try SocketLoop.start(named: "loop-\(index)")) }
        self.loops = loops
    }

    /// The next loop, round robin.
    package func next() -> any EventLoop {
        self.loops[self.turn.wrappingAdd(1, ordering: .relaxed).oldValue % self.loops.count]
    }

    /// Any loop.
    package func any() -> any EventLoop { self.loops[0] }

    package func makeIterator() -> EventLoopIterator { EventLoopIterator(self.loops) }

    /// Shuts down all loops; `callback` is called on the queue after the last one.
    package func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        let box = Box(left: self.loops.count)
        for loop in self.loops {
            loop.shutdownGracefully(queue: queue) { _ in
                if box.countDown() { callback(nil) }
            }
        }
    }

    /// Traps when one of the loops would wait for its own shutdown.
    package func _preconditionSafeToSyncShutdown(file: StaticString, line: UInt) {
        for loop in self.loops { loop.preconditionNotInEventLoop(file: file, line: line) }
    }

    private final class Box: Sendable {
        private let left: Mutex<Int>
        init(left: Int) { self.left = Mutex(left) }
        /// Counts down; true for the last.
        func countDown() -> Bool {
            self.left.withLock { left in
                left -= 1
                return left == 0
            }
        }
    }
}
