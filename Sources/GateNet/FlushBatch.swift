// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Something whose writes wait for a flush.
package protocol Flushable: AnyObject {
    /// Hands what was written to the network.
    func flushNow()
}

/// Flushes the connections of one event loop together, at the end of the turn in which they wrote; confined to that loop.
///
/// A peer that is woken by the first of several writes is still awake for the others, which saves the kernel most of the
/// wake-ups that a busy gateway would cause; a turn with a single request flushes as soon as that is done.
package final class FlushBatch {
    private let loop: any EventLoop
    private let whenFlushed: () -> Void
    private var waiting: [any Flushable] = []
    private var batch: [any Flushable] = []

    /// A batch for a loop; `whenFlushed` is called after each flush of all.
    package init(loop: any EventLoop, whenFlushed: @escaping () -> Void = {}) {
        self.loop = loop
        self.whenFlushed = whenFlushed
    }

    /// Flushes a connection at the end of this turn; the caller sees to it that it is added once.
    package func add(_ flushable: any Flushable) {
        if self.waiting.isEmpty {
            let bound = NIOLoopBound(self, eventLoop: self.loop)
            self.loop.execute { bound.value.flushAll() }
        }
        self.waiting.append(flushable)
    }

    private func flushAll() {
        // A flush can lead to more writes, which then are a batch of their own.
        swap(&self.waiting, &self.batch)
        // In their order; taking them out saves a reference to each.
        self.batch.reverse()
        while let flushable = self.batch.popLast() {
            flushable.flushNow()
        }
        self.whenFlushed()
    }
}
