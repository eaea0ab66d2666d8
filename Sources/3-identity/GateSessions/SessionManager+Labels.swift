// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A provider's notice that a user has signed out there, from a verified logout token.
///
/// OpenID Connect Back-Channel Logout §2.4.
package struct ProviderLogout: Sendable {
    /// Whose subject a logout token names.
    package enum Subject: Sendable {
        case profile(String)
        /// The `sub` of ID tokens, where profiles have another subject.
        case claim(String)
    }

    /// The user that the token names; nil if it names only a session.
    private let user: SessionLabel?
    /// The session at the provider; nil if the token names only the user.
    private let session: SessionLabel?
    /// The key under which the notice is remembered.
    let key: [UInt8]
    /// When the token of the notice has expired, so that a replay is rejected anyway.
    let expiry: Instant

    /// A notice.
    ///
    /// - Parameters:
    ///   - provider: The name of the provider.
    ///   - issuer: The canonical issuer of the token.
    ///   - subject: The user; nil if only the session is named.
    ///   - session: The session at the provider; nil for all of the user.
    ///   - id: The id of the token.
    ///   - expiry: When the token expires.
    package init(
        provider: String,
        issuer: String,
        subject: Subject?,
        session: String?,
        id: String,
        until expiry: Instant
    ) {
        self.user =
            switch subject {
            case .profile(let text): .user(provider: provider, issuer: issuer, subject: text)
            case .claim(let text): .subjectClaim(provider: provider, issuer: issuer, subject: text)
            case nil: nil
            }
        self.session = session.map { .providerSession(provider: provider, issuer: issuer, id: $0) }
        let parts = [provider, issuer, id].map { "\($0.utf8.count):\($0)" }
        self.key = digest("logout-token", parts.joined().utf8)
        self.expiry = expiry
    }

    /// The labels of which a session to end has one.
    ///
    /// A session without a `sid` may come from the session at the provider that the token names, so it ends as well.
    var labels: [SessionLabel] {
        guard let user, let session else { return [self.user, self.session].compactMap(\.self) }
        return [session, .withoutProviderSession(of: user)]
    }

    /// The families to end.
    ///
    /// With `sub` and `sid`, only sessions of the user: a `sid` with another subject ends none.
    fileprivate func families(in records: any RecordStore) async throws(Failure) -> Set<[UInt8]> {
        var families: Set<[UInt8]> = []
        for label in self.labels { families.formUnion(try await records.families(labeled: label.hash)) }
        guard let user, self.session != nil else { return families }
        return families.intersection(try await records.families(labeled: user.hash))
    }

    /// What a notice led to.
    package enum Outcome: Sendable {
        /// The sessions of this many sign-ins have ended; `unremembered` is why a replay would not be noticed.
        case ended(Int, unremembered: Failure?)
        /// A token with this id was accepted before.
        case replayed
    }
}

extension SessionManager {
    /// How many families are ended at a time.
    private static let maxConcurrentEnds = 16

    /// Ends all sessions of a user at all gateways that share the store.
    ///
    /// A sign-in that is in progress meanwhile ends as well.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - kept: The family that the caller ends itself afterwards; nil for none.
    /// - Returns: The number of sign-ins whose sessions have ended.
    /// - Throws: If the store is unavailable; then some of the sessions may still be live.
    package func endAll(of user: Profile, but kept: [UInt8]? = nil) async throws(Failure) -> Int {
        let unmarked = await self.signOuts.failure(noting: [user.label])
        var families = try await self.records.families(labeled: user.label.hash)
        if let kept { families.remove(kept) }
        let count = try await self.end(families)
        if let unmarked { throw unmarked }
        return count
    }

    /// Ends the sessions that a provider's notice is about, once for each notice.
    ///
    /// The notice is remembered only after its sessions have ended, so that the provider can repeat one that failed.
    ///
    /// - Parameters:
    ///   - logout: The notice.
    ///   - now: The time.
    /// - Returns: What it led to.
    /// - Throws: If the store is unavailable; then some of the sessions may still be live.
    package func end(_ logout: ProviderLogout, now: Instant) async throws(Failure) -> ProviderLogout.Outcome {
        var unremembered: Failure?
        do throws(Failure) {
            guard try await self.entries.entry(.providerLogout, logout.key, at: now) == nil else { return .replayed }
        } catch {
            // Ending a session twice is harmless, not ending it is not.
            unremembered = error
        }
        // As above: what can be ended ends.
        unremembered = await self.signOuts.failure(noting: logout.labels) ?? unremembered
        let count = try await self.end(logout.families(in: self.records))
        do throws(Failure) {
            let entry = StoreEntry(kind: .providerLogout, key: logout.key, value: [1], expires: logout.expiry)
            try await self.entries.put([entry])
        } catch {
            unremembered = error
        }
        return .ended(count, unremembered: unremembered)
    }

    /// Ends families, some at a time; after a failure it starts no more.
    private func end(_ families: Set<[UInt8]>) async throws(Failure) -> Int {
        let failure = await withTaskGroup(of: Failure?.self) { group in
            var rest = families.makeIterator()
            for _ in 0..<SessionManager.maxConcurrentEnds {
                guard let family = rest.next() else { break }
                group.addTask { await self.failure(ending: family) }
            }
            var first: Failure?
            for await failure in group {
                first = first ?? failure
                guard first == nil, let family = rest.next() else { continue }
                group.addTask { await self.failure(ending: family) }
            }
            return first
        }
        if let failure { throw failure }
        return families.count
    }

    /// Ends a family; returns why it could not.
    private func failure(ending family: [UInt8]) async -> Failure? {
        do throws(Failure) {
            try await self.endFamily(family)
            return nil
        } catch {
            return error
        }
    }
}
