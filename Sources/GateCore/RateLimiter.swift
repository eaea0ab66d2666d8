// SPDX-License-Identifier: Apache-2.0

/// A token bucket per key, such as a client network, in bounded memory.
///
/// A bucket is one number, the time at which it will be full again (the generic cell rate algorithm of ITU-T I.371). The
/// table has two halves; when the younger is full, the older is dropped, so recently seen keys are kept.
package struct RateLimiter<Client: Hashable & Sendable>: Sendable {
    private let half: Int
    private var young: [Client: Duration] = [:]
    private var old: [Client: Duration] = [:]

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
        guard perMinute > 0 else { return nil }
        let full = max(self.moment(of: client) ?? now, now)
        let step = Duration.seconds(60) / perMinute
        let excess = full - now - step * (perMinute - 1)
        guard excess <= .zero else { return excess }
        self.remember(client, full + step)
        return nil
    }

    /// The time until a client's bucket has a token; nil if it has one.
    package func wait(of client: Client, perMinute: Int, at now: Duration) -> Duration? {
        guard perMinute > 0, let full = self.moment(of: client) else { return nil }
        let excess = full - now - (Duration.seconds(60) / perMinute) * (perMinute - 1)
        return excess > .zero ? excess : nil
    }

    private func moment(of client: Client) -> Duration? { self.young[client] ?? self.old[client] }

    private mutating func remember(_ client: Client, _ moment: Duration) {
        if self.young.count >= self.half, self.young[client] == nil {
            self.old = self.young
            self.young = [:]
        }
        self.old[client] = nil
        self.young[client] = moment
    }
}
