// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GatePasskeys
package import GateSessions

/// The passkeys of the users of all providers: how they are added, used and removed.
///
/// A passkey belongs to a user key. Users of local accounts sign in with it; those of other providers use it beside their sign-in,
/// for rules with `authenticated: passkey`.
package struct Passkeys: Sendable {
    /// For whom passkeys are.
    package let relyingParty: PasskeyRelyingParty
    private let entries: SealedEntries
    private let clock: WallClock
    private let random: RandomBytes

    /// The passkeys in a store.
    ///
    /// - Parameters:
    ///   - relyingParty: For whom passkeys are.
    ///   - entries: Where they are kept.
    ///   - clock: The time.
    ///   - random: The source of user handles.
    package init(_ relyingParty: PasskeyRelyingParty, in entries: SealedEntries, clock: WallClock, random: RandomBytes)
    {
        (self.relyingParty, self.entries, self.clock, self.random) = (relyingParty, entries, clock, random)
    }

    /// The passkeys of a user.
    ///
    /// - Throws: `account.unreadable` if they cannot be read, or if the store is unavailable.
    package func passkeys(of user: String) async throws(Failure) -> UserPasskeys? {
        try await self.stored(user)?.passkeys
    }

    /// Users with passkeys, from a cursor on, and the number of entries that no secret of the gateway opens.
    package func page(
        from cursor: [UInt8],
        limit: Int
    ) async throws(Failure) -> (page: StorePage<UserPasskeys>, unreadable: Int) {
        let (page, unreadable) = try await self.entries.page(.passkeys, from: cursor, limit: limit)
        let users = page.items.compactMap { UserPasskeys(encoded: $0.plain) }
        let damaged = page.items.count - users.count
        return (StorePage(items: users.filter { !$0.all.isEmpty }, next: page.next), unreadable + damaged)
    }

    // MARK: Changes

    /// The user handle for the first passkey of a user: that of a local account names it, all others are random.
    package func newHandle(of profile: Profile, isLocal: Bool) -> [UInt8] {
        (isLocal ? LocalAccounts.handle(of: profile.subject) : nil) ?? self.random.bytes(32)
    }

    /// Adds a passkey.
    ///
    /// That no other user has a passkey of this id (WebAuthn §7.1, step 26) is not checked: a passkey is only ever looked for among
    /// those of the user whom the session or the user handle names, so a copy of an id gives no access to another user.
    ///
    /// - Parameters:
    ///   - response: What the browser returned.
    ///   - registration: What it was asked for.
    ///   - name: The user's name for the passkey.
    ///   - user: The user key.
    ///   - handle: The user handle that it was asked with.
    /// - Returns: All passkeys of the user.
    /// - Throws: `passkey.rejected` if the response breaks a rule, `passkey.conflict` for one passkey too many or one added at
    ///   the same time, or if the store is unavailable.
    package func add(
        _ response: JSON,
        to registration: PasskeyRegistration,
        name: String,
        user: String,
        handle: [UInt8]
    ) async throws(Failure) -> UserPasskeys {
        let passkey: Passkey
        do throws(PasskeyError) {
            passkey = try registration.passkey(from: response, name: name)
        } catch {
            throw Failure(.passkeyRejected, "\(user): \(error.message)")
        }
        let now = self.clock.now
        return try await self.change(user, orNew: handle) { passkeys throws(Failure) in
            guard passkeys.handle == handle else {
                throw Failure(.passkeyConflict, "\(user) has added another first passkey meanwhile")
            }
            guard passkeys.all.count < UserPasskeys.maxCount else {
                throw Failure(.passkeyConflict, "\(user) has \(passkeys.all.count) passkeys; that is the limit")
            }
            guard passkeys.passkey(passkey.id) == nil else {
                throw Failure(.passkeyConflict, "\(user) has this passkey already")
            }
            passkeys.all.append(SavedPasskey(passkey: passkey, added: now))
        }
    }

    /// Verifies the use of a passkey and saves its counter.
    ///
    /// - Parameters:
    ///   - response: What the browser returned.
    ///   - assertion: What it was asked for.
    ///   - user: The user key.
    /// - Returns: The passkey.
    /// - Throws: `passkey.rejected` or `passkey.cloned`, or if the store is unavailable.
    package func use(
        _ response: PasskeyAssertion.Response,
        for assertion: PasskeyAssertion,
        user: String
    ) async throws(Failure) -> SavedPasskey {
        let now = self.clock.now
        let changed = try await self.change(user, orNew: nil) { passkeys throws(Failure) in
            guard let index = passkeys.all.firstIndex(where: { $0.passkey.id == response.credentialID }) else {
                throw Failure(.passkeyRejected, "\(user) has no such passkey, or not any more")
            }
            do throws(PasskeyError) {
                let known = passkeys.all[index].passkey
                let proof = try assertion.proof(in: response, of: known, userID: passkeys.handle)
                passkeys.all[index].passkey = proof.passkey
                passkeys.all[index].used = now
            } catch {
                if case .clonedAuthenticator = error {
                    throw Failure(.passkeyCloned, "\(user), '\(passkeys.all[index].passkey.name)': \(error.message)")
                }
                throw Failure(.passkeyRejected, "\(user): \(error.message)")
            }
        }
        guard let used = changed.passkey(response.credentialID) else {
            throw Failure(.passkeyRejected, "\(user) has no such passkey")
        }
        return used
    }

    /// Removes a passkey of a user.
    ///
    /// - Returns: The one that was removed; nil if the user has no such passkey.
    package func remove(_ id: String, of user: String) async throws(Failure) -> SavedPasskey? {
        for _ in 0..<SealedEntries.maxTries {
            guard let (known, stored) = try await self.stored(user),
                let index = stored.all.firstIndex(where: { $0.id == id })
            else { return nil }
            var passkeys = stored
            let removed = passkeys.all.remove(at: index)
            // The handle stays, so that authenticators replace what they have of the user.
            if try await self.entries.replace(known, .passkeys, Passkeys.key(of: user), by: passkeys.encoded) {
                return removed
            }
        }
        throw SealedEntries.busy
    }

    /// Removes all passkeys of a user, also those that cannot be read; false if the user has none.
    package func removeAll(of user: String) async throws(Failure) -> Bool {
        let known = try? await self.passkeys(of: user)
        let isErased = try await self.entries.erase(.passkeys, Passkeys.key(of: user))
        return isErased && !(known?.all.isEmpty ?? false)
    }

    private func change(
        _ user: String,
        orNew handle: [UInt8]?,
        _ change: @Sendable (inout UserPasskeys) throws(Failure) -> Void
    ) async throws(Failure) -> UserPasskeys {
        for _ in 0..<SealedEntries.maxTries {
            let stored = try await self.stored(user)
            guard var passkeys = stored?.passkeys ?? handle.map({ UserPasskeys(user: user, handle: $0) }) else {
                throw Failure(.passkeyRejected, "\(user) has no passkeys")
            }
            try change(&passkeys)
            let key = Passkeys.key(of: user)
            if try await self.entries.replace(stored?.known, .passkeys, key, by: passkeys.encoded) { return passkeys }
        }
        throw SealedEntries.busy
    }

    private func stored(
        _ user: String
    ) async throws(Failure) -> (known: SealedEntries.Opened, passkeys: UserPasskeys)? {
        guard let known = try await self.entries.entry(.passkeys, Passkeys.key(of: user)) else { return nil }
        guard let passkeys = UserPasskeys(encoded: known.plain), isIdentical(passkeys.user, user) else {
            throw SealedEntries.unreadable(.passkeys)
        }
        return (known, passkeys)
    }

    private static func key(of user: String) -> [UInt8] { accountDigest("passkeys", user.utf8) }
}

