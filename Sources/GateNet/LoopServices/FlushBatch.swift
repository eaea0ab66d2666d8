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
/// load. A turn with a single request flushes as runOnLoop as it is done.
package final class FlushBatch {
    private let loop: any EventLoop
    private let whenFlushed: () -> Void
    private var waiting: [any Flushable] = []
    private var batch: [any Flushable] = []

    /// A batch for a loop; `whenFlushed` is called after each flush.
    package init(loop: any EventLoop, whenFlushed: @escaping () -> Void = {}) {
        self.loop = loop
        self.whenFlushed = whenFlushed
    }

    /// Flushes a connection at the end of this turn; the caller adds it only once.
    package func add(_ flushable: any Flushable) {
        if self.waiting.isEmpty {
            let bound = NIOLoopBound(self, eventLoop: self.loop)
            self.loop.execute { bound.value.flushAll() }
        }
        self.waiting.append(flushable)
    }

    private func flushAll() {
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
