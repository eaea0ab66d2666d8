// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
internal import Synchronization

/// Limits the rate of sign-ins, by browser, by client network and in total; shared by all event loops.
///
/// Sign-ins cost calls to providers, so they are refused before those who are signed in notice anything.
package final class SignInLimiter: Sendable {
    /// How many addresses are remembered.
    private static let addresses = 65_536
    private static let shardCount = 16
    /// How many browsers and sessions are remembered.
    private static let maxBrowsers = 16_384

    private final class Shard: Sendable {
        let started = Mutex(RateLimiter<ClientNetwork>(capacity: SignInLimiter.addresses / SignInLimiter.shardCount))
    }

    /// What browsers start, and confirmations by the family of the session.
    private let browsers = Mutex(RateLimiter<[UInt8]>(capacity: SignInLimiter.maxBrowsers))
    private let shards = (0..<SignInLimiter.shardCount).map { _ in Shard() }
    private let began = ContinuousClock.now
    private let clock: @Sendable () -> ContinuousClock.Instant
    private let attempts: AttemptLimiter<ClientNetwork>
    private let logouts: AttemptLimiter<ClientNetwork>
    private let inside = Atomic<Int>(0)
    private let isClosed = Atomic<Bool>(false)

    /// A limiter that has counted nothing.
    package init(clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.clock = clock
        let began = self.began
        let elapsed: @Sendable () -> Duration = { began.duration(to: clock()) }
        self.attempts = AttemptLimiter(capacity: SignInLimiter.addresses, elapsed: elapsed)
        self.logouts = AttemptLimiter(capacity: SignInLimiter.addresses, elapsed: elapsed)
    }

    /// How many sign-ins the gateway works at.
    package var count: Int { self.inside.load(ordering: .relaxed) }

    /// Rejects all sign-ins, or no longer does.
    package func close(_ isClosed: Bool) { self.isClosed.store(isClosed, ordering: .relaxed) }

    /// Lets a sign-in begin.
    ///
    /// A browser is limited first, so that one that starts sign-ins in a loop takes no place of the others behind the same
    /// address.
    ///
    /// - Parameters:
    ///   - client: The client IP; nil if it is not known.
    ///   - browser: What the attempts of the browser have in common; nil if it has none open.
    ///   - limits: The limits.
    /// - Throws: `signin.overloaded`, or `signin.too_often` with how long to wait.
    package func start(
        by client: IPAddress?,
        browser: String? = nil,
        within limits: SignInLimits
    ) throws(Failure) {
        try self.refuseIfClosed()
        if let browser { try self.take(Array(browser.utf8), "sign-ins", of: "browser", limits.perMinute) }
        guard let client = client.map({ ClientNetwork(of: $0) }) else { return }
        let wait = self.shard(of: client).started.withLock {
            $0.take(client, perMinute: limits.perNetwork, at: self.now)
        }
        guard wait == nil else {
            let detail = "over \(limits.perNetwork) sign-ins a minute from one address"
            throw Failure(.signInTooOften, detail, retryAfter: wait)
        }
    }

    /// Lets a user who is signed in be led over the provider, which confirms the session; not counted as a sign-in, and not
    /// rejected while memory is short.
    ///
    /// - Throws: `signin.too_often` with how long to wait, if the same session is confirmed again and again.
    package func confirm(_ family: [UInt8], within limits: SignInLimits) throws(Failure) {
        try self.take(family, "confirmations", of: "session", limits.confirmationsPerMinute)
    }

    private func take(_ key: [UInt8], _ what: String, of whom: String, _ limit: Int) throws(Failure) {
        let wait = self.browsers.withLock { $0.take(key, perMinute: limit, at: self.now) }
        guard wait == nil else {
            throw Failure(.signInTooOften, "over \(limit) \(what) a minute from one \(whom)", retryAfter: wait)
        }
    }

    /// Lets a step of a sign-in begin, which counts as failed through what the client sent until it is released.
    ///
    /// - Throws: `signin.failing` with how long to wait.
    package func attempt(
        by client: IPAddress?,
        within limits: SignInLimits
    ) throws(Failure) -> AttemptLimiter<ClientNetwork>.Attempt {
        let limit = limits.failuresPerMinute
        do throws(TooManyAttempts) {
            return try self.attempts.begin(
                client.map { ClientNetwork(of: $0) },
                within: TokenBucket.Rate(perMinute: limit)
            )
        } catch {
            let detail = "over \(limit) sign-ins a minute failed from one address"
            throw Failure(.signInFailing, detail, retryAfter: error.wait)
        }
    }

    /// Lets a logout token be verified, which counts as invalid until it is released; sign-ins that fail are counted apart, so
    /// that they delay no logout.
    ///
    /// - Throws: `logout.too_often` with how long to wait.
    package func logout(
        by client: IPAddress?,
        within limits: SignInLimits
    ) throws(Failure) -> AttemptLimiter<ClientNetwork>.Attempt {
        let limit = limits.failuresPerMinute
        do throws(TooManyAttempts) {
            return try self.logouts.begin(
                client.map { ClientNetwork(of: $0) },
                within: TokenBucket.Rate(perMinute: limit)
            )
        } catch {
            let detail = "over \(limit) invalid logout tokens a minute from one address"
            throw Failure(.logoutTooOften, detail, retryAfter: error.wait)
        }
    }

    /// Counts a sign-in that the gateway begins to work at, until ``release()``.
    package func acquire(within limits: SignInLimits) throws(Failure) {
        guard self.inside.add(1, ordering: .relaxed).newValue <= limits.inFlight else {
            self.release()
            throw Failure(.signInTooMany, "\(limits.inFlight) sign-ins are in progress")
        }
    }

    /// Takes one off the count.
    package func release() { self.inside.subtract(1, ordering: .relaxed) }

    /// Refuses every sign-in while memory or descriptors are short.
    ///
    /// - Throws: `signin.overloaded`.
    package func refuseIfClosed() throws(Failure) {
        guard !self.isClosed.load(ordering: .relaxed) else {
            throw Failure(.signInOverloaded, "no new sign-ins while memory or descriptors are short")
        }
    }

    private var now: Duration { self.began.duration(to: self.clock()) }

    private func shard(of client: ClientNetwork) -> Shard {
        self.shards[Int(truncatingIfNeeded: UInt(bitPattern: client.hashValue) % UInt(SignInLimiter.shardCount))]
    }
}
