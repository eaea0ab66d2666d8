// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateProviders

// Links by which users choose a password, changes of the password, and the second factor.
extension LocalAccounts {
    /// What became of a new password.
    package enum ChangeResult: Sendable {
        /// It is in force.
        case changed(Account)
        /// A rule does not accept it.
        case unacceptable(PasswordRules.Finding)
        /// The current password is another one.
        case wrongPassword
        /// The code is not the present one.
        case wrongCode
        /// There were too many attempts.
        case tooMany(Duration)
        /// The account has changed meanwhile, or ended.
        case lost
    }

    // MARK: Links

    /// The account that a link is for; nil if the link is not, or no longer, one of this gateway.
    package func account(ofLink token: String) async throws(Failure) -> Account? {
        guard let parts = LocalAccounts.parts(ofLink: token), let account = try await self.store.account(parts.id)
        else { return nil }
        return self.link(of: account, parts.hash) == nil ? nil : account
    }

    /// Uses a link to choose a password; the second factor stays, unless the link is to remove it as well.
    ///
    /// - Parameters:
    ///   - typed: The new password.
    ///   - token: The link.
    ///   - client: The IP of the client.
    /// - Returns: What became of it.
    /// - Throws: `account.busy`, or if the store or the list of known passwords is unavailable.
    package func choose(
        _ typed: String,
        byLink token: String,
        from client: IPAddress?
    ) async throws(Failure) -> ChangeResult {
        guard let parts = LocalAccounts.parts(ofLink: token), let account = try await self.store.account(parts.id),
            self.link(of: account, parts.hash) != nil
        else { return .lost }
        let password: Password
        switch try await self.accepted(typed, for: account, from: client) {
        case .success(let accepted): password = accepted
        case .failure(let unacceptable): return .unacceptable(unacceptable.finding)
        }
        let hash = try await self.services.workers.hash(password.secret, from: client)
        let changed = try await self.store.update(account.id) { account in
            guard let link = self.link(of: account, parts.hash) else { return false }
            if link.verifiesEmail, account.email != nil { account.isEmailVerified = true }
            (account.link, account.recovery) = (nil, [])
            self.set(hash, of: &account)
            return true
        }
        return changed.map { .changed($0) } ?? .lost
    }

    /// A new link for an account, which ends the one before; the account has no password until it is used.
    ///
    /// - Parameters:
    ///   - id: The account.
    ///   - verifiesEmail: Whether its use proves the email address.
    ///   - removesCodes: Whether the second factor is removed.
    /// - Returns: The account and the token of the link; nil if there is no such account.
    /// - Throws: If the store is unavailable.
    package func reset(
        _ id: String,
        verifiesEmail: Bool,
        removesCodes: Bool
    ) async throws(Failure) -> (account: Account, token: String)? {
        let made = self.newLink(for: id, verifiesEmail: verifiesEmail)
        let changed = try await self.store.update(id) { account in
            account.password = nil
            (account.link, account.recovery) = (made.link, [])
            // What goes another way is not for the owner of that mailbox.
            if !verifiesEmail { account.isEmailVerified = false }
            if removesCodes { account.codes = nil }
            account.generation += 1
            return true
        }
        return changed.map { ($0, made.token) }
    }

    /// A link for an account, and its token: the id and 256 random bits.
    func newLink(
        for id: String,
        verifiesEmail: Bool,
        lifetime: Duration? = nil
    ) -> (link: AccountLink, token: String) {
        let secret = self.random.token(32)
        let link = AccountLink(
            hash: LocalAccounts.hash(ofLink: secret, id),
            expires: self.clock.now.advanced(by: lifetime ?? self.settings.linkLifetime),
            verifiesEmail: verifiesEmail
        )
        return (link, "\(id).\(secret)")
    }

    /// The link of an account that has a hash, as long as it is valid.
    private func link(of account: Account, _ hash: [UInt8]) -> AccountLink? {
        guard !account.isDisabled else { return nil }
        return ([account.link].compactMap(\.self) + account.recovery).first {
            self.clock.now < $0.expires && constantTimeEquals($0.hash, hash)
        }
    }

