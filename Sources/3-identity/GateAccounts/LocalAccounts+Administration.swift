// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What an operator writes about an account.
package struct AccountDraft: Sendable {
    /// The email address.
    package var email: String?
    /// Whether the operator asserts that the email address is the user's.
    package var isEmailVerified = false
    /// The user name.
    package var username: String?
    /// The full name.
    package var name: String?
    package var groups: [String] = []
    /// The hash of the password, of another system.
    package var password: String?

    /// A draft of nothing.
    package init() {}
}

/// Why an account cannot be as an operator has written it.
package struct AccountRejection: Error, Sendable, CustomStringConvertible {
    /// What is wrong, and what to do.
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

// What operators do.
extension LocalAccounts {
    /// Adds an account: with the hash of a password, or with a link by which its user chooses one.
    ///
    /// - Parameters:
    ///   - draft: The account.
    ///   - linkVerifiesEmail: Whether the use of the link proves the email address.
    /// - Returns: The account, and the token of the link unless there is a hash.
    /// - Throws: An `AccountRejection` about the draft, or a `Failure`.
    package func add(
        _ draft: AccountDraft,
        linkVerifiesEmail: Bool
    ) async throws -> (account: Account, token: String?) {
        var account = try self.account(of: draft)
        var token: String?
        if let text = draft.password {
            guard let hash = PasswordHash(phc: text) else {
                throw AccountRejection(
                    "'password' is not an Argon2id hash such as $argon2id$v=19$m=19456,t=2,p=1$SALT$HASH"
                )
            }
            account.password = hash
            account.passwordChanged = self.clock.now
        } else {
            let made = self.newLink(for: account.id, verifiesEmail: linkVerifiesEmail)
            (account.link, token) = (made.link, made.token)
        }
        try await self.store.add(account)
        return (account, token)
    }

    /// Finds an account by its id, its user key, its email address or its user name.
    package func account(called text: String) async throws(Failure) -> Account? {
        let prefix = "\(self.provider):"
        let id = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
        if let account = try await self.store.account(id) { return account }
        guard let name = AccountName(text) else { return nil }
        return try await self.store.account(named: name)
    }

    /// Disables or enables an account; nil if it does not exist.
    package func setDisabled(_ isDisabled: Bool, _ id: String) async throws(Failure) -> Account? {
        try await self.store.update(id) { account in
            account.isDisabled = isDisabled
            if isDisabled { (account.link, account.recovery) = (nil, []) }
            account.generation += 1
            return true
        }
    }

    /// Replaces the name and the groups of an account; what is nil stays; nil if there is no account.
    package func setFacts(_ id: String, name: String?, groups: [String]?) async throws -> Account? {
        let name = try name.map { try LocalAccounts.text($0, "name") }
        let groups = try groups.map { try LocalAccounts.groups($0) }
        return try await self.store.update(id) { account in
            if let name { account.name = name }
            if let groups { account.groups = groups }
            return true
        }
    }

    private func account(of draft: AccountDraft) throws -> Account {
        var account = Account(id: LocalAccounts.uuid(from: self.random), created: self.clock.now)
        if let text = draft.email {
            guard case .email(let email)? = AccountName(text) else {
                throw AccountRejection("'email' is not an email address")
            }
            account.email = email
            account.isEmailVerified = draft.isEmailVerified
        }
        if let text = draft.username {
            guard case .username(let username)? = AccountName(text) else {
                throw AccountRejection(
                    "'username' is not 1 to 64 of a-z, 0-9, '.', '_' and '-' after a letter or digit"
                )
            }
            account.username = username
        }
        guard !account.names.isEmpty else { throw AccountRejection("an account needs 'email' or 'username'") }
        account.name = try draft.name.map { try LocalAccounts.text($0, "name") }
        account.groups = try LocalAccounts.groups(draft.groups)
        return account
    }

    private static func groups(_ list: [String]) throws -> [String] {
        guard list.count <= Account.maxGroups else {
            throw AccountRejection("an account has at most \(Account.maxGroups) groups")
        }
        return Set(try list.map { try self.text($0, "group") }).sorted()
    }

    private static func text(_ text: String, _ what: String) throws -> String {
        guard self.isName(text) else {
            throw AccountRejection(
                "'\(what)' is not a printable text of 1 to \(Account.maxText) bytes with a visible character"
            )
        }
        return text
    }

    /// Whether a text can name a user or a group.
    static func isName(_ text: String) -> Bool {
        text.utf8.count <= Account.maxText && PrintableText.isPrintable(text) && PrintableText.isVisible(text)
    }

    /// A random UUID, RFC 9562 §5.4.
    static func uuid(from random: RandomBytes) -> String {
        var bytes = random.bytes(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let text = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        var parts: [Substring] = []
        var rest = text[...]
        for length in [8, 4, 4, 4, 12] {
            parts.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return parts.joined(separator: "-")
    }
}
