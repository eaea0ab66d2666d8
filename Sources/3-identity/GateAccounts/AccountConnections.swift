// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateSessions

/// An account at a provider that its user has connected with others.
package struct ConnectedAccount: Sendable, Hashable {
    /// The user key.
    package let user: String
    /// The provider's name in the configuration file.
    package let provider: String
    /// The issuer and the subject, by which its sessions are found.
    let issuer: String
    let subject: String
    /// What the user recognizes it by: the email address or a name.
    package let name: String
    package let added: Instant

    init(of profile: Profile, at now: Instant) {
        (self.user, self.provider, self.issuer) = (profile.user, profile.provider, profile.issuer)
        self.subject = profile.subject
        self.name = profile.email ?? profile.username ?? profile.name ?? profile.subject
        self.added = now
    }

    /// A profile with which its sessions are found.
    package var profile: Profile { Profile(provider: self.provider, issuer: self.issuer, subject: self.subject) }

    fileprivate var json: JSON {
        [
            "user": .string(self.user), "provider": .string(self.provider), "issuer": .string(self.issuer),
            "subject": .string(self.subject), "name": .string(self.name), "added": .int(self.added.seconds),
        ]
    }

    fileprivate init?(json: JSON) {
        guard let user = json["user"]?.string, let provider = json["provider"]?.string,
            let issuer = json["issuer"]?.string, let subject = json["subject"]?.string,
            let name = json["name"]?.string, let added = json["added"]?.integer
        else { return nil }
        (self.user, self.provider, self.issuer, self.subject) = (user, provider, issuer, subject)
        (self.name, self.added) = (name, Instant(seconds: added))
    }
}

/// The accounts that one user has connected; the first one is that to which the others were added.
package struct ConnectedAccounts: Sendable, Hashable {
    /// How many accounts a user may connect.
    package static let maxCount = 10

    /// The accounts, the first one first; at least two.
    package fileprivate(set) var all: [ConnectedAccount]

    /// The user key of the first account.
    package var first: String { self.all[0].user }

    func contains(_ user: String) -> Bool { self.account(user) != nil }

    /// One of the others; nil if it is the first one, or none.
    package func other(_ user: String) -> ConnectedAccount? {
        self.all.dropFirst().first { isIdentical($0.user, user) }
    }

    private func account(_ user: String) -> ConnectedAccount? { self.all.first { isIdentical($0.user, user) } }

    fileprivate var encoded: [UInt8] {
        let members: JSON = ["v": 1, "user": .string(self.first), "accounts": .array(self.all.map(\.json))]
        return members.encoded
    }
}

/// What the store has under a user key.
private enum ConnectionEntry {
    /// The accounts of the user whose first account this is.
    case accounts(ConnectedAccounts)
    /// The first account of the user, which has the list.
    case first(String)

    init?(encoded bytes: [UInt8], of user: String) {
        guard let json = try? JSON(parsing: bytes, depth: 4), json["v"]?.integer == 1,
            let owner = json["user"]?.string, isIdentical(owner, user)
        else { return nil }
        if let first = json["first"]?.string {
            self = .first(first)
        } else if let list = json["accounts"]?.array {
            let accounts = list.compactMap { ConnectedAccount(json: $0) }
            guard accounts.count == list.count, let first = accounts.first, isIdentical(first.user, user) else {
                return nil
            }
            self = .accounts(ConnectedAccounts(all: accounts))
        } else {
            return nil
        }
    }
}

