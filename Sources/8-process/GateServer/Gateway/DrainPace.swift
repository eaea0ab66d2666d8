// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// How many idle connections a drain ends at each step, so that their clients do not all come to the next gateway at once.
struct DrainPace: Equatable, Sendable {
    /// How long a step takes.
    static let step = Duration.milliseconds(50)
    /// How long a connection has been silent before it counts as idle: a request that is on its way still gets a response.
    static let quiet = TimeAmount.milliseconds(250)
    /// So long before the end of the drain tunnels are ended, which know no end of their own.
    static let tunnelTime = Duration.seconds(5)
    /// How many of one loop a step ends at least, since so few make no storm.
    static let least = 20

    /// How long the ends are spread over.
    let spread: Duration

    /// How many of one loop to end at this step.
    ///
    /// - Parameters:
    ///   - idle: How many of the loop are idle.
    ///   - passed: How much of the spread is over.
    /// - Returns: The number; all when the spread is over.
    func quota(idle: Int, passed: Duration) -> Int {
        let left = Int((self.spread - passed) / DrainPace.step)
        return left > 0 ? max(DrainPace.least, (idle + left - 1) / left) : .max
    }
}