// MARK: Sign-ins with local accounts

extension LocalAccounts {
    /// The user handle of an account: the bytes of its id, by which a passkey leads to it; nil for a text that is not an id.
    static func handle(of id: String) -> [UInt8]? {
        let digits = id.utf8.filter { $0 != UInt8(ascii: "-") }
        guard id.utf8.count == 36, digits.count == 32 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: 32, by: 2) {
            let pair = String(decoding: digits[index..<(index + 2)], as: UTF8.self)
            guard let byte = UInt8(pair, radix: 16) else { return nil }
            bytes.append(byte)
        }
        return self.id(of: bytes) == id ? bytes : nil
    }

    private static func id(of handle: [UInt8]) -> String? {
        guard handle.count == 16 else { return nil }
        let digits = handle.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return [digits[0..<4], digits[4..<6], digits[6..<8], digits[8..<10], digits[10..<16]].map { $0.joined() }
            .joined(separator: "-")
    }

    /// Signs the user of a passkey in: the response names the account, and verifies it.
    ///
    /// No code is asked for: the device has verified the user, so a passkey is two factors.
    ///
    /// - Parameters:
    ///   - response: What the browser returned.
    ///   - passkeys: The passkeys of the gateway.
    ///   - challenge: The challenge of the sign-in.
    /// - Returns: The account and its passkey.
    /// - Throws: `passkey.rejected` or `passkey.cloned`, or if the store is unavailable.
    package func account(
        ofPasskey response: PasskeyAssertion.Response,
        in passkeys: Passkeys,
        challenge: PasskeyChallenge
    ) async throws(Failure) -> (account: Account, passkey: SavedPasskey) {
        guard let id = response.userHandle.flatMap({ LocalAccounts.id(of: $0) }),
            let account = try await self.store.account(id)
        else { throw Failure(.passkeyRejected, "the passkey names no account of \(self.provider)") }
        let user = "\(self.provider):\(id)"
        guard !account.isDisabled else { throw Failure(.passkeyRejected, "\(user) is disabled") }
        let assertion = PasskeyAssertion(passkeys.relyingParty, challenge: challenge)
        return (account, try await passkeys.use(response, for: assertion, user: user))
    }
}