/// The accounts that users have connected, by signing in with both.
///
/// The list is under the key of the first account and alone decides; the entries of the others only lead to it, so that what is left of
/// an interrupted change means nothing.
package struct AccountConnections: Sendable {
    /// Whether apps get the key of the first account, whichever the user has signed in with.
    package let forwardsFirst: Bool
    private let entries: SealedEntries
    private let clock: WallClock

    /// The connections in a store.
    package init(forwardsFirst: Bool, in entries: SealedEntries, clock: WallClock) {
        (self.forwardsFirst, self.entries, self.clock) = (forwardsFirst, entries, clock)
    }

    /// The accounts that are connected with an account; nil for none.
    ///
    /// - Throws: `account.unreadable` if they cannot be read, or if the store is unavailable.
    package func accounts(of user: String) async throws(Failure) -> ConnectedAccounts? {
        switch try await self.stored(user)?.content {
        case nil: return nil
        case .accounts(let found): return found.all.count > 1 ? found : nil
        case .first(let first):
            guard case .accounts(let found)? = try await self.stored(first)?.content, found.contains(user) else {
                return nil
            }
            return found
        }
    }

    /// The user key that apps get for a user.
    package func forwardedKey(of user: String) async throws(Failure) -> String? {
        guard self.forwardsFirst, let accounts = try await self.accounts(of: user) else { return nil }
        return isIdentical(accounts.first, user) ? nil : accounts.first
    }

    /// The other accounts whose user apps know by the same key.
    package func sharingKey(with user: String) async throws(Failure) -> [ConnectedAccount] {
        guard self.forwardsFirst, let accounts = try await self.accounts(of: user) else { return [] }
        return accounts.all.filter { !isIdentical($0.user, user) }
    }

    /// The other accounts, if apps know their user by the key of this one.
    package func following(_ user: String) async throws(Failure) -> [ConnectedAccount] {
        try await self.forwardedKey(of: user) == nil ? try await self.sharingKey(with: user) : []
    }

    /// Some users with connected accounts, from a cursor on, and the number of entries that no secret of the gateway opens.
    package func page(
        from cursor: [UInt8],
        limit: Int
    ) async throws(Failure) -> (page: StorePage<ConnectedAccounts>, unreadable: Int) {
        let (page, unreadable) = try await self.entries.page(.connection, from: cursor, limit: limit)
        let found = page.items.compactMap { opened -> ConnectedAccounts? in
            guard let owner = (try? JSON(parsing: opened.plain, depth: 4))?["user"]?.string,
                case .accounts(let accounts)? = ConnectionEntry(encoded: opened.plain, of: owner)
            else { return nil }
            return accounts.all.count > 1 ? accounts : nil
        }
        return (StorePage(items: found, next: page.next), unreadable)
    }

    // MARK: Changes

    /// Connects an account with that of a signed-in user.
    ///
    /// - Parameters:
    ///   - other: The account that is added.
    ///   - user: The account of the session.
    /// - Returns: All accounts.
    /// - Throws: `account.connected` if the account is connected with others, is the same one, or is one too many; or if the store
    ///   is unavailable.
    package func connect(_ other: Profile, to user: Profile) async throws(Failure) -> ConnectedAccounts {
        guard !isIdentical(other.user, user.user) else {
            throw Failure(.accountConnected, "\(user.user) is the account of the session")
        }
        let known = try await self.accounts(of: user.user)
        if let own = try await self.accounts(of: other.user) {
            guard let known, isIdentical(known.first, own.first) else {
                throw Failure(.accountConnected, "\(other.user) is connected with other accounts")
            }
            return own
        }
        let first = known?.first ?? user.user
        let (now, key) = (self.clock.now, AccountConnections.key(of: first))
        for _ in 0..<SealedEntries.maxTries {
            let stored = try await self.stored(first)
            var accounts = ConnectedAccounts(all: [ConnectedAccount(of: user, at: now)])
            if case .accounts(let found)? = stored?.content { accounts = found }
            // The account of the session may have been disconnected meanwhile.
            guard accounts.contains(user.user), isIdentical(accounts.first, first) else {
                throw Failure(.accountConnected, "\(user.user) is connected with other accounts by now")
            }
            accounts.all.removeAll { isIdentical($0.user, other.user) }
            guard accounts.all.count < ConnectedAccounts.maxCount else {
                throw Failure(.accountConnected, "\(first) has \(accounts.all.count) accounts; that is the limit")
            }
            accounts.all.append(ConnectedAccount(of: other, at: now))
            guard try await self.entries.replace(stored?.known, .connection, key, by: accounts.encoded) else {
                continue
            }
            try await self.lead(other.user, to: first)
            return accounts
        }
        throw SealedEntries.busy
    }

    /// Writes the entry that leads from an account to the list.
    private func lead(_ user: String, to first: String) async throws(Failure) {
        let members: JSON = ["v": 1, "user": .string(user), "first": .string(first)]
        let key = AccountConnections.key(of: user)
        for _ in 0..<SealedEntries.maxTries {
            let known = try await self.entries.entry(.connection, key)
            if try await self.entries.replace(known, .connection, key, by: members.encoded) { return }
        }
        throw SealedEntries.busy
    }

    /// Takes an account from those of a user; the first one only goes with the last other one.
    ///
    /// - Parameters:
    ///   - user: The account.
    ///   - owner: Any account of the user.
    /// - Returns: The account; nil if it is not one of the user's others.
    /// - Throws: If the store is unavailable.
    package func disconnect(_ user: String, of owner: String) async throws(Failure) -> ConnectedAccount? {
        guard let first = try await self.accounts(of: owner)?.first, !isIdentical(first, user) else { return nil }
        for _ in 0..<SealedEntries.maxTries {
            guard let (known, content) = try await self.stored(first), case .accounts(var accounts) = content,
                let index = accounts.all.firstIndex(where: { isIdentical($0.user, user) })
            else { return nil }
            let removed = accounts.all.remove(at: index)
            let isDone =
                accounts.all.count > 1
                ? try await self.entries.replace(known, .connection, known.entry.key, by: accounts.encoded)
                : try await self.entries.remove(known)
            guard isDone else { continue }
            // What stays leads to a list without it, which means nothing.
            if let pointer = try? await self.entries.entry(.connection, AccountConnections.key(of: user)) {
                _ = try? await self.entries.remove(pointer)
            }
            return removed
        }
        throw SealedEntries.busy
    }

    /// Ends the connections of an account that is reset or removed: if it is the first one, those of all others.
    ///
    /// - Returns: The accounts that were connected with it, whose sessions have another key for apps now.
    package func dissolve(_ user: String) async throws(Failure) -> [ConnectedAccount] {
        guard let accounts = try await self.accounts(of: user) else { return [] }
        guard isIdentical(accounts.first, user) else {
            _ = try await self.disconnect(user, of: user)
            return []
        }
        _ = try await self.entries.erase(.connection, AccountConnections.key(of: user))
        return Array(accounts.all.dropFirst())
    }

    private func stored(
        _ user: String
    ) async throws(Failure) -> (known: SealedEntries.Opened, content: ConnectionEntry)? {
        guard let known = try await self.entries.entry(.connection, AccountConnections.key(of: user)) else {
            return nil
        }
        guard let content = ConnectionEntry(encoded: known.plain, of: user) else {
            throw SealedEntries.unreadable(.connection)
        }
        return (known, content)
    }

    private static func key(of user: String) -> [UInt8] { accountDigest("connection", user.utf8) }
}
