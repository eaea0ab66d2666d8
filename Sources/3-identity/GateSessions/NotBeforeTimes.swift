// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// The times before which sessions are revoked, of each user and of all users.
///
/// A gateway reads two entries of the store at most every five seconds: the time of all users, and the latest time of any
/// user. Only a session that is older than the latter costs one more read, when it is looked up. So a look-up costs one
/// read, as without this feature, until the sessions of a user are revoked.
final class NotBeforeTimes: Sendable {
    /// How long the two entries are used before they are read again.
    static let freshness = Duration.seconds(5)
    /// Added to the latest time of any user, so that two operators who revoke at once, on gateways whose clocks differ,
    /// do not hide the later of the two times.
    private static let margin = Duration.seconds(300)
    /// The attempts to raise a time while other gateways change it.
    private static let maxAttempts = 16

    private struct Known {
        var all: Instant
        var latestOfUsers: Instant
        var read: Instant
    }

    private struct State {
        var known: Known?
        var isReading = false
    }

    private let entries: any EntryStore
    private let state = Mutex(State())

    init(in entries: any EntryStore) {
        self.entries = entries
    }

    /// Whether a session was created before the time of its user or of all users.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - now: The time.
    /// - Returns: Whether the session is revoked.
    /// - Throws: If the store is unavailable.
    func revokes(_ session: Session, now: Instant) async throws(Failure) -> Bool {
        let known = try await self.known(now: now)
        guard session.created >= known.all else { return true }
        guard session.created < known.latestOfUsers else { return false }
        return session.created < (try await self.time(at: NotBeforeTimes.key(of: session.profile.user), now))
    }

    /// Revokes the sessions of a user, or of all users, that were created before a time.
    ///
    /// A time that is set already is never lowered.
    ///
    /// - Parameters:
    ///   - time: The time.
    ///   - user: The user key; nil for all users.
    ///   - expiry: When no session from before the time can exist any more.
    ///   - now: The time now.
    /// - Throws: If the store is unavailable; then the time may or may not be in force.
    func raise(
        to time: Instant,
        user: String?,
        until expiry: Instant,
        now: Instant
    ) async throws(Failure) {
        if let user {
            try await self.raise(NotBeforeTimes.key(of: user), to: time, until: expiry, now)
            let latest = time.advanced(by: NotBeforeTimes.margin)
            try await self.raise(NotBeforeTimes.users, to: latest, until: expiry, now)
        } else {
            try await self.raise(NotBeforeTimes.all, to: time, until: expiry, now)
        }
        self.state.withLock { $0.known = nil }
    }

    /// The two entries; while one look-up reads them again, others use what is known.
    private func known(now: Instant) async throws(Failure) -> Known {
        let known = self.state.withLock { state -> Known? in
            guard let known = state.known else { return nil }
            let age = now.since(known.read)
            if age >= .zero, age < NotBeforeTimes.freshness { return known }
            // A second reader would learn nothing; but what is known must not be used for long while reads fail.
            if state.isReading, age >= .zero, age < NotBeforeTimes.freshness * 2 { return known }
            state.isReading = true
            return nil
        }
        if let known { return known }
        defer { self.state.withLock { $0.isReading = false } }
        let fresh = Known(
            all: try await self.time(at: NotBeforeTimes.all, now),
            latestOfUsers: try await self.latestOfUsers(now),
            read: now
        )
        self.state.withLock { $0.known = fresh }
        return fresh
    }

    /// The latest time of any user; one that cannot be read only costs each session the read of its own user's.
    private func latestOfUsers(_ now: Instant) async throws(Failure) -> Instant {
        do throws(Failure) {
            return try await self.time(at: NotBeforeTimes.users, now)
        } catch  where error.reason == .sessionStoreDamaged {
            return .distantFuture
        }
    }

    private func raise(
        _ key: [UInt8],
        to time: Instant,
        until expiry: Instant,
        _ now: Instant
    ) async throws(Failure) {
        for _ in 0..<NotBeforeTimes.maxAttempts {
            let known: (entry: StoreEntry, time: Instant)?
            do throws(Failure) {
                known = try await self.known(at: key, now)
            } catch  where error.reason == .sessionStoreDamaged {
                // While a time cannot be read, no session is served: the new one replaces it.
                return try await self.entries.put([NotBeforeTimes.entry(key, time, until: expiry)])
            }
            if let known, known.time >= time, known.entry.expires >= expiry { return }
            let raised = NotBeforeTimes.entry(
                key,
                max(time, known?.time ?? time),
                until: max(expiry, known?.entry.expires ?? expiry)
            )
            if try await self.entries.replace(known?.entry, by: raised, at: now) { return }
        }
        // Another gateway was first each time.
        throw Failure(.sessionStoreUnavailable, "other gateways change the same not-before time; try again")
    }

    private func time(at key: [UInt8], _ now: Instant) async throws(Failure) -> Instant {
        try await self.known(at: key, now)?.time ?? .distantPast
    }

    /// An entry and its time; nil if absent.
    ///
    /// One that cannot be read is a failure, never the absence of a revocation.
    private func known(
        at key: [UInt8],
        _ now: Instant
    ) async throws(Failure) -> (entry: StoreEntry, time: Instant)? {
        guard let entry = try await self.entries.entry(.notBefore, key, at: now) else { return nil }
        let time = Int64(String(decoding: entry.value, as: UTF8.self)).map(Instant.init(seconds:))
        // Beyond what a gateway writes, even one whose clock is ahead: no new session would ever be admitted.
        guard let time, time <= now.advanced(by: NotBeforeTimes.margin + SessionManager.clockLeeway) else {
            throw Failure(.sessionStoreDamaged, "the store has a not-before time that no gateway writes")
        }
        return (entry, time)
    }

    private static func entry(_ key: [UInt8], _ time: Instant, until expiry: Instant) -> StoreEntry {
        StoreEntry(kind: .notBefore, key: key, value: Array("\(time)".utf8), expires: expiry)
    }

    private static func key(of user: String) -> [UInt8] { digest("not-before/user", user.utf8) }
    private static let all = digest("not-before", "all".utf8)
    private static let users = digest("not-before", "users".utf8)
}
