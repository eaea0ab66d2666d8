// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateConfiguration
internal import GateCore
internal import GateMail
internal import GateOperations
internal import GatePages
internal import GateRuntime
internal import GateSessions

// The local accounts, as operators list and change them.
extension OperationsAPI {
    /// What an operator does to an account.
    private enum Change: String, CaseIterable {
        case disable
        case enable
        case reset
        case remove
        case removeCodes = "remove_codes"
        case set

        /// Whether the sessions of the user end.
        var endsSessions: Bool { [.disable, .reset, .remove].contains(self) }

        /// Whether the passkeys and the connected accounts of the user go as well: what a thief has added must not outlive a reset.
        var removesAccess: Bool { [.reset, .remove].contains(self) }
    }

    /// `GET /v1/accounts`: the local accounts of a provider, or the one with a name.
    func accounts(_ parameters: inout OperationsParameters) async throws -> JSON {
        let accounts = try self.accounts(named: try parameters.text("provider"))
        let name = try parameters.text("account")
        let limit = Int(try parameters.number("limit", 1...1000) ?? OperationsAPI.standardLimit)
        let cursor = try parameters.cursor()
        try parameters.end()
        if let name {
            let found = try await accounts.account(called: name)
            return ["accounts": .array(found.map { [OperationsAPI.json($0, accounts)] } ?? []), "unreadable": 0]
        }
        let (page, unreadable) = try await accounts.store.page(from: cursor, limit: limit)
        return [
            "accounts": .array(page.items.map { OperationsAPI.json($0, accounts) }),
            "unreadable": .int(Int64(unreadable)), "next": JSON(cursor: page.next),
        ]
    }

    /// `POST /v1/accounts/add`: adds an account, with a link by which its user chooses a password.
    func addAccount(_ parameters: inout OperationsParameters, by caller: OperationsCaller) async throws -> JSON {
        let accounts = try self.accounts(named: try parameters.text("provider"))
        var draft = AccountDraft()
        draft.email = try parameters.text("email")
        draft.isEmailVerified = try parameters.flag("email_verified")
        draft.username = try parameters.text("username")
        draft.name = try parameters.text("name")
        draft.groups = try parameters.texts("groups", limit: Account.maxGroups)
        draft.password = try parameters.text("password")
        let verifies = try !parameters.flag("link_elsewhere")
        let mail = try self.mail(try parameters.flag("mail"), verifies)
        try parameters.end()
        if mail != nil { try OperationsAPI.checkAddress(draft.email) }
        let label = draft.email ?? draft.username ?? ""
        let entry = self.audit.changing(account: "\(accounts.provider):\(label)", "add", by: caller)
        return try await self.audited(entry) {
            let added = try await accounts.add(draft, linkVerifiesEmail: verifies)
            return self.json(added.account, accounts, token: added.token, mail, .invitation)
        }
    }

    /// `POST /v1/accounts/change`: changes or removes an account; the user's sessions end where that matters.
    func changeAccount(_ parameters: inout OperationsParameters, by caller: OperationsCaller) async throws -> JSON {
        let accounts = try self.accounts(named: try parameters.text("provider"))
        guard let name = try parameters.text("account") else { throw OperationsRejection(400, "'account' is missing") }
        guard let change = try parameters.text("change").flatMap({ Change(rawValue: $0) }) else {
            let names = Change.allCases.map(\.rawValue).joined(separator: ", ")
            throw OperationsRejection(400, "'change' is not one of \(names)")
        }
        let verifies = try !parameters.flag("link_elsewhere")
        let removesCodes = try parameters.flag("remove_codes")
        let mail = try self.mail(try parameters.flag("mail"), verifies)
        let fullName = try parameters.text("name")
        let groups = try parameters.texts("groups", limit: Account.maxGroups)
        let clears = try parameters.flag("no_groups")
        try parameters.end()
        guard let account = try await accounts.account(called: name) else {
            throw OperationsRejection(404, "there is no account '\(PrintableText.escaped(name, limit: 100))'")
        }
        if mail != nil, change == .reset { try OperationsAPI.checkAddress(account.email) }
        let entry = self.audit.changing(account: "\(accounts.provider):\(account.id)", change.rawValue, by: caller)
        return try await self.audited(entry) {
            var (changed, token): (Account?, String?)
            var ended = 0
            if change.removesAccess {
                // Before the account is gone, so that the command can be repeated.
                let user = account.profile(at: accounts.provider)
                ended = try await self.environment.sessions().endAll(of: user)
                _ = try await self.environment.passkeys()?.removeAll(of: user.user)
                for other in try await self.environment.connections()?.dissolve(user.user) ?? [] {
                    ended += try await self.environment.sessions().endAll(of: other.profile)
                }
            }
            switch change {
            case .disable: changed = try await accounts.setDisabled(true, account.id)
            case .enable: changed = try await accounts.setDisabled(false, account.id)
            case .remove: changed = try await accounts.store.remove(account.id) ? account : nil
            case .removeCodes: changed = try await accounts.withoutCodes(account.id)
            case .set:
                let list = clears ? [] : groups.isEmpty ? nil : groups
                changed = try await accounts.setFacts(account.id, name: fullName, groups: list)
            case .reset:
                let made = try await accounts.reset(account.id, verifiesEmail: verifies, removesCodes: removesCodes)
                (changed, token) = (made?.account, made?.token)
            }
            guard let changed else { throw OperationsRejection(409, "the account was removed meanwhile") }
            if change.endsSessions {
                let profile = changed.profile(at: accounts.provider)
                ended += try await self.environment.sessions().endAll(of: profile)
                // Apps know them by this account, which is disabled for them too.
                for other in try await self.environment.connections()?.following(profile.user) ?? [] {
                    ended += try await self.environment.sessions().endAll(of: other.profile)
                }
                IngressMetrics().ended(.operator, count: ended)
            }
            var result = self.json(changed, accounts, token: token, mail, .reset).object ?? [:]
            result["sign_ins_ended"] = .int(Int64(ended))
            return .object(result)
        }
    }

