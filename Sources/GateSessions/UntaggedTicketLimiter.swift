// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// Bounds the look-ups of tickets without a tag, which earlier versions issued: forged ones look the same.
final class UntaggedTicketLimiter: Sendable {
    /// How many look-ups may come at once.
    static let burst = 400
    /// How many may come in a second for long.
    static let perSecond = 200

    private let full = Mutex(Duration.zero)
    private let began = ContinuousClock.now

    /// Lets one look-up pass.
    ///
    /// - Throws: `session.bare_tickets` when there are too many; the session may well exist.
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
