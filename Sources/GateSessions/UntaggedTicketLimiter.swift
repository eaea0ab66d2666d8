// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// Limits the rate of look-ups of tickets without a tag, which earlier versions issued and which anyone can forge.
final class UntaggedTicketLimiter: Sendable {
    /// The number of look-ups in a burst.
    static let burst = 400
    /// The sustained number of look-ups per second.
    static let perSecond = 200

    private let full = Mutex(Duration.zero)
    private let began = ContinuousClock.now

    /// Admits one look-up.
    ///
    /// - Throws: `session.bare_tickets` over the limit; the session may exist.
    func admit() throws(Failure) {
        let now = self.began.duration(to: .now)
        let isAdmitted = self.full.withLock { full in
            let step = Duration.seconds(1) / UntaggedTicketLimiter.perSecond
            let moment = max(full, now)
            guard moment - now <= step * (UntaggedTicketLimiter.burst - 1) else { return false }
            full = moment + step
            return true
        }
        guard isAdmitted else {
            let detail = "over \(UntaggedTicketLimiter.perSecond) look-ups a second of tickets without a tag"
            throw Failure(.sessionUntaggedTickets, detail)
        }
    }
}
