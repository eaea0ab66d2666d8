// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import GateCore
package import GateSessions

/// The accounts of one provider in the store of the sessions, sealed with the gateway secret.
///
/// An account is one entry, and each of its names is another one that leads to it. Entries do not expire. Their keys are
/// hashes of the id and of the names: a copy of the store shows whether a known name has an account, and nothing else.
package struct AccountStore: Sendable {
    /// How often a change is tried while others change the same account.
    private static let maxTries = 8
    /// How long a name without its account is kept for the gateway that is creating it.
    private static let creationTime = Duration.seconds(60)

    let provider: String
    private let store: any SessionStore
    private let sealer: Sealer
    private let clock: WallClock

    /// The accounts of a provider.
    package init(of provider: String, in store: any SessionStore, sealer: Sealer, clock: WallClock) {
        (self.provider, self.store, self.sealer, self.clock) = (provider, store, sealer, clock)
    }

    /// The account with an id; nil if it does not exist, or if no secret of the gateway opens it.
    package func account(_ id: String) async throws(Failure) -> Account? {
        try await self.store.entry(.account, self.key(of: id), at: self.clock.now).flatMap(self.account)
    }

    /// The account of a name; nil if it does not exist.
    ///
    /// Makes the same number of calls in both cases.
    package func account(named name: AccountName?) async throws(Failure) -> Account? {
        let key = self.key(of: name)
        let entry = try await self.store.entry(.accountName, key, at: self.clock.now)
        let id = entry.flatMap { self.owner($0) }?.id
        guard let account = try await self.account(id ?? ""), let name, account.names.contains(name) else { return nil }
        return account
    }

    /// Adds an account with its names.
    ///
    /// - Throws: `account.name_taken` if another account has one of the names, or if the store is unavailable.
    package func add(_ account: Account) async throws(Failure) {
        for name in account.names { try await self.reserve(name, for: account.id) }
        guard try await self.store.replace(nil, by: self.entry(of: account), at: self.clock.now) else {
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
        for _ in 0..<AccountStore.maxTries {
            let now = self.clock.now
            guard let entry = try await self.store.entry(.account, self.key(of: id), at: now),
                var account = self.account(of: entry), change(&account)
            else { return nil }
            if try await self.store.replace(entry, by: self.entry(of: account), at: now) { return account }
        }
        throw Failure(.sessionStoreUnavailable, "other requests change the account all the time")
    }

    /// Removes an account and its names; false if it does not exist.
    package func remove(_ id: String) async throws(Failure) -> Bool {
        for _ in 0..<AccountStore.maxTries {
            let now = self.clock.now
            guard let entry = try await self.store.entry(.account, self.key(of: id), at: now) else { return false }
            guard try await self.store.replace(entry, by: AccountStore.ended(entry, at: now), at: now) else { continue }
            for name in self.account(of: entry)?.names ?? [] {
                guard let known = try await self.store.entry(.accountName, self.key(of: name), at: now),
                    self.owner(known)?.id == id
                else { continue }
                _ = try await self.store.replace(known, by: AccountStore.ended(known, at: now), at: now)
            }
            return true
        }
        throw Failure(.sessionStoreUnavailable, "other requests change the account all the time")
    }

    /// Some accounts of the provider, from a cursor on; an empty cursor is the start.
    ///
    /// - Returns: The accounts, and the number of entries that no secret of the gateway opens.
    package func page(
        from cursor: [UInt8],
        limit: Int
    ) async throws(Failure) -> (page: StorePage<Account>, unreadable: Int) {
        let page = try await self.store.entries(.account, from: cursor, limit: limit, at: self.clock.now)
        var (accounts, unreadable) = ([Account](), 0)
        for entry in page.items {
            guard let plain = self.sealer.open(entry.value, for: AccountStore.purpose(entry.key)) else {
                unreadable += 1
                continue
            }
            guard let account = Account(encoded: plain), entry.key == self.key(of: account.id) else { continue }
            accounts.append(account)
        }
        return (StorePage(items: accounts, next: page.next), unreadable)
    }

    /// Seals with the present gateway secret what is sealed with an earlier one, so that this can be removed.
    ///
    /// - Returns: The number of entries that were sealed again.
    package func sealAgain() async throws(Failure) -> Int {
        var count = 0
        for kind in [StoreEntry.Kind.account, .accountName] {
            var cursor: [UInt8]? = []
            while let from = cursor {
                let now = self.clock.now
                let page = try await self.store.entries(kind, from: from, limit: 200, at: now)
                for entry in page.items where !self.sealer.sealsWithSecret(of: entry.value) {
                    let purpose = AccountStore.purpose(entry.key)
                    guard let plain = self.sealer.open(entry.value, for: purpose) else { continue }
                    var next = entry
                    next.value = self.sealer.seal(plain, for: purpose)
                    if try await self.store.replace(entry, by: next, at: now) { count += 1 }
                }
                cursor = page.next
            }
        }
        return count
    }

    /// Takes a name for an account: a new one, or one whose account was never written.
    private func reserve(_ name: AccountName, for id: String) async throws(Failure) {
        let (key, now) = (self.key(of: name), self.clock.now)
        let known = try await self.store.entry(.accountName, key, at: now)
        if let known, try await self.isTaken(known, name, at: now) { throw self.taken(name) }
        let members: JSON = ["v": 1, "id": .string(id), "since": .int(now.seconds)]
        let entry = StoreEntry(
            kind: .accountName,
            key: key,
            value: self.sealer.seal(members.encoded, for: AccountStore.purpose(key)),
            expires: StoreEntry.never
        )
        guard try await self.store.replace(known, by: entry, at: now) else { throw self.taken(name) }
    }

    /// Whether the owner of a name may have an account with it: also one that is just being written, or cannot be read.
    private func isTaken(_ entry: StoreEntry, _ name: AccountName, at now: Instant) async throws(Failure) -> Bool {
        guard let owner = self.owner(entry), now.since(owner.since) >= AccountStore.creationTime else { return true }
        guard let found = try await self.store.entry(.account, self.key(of: owner.id), at: now) else { return false }
        return self.account(of: found)?.names.contains(name) ?? true
    }

    private func taken(_ name: AccountName) -> Failure {
        Failure(.accountNameTaken, "another account has \(PrintableText.escaped(name.text, limit: 100))")
    }

    private func owner(_ entry: StoreEntry) -> (id: String, since: Instant)? {
        guard let plain = self.sealer.open(entry.value, for: AccountStore.purpose(entry.key)),
            let json = try? JSON(parsing: plain, depth: 1), json["v"]?.integer == 1, let id = json["id"]?.string,
            let since = json["since"]?.integer
        else { return nil }
        return (id, Instant(seconds: since))
    }

    private func account(of entry: StoreEntry) -> Account? {
        self.sealer.open(entry.value, for: AccountStore.purpose(entry.key)).flatMap { Account(encoded: $0) }
    }

    private func entry(of account: Account) -> StoreEntry {
        let key = self.key(of: account.id)
        return StoreEntry(
            kind: .account,
            key: key,
            value: self.sealer.seal(account.encoded, for: AccountStore.purpose(key)),
            expires: StoreEntry.never
        )
    }

    /// What replaces an entry that is removed.
    private static func ended(_ entry: StoreEntry, at now: Instant) -> StoreEntry {
        StoreEntry(kind: entry.kind, key: entry.key, value: [], expires: now)
    }

    private func key(of id: String) -> [UInt8] { accountDigest("account", "\(self.provider):\(id)".utf8) }

    private func key(of name: AccountName?) -> [UInt8] {
        accountDigest("account-name", "\(self.provider):\(name?.text ?? "")".utf8)
    }

    /// The purpose of seals; it has the key, so that entries cannot be swapped in the store.
    private static func purpose(_ key: [UInt8]) -> String { "account/\(Base64URL.encode(key))" }
}

/// SHA-256 of bytes for one use, so that hashes of different uses never coincide.
func accountDigest(_ use: String, _ bytes: some Sequence<UInt8>) -> [UInt8] {
    Array(SHA256.hash(data: Array("gatehouse/\(use)/".utf8) + Array(bytes)))
}
