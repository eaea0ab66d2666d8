// SPDX-License-Identifier: Apache-2.0

/// A token bucket in one number: the time at which it will be full again (the generic cell rate algorithm of ITU-T I.371).
package struct TokenBucket: Sendable {
    /// How many tokens a bucket holds and how fast it refills.
    package struct Rate: Sendable {
        fileprivate let step: Duration
        fileprivate let burst: Int

        /// A bucket of `burst` tokens, of which `count` come in `time`; both are at least 1.
        package init(_ count: Int, in time: Duration, burst: Int) {
            self.step = time / count
            self.burst = burst
        }

        /// A bucket of as many tokens as come in a minute; nil for 0, for any number.
        package init?(perMinute count: Int) {
            guard count > 0 else { return nil }
            self.init(count, in: .seconds(60), burst: count)
        }
    }

    /// When it is full again; nil before the first token is taken.
    private(set) var full: Duration?

    /// A full bucket.
    package init() {}

    /// Takes one token.
    ///
    /// - Parameters:
    ///   - rate: The same in each call.
    ///   - now: The time on a monotonic clock.
    /// - Returns: Nil if there was a token; else the time until there is one.
    package mutating func take(_ rate: Rate, at now: Duration) -> Duration? {
        if let wait = self.wait(rate, at: now) { return wait }
        self.full = max(self.full ?? now, now) + rate.step
        return nil
    }

    /// Releases one token, unless it is full by now.
    mutating func release(_ rate: Rate, at now: Duration) {
        guard let full, full > now else { return }
        self.full = full - rate.step
    }

    /// The time until there is a token; nil if there is one.
    package func wait(_ rate: Rate, at now: Duration) -> Duration? {
        guard let full else { return nil }
        let excess = full - now - rate.step * (rate.burst - 1)
        return excess > .zero ? excess : nil
    }
}
