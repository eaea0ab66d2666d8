// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Keeps second tries few, so that they cannot double the load of an app that is in trouble.
///
/// In any ten seconds they are at most a share of the requests, and three. Pure; a request costs one addition.
package struct RetryBudget: Sendable {
    private static let window = TimeAmount.seconds(10)
    private static let always = 3

    private let percent: Int
    private var requests = 0
    private var repeated = 0
    private var began: NIODeadline

    /// A budget of so many per cent.
    package init(percent: Int, now: NIODeadline) {
        self.percent = percent
        self.began = now
    }

    /// Notes a request, not its second try.
    package mutating func noteRequest() {
        self.requests &+= 1
    }

    /// Takes a second try out of the budget; false if nothing is left.
    package mutating func take(at now: NIODeadline) -> Bool {
        let age = now - self.began
        if age >= RetryBudget.window {
            // What came before counts as if it had been spread evenly.
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
