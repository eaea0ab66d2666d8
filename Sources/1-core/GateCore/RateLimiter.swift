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
        TokenBucket.Rate(perMinute: perMinute).flatMap { self.take(client, $0, at: now) }
    }

    /// The same with a rate, which is the same in each call.
    package mutating func take(_ client: Client, _ rate: TokenBucket.Rate, at now: Duration) -> Duration? {
        var bucket = self.bucket(of: client) ?? TokenBucket()
        if let wait = bucket.take(rate, at: now) { return wait }
        self.remember(client, bucket)
        return nil
    }

    /// Releases one token of a client, unless the bucket is full by now.
    mutating func release(_ client: Client, _ rate: TokenBucket.Rate, at now: Duration) {
        guard var bucket = self.bucket(of: client) else { return }
        bucket.release(rate, at: now)
        self.remember(client, bucket)
    }

    /// When a client's bucket is full again; nil if nothing was taken from it.
    func refill(of client: Client) -> Duration? { self.bucket(of: client)?.full }

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
