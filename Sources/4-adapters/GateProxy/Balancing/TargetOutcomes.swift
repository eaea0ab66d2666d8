// SPDX-License-Identifier: Apache-2.0

/// The outcomes of recent requests to one target; confined to one event loop.
///
/// Connections count, the load balancer reads.
package final class TargetOutcomes {
    /// Failures since the last success.
    package private(set) var failures = 0
    private var unreachable = 0

    /// Whether all of them were refused connections.
    package var isOnlyUnreachable: Bool { self.failures == self.unreachable }

    /// No outcomes.
    package init() {}

    /// Counts a response; some statuses mean that the app is not available.
    package func responded(_ status: Int) {
        if status == 502 || status == 503 || status == 504 {
            self.failures &+= 1
        } else {
            self.reset()
        }
    }

    /// Counts a request without a response or connection.
    ///
    /// - Parameter isUnreachable: Whether nothing listens there.
    package func failed(isUnreachable: Bool = false) {
        self.failures &+= 1
        if isUnreachable { self.unreachable &+= 1 }
    }

    /// Resets the counts, after a success or an ejection.
    package func reset() {
        self.failures = 0
        self.unreachable = 0
    }
}
