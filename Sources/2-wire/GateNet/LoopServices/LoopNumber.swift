// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A number that only one event loop changes and any thread reads.
///
/// With a single writer, adding is a load and a store: no locked instruction, no cache line that loops share.
package final class LoopNumber: Sendable {
    private let number = Atomic<Int64>(0)

    /// A number at 0.
    package init() {}

    package var value: Int64 { self.number.load(ordering: .relaxed) }

    /// Sets it; called on its loop only.
    package func set(_ value: Int) { self.number.store(Int64(value), ordering: .relaxed) }

    /// Adds to it; called on its loop only.
    package func add(_ amount: Int64 = 1) {
        self.number.store(self.number.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
    }
}
