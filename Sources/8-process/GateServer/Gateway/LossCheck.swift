// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy
internal import GateSessions

/// Compares the rules of a new configuration with those in force, for the users whom the gateway knows.
struct LossCheck: Sendable {
    /// What a configuration would take, or why that is not known.
    struct Loss: Sendable {
        /// In one sentence, with the worst app and the rule.
        let detail: String
        /// For the operations API; bounded.
        let difference: JSON
    }

    let old: [AppRules]
    let new: [AppRules]
    let share: AccessShare

    /// How long a comparison may take; a reload waits for it, and so does a signal.
    private static let maxTime = Duration.seconds(10)
    private static let page = 1000
    private static let examples = 5
    private static let maxApps = 50

    /// What the new rules take from more than the share of the users of some app; nil if they do not.
    ///
    /// If the users cannot be read, or not in time, that is a loss as well: an operator has to decide.
    func loss(of sessions: SessionManager, at now: Instant) async -> Loss? {
        var comparison = PolicyComparison(old: self.old, new: self.new, examples: LossCheck.examples, at: now)
        guard !comparison.isTrivial else { return nil }
        let end = ContinuousClock.now + LossCheck.maxTime
        do throws(Failure) {
            var cursor: [UInt8]? = []
            while let from = cursor {
                guard ContinuousClock.now < end else { return self.unknown("it takes too long to read the users") }
                let page = try await sessions.seenUsers(from: from, limit: LossCheck.page, now: now)
                for user in page.items where !comparison.add(user.facts) {
                    return self.unknown("there are over \(PolicyComparison.maxUsers) users")
                }
                cursor = page.next
            }
        } catch {
            return self.unknown("the users cannot be read: \(error.detail)")
        }
        guard let difference = comparison.difference(until: { ContinuousClock.now >= end }) else {
            return self.unknown("it takes too long to compare")
        }
        let losses = difference.losses(above: self.share)
        guard let worst = losses.first else { return nil }
        let others = losses.count == 1 ? "" : " and of \(losses.count - 1) other app\(losses.count == 2 ? "" : "s")"
        let detail =
            "\(worst.losers) of \(worst.holders) users of \(worst.name)\(others) would lose access, more than "
            + "\(self.share): \(worst.worstLoss)"
        return Loss(detail: detail, difference: difference.json(maxApps: LossCheck.maxApps))
    }

    private func unknown(_ reason: String) -> Loss {
        Loss(detail: "who would lose access is not known: \(reason)", difference: .null)
    }
}
