// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

/// A user who has signed in.
package struct RegisteredUser: Sendable, Hashable {
    /// The profile of the last sign-in or re-check, without picture and with at most 100 groups and roles.
    package var profile: Profile
    /// When the user first signed in, as far as it is known.
    package var firstSignIn: Instant
    /// When the user last signed in.
    package var lastSignIn: Instant
    /// When the user last signed in or was confirmed by the provider.
    package var lastSeen: Instant

    /// The profile as rules see it in a session: an authentication of unknown time is the sign-in.
    package var facts: Profile {
        var profile = self.profile
        profile.authTime = profile.authTime ?? self.lastSignIn
        return profile
    }
}

/// The users who have signed in, kept in the store for 400 days after their last sign-in or re-check.
///
/// A sign-in or a re-check only adds the user to a bounded queue; the store is written a second later, so that several of
/// a user cost one write. What does not fit or cannot be written is left out until the next sign-in or re-check of the user.
final class UserRegister: Sendable {
    /// How long a user is kept after the last sign-in.
    static let lifetime = Duration.seconds(400 * 86_400)
    /// How many users may wait to be written.
    static let maxWaiting = 1024
    private static let maxElements = 100
    /// How many users are written together, so that other writes do not wait long.
    private static let batch = 100
    private static let delay = Duration.seconds(1)

    private struct Waiting: Sendable {
        let profile: Profile
        let time: Instant
        let signIn: Instant
    }

    private struct State {
        var waiting: [String: Waiting] = [:]
        var isWriting = false
    }

    private let entries: any EntryStore
    private let sealer: Sealer
    private let state = Mutex(State())

    init(in entries: any EntryStore, sealer: Sealer) {
        self.entries = entries
        self.sealer = sealer
    }

    /// Notes a sign-in, or a re-check of the session of one; never waits and never fails.
    ///
    /// - Parameters:
    ///   - profile: The profile.
    ///   - now: The time.
    ///   - signIn: When the user signed in; nil for now.
    func note(_ profile: Profile, at now: Instant, signedInAt signIn: Instant? = nil) {
        let isFirst = self.state.withLock { state in
            guard state.waiting[profile.user] != nil || state.waiting.count < UserRegister.maxWaiting else {
                return false
            }
            let latest = max(signIn ?? now, state.waiting[profile.user]?.signIn ?? .distantPast)
            state.waiting[profile.user] = Waiting(profile: profile, time: now, signIn: latest)
            defer { state.isWriting = true }
            return !state.isWriting
        }
        guard isFirst else { return }
        // Detached: the writes are of all users, not part of the trace of this one's request.
        Task.detached { await self.writeLater() }
    }

    private func writeLater() async {
        while true {
            try? await Task.sleep(for: UserRegister.delay)
            await self.write()
            let isDone = self.state.withLock { state in
                guard state.waiting.isEmpty else { return false }
                state.isWriting = false
                return true
            }
            if isDone { return }
        }
    }

    /// Writes the waiting users; those that the store does not take are dropped.
    func write() async {
        let waiting = self.state.withLock { state in
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        do throws(Failure) {
            var rest = waiting[...]
            while !rest.isEmpty {
                try await self.write(rest.prefix(UserRegister.batch))
                rest = rest.dropFirst(UserRegister.batch)
            }
        } catch {
            // The register must not load a store that is unavailable: the next sign-in of each user writes it.
            return
        }
    }

    private func write(_ signIns: ArraySlice<Waiting>) async throws(Failure) {
        guard let now = signIns.first?.time else { return }
        let keys = signIns.map { UserRegister.key(of: $0.profile.user) }
        let known = Dictionary(try await self.entries.entries(.user, under: keys, at: now).map { ($0.key, $0) }) { $1 }
        try await self.entries.put(
            zip(keys, signIns).map { self.entry($0, of: $1, after: known[$0].flatMap(self.user)) }
        )
    }

    private func entry(
        _ key: [UInt8],
        of waiting: Waiting,
        after known: RegisteredUser?
    ) -> StoreEntry {
        var (profile, time) = (waiting.profile, waiting.time)
        profile.picture = nil
        // What is left out here is unknown to who asks for the profile later.
        let requested = profile.groupsRequested?.count ?? 0
        let isWhole = max(profile.groups.count, requested) <= UserRegister.maxElements
        profile.groupsComplete = profile.groupsComplete && isWhole
        if !isWhole { profile.groupsRequested = nil }
        profile.rolesComplete = profile.rolesComplete && profile.roles.count <= UserRegister.maxElements
        profile.groups = Array(profile.groups.prefix(UserRegister.maxElements))
        profile.roles = Array(profile.roles.prefix(UserRegister.maxElements))
        profile.claims = profile.claims.filter { $0.value.texts.count <= UserRegister.maxElements }
        let first = min(known?.firstSignIn ?? waiting.signIn, waiting.signIn)
        let last = max(known?.lastSignIn ?? waiting.signIn, waiting.signIn)
        time = max(known?.lastSeen ?? time, time)
        let json: JSON = [
            "v": 1, "profile": profile.sessionJSON, "first": .int(first.seconds), "last": .int(last.seconds),
            "seen": .int(time.seconds),
        ]
        return StoreEntry(
            kind: .user,
            key: key,
            value: self.sealer.seal(json.encoded, for: UserRegister.purpose(key)),
            expires: time.advanced(by: UserRegister.lifetime)
        )
    }

    /// Some users; those sealed with a secret that is not configured any more are left out.
    func page(from cursor: [UInt8], limit: Int, at now: Instant) async throws(Failure) -> StorePage<RegisteredUser> {
        let page = try await self.entries.entries(.user, from: cursor, limit: limit, at: now)
        return StorePage(items: page.items.compactMap(self.user), next: page.next)
    }

    /// The user of a user key; nil if that is not known.
    func user(_ user: String, at now: Instant) async throws(Failure) -> RegisteredUser? {
        try await self.entries.entries(.user, under: [UserRegister.key(of: user)], at: now).first.flatMap(self.user)
    }

    private func user(of entry: StoreEntry) -> RegisteredUser? {
        guard let plain = self.sealer.open(entry.value, for: UserRegister.purpose(entry.key)),
            let json = try? JSON(parsing: plain, depth: 4), json["v"]?.integer == 1,
            let profile = json["profile"].flatMap(Profile.init(sessionJSON:)), let first = json["first"]?.integer,
            let last = json["last"]?.integer, let seen = json["seen"]?.integer
        else { return nil }
        return RegisteredUser(
            profile: profile,
            firstSignIn: Instant(seconds: first),
            lastSignIn: Instant(seconds: last),
            lastSeen: Instant(seconds: seen)
        )
    }

    private static func key(of user: String) -> [UInt8] { digest("user", user.utf8) }

    /// The purpose of seals; it has the key, so that entries cannot be swapped in the store.
    private static func purpose(_ key: [UInt8]) -> String { "user/\(Base64URL.encode(key))" }
}
