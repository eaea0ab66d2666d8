// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The result of the health checks of one target, readable from every loop.
package final class TargetHealth: Sendable {
    private let state = Atomic<Bool>(true)

    /// A healthy target.
    package init() {}

    /// Whether the target is used.
    package var isUp: Bool { self.state.load(ordering: .relaxed) }

    /// Sets the state.
    package func set(_ isUp: Bool) {
        self.state.store(isUp, ordering: .relaxed)
    }
}
