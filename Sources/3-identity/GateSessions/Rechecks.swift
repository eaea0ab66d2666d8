// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

/// The result of a re-check.
package enum RecheckOutcome: Sendable {
    /// The session in the store is another one than before: confirmed, changed or ended.
    case changed
    /// The provider does not confirm the user.
    case ended
    /// The provider cannot be asked without the user.
    case needsUser
    /// The provider did not respond, or the store did not.
    case failed(Failure)
}

/// The last failure of a family's re-check.
struct FailedRecheck {
    /// The shortest time until the next one begins.
    static let pause = Duration.seconds(10)
    /// The longest.
    static let maxPause = Duration.seconds(300)

    /// Why it failed.
    let failure: Failure
    /// How many in a row were about this user.
    let inRow: Int
    /// Monotonic time.
    let at: Duration

    /// When the next one may begin.
    var end: Duration {
        self.at + min(FailedRecheck.pause * (1 << min(max(self.inRow - 1, 0), 8)), FailedRecheck.maxPause)
    }
}

/// The re-checks in progress and the breakers of the providers; shared by all event loops.
package final class Rechecks: Sendable {
    /// The maximum number of re-checks in progress.
    static let maxInProgress = 10_000

    private static let maxFailed = 65_536

    private let inProgress = Mutex<[[UInt8]: RecheckInProgress]>([:])
    private let failed = Mutex<[[UInt8]: FailedRecheck]>([:])
    private let breakers = Mutex<[String: RecheckBreaker]>([:])
    private let start = ContinuousClock.now

    /// No re-checks.
    package init() {}

    /// Monotonic time.
    private var now: Duration { self.start.duration(to: .now) }

    /// The re-check of a family: the one in progress, or a new one.
    ///
    /// - Parameters:
    ///   - family: The family.
    ///   - work: The re-check; runs on after the request that began it.
    /// - Returns: The re-check; nil if too many are in progress.
    package func recheck(
        of family: [UInt8],
        work: @escaping @Sendable () async -> RecheckOutcome
    ) -> RecheckInProgress? {
        let (recheck, isNew) = self.inProgress.withLock { inProgress -> (RecheckInProgress?, Bool) in
            if let known = inProgress[family] { return (known, false) }
            guard inProgress.count < Rechecks.maxInProgress else { return (nil, false) }
            let fresh = RecheckInProgress()
            inProgress[family] = fresh
            return (fresh, true)
        }
        guard isNew, let recheck else { return recheck }
        Task {
            let outcome = await work()
            self.inProgress.withLock { $0[family] = nil }
            recheck.end(with: outcome)
        }
        return recheck
    }

    /// Lets a call to a provider begin; else after which time to try again.
    package func admit(_ provider: String) -> Duration? {
        let now = self.now
        return self.breakers.withLock { $0[provider, default: RecheckBreaker()].admit(at: now) }
    }

    /// Why the re-check of a family failed a moment ago; nil if it did not.
    package func recentFailure(of family: [UInt8]) -> Failure? {
        let now = self.now
        return self.failed.withLock { failed in
            guard let last = failed[family], now < last.end else { return nil }
            return last.failure
        }
    }

    /// The re-check of a family failed.
    ///
    /// - Parameters:
    ///   - family: The family.
    ///   - failure: Why.
    ///   - isOutage: Whether the provider is the reason, which the breaker paces; a failure that is about this user is
    ///     likely to come again, so each one in a row doubles the pause.
    package func failed(_ family: [UInt8], _ failure: Failure, isOutage: Bool) {
        let now = self.now
        self.failed.withLock { failed in
            if failed.count >= Rechecks.maxFailed { failed = failed.filter { now < $0.value.end } }
            if failed.count >= Rechecks.maxFailed { failed = [:] }
            let earlier = isOutage ? 0 : failed[family]?.inRow ?? 0
            failed[family] = FailedRecheck(failure: failure, inRow: isOutage ? 0 : earlier + 1, at: now)
        }
    }

    /// The provider confirmed the user of a family.
    package func succeeded(_ family: [UInt8]) {
        self.failed.withLock { $0[family] = nil }
    }

    /// For how long a provider is not asked; nil if it may be.
    package func pause(of provider: String) -> Duration? {
        let now = self.now
        return self.breakers.withLock { $0[provider]?.pause(at: now) }
    }

    /// A provider responded to a re-check.
    package func succeeded(_ provider: String) {
        let now = self.now
        self.breakers.withLock { $0[provider, default: RecheckBreaker()].succeeded(at: now) }
    }

    /// A provider did not respond; returns how many times in a row.
    package func failed(_ provider: String, _ failure: Failure) -> Int {
        let now = self.now
        return self.breakers.withLock { breakers in
            breakers[provider, default: RecheckBreaker()]
                .failed(at: now, wait: failure.retryAfter, jitter: Double.random(in: 0...1))
            return breakers[provider]?.failures ?? 0
        }
    }
}

/// A re-check that requests may wait for.
package final class RecheckInProgress: Sendable {
    private struct State {
        var outcome: RecheckOutcome?
        var waiting: [UInt64: CheckedContinuation<RecheckOutcome?, Never>] = [:]
        var last: UInt64 = 0
    }

    /// The maximum number of requests that wait; others are served or rejected at once.
    static let maxWaiting = 256

    private let state = Mutex(State())

    /// Waits for the end.
    ///
    /// - Parameter time: How long.
    /// - Returns: The result; nil if it took longer, or too many wait for it.
    package func outcome(within time: Duration) async -> RecheckOutcome? {
        let id = self.state.withLock { state in
            state.last += 1
            return state.last
        }
        let timer = Task {
            try? await Task.sleep(for: time)
            self.state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(returning: nil)
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            let (outcome, waits) = self.state.withLock { state -> (RecheckOutcome?, Bool) in
                guard state.outcome == nil, state.waiting.count < RecheckInProgress.maxWaiting else {
                    return (state.outcome, false)
                }
                state.waiting[id] = continuation
                return (nil, true)
            }
            if !waits { continuation.resume(returning: outcome) }
        }
    }

    fileprivate func end(with outcome: RecheckOutcome) {
        let waiting = self.state.withLock { state in
            state.outcome = outcome
            defer { state.waiting = [:] }
            return state.waiting
        }
        for continuation in waiting.values { continuation.resume(returning: outcome) }
    }
}
