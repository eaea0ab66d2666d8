// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

/// A clock that the test moves.
package final class TestClock: Sendable {
    private let milliseconds = Mutex<Int64>(1_800_000_000_000)

    /// A clock that does not move by itself, in January 2027.
    package init() {}

    /// The clock for what is tested.
    package var clock: WallClock { WallClock(milliseconds: { self.milliseconds.withLock { $0 } }) }
    /// The time.
    package var now: Instant { self.clock.now }

    /// Moves the clock forward.
    package func advance(by seconds: Int64) { self.advance(byMilliseconds: seconds * 1000) }

    /// Moves the clock forward by less than a second, or back.
    package func advance(byMilliseconds milliseconds: Int64) {
        self.milliseconds.withLock { $0 += milliseconds }
    }
}
