// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
internal import Synchronization

/// Limits the rate of sign-ins, by client network and in total; shared by all event loops.
///
/// Sign-ins cost calls to providers, so they are refused before those who are signed in notice anything.
package final class SignInLimiter: Sendable {
    /// How many addresses are remembered.
    private static let addresses = 65_536
    private static let shardCount = 16

    private final class Shard: Sendable {
        let started = Mutex(RateLimiter<ClientNetwork>(capacity: SignInLimiter.addresses / SignInLimiter.shardCount))
        let failed = Mutex(RateLimiter<ClientNetwork>(capacity: SignInLimiter.addresses / SignInLimiter.shardCount))
        let failedLogouts = Mutex(
            RateLimiter<ClientNetwork>(capacity: SignInLimiter.addresses / SignInLimiter.shardCount)
        )
    }

    private let shards = (0..<SignInLimiter.shardCount).map { _ in Shard() }
    private let began = ContinuousClock.now
    private let clock: @Sendable () -> ContinuousClock.Instant
    private let inside = Atomic<Int>(0)
    private let isClosed = Atomic<Bool>(false)

    /// A limiter that has counted nothing.
    package init(clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.clock = clock
    }

    /// How many sign-ins the gateway works at.
    package var count: Int { self.inside.load(ordering: .relaxed) }

    /// Rejects all sign-ins, or no longer does.
    package func close(_ isClosed: Bool) { self.isClosed.store(isClosed, ordering: .relaxed) }

    /// Lets a sign-in begin.
    ///
    /// - Throws: `signin.overloaded`, or `signin.too_often` with how long to wait.
    package func start(by client: IPAddress?, within limits: SignInLimits) throws(Failure) {
        try self.refuseIfClosed()
        guard let client = client.map({ ClientNetwork(of: $0) }) else { return }
        let wait = self.shard(of: client).started.withLock {
            $0.take(client, perMinute: limits.perMinute, at: self.now)
        }
        guard wait == nil else {
            throw Failure(.signInTooOften, "over \(limits.perMinute) sign-ins a minute from one address")
        }
    }

    /// Refuses a client whose sign-ins fail too often.
    package func refuseIfFailing(_ client: IPAddress?, within limits: SignInLimits) throws(Failure) {
        guard let client = client.map({ ClientNetwork(of: $0) }) else { return }
        let wait = self.shard(of: client).failed.withLock {
            $0.wait(of: client, perMinute: limits.failuresPerMinute, at: self.now)
        }
        guard wait == nil else {
            throw Failure(
                .signInFailing,
                "over \(limits.failuresPerMinute) sign-ins a minute failed from one address"
            )
        }
    }

    /// Notes that a sign-in failed through what the browser sent.
    package func failed(_ client: IPAddress?, within limits: SignInLimits) {
        guard let client = client.map({ ClientNetwork(of: $0) }) else { return }
        self.shard(of: client).failed.withLock {
            _ = $0.take(client, perMinute: limits.failuresPerMinute, at: self.now)
        }
    }

    /// Refuses a client that posts too many invalid logout tokens; sign-ins that fail are counted apart, so that they
    /// delay no logout.
    package func refuseIfLogoutsFail(_ client: IPAddress?, within limits: SignInLimits) throws(Failure) {
        guard let client = client.map({ ClientNetwork(of: $0) }) else { return }
        let limit = limits.failuresPerMinute
        let wait = self.shard(of: client).failedLogouts.withLock { $0.wait(of: client, perMinute: limit, at: self.now) }
        guard wait == nil else {
            throw Failure(.logoutTooOften, "over \(limit) invalid logout tokens a minute from one address")
        }
    }

    /// Notes that a logout token was rejected.
    package func logoutFailed(_ client: IPAddress?, within limits: SignInLimits) {
        guard let client = client.map({ ClientNetwork(of: $0) }) else { return }
        let limit = limits.failuresPerMinute
        self.shard(of: client).failedLogouts.withLock { _ = $0.take(client, perMinute: limit, at: self.now) }
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
