// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A live session as an operator sees it.
package struct ListedSession: Sendable, Hashable {
    /// The key of the family, by which it is revoked.
    package let family: [UInt8]
    /// When the user signed in.
    package let created: Instant
    /// When the session was last used, in steps of a minute.
    package let lastSeen: Instant
    /// When the session expires if it is not used again.
    package let expires: Instant
    /// Its user, host and device; nil if no gateway secret opens them.
    package let card: SessionCard?
}

extension SessionManager {
    /// Some live sessions; `limit` records are read, of which some may have expired.
    ///
    /// - Parameters:
    ///   - cursor: Where the page begins; empty for the first.
    ///   - limit: The number of records to read.
    ///   - now: The time.
    /// - Returns: The sessions, in no particular order, and where the next page begins.
    /// - Throws: If the store is unavailable.
    package func sessions(
        from cursor: [UInt8],
        limit: Int,
        now: Instant
    ) async throws(Failure) -> StorePage<ListedSession> {
        let page = try await self.records.records(from: cursor, limit: limit)
        let live = page.items.compactMap { record -> ListedSession? in
            let remaining = self.lifetimes.remaining(record, at: now)
            guard remaining > .zero else { return nil }
            return ListedSession(
                family: record.family,
                created: record.created,
                lastSeen: record.lastSeen,
                expires: now.advanced(by: remaining),
                card: SessionCard(of: record, by: self.sealer)
            )
        }
        return StorePage(items: live, next: page.next)
    }

    /// Revokes the sessions of a user, or of all users, that were created before a time, wherever they are.
    ///
    /// Every gateway rejects them at its next look-up, after at most 35 seconds, also one that a session transfer is about
    /// to create.
    ///
    /// - Parameters:
    ///   - time: The time.
    ///   - user: The user key; nil for all users.
    ///   - now: The time now.
    /// - Throws: If the store is unavailable.
    package func setNotBefore(_ time: Instant, user: String?, now: Instant) async throws(Failure) {
        // A day more, for gateways whose clocks or lifetimes differ.
        let expiry = now.advanced(by: self.lifetimes.absolute + .seconds(86_400))
        try await self.notBefore.raise(to: time, user: user, until: expiry, now: now)
    }

    /// Some users who have signed in or were confirmed by their provider during the last 400 days.
    ///
    /// - Parameters:
    ///   - cursor: Where the page begins; empty for the first.
    ///   - limit: The maximum number of users.
    ///   - now: The time.
    /// - Returns: The users, in no particular order, and where the next page begins.
    /// - Throws: If the store is unavailable.
    package func users(
        from cursor: [UInt8],
        limit: Int,
        now: Instant
    ) async throws(Failure) -> StorePage<RegisteredUser> {
        guard self.keepsSessions else {
            throw Failure(.sessionNotKept, "users cannot be listed with 'sessions.store: cookie:', which keeps none")
        }
        return try await self.register.page(from: cursor, limit: limit, at: now)
    }

    /// For how long users are compared by ``seenUsers(from:limit:now:)``, if no session lives longer.
    package static let seenTime = Duration.seconds(30 * 86_400)

    /// Some users who were seen during the last 30 days, or for as long as a session may live if that is longer: all who
    /// can have a session.
    ///
    /// With sessions in cookies, only those whom this process has seen.
    ///
    /// - Parameters:
    ///   - cursor: Where the page begins; empty for the first.
    ///   - limit: The number of users to read, of which some may have been seen earlier.
    ///   - now: The time.
    /// - Returns: The users, in no particular order, and where the next page begins.
    /// - Throws: If the store is unavailable.
    package func seenUsers(
        from cursor: [UInt8],
        limit: Int,
        now: Instant
    ) async throws(Failure) -> StorePage<RegisteredUser> {
        // Those of the last second too.
        if cursor.isEmpty { await self.register.write() }
        var page = try await self.register.page(from: cursor, limit: limit, at: now)
        let time = max(SessionManager.seenTime, self.lifetimes.absolute)
        page.items.removeAll { now.since($0.lastSeen) > time }
        return page
    }

    /// The user of a user key who has signed in; nil if that is not known.
    package func user(_ key: String, now: Instant) async throws(Failure) -> RegisteredUser? {
        try await self.register.user(key, at: now)
    }
}
