// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Something whose writes wait for a flush.
package protocol Flushable: AnyObject {
    /// Hands written bytes to the network.
    func flushNow()
}

/// Flushes the connections of one event loop together, at the end of the turn in which they wrote; confined to that
/// loop.
///
/// A peer that the first of several writes has woken is still awake for the others, which saves most wake-ups under
/// load. A turn with a single request flushes as soon as it is done.
package final class FlushBatch {
    private let loop: any EventLoop
    private let writers: Writers
    /// Flushes them; made once, since a closure for each turn costs more than the turn itself.
    private let flush: @Sendable () -> Void

    /// A batch for a loop; `whenFlushed` is called after each flush.
    package init(loop: any EventLoop, whenFlushed: @escaping () -> Void = {}) {
        let writers = Writers(whenFlushed: whenFlushed)
        let bound = NIOLoopBound(writers, eventLoop: loop)
        self.loop = loop
        self.writers = writers
        self.flush = { bound.value.flushAll() }
    }

    /// Flushes a connection at the end of this turn; the caller adds it only once.
    package func add(_ flushable: any Flushable) {
        if self.writers.waiting.isEmpty { self.loop.execute(self.flush) }
        self.writers.waiting.append(flushable)
    }

    /// What waits for a flush; outlives the batch until the turn is over.
    private final class Writers {
        var waiting: [any Flushable] = []
        private var batch: [any Flushable] = []
        private let whenFlushed: () -> Void

        init(whenFlushed: @escaping () -> Void) { self.whenFlushed = whenFlushed }

        func flushAll() {
            // A flush can cause more writes, which form the next batch.
            swap(&self.waiting, &self.batch)
            // `popLast` from the reversed batch keeps the order and saves a retain per connection.
            self.batch.reverse()
            while let flushable = self.batch.popLast() {
                flushable.flushNow()
            }
            self.whenFlushed()
        }
    }
}
