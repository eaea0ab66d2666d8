// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// Bounds how many lines about rejected requests the log gets: a token bucket for each kind.
package final class LogLimiter: Sendable {
    /// What has a bucket of its own.
    package struct Key: Hashable, Sendable {
        /// The kind of the failure, `maintenance`, or `noRequest`.
        package let kind: String
        /// Whether a user got a page, and may ask for help with what it shows.
        package let isPage: Bool

        /// The key of a kind of line.
        package init(kind: String, isPage: Bool) {
            self.kind = kind
            self.isPage = isPage
        }
    }

    private struct Bucket {
        var tokens = TokenBucket()
        var suppressed = 0
    }

    /// How many lines of one kind may come at once.
    package static let burst = 200
    /// How many of one kind may come in a second for long.
    package static let perSecond = 20

    private static let rate = TokenBucket.Rate(perSecond, in: .seconds(1), burst: burst)

    private let buckets = Mutex<[Key: Bucket]>([:])
    private let began: ContinuousClock.Instant
    private let clock: @Sendable () -> ContinuousClock.Instant
    private let suppress: @Sendable (Key) -> Void

    /// A limiter with all buckets full.
    ///
    /// - Parameters:
    ///   - clock: The monotonic clock.
    ///   - suppress: Called for each line that is suppressed.
    package init(
        clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        suppress: @escaping @Sendable (Key) -> Void
    ) {
        self.clock = clock
        self.suppress = suppress
        self.began = clock()
    }

    /// Takes a token for a line.
    ///
    /// - Parameter key: What the line is about.
    /// - Returns: How many lines of that kind were suppressed since the last one that was written; nil if this one is
    ///   suppressed as well.
    package func admit(_ key: Key) -> Int? {
        let now = self.began.duration(to: self.clock())
        let suppressed: Int? = self.buckets.withLock { buckets in
            var bucket = buckets[key] ?? Bucket()
            defer { buckets[key] = bucket }
            guard bucket.tokens.take(LogLimiter.rate, at: now) == nil else {
                bucket.suppressed += 1
                return nil
            }
            defer { bucket.suppressed = 0 }
            return bucket.suppressed
        }
        if suppressed == nil { self.suppress(key) }
        return suppressed
    }
}
