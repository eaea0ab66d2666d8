// SPDX-License-Identifier: Apache-2.0

package import GateCore

// MARK: The limit of sign-ins of a user

extension SessionManager {
    /// The maximum number of sign-ins that one sign-in ends.
    static let maxEndedAtOnce = 64
    /// The maximum number of sign-ins of a user that are looked at.
    private static let maxSignIns = 1000
    /// How long a gateway that stops meanwhile holds up the other sign-ins of the user at the most.
    private static let turnTime = Duration.seconds(10)
    /// How often another sign-in of the same user is waited for.
    private static let maxWaits = 20
    private static let wait = Duration.milliseconds(50)

    /// Issues a session after a sign-in and ends the oldest sign-ins of the user that are over the limit.
    ///
    /// One sign-in of a user takes its turn after the other, so that all gateways together keep the limit and none ends a
    /// newer sign-in than its own. Where a turn does not come within a second, the sign-in goes on: one more may be left
    /// then, until the next one.
    ///
    /// - Parameters:
    ///   - signIn: The result of the sign-in.
    ///   - host: The host of the cookie.
    ///   - now: The time.
    ///   - once: The single-use value that the sign-in spends.
    ///   - old: The ticket of the session that the caller ends because this one replaces it; it does not count.
    /// - Returns: The session; nil if the value was spent before.
    /// - Throws: If the store is unavailable; then there is no session.
    package func issue(
        _ signIn: SignIn,
        host: String,
        now: Instant,
        spending once: SingleUse,
        replacing old: Ticket?
    ) async throws(Failure) -> IssuedSession? {
        guard let maxPerUser else {
            return try await self.issue(signIn, host: host, now: now, spending: once)
        }
        let turn = Turn(id: digest("session/limit", signIn.profile.label.hash), owner: self.random.bytes(16))
        let hasTurn = try await self.takeTurn(turn, now: now)
        do throws(Failure) {
            let before = try await self.liveSignIns(of: signIn.profile, but: old, now: now)
            let order = before.reduce(0) { $1.signIn.created == now ? max($0, $1.order &+ 1) : $0 }
            var issued = try await self.issue(signIn, host: host, now: now, order: order, spending: once)
            let surplus = before.prefix(max(0, before.count + 1 - maxPerUser)).map(\.signIn)
            await self.end(surplus, after: &issued)
            if hasTurn { await self.endTurn(turn) }
            return issued
        } catch {
            if hasTurn { await self.endTurn(turn) }
            throw error
        }
    }

    /// A sign-in, and which of the user's sign-ins of the same second it is.
    private typealias OrderedSignIn = (signIn: StoredSignIn, order: Int64)

    /// The live sign-ins of a user, the oldest first.
    ///
    /// Stores have whole seconds. Which of several in one second is older is in their cards, which are read only then.
    private func liveSignIns(
        of user: Profile,
        but old: Ticket?,
        now: Instant
    ) async throws(Failure) -> [OrderedSignIn] {
        var replaced: [UInt8]?
        // One that cannot be found counts, and the caller ends it anyway.
        if let old { replaced = (try? await self.records.record(for: old.storeKey))?.family }
        let found = try await self.records.signIns(labeled: user.label.hash, limit: SessionManager.maxSignIns)
        let live = found.filter { $0.family != replaced && self.lifetimes.remaining($0, at: now) > .zero }
        let counts = Dictionary(live.map { ($0.created, 1) }, uniquingKeysWith: +)
        var ordered: [OrderedSignIn] = []
        for signIn in live {
            let isAlone = counts[signIn.created] == 1 && signIn.created != now
            ordered.append((signIn, isAlone ? 0 : try await self.order(of: signIn)))
        }
        return ordered.sorted { one, other in
            if one.signIn.created != other.signIn.created { return one.signIn.created < other.signIn.created }
            guard one.order == other.order else { return one.order < other.order }
            // Only sign-ins without a turn have no order of their own; all gateways take the same.
            return one.signIn.family.lexicographicallyPrecedes(other.signIn.family)
        }
    }

    private func order(of signIn: StoredSignIn) async throws(Failure) -> Int64 {
        try await self.records.record(for: signIn.key).flatMap { SessionCard(of: $0, by: self.sealer) }?.order ?? 0
    }

    private func end(_ surplus: [StoredSignIn], after issued: inout IssuedSession?) async {
        guard issued != nil else { return }
        for signIn in surplus.prefix(SessionManager.maxEndedAtOnce) {
            do throws(Failure) {
                let record = try await self.records.record(for: signIn.key)
                try await self.endFamily(signIn.family)
                issued?.ended.append(record.flatMap { SessionCard(of: $0, by: self.sealer)?.id })
            } catch {
                issued?.endFailure = error
                return
            }
        }
    }

    private struct Turn {
        let id: [UInt8]
        let owner: [UInt8]
    }

    private func takeTurn(_ turn: Turn, now: Instant) async throws(Failure) -> Bool {
        for _ in 0..<SessionManager.maxWaits {
            if try await self.locks.lock(turn.id, owner: turn.owner, at: now, for: SessionManager.turnTime) {
                return true
            }
            try? await Task.sleep(for: SessionManager.wait)
        }
        return false
    }

    private func endTurn(_ turn: Turn) async {
        // One that cannot be ended ends by itself.
        try? await self.locks.unlock(turn.id, owner: turn.owner)
    }
}