    /// Writes the line with the result of a change.
    private func audited(_ entry: AuditLog.AccountChange, _ change: () async throws -> JSON) async throws -> JSON {
        do {
            let result = try await change()
            entry.changed(result["account"]?["user"]?.string)
            return result
        } catch let rejection as AccountRejection {
            entry.failed(rejection.description)
            throw OperationsRejection(400, rejection.description)
        } catch {
            entry.failed("\(error)")
            throw error
        }
    }

    private func accounts(named name: String?) throws(OperationsRejection) -> LocalAccounts {
        let all = self.environment.accounts()
        if let name {
            guard let found = all.first(where: { $0.provider == name }) else {
                let shown = PrintableText.escaped(name, limit: 100)
                throw OperationsRejection(400, "there is no provider '\(shown)' of type local")
            }
            return found
        }
        guard let first = all.first else { throw OperationsRejection(400, "the file has no provider of type local") }
        guard all.count == 1 else {
            let names = all.map(\.provider).joined(separator: ", ")
            throw OperationsRejection(400, "name one of the providers with local accounts: \(names)")
        }
        return first
    }

    /// What sends a link, if it is to be sent.
    private func mail(_ isWanted: Bool, _ verifiesEmail: Bool) throws(OperationsRejection) -> AccountMailer? {
        guard isWanted else { return nil }
        guard verifiesEmail else { throw OperationsRejection(400, "'mail' and 'link_elsewhere' exclude each other") }
        guard let mailer = self.environment.mailer() else {
            throw OperationsRejection(400, "the file has no 'mail', so no link can be sent")
        }
        return mailer
    }

    /// Checks before a change that a link can be sent to an email address.
    private static func checkAddress(_ address: String?) throws(OperationsRejection) {
        guard let address else {
            throw OperationsRejection(400, "the account has no email address, to which a link can be sent")
        }
        guard EmailAddress(address).map({ (try? MailMessage(to: $0, subject: "-", text: "-")) != nil }) ?? false else {
            throw OperationsRejection(400, "to this email address no link can be sent: it needs SMTPUTF8")
        }
    }

    /// An account with its link, which is sent to the user if there is a mailer.
    private func json(
        _ account: Account,
        _ accounts: LocalAccounts,
        token: String?,
        _ mailer: AccountMailer?,
        _ text: MailText
    ) -> JSON {
        var members: [String: JSON] = ["account": OperationsAPI.json(account, accounts)]
        guard let token else { return .object(members) }
        let gateway = self.environment.configuration().gateway
        let link = "\(gateway.publicURL)\(gateway.endpoints.path("link"))/\(accounts.provider)?token=\(token)"
        members["link"] = .string(link)
        guard let mailer, let language = self.environment.language(),
            let address = account.email.flatMap({ EmailAddress($0) })
        else { return .object(members) }
        do throws(Failure) {
            let lifetime = accounts.linkLifetime
            try mailer.send(text, to: address, link: link, validFor: lifetime, in: language)
            members["link"] = nil
            members["mailed"] = true
        } catch {
            // The change is made: the operator gets the link instead.
            members["mail_failed"] = .string(error.detail)
        }
        return .object(members)
    }

    private static func json(_ account: Account, _ accounts: LocalAccounts) -> JSON {
        var members: [String: JSON] = [
            "id": .string(account.id), "user": .string("\(accounts.provider):\(account.id)"),
            "provider": .string(accounts.provider), "created": .int(account.created.seconds),
            "groups": .array(account.groups.map(JSON.string)), "disabled": .bool(account.isDisabled),
            "has_password": .bool(account.password != nil), "second_factor": .bool(account.hasSecondFactor),
        ]
        members["email"] = account.email.map(JSON.string)
        members["email_verified"] = account.email.map { _ in .bool(account.isEmailVerified) }
        members["username"] = account.username.map(JSON.string)
        members["name"] = account.name.map(JSON.string)
        members["password_changed"] = account.passwordChanged.map { .int($0.seconds) }
        members["link_expires"] = account.linkExpires.map { .int($0.seconds) }
        members["recovery_codes_left"] = account.hasSecondFactor ? .int(Int64(account.recoveryCodesLeft)) : nil
        return .object(members)
    }
}
