// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import GateCore
package import GateSessions

/// The accounts of one provider in the store of the sessions, sealed with the gateway secret.
///
/// An account is one entry, and each of its names is another one that leads to it. Entries do not expire. Their keys are
/// hashes of the id and of the names: a copy of the store shows whether a known name has an account, and nothing else.
package struct AccountStore: Sendable {
    /// How long a name without its account is kept for the gateway that is creating it.
    private static let creationTime = Duration.seconds(60)

    let provider: String
    private let entries: SealedEntries
    private let clock: WallClock

    package init(of provider: String, in entries: SealedEntries, clock: WallClock) {
        (self.provider, self.entries, self.clock) = (provider, entries, clock)
    }

    /// The account with an id; nil if it does not exist.
    ///
    /// - Throws: `account.unreadable` if no secret of the gateway opens it, or if the store is unavailable.
    package func account(_ id: String) async throws(Failure) -> Account? {
        guard let found = try await self.entries.entry(.account, self.key(of: id)) else { return nil }
        return try self.account(in: found)
    }

    /// The account of a name; nil if it does not exist.
    ///
    /// Makes the same number of calls in both cases.
    package func account(named name: AccountName?) async throws(Failure) -> Account? {
        let found = try await self.entries.entry(.accountName, self.key(of: name))
        let id = try found.map { found throws(Failure) in try self.owner(in: found).id }
        guard let account = try await self.account(id ?? ""), let name, account.names.contains(name) else { return nil }
        return account
    }

    /// Adds an account with its names.
    ///
    /// - Throws: `account.name_taken` if another account has one of the names, or if the store is unavailable.
    package func add(_ account: Account) async throws(Failure) {
        for name in account.names { try await self.reserve(name, for: account.id) }
        guard try await self.entries.replace(nil, .account, self.key(of: account.id), by: account.encoded) else {
            throw Failure(.accountNameTaken, "there is an account \(account.id) already")
        }
    }

    /// Changes an account, unless it does not exist.
    ///
    /// - Parameters:
    ///   - id: The account.
    ///   - change: Changes what is stored now; called again where another change came first. False leaves all as it is.
    /// - Returns: The changed account; nil if it does not exist, or if `change` returned false.
    /// - Throws: If the store is unavailable or others change the account all the time.
    package func update(
        _ id: String,
        _ change: @Sendable (inout Account) -> Bool
    ) async throws(Failure) -> Account? {
        let key = self.key(of: id)
        for _ in 0..<SealedEntries.maxTries {
            guard let found = try await self.entries.entry(.account, key) else { return nil }
            var account = try self.account(in: found)
            guard change(&account) else { return nil }
            if try await self.entries.replace(found, .account, key, by: account.encoded) { return account }
        }
        throw SealedEntries.busy
    }

    /// Removes an account and its names; false if it does not exist.
    ///
    /// What stays of a name, as long as a link of a registration is valid, is that it was removed.
    package func remove(_ id: String) async throws(Failure) -> Bool {
        for _ in 0..<SealedEntries.maxTries {
            guard let found = try await self.entries.entry(.account, self.key(of: id)) else { return false }
            let names = try self.account(in: found).names
            // First, so that no link is valid between the two.
            for name in names { try await self.note(removalOf: name, from: id) }
            guard try await self.entries.remove(found) else { continue }
            return true
        }
        throw SealedEntries.busy
    }

    /// Whether no account has a name, and since a time none had it that was removed.
    package func isFree(_ name: AccountName, since time: Instant) async throws(Failure) -> Bool {
        guard let found = try await self.entries.entry(.accountName, self.key(of: name)) else { return true }
        let owner = try self.owner(in: found)
        guard owner.isRemoved else { return try await !self.isTaken(found, name) }
        return owner.since < time
    }

    private func note(removalOf name: AccountName, from id: String) async throws(Failure) {
        let now = self.clock.now
        let members: JSON = ["v": 1, "id": .string(id), "since": .int(now.seconds), "removed": true]
        let key = self.key(of: name)
        for _ in 0..<SealedEntries.maxTries {
            guard let known = try await self.entries.entry(.accountName, key), try self.owner(in: known).id == id
            else { return }
            let expires = now.advanced(by: RequestedLink.lifetime)
            if try await self.entries.replace(known, .accountName, key, by: members.encoded, until: expires) { return }
        }
        throw SealedEntries.busy
    }

    /// Some accounts of the provider, from a cursor on; an empty cursor is the start.
    ///
    /// - Returns: The accounts, and the number of entries that no secret of the gateway opens.
    package func page(
        from cursor: [UInt8],
        limit: Int
    ) async throws(Failure) -> (page: StorePage<Account>, unreadable: Int) {
        let (page, unreadable) = try await self.entries.page(.account, from: cursor, limit: limit)
        let accounts = page.items.compactMap { found -> Account? in
            guard let account = Account(encoded: found.plain) else { return nil }
            return found.entry.key == self.key(of: account.id) ? account : nil
        }
        return (StorePage(items: accounts, next: page.next), unreadable)
    }

    /// Takes a name for an account: a new one, or one whose account was never written.
    private func reserve(_ name: AccountName, for id: String) async throws(Failure) {
        let key = self.key(of: name)
        let known = try await self.entries.entry(.accountName, key)
        if let known, try await self.isTaken(known, name) { throw self.taken(name) }
        let members: JSON = ["v": 1, "id": .string(id), "since": .int(self.clock.now.seconds)]
        guard try await self.entries.replace(known, .accountName, key, by: members.encoded) else {
            throw self.taken(name)
        }
    }

    /// Whether the owner of a name may have an account with it: also one that is just being written.
    private func isTaken(_ known: SealedEntries.Opened, _ name: AccountName) async throws(Failure) -> Bool {
        let owner = try self.owner(in: known)
        guard !owner.isRemoved else { return false }
        guard self.clock.now.since(owner.since) >= AccountStore.creationTime else { return true }
        return try await self.account(owner.id)?.names.contains(name) ?? false
    }

    private func taken(_ name: AccountName) -> Failure {
        Failure(.accountNameTaken, "another account has \(PrintableText.escaped(name.text, limit: 100))")
    }

    private func owner(
        in found: SealedEntries.Opened
    ) throws(Failure) -> (id: String, since: Instant, isRemoved: Bool) {
        guard let json = try? JSON(parsing: found.plain, depth: 1), json["v"]?.integer == 1,
            let id = json["id"]?.string, let since = json["since"]?.integer
        else { throw SealedEntries.unreadable(.accountName) }
        return (id, Instant(seconds: since), json["removed"]?.bool ?? false)
    }

    private func account(in found: SealedEntries.Opened) throws(Failure) -> Account {
        guard let account = Account(encoded: found.plain) else { throw SealedEntries.unreadable(.account) }
        return account
    }

    private func key(of id: String) -> [UInt8] { accountDigest("account", "\(self.provider):\(id)".utf8) }

    private func key(of name: AccountName?) -> [UInt8] {
        accountDigest("account-name", "\(self.provider):\(name?.text ?? "")".utf8)
    }
}

/// SHA-256 of bytes for one use, so that hashes of different uses never coincide.
func accountDigest(_ use: String, _ bytes: some Sequence<UInt8>) -> [UInt8] {
    Array(SHA256.hash(data: Array("gatehouse/\(use)/".utf8) + Array(bytes)))
}
