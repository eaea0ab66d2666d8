// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProviders

// What users do by links that are sent to their email address.
extension LocalAccounts {
    /// How long a link is valid that an operator makes.
    package var linkLifetime: Duration { self.settings.linkLifetime }

    /// Who may register; nil if only operators add accounts.
    package var registration: RegistrationSettings? { self.settings.registration }

    /// How many links of a user are valid at a time, so that a further request does not void the last ones.
    private static let maxRecoveryLinks = 5

    /// The email address of the account that may get a link to choose another password; nil if no account has the address, or not
    /// proven: another could be that of a stranger.
    ///
    /// - Throws: If the store is unavailable.
    package func recoverableAddress(_ address: EmailAddress) async throws(Failure) -> EmailAddress? {
        guard let name = AccountName(address.description),
            let account = try await self.store.account(named: name), self.isRecoverable(account)
        else { return nil }
        return account.email.flatMap { EmailAddress($0) }
    }

    /// An operator who has just reset the account may have made the link for another way.
    private func isRecoverable(_ account: Account) -> Bool {
        let isReset = account.link.map { self.clock.now < $0.expires } ?? false
        return !account.isDisabled && account.isEmailVerified && !isReset
    }

    /// A link for the user of an email address to choose another password; the present one is valid until then, and the second
    /// factor stays.
    ///
    /// - Returns: The token of the link; nil if the address may not get one by now.
    /// - Throws: If the store is unavailable.
    package func recoveryLink(for address: EmailAddress) async throws(Failure) -> String? {
        guard let name = AccountName(address.description),
            let account = try await self.store.account(named: name)
        else { return nil }
        let lifetime = RequestedLink.lifetime
        let made = self.newLink(for: account.id, verifiesEmail: true, lifetime: lifetime)
        let now = self.clock.now
        let changed = try await self.store.update(account.id) { account in
            guard self.isRecoverable(account) else { return false }
            let valid = account.recovery.filter { now < $0.expires }
            account.recovery = valid.suffix(LocalAccounts.maxRecoveryLinks - 1) + [made.link]
            return true
        }
        return changed.map { _ in made.token }
    }

    package func hasAccount(of address: EmailAddress) async throws(Failure) -> Bool {
        guard let name = AccountName(address.description) else { return false }
        return try await self.store.account(named: name) != nil
    }

    /// Whether the owner of an email address may register.
    package func admitsRegistration(of address: EmailAddress) -> Bool {
        guard LocalAccounts.isPlain(address.local) else { return false }
        return self.registration?.domains.contains { isIdentical($0, address.domain) } ?? false
    }

    /// Whether no mail server reads the part before the `@` as a route to another domain, such as `user%other.example` or
    /// `other.example!user`.
    private static func isPlain(_ local: String) -> Bool {
        let isPlain = local.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || "._+-'".utf8.contains(byte)
        }
        return isPlain && !local.hasPrefix(".") && !local.hasPrefix("-")
    }

    /// Whether the link of a registration still leads to an account: the domain may register, and no account of the address
    /// was removed since it was made.
    ///
    /// - Throws: If the store is unavailable.
    package func isOpen(_ request: RegistrationRequest) async throws(Failure) -> Bool {
        guard self.admitsRegistration(of: request.address), let name = AccountName(request.address.description) else {
            return false
        }
        return try await self.store.isFree(name, since: request.issued)
    }

    /// Adds the account of a user who has opened the link of a registration, which proves the email address.
    ///
    /// - Parameters:
    ///   - request: What the link has.
    ///   - typed: The full name that the user has typed; empty for none.
    ///   - password: The password.
    ///   - client: The IP of the client.
    /// - Returns: What became of it; `lost` if the link leads to no account any more.
    /// - Throws: `account.busy`, or if the store or the list of known passwords is unavailable.
    package func register(
        _ request: RegistrationRequest,
        name typed: String,
        password: String,
        from client: IPAddress?
    ) async throws(Failure) -> ChangeResult {
        // First, so that a link costs no hash once it was used.
        guard try await self.isOpen(request), let name = AccountName(request.address.description) else { return .lost }
        var account = Account(id: LocalAccounts.uuid(from: self.random), created: self.clock.now)
        account.email = name.text
        account.isEmailVerified = true
        account.name = RegistrationRequest.name(typed)
        account.groups = Set(self.registration?.groups ?? []).sorted()
        let accepted: Password
        switch try await self.accepted(password, for: account, from: client) {
        case .success(let password): accepted = password
        case .failure(let unacceptable): return .unacceptable(unacceptable.finding)
        }
        self.set(try await self.services.workers.hash(accepted.secret, from: client), of: &account)
        // An operator may have removed the account of another link meanwhile.
        guard try await self.isOpen(request) else { return .lost }
        do throws(Failure) {
            try await self.store.add(account)
        } catch {
            guard error.reason == .accountNameTaken else { throw error }
            return .lost
        }
        return .changed(account)
    }
}

/// The request to register, in the link that proves the email address; nothing is kept until it is used.
package struct RegistrationRequest: Sendable, Hashable {
    private static let purpose = "accounts/registration"
    /// The maximum length of a name, in characters.
    private static let maxName = 100

    package let address: EmailAddress
    /// The full name that an app proposes, which the user sees before it is used; nil for none.
    package let name: String?
    /// When the link was made.
    let issued: Instant

    /// A request of these, made now.
    package init(_ address: EmailAddress, name: String?, at accounts: LocalAccounts) {
        self.init(address, name: name.flatMap { RegistrationRequest.name($0) }, issued: accounts.clock.now)
    }

    private init(_ address: EmailAddress, name: String?, issued: Instant) {
        (self.address, self.name, self.issued) = (address, name, issued)
    }

    /// A name that was typed: shortened; nil if it has a control character, or none that can be seen.
    static func name(_ typed: String) -> String? {
        let short = String(typed.prefix(RegistrationRequest.maxName)).split(separator: " ").joined(separator: " ")
        return LocalAccounts.isName(short) ? short : nil
    }

    /// Opens the token of a link; nil if it is of another provider, or over.
    package init?(_ token: String, of accounts: LocalAccounts) {
        guard let json = accounts.sealer.openMark(token, for: RegistrationRequest.purpose),
            json["provider"]?.string == accounts.provider,
            let address = json["email"]?.string.flatMap({ EmailAddress($0) }),
            let expires = json["expires"]?.integer, accounts.clock.now < Instant(seconds: expires)
        else { return nil }
        let issued = Instant(seconds: expires).advanced(by: .zero - RequestedLink.lifetime)
        self.init(address, name: json["name"]?.string, issued: issued)
    }

    /// The token of the link.
    package func token(of accounts: LocalAccounts) -> String {
        let expires = self.issued.advanced(by: RequestedLink.lifetime)
        var members: [String: JSON] = [
            "provider": .string(accounts.provider), "email": .string(self.address.description),
            "expires": .int(expires.seconds),
        ]
        members["name"] = self.name.map(JSON.string)
        return accounts.sealer.mark(members, for: RegistrationRequest.purpose)
    }
}
