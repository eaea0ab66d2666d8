// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

/// A clock that the test moves.
package final class TestClock: Sendable {
    private let seconds = Mutex<Int64>(1_800_000_000)

    /// A clock that stands still in January 2027.
    package init() {}

    /// The clock for what is tested.
    package var clock: WallClock { WallClock { self.now } }
    /// The time.
    package var now: Instant { Instant(seconds: self.seconds.withLock { $0 }) }

    /// Moves the clock forward.
    package func advance(by seconds: Int64) {
        self.seconds.withLock { $0 += seconds }
    }
}
