// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Limits attempts that may fail, such as the guess of a password, in bounded memory.
///
/// An attempt takes a token before anything is checked, and releases it unless it fails. So of any number of attempts that begin
/// at once only as many reach the check as may fail, and those that do not fail cost nothing.
package final class AttemptLimiter<Key: Hashable & Sendable>: Sendable {
    private let table: Mutex<RateLimiter<Key>>
    private let elapsed: @Sendable () -> Duration

    /// A limiter that has counted nothing.
    ///
    /// - Parameters:
    ///   - capacity: How many keys it tracks.
    ///   - elapsed: The time on a monotonic clock.
    package init(capacity: Int, elapsed: @escaping @Sendable () -> Duration) {
        self.table = Mutex(RateLimiter(capacity: capacity))
        self.elapsed = elapsed
    }

    /// The same by the clock of the system.
    package convenience init(capacity: Int) {
        let began = ContinuousClock.now
        self.init(capacity: capacity) { began.duration(to: .now) }
    }

    /// Lets an attempt begin, which counts as failed until it is released.
    ///
    /// - Parameters:
    ///   - key: What it is counted under; nil if it is not counted.
    ///   - rate: How many may fail, the same in each call; nil for any number.
    /// - Returns: The attempt.
    /// - Throws: How long to wait, if too many have failed or have not ended.
    package func begin(_ key: Key?, within rate: TokenBucket.Rate?) throws(TooManyAttempts) -> Attempt {
        guard let key, let rate else { return Attempt(self, nil) }
        let now = self.elapsed()
        let (wait, refill) = self.table.withLock { (wait: $0.take(key, rate, at: now), refill: $0.refill(of: key)) }
        if let wait { throw TooManyAttempts(wait: wait) }
        return Attempt(self, Attempt.Token(key: key, rate: rate, refill: refill ?? now))
    }

    /// An attempt that has begun.
    package final class Attempt: Sendable {
        fileprivate struct Token: Sendable {
            let key: Key
            let rate: TokenBucket.Rate
            /// When the bucket has it again without a release.
            let refill: Duration
        }

        private let limiter: AttemptLimiter
        /// Nil if it is not counted.
        private let token: Token?
        private let isReleased = Atomic<Bool>(false)

        fileprivate init(_ limiter: AttemptLimiter, _ token: Token?) {
            (self.limiter, self.token) = (limiter, token)
        }

        /// Takes it off the count, once: it has not failed.
        package func release() {
            guard let token, !self.isReleased.exchange(true, ordering: .relaxed) else { return }
            let now = self.limiter.elapsed()
            guard now < token.refill else { return }
            self.limiter.table.withLock { $0.release(token.key, token.rate, at: now) }
        }

        /// Counts it as failed, also if it was released before.
        package func fail() {
            guard let token, self.isReleased.exchange(false, ordering: .relaxed) else { return }
            let now = self.limiter.elapsed()
            _ = self.limiter.table.withLock { $0.take(token.key, token.rate, at: now) }
        }
    }
}

/// Too many attempts have failed, or have begun and not ended.
package struct TooManyAttempts: Error, Sendable, Hashable {
    /// The time until one more may begin.
    package let wait: Duration

    /// A rejection for a time.
    package init(wait: Duration) {
        self.wait = wait
    }
}
