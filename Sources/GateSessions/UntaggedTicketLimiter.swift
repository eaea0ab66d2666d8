// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// Limits the rate of look-ups of tickets without a tag, which earlier versions issued and which anyone can forge.
final class UntaggedTicketLimiter: Sendable {
    /// The number of look-ups in a burst.
    static let burst = 400
    /// The sustained number of look-ups per second.
    static let perSecond = 200

    private static let rate = TokenBucket.Rate(perSecond, in: .seconds(1), burst: burst)

    private let bucket = Mutex(TokenBucket())
    private let began = ContinuousClock.now

    /// Admits one look-up.
    ///
    /// - Throws: `session.bare_tickets` over the limit; the session may exist.
    func admit() throws(Failure) {
        let now = self.began.duration(to: .now)
        guard self.bucket.withLock({ $0.take(UntaggedTicketLimiter.rate, at: now) }) == nil else {
            let detail = "over \(UntaggedTicketLimiter.perSecond) look-ups a second of tickets without a tag"
            throw Failure(.sessionUntaggedTickets, detail)
        }
    }
}
