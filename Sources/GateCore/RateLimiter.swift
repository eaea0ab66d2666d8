// SPDX-License-Identifier: Apache-2.0

/// A token bucket per key, such as a client network, in bounded memory.
///
/// The table has two halves; when the younger is full, the older is dropped, so recently seen keys are kept.
package struct RateLimiter<Client: Hashable & Sendable>: Sendable {
    private let half: Int
    private var young: [Client: TokenBucket] = [:]
    private var old: [Client: TokenBucket] = [:]

    /// Creates a limiter that tracks at most `capacity` keys.
    package init(capacity: Int) {
        self.half = max(1, capacity / 2)
    }

    /// How many keys it tracks.
    package var count: Int { self.young.count + self.old.count }

    /// Takes one token out of a client's bucket, which holds `perMinute` tokens and refills at that rate.
    ///
    /// - Parameters:
    ///   - client: The key of the bucket.
    ///   - perMinute: The rate; 0 for no limit.
    ///   - now: The time on a monotonic clock.
    /// - Returns: Nil if there was a token; else the time until there is one.
    package mutating func take(_ client: Client, perMinute: Int, at now: Duration) -> Duration? {
        perMinute > 0 ? self.take(client, RateLimiter.rate(perMinute), at: now) : nil
    }

    /// The same with a rate, which is the same in each call.
    package mutating func take(_ client: Client, _ rate: TokenBucket.Rate, at now: Duration) -> Duration? {
        var bucket = self.bucket(of: client) ?? TokenBucket()
        if let wait = bucket.take(rate, at: now) { return wait }
        self.remember(client, bucket)
        return nil
    }

    /// The time until a client's bucket has a token; nil if it has one.
    package func wait(of client: Client, perMinute: Int, at now: Duration) -> Duration? {
        guard perMinute > 0 else { return nil }
        return self.bucket(of: client)?.wait(RateLimiter.rate(perMinute), at: now)
    }

    private static func rate(_ perMinute: Int) -> TokenBucket.Rate {
        TokenBucket.Rate(perMinute, in: .seconds(60), burst: perMinute)
    }

    private func bucket(of client: Client) -> TokenBucket? { self.young[client] ?? self.old[client] }

    private mutating func remember(_ client: Client, _ bucket: TokenBucket) {
        if self.young.count >= self.half, self.young[client] == nil {
            self.old = self.young
            self.young = [:]
        }
        self.old[client] = nil
        self.young[client] = bucket
    }
}
