// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Limits retries, so that they cannot double the load of a failing app.
///
/// In ten seconds there are at most three retries plus a percentage of the requests. Pure; a request costs one
/// addition.
package struct RetryBudget: Sendable {
    private static let window = TimeAmount.seconds(10)
    private static let always = 3

    private let percent: Int
    private var requests = 0
    private var repeated = 0
    private var began: NIODeadline

    /// A budget of `percent` per cent.
    package init(percent: Int, now: NIODeadline) {
        self.percent = percent
        self.began = now
    }

    /// Counts a request, not its retry.
    package mutating func noteRequest() {
        self.requests &+= 1
    }

    /// Takes a retry out of the budget; false if it is used up.
    package mutating func take(at now: NIODeadline) -> Bool {
        let age = now - self.began
        if age >= RetryBudget.window {
            // Requests before the window count as if they were spread evenly.
            let windows = max(1, Int(age.nanoseconds / RetryBudget.window.nanoseconds))
            self.requests /= windows
            self.repeated = 0
            self.began = now
        }
        guard self.repeated < RetryBudget.always + self.requests * self.percent / 100 else { return false }
        self.repeated += 1
        return true
    }
}