    private static func parts(ofLink token: String) -> (id: String, hash: [UInt8])? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard token.utf8.count == 80, parts.count == 2, parts[0].utf8.count == 36, parts[1].utf8.count == 43 else {
            return nil
        }
        return (parts[0], self.hash(ofLink: parts[1], parts[0]))
    }

    private static func hash(ofLink secret: String, _ id: String) -> [UInt8] {
        accountDigest("account-link", "\(id):\(secret)".utf8)
    }

    // MARK: Changes by the user

    /// Changes the password of a user who knows the present one.
    package func change(
        _ id: String,
        from current: String,
        to new: String,
        origin: Origin
    ) async throws(Failure) -> ChangeResult {
        guard let account = try await self.store.account(id), !account.isDisabled else { return .lost }
        if let other = try await self.failure(of: current, account, origin) { return other }
        let password: Password
        switch try await self.accepted(new, for: account, from: origin.client) {
        case .success(let accepted): password = accepted
        case .failure(let unacceptable): return .unacceptable(unacceptable.finding)
        }
        let (old, hash) = (account.password, try await self.services.workers.hash(password.secret, from: origin.client))
        let changed = try await self.store.update(id) { account in
            guard account.password == old, !account.isDisabled else { return false }
            self.set(hash, of: &account)
            return true
        }
        return changed.map { .changed($0) } ?? .lost
    }

    /// Adds the second factor, once the user has typed the password and a first code.
    ///
    /// - Parameters:
    ///   - id: The account.
    ///   - enrolment: The secret.
    ///   - current: The password.
    ///   - code: The code.
    ///   - origin: Where it comes from.
    /// - Returns: What became of it, and the recovery codes if it is in force.
    /// - Throws: If the store is unavailable.
    package func addCodes(
        _ id: String,
        _ enrolment: EnrolmentSecret,
        password current: String,
        code: String,
        origin: Origin
    ) async throws(Failure) -> (result: ChangeResult, recovery: [String]) {
        guard let account = try await self.store.account(id), !account.isDisabled, account.codes == nil else {
            return (.lost, [])
        }
        if let other = try await self.failure(of: current, account, origin) { return (other, []) }
        guard let step = TimeCode.step(of: code, enrolment.secret, at: self.clock.now, after: 0) else {
            return (.wrongCode, [])
        }
        let recovery = RecoveryCode.make(from: self.random)
        let codes = SecondFactor(
            secret: enrolment.secret,
            lastStep: step,
            recovery: recovery.compactMap { RecoveryCode.hash(of: $0, account: id) }
        )
        let known = account.generation
        let changed = try await self.store.update(id) { account in
            guard account.codes == nil, !account.isDisabled, account.generation == known else { return false }
            account.codes = codes
            account.recovery = []
            account.generation += 1
            return true
        }
        return changed.map { (.changed($0), recovery) } ?? (.lost, [])
    }

    /// Removes the second factor, once the user has typed the password and a code: who has only a session and the password
    /// does not have the factor.
    package func removeCodes(
        _ id: String,
        password current: String,
        code: String,
        origin: Origin
    ) async throws(Failure) -> ChangeResult {
        guard let account = try await self.store.account(id), !account.isDisabled else { return .lost }
        if let other = try await self.failure(of: current, account, origin) { return other }
        switch try await self.check(code: code, of: account, from: origin) {
        case .admitted: break
        case .tooMany(let wait): return .tooMany(wait)
        case .needsCode, .rejected: return .wrongCode
        }
        return try await self.withoutCodes(id, at: account.generation).map { .changed($0) } ?? .lost
    }

    /// Removes the second factor of an account; nil if there is no such account, or not with these credentials any more.
    package func withoutCodes(_ id: String, at generation: Int64? = nil) async throws(Failure) -> Account? {
        try await self.store.update(id) { account in
            guard generation ?? account.generation == account.generation else { return false }
            account.codes = nil
            account.recovery = []
            account.generation += 1
            return true
        }
    }

    /// Checks the present password of a signed-in user, with the limits of a sign-in; nil if it is right.
    private func failure(
        of current: String,
        _ account: Account,
        _ origin: Origin
    ) async throws(Failure) -> ChangeResult? {
        guard let name = account.names.first else { return .lost }
        switch try await self.check(name.text, current, from: origin) {
        case .admitted(let known), .needsCode(let known): return known.id == account.id ? nil : .wrongPassword
        case .rejected: return .wrongPassword
        case .tooMany(let wait): return .tooMany(wait)
        }
    }

    struct Unacceptable: Error {
        let finding: PasswordRules.Finding
    }

    /// The password that a user has typed, if the rules accept it.
    func accepted(
        _ typed: String,
        for account: Account,
        from client: IPAddress?
    ) async throws(Failure) -> Result<Password, Unacceptable> {
        guard let password = Password(typed) else { return .failure(Unacceptable(finding: .long)) }
        let rules = self.rules
        let finding = try await self.services.workers.run(for: client) {
            () -> Result<PasswordRules.Finding?, Failure> in
            do throws(Failure) {
                return .success(try rules.finding(about: password, of: account))
            } catch {
                return .failure(error)
            }
        }.get()
        return finding.map { .failure(Unacceptable(finding: $0)) } ?? .success(password)
    }

    func set(_ hash: PasswordHash, of account: inout Account) {
        account.password = hash
        account.passwordChanged = self.clock.now
        account.recovery = []
        account.generation += 1
    }
}
