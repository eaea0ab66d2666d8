// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Decides whether a provider is asked for a re-check: a circuit breaker that recovers slowly.
///
/// After ``maxFailures`` failures in a row the provider is asked once per ``pause`` until it responds. The sessions that
/// have waited for it then follow at a limited rate, so that recovery causes no flood.
package struct RecheckBreaker {
    /// How many failures in a row open the breaker.
    package static let maxFailures = 5
    /// The time between two probes while it is open, up to a quarter longer.
    static let pause = Duration.seconds(10)
    /// The maximum time that a provider's `Retry-After` is honored.
    static let maxPause = Duration.seconds(300)
    /// How long re-checks follow each other slowly after an outage.
    static let recovery = Duration.seconds(60)
    /// The time between two re-checks meanwhile: 20 a second, each of which is two requests or so.
    static let step = Duration.milliseconds(50)

    /// The number of failures in a row.
    private(set) var failures = 0
    private var openUntil: Duration?
    private var recoversUntil: Duration?
    private var nextStep = Duration.zero

    /// After which time a re-check may begin, without beginning one; nil while the breaker is closed.
    func pause(at now: Duration) -> Duration? {
        guard let openUntil, now < openUntil else { return nil }
        return openUntil - now
    }

    /// Lets a re-check begin.
    ///
    /// - Parameter now: Monotonic time.
    /// - Returns: Nil to begin; else after which time to try again.
    mutating func admit(at now: Duration) -> Duration? {
        if let openUntil {
            guard now >= openUntil else { return openUntil - now }
            // The probe: until it has ended, no other begins.
            self.openUntil = now + RecheckBreaker.pause
            return nil
        }
        if let recoversUntil, now < recoversUntil {
            guard now >= self.nextStep else { return .seconds(1) }
            self.nextStep = max(now, self.nextStep) + RecheckBreaker.step
            return nil
        }
        self.recoversUntil = nil
        return nil
    }

    /// The provider responded.
    mutating func succeeded(at now: Duration) {
        if self.openUntil != nil {
            self.recoversUntil = now + RecheckBreaker.recovery
            self.nextStep = now
        }
        self.failures = 0
        self.openUntil = nil
    }

    /// The provider did not respond, or not usefully.
    ///
    /// - Parameters:
    ///   - now: Monotonic time.
    ///   - wait: After which time the provider wants to be asked again.
    ///   - jitter: A random number from 0 to 1.
    mutating func failed(at now: Duration, wait: Duration?, jitter: Double) {
        self.failures += 1
        // One response may be about one user's token.
        if let wait, self.failures > 1 { self.openUntil = now + min(wait, RecheckBreaker.maxPause) }
        guard self.failures >= RecheckBreaker.maxFailures else { return }
        let pause = now + RecheckBreaker.pause + RecheckBreaker.pause * (jitter / 4)
        self.openUntil = max(self.openUntil ?? .zero, pause)
    }
}
