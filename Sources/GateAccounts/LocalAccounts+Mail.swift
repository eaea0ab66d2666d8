// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProviders

// What users do by links that are sent to their email address.
extension LocalAccounts {
    /// How long the link is valid that a user asks for.
    package static let requestedLinkLifetime = Duration.seconds(3600)

    /// How long a link is valid that an operator makes.
    package var linkLifetime: Duration { self.settings.linkLifetime }

    /// Who may register; nil if only operators add accounts.
    package var registration: RegistrationSettings? { self.settings.registration }

    /// A link for the user of an email address to choose another password; the present one is valid until then, and the second
    /// factor stays.
    ///
    /// Only an address that is known to be the user's gets one: another could be that of a stranger.
    ///
    /// - Returns: The email address of the account, and the token of the link; nil if no account has the address, or not proven.
    /// - Throws: If the store is unavailable.
    package func recoveryLink(
        for address: EmailAddress
    ) async throws(Failure) -> (address: EmailAddress, token: String)? {
        guard let name = AccountName(address.description),
            let account = try await self.store.account(named: name)
        else { return nil }
        let lifetime = LocalAccounts.requestedLinkLifetime
        let made = self.newLink(for: account.id, verifiesEmail: true, lifetime: lifetime)
        let changed = try await self.store.update(account.id) { account in
            guard !account.isDisabled, account.isEmailVerified else { return false }
            account.recovery = made.link
            return true
        }
        return changed?.email.flatMap { EmailAddress($0) }.map { ($0, made.token) }
    }

    /// Whether an account has an email address.
    package func hasAccount(of address: EmailAddress) async throws(Failure) -> Bool {
        guard let name = AccountName(address.description) else { return false }
        return try await self.store.account(named: name) != nil
    }

    /// Whether the owner of an email address may register.
    package func admitsRegistration(of address: EmailAddress) -> Bool {
        self.registration?.domains.contains { isIdentical($0, address.domain) } ?? false
    }

    /// Adds the account of a user who has opened the link of a registration, which proves the email address.
    ///
    /// - Parameters:
    ///   - request: What the link has.
    ///   - typed: The password.
    /// - Returns: What became of it; `lost` if there is an account of the address by now, or the domain may not register any more.
    /// - Throws: If the store or the list of known passwords is unavailable.
    package func register(_ request: RegistrationRequest, password typed: String) async throws(Failure) -> ChangeResult
    {
        guard self.admitsRegistration(of: request.address), let name = AccountName(request.address.description) else {
            return .lost
        }
        var account = Account(id: LocalAccounts.uuid(from: self.random), created: self.clock.now)
        account.email = name.text
        account.isEmailVerified = true
        account.name = request.name
        account.groups = Set(self.registration?.groups ?? []).sorted()
        let password: Password
        switch try await self.accepted(typed, for: account) {
        case .success(let accepted): password = accepted
        case .failure(let unacceptable): return .unacceptable(unacceptable.finding)
        }
        self.set(try await self.services.workers.hash(password.secret), of: &account)
        do throws(Failure) {
            try await self.store.add(account)
        } catch {
            guard error.reason == .accountNameTaken else { throw error }
            return .lost
        }
        return .changed(account)
    }
}

/// What a user has typed to register, in the link that proves the email address; nothing is kept until it is used.
package struct RegistrationRequest: Sendable, Hashable {
    private static let purpose = "accounts/registration"
    /// The maximum length of a name, in characters.
    private static let maxName = 100

    /// The email address.
    package let address: EmailAddress
    /// The full name; nil if the user typed none.
    package let name: String?

    /// A request of these; a name is shortened, and left out if it has control characters.
    package init(_ address: EmailAddress, name: String?) {
        self.address = address
        let short = String((name ?? "").prefix(RegistrationRequest.maxName)).split(separator: " ").joined(
            separator: " "
        )
        self.name =
            !short.isEmpty && short.utf8.count <= Account.maxText && PrintableText.isPrintable(short) ? short : nil
    }

    /// Opens the token of a link; nil if it is of another provider, or over.
    package init?(_ token: String, of accounts: LocalAccounts) {
        guard let json = accounts.sealer.openMark(token, for: RegistrationRequest.purpose),
            json["provider"]?.string == accounts.provider,
            let address = json["email"]?.string.flatMap({ EmailAddress($0) }),
            let expires = json["expires"]?.integer, accounts.clock.now < Instant(seconds: expires)
        else { return nil }
        self.init(address, name: json["name"]?.string)
    }

    /// The token of the link.
    package func token(of accounts: LocalAccounts) -> String {
        let expires = accounts.clock.now.advanced(by: LocalAccounts.requestedLinkLifetime)
        var members: [String: JSON] = [
            "provider": .string(accounts.provider), "email": .string(self.address.description),
            "expires": .int(expires.seconds),
        ]
        members["name"] = self.name.map(JSON.string)
        return accounts.sealer.mark(members, for: RegistrationRequest.purpose)
    }
}
