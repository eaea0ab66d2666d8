// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Limits the rate of look-ups of tickets without a tag, which earlier versions issued and which anyone can forge; those that have
/// a session do not count.
final class UntaggedTicketLimiter: Sendable {
    /// The number of look-ups in a burst.
    static let burst = 400
    /// The sustained number of look-ups per second.
    static let perSecond = 200

    private static let rate = TokenBucket.Rate(perSecond, in: .seconds(1), burst: burst)

    private let attempts = AttemptLimiter<Bool>(capacity: 2)

    /// Lets a look-up begin, which counts until it is released.
    ///
    /// - Throws: `session.bare_tickets` over the limit; the session may exist.
    func attempt() throws(Failure) -> AttemptLimiter<Bool>.Attempt {
        do throws(TooManyAttempts) {
            return try self.attempts.begin(true, within: UntaggedTicketLimiter.rate)
        } catch {
            let detail = "over \(UntaggedTicketLimiter.perSecond) look-ups a second of tickets without a tag"
            throw Failure(.sessionUntaggedTickets, detail)
        }
    }
}
