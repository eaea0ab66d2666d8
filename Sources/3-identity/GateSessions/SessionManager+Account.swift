// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// One of a user's sign-ins, as the user sees it.
package struct UserSignIn: Sendable, Hashable {
    /// The id by which the user ends it; it grants no access.
    package let id: String
    /// The key of its family.
    package let family: [UInt8]
    /// When the user signed in.
    package let created: Instant
    /// When one of its sessions was last used, in steps of a minute.
    package let lastSeen: Instant
    /// What is known of the browser; nil if no gateway secret opens it.
    package let card: SessionCard?

    fileprivate init(_ signIn: StoredSignIn, _ card: SessionCard?) {
        self.id = Session.signInID(ofFamily: signIn.family)
        (self.family, self.created, self.lastSeen, self.card) = (signIn.family, signIn.created, signIn.lastSeen, card)
    }
}

extension SessionManager {
    /// The maximum number of sign-ins of a user that are looked at.
    private static let maxLooked = 1000

    /// The live sign-ins of a user, the most recently used first.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - limit: The maximum number to return.
    ///   - now: The time.
    /// - Returns: The sign-ins, and whether there are more.
    /// - Throws: If the store is unavailable.
    package func signIns(
        of user: Profile,
        limit: Int,
        now: Instant
    ) async throws(Failure) -> (items: [UserSignIn], hasMore: Bool) {
        let live = try await self.liveSignIns(of: user, now: now)
        let (records, sealer) = (self.records, self.sealer)
        let items = try await withTaskGroup(of: (Int, Result<UserSignIn, Failure>).self) { group in
            for (index, signIn) in live.prefix(limit).enumerated() {
                group.addTask {
                    do throws(Failure) {
                        let record = try await records.record(for: signIn.key)
                        return (index, .success(UserSignIn(signIn, record.flatMap { SessionCard(of: $0, by: sealer) })))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            var found: [(Int, Result<UserSignIn, Failure>)] = []
            for await result in group { found.append(result) }
            return found.sorted { $0.0 < $1.0 }.map(\.1)
        }.map { result throws(Failure) in try result.get() }
        return (items, live.count > limit)
    }

    /// Ends one of a user's sign-ins at all gateways.
    ///
    /// - Parameters:
    ///   - id: The id of the sign-in.
    ///   - user: The user; sign-ins of others are not found.
    ///   - now: The time.
    /// - Returns: Whether there was such a sign-in.
    /// - Throws: If the store is unavailable.
    package func endSignIn(_ id: String, of user: Profile, now: Instant) async throws(Failure) -> Bool {
        let live = try await self.liveSignIns(of: user, now: now)
        guard let signIn = live.first(where: { Session.signInID(ofFamily: $0.family) == id }) else { return false }
        try await self.endFamily(signIn.family)
        return true
    }

    private func liveSignIns(of user: Profile, now: Instant) async throws(Failure) -> [StoredSignIn] {
        let found = try await self.records.signIns(labeled: user.label.hash, limit: SessionManager.maxLooked)
        return StoredSignIn.of(found).filter { self.lifetimes.remaining($0, at: now) > .zero }
            .sorted { $0.lastSeen > $1.lastSeen }
    }
}
