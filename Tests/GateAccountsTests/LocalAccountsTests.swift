// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateSessionStores
import GateSessions
import Testing

@testable import GateAccounts

@Suite struct LocalAccountsTests {
    private func check(
        _ fixture: Fixture,
        _ name: String = "ada@example.com",
        _ password: String = Fixture.password,
        from origin: LocalAccounts.Origin? = nil
    ) async throws -> LocalAccounts.PasswordResult {
        try await fixture.accounts.check(name, password, from: origin ?? fixture.network)
    }

    // MARK: Passwords

    @Test func `the right password admits the user of the account`() async throws {
        let fixture = Fixture()
        let account = try await fixture.add()
        guard case .admitted(let found) = try await self.check(fixture) else { throw Fixture.NotChanged() }
        #expect(found == account)
        let profile = fixture.accounts.profile(of: found)
        #expect(profile.user == "staff:\(account.id)" && profile.issuer == "local" && profile.authTime == noon)
    }

    @Test(arguments: ["ADA@Example.COM", " ada@example.com ", "ada@EXAMPLE.com."])
    func `an email address is found however its letters are written`(name: String) async throws {
        let fixture = Fixture()
        _ = try await fixture.add()
        #expect(try await self.check(fixture, name).isAdmitted)
    }

    @Test func `a user name is another name of the same account`() async throws {
        let fixture = Fixture()
        var draft = AccountDraft()
        (draft.email, draft.username) = ("ada@example.com", "Countess")
        let added = try await fixture.accounts.add(draft, linkVerifiesEmail: true)
        #expect(try await fixture.accounts.choose(Fixture.password, byLink: added.token ?? "", from: nil).isChanged)
        for name in ["ada@example.com", "countess", "COUNTESS"] {
            #expect(try await self.check(fixture, name).isAdmitted)
        }
    }

    @Test(arguments: [
        ("ada@example.com", "wrong password, though long"), ("ada@example.com", ""),
        ("eve@example.com", Fixture.password),
        ("", ""), ("ada@example.com@example.com", Fixture.password), ("ada", Fixture.password),
        ("ada@example.com", String(repeating: "x", count: 2000)), ("\u{202E}", "\u{0}"),
        ("ada@example.com", "\(Fixture.password) "), ("ada@example.com", "Correct horse battery staple"),
    ])
    func `every other name or password is rejected`(name: String, password: String) async throws {
        let fixture = Fixture()
        _ = try await fixture.add()
        #expect(try await self.check(fixture, name, password).isRejected)
    }

    @Test func `a disabled account is rejected as if the password were wrong, and admitted again when enabled`()
        async throws
    {
        let fixture = Fixture()
        let account = try await fixture.add()
        #expect(try await fixture.accounts.setDisabled(true, account.id)?.isDisabled == true)
        #expect(try await self.check(fixture).isRejected)
        _ = try await fixture.accounts.setDisabled(false, account.id)
        #expect(try await self.check(fixture).isAdmitted)
    }

    @Test func `an account without a password yet admits no user`() async throws {
        let fixture = Fixture()
        var draft = AccountDraft()
        draft.email = "ada@example.com"
        _ = try await fixture.accounts.add(draft, linkVerifiesEmail: true)
        for password in ["", "gatehouse", Fixture.password] {
            #expect(try await self.check(fixture, "ada@example.com", password).isRejected)
        }
    }

    @Test func `accounts of one provider are not those of another one in the same store`() async throws {
        let store = MemoryStore()
        let (staff, guests) = (Fixture(store: store), Fixture(provider: "guests", store: store))
        let account = try await staff.add()
        #expect(try await self.check(guests).isRejected)
        #expect(try await guests.accounts.account(called: account.id) == nil)
        _ = try await guests.add(password: "another password of words")
        #expect(try await self.check(staff).isAdmitted)
        #expect(try await self.check(guests).isRejected)
    }

    @Test func `a hash of another cost is replaced at the next sign-in`() async throws {
        let fixture = Fixture()
        let dear = PasswordWorkers(cost: PasswordCost(memory: 8192, passes: 2, lanes: 1))
        var draft = AccountDraft()
        draft.email = "ada@example.com"
        draft.password = try await dear.hash(Secret(text: Fixture.password), from: nil).text
        let added = try await fixture.accounts.add(draft, linkVerifiesEmail: true)
        #expect(added.token == nil && added.account.password?.cost.memory == 8192)
        #expect(try await self.check(fixture).isAdmitted)
        let now = try #require(try await fixture.accounts.store.account(added.account.id))
        #expect(now.password?.cost == Fixture.cost)
        #expect(try await self.check(fixture).isAdmitted)
    }

    // MARK: Guessing

    @Test func `after five wrong passwords the right one has to wait as well`() async throws {
        let fixture = Fixture()
        _ = try await fixture.add()
        for _ in 0..<5 { #expect(try await self.check(fixture, "ada@example.com", "wrong").isRejected) }
        #expect(try await self.check(fixture).wait != nil)
    }

    @Test func `a name without an account is slowed down as one with an account`() async throws {
        let fixture = Fixture()
        _ = try await fixture.add()
        for name in ["ada@example.com", "eve@example.com"] {
            for _ in 0..<5 { #expect(try await self.check(fixture, name, "wrong").isRejected) }
            #expect(try await self.check(fixture, name, "wrong").wait != nil)
        }
    }

    // F-05: what they shared showed that they belong to one account.
    @Test func `the two names of an account have attempts of their own`() async throws {
        let fixture = Fixture()
        var draft = AccountDraft()
        (draft.email, draft.username) = ("ada@example.com", "countess")
        _ = try await fixture.accounts.add(draft, linkVerifiesEmail: true)
        for name in ["countess", "ada@example.com"] {
            for _ in 0..<5 { #expect(try await self.check(fixture, name, "wrong").isRejected) }
            #expect(try await self.check(fixture, name, "wrong").wait != nil)
        }
    }

    @Test func `guesses from everywhere do not stop the device of the user`() async throws {
        let fixture = Fixture()
        let account = try await fixture.add()
        let mark = DeviceMark.renewed(nil, for: account, at: fixture.accounts)
        for number in 0..<10_000 {
            let client = IPAddress("198.51.\(number / 250).\(number % 250 + 1)")
            let origin = LocalAccounts.Origin(client: client, device: nil)
            _ = try await self.check(fixture, "ada@example.com", "wrong", from: origin)
        }
        #expect(try await self.check(fixture).wait != nil)
        let device = try #require(DeviceMark(mark, of: fixture.accounts))
        let own = LocalAccounts.Origin(client: IPAddress("203.0.113.9"), device: device)
        #expect(try await self.check(fixture, from: own).isAdmitted)
    }

    @Test func `the mark of a device is of one account and one provider, and ends`() async throws {
        let store = MemoryStore()
        let fixture = Fixture(store: store)
        let (ada, eve) = (try await fixture.add(), try await fixture.add("eve@example.com"))
        let mark = DeviceMark.renewed(nil, for: ada, at: fixture.accounts)
        let device = try #require(DeviceMark(mark, of: fixture.accounts))
        let renewed = try #require(
            DeviceMark(DeviceMark.renewed(device, for: ada, at: fixture.accounts), of: fixture.accounts)
        )
        #expect(renewed.id == device.id)
        let other = try #require(
            DeviceMark(DeviceMark.renewed(device, for: eve, at: fixture.accounts), of: fixture.accounts)
        )
        #expect(other.id != device.id)
        #expect(DeviceMark(mark, of: Fixture(provider: "guests", store: store).accounts) == nil)
        #expect(DeviceMark(mark, of: Fixture(store: store, secrets: ["two"]).accounts) == nil)
        #expect(DeviceMark(String(mark.dropLast()), of: fixture.accounts) == nil)
        fixture.clock.move(180 * 86_400)
        #expect(DeviceMark(mark, of: fixture.accounts) == nil)
    }

    @Test func `a mark from before a change of the credentials gives no limit of its own`() async throws {
        let fixture = Fixture()
        let account = try await fixture.add()
        let mark = DeviceMark.renewed(nil, for: account, at: fixture.accounts)
        let device = try #require(DeviceMark(mark, of: fixture.accounts))
        let own = LocalAccounts.Origin(client: IPAddress("203.0.113.9"), device: device)
        for number in 0..<60 {
            let client = IPAddress("198.51.100.\(number + 1)")
            let origin = LocalAccounts.Origin(client: client, device: nil)
            _ = try await self.check(fixture, "ada@example.com", "wrong", from: origin)
        }
        #expect(try await self.check(fixture, from: own).isAdmitted)
        _ = try await fixture.accounts.store.update(account.id) { account in
            account.generation += 1
            return true
        }
        #expect(try await self.check(fixture, from: own).wait != nil)
    }

    @Test func `a session from before a change of the password is not confirmed`() async throws {
        let fixture = Fixture()
        var account = try await fixture.add()
        let changed = try #require(account.passwordChanged)
        #expect(!account.hasChangedPassword(since: changed))
        #expect(!account.hasChangedPassword(since: changed.advanced(by: .seconds(-60))))
        #expect(account.hasChangedPassword(since: changed.advanced(by: .seconds(-61))))
        account.passwordChanged = nil
        #expect(!account.hasChangedPassword(since: changed))
    }

    @Test func `a mark of another account gives no limit of its own`() async throws {
        let fixture = Fixture()
        _ = try await fixture.add()
        let eve = try await fixture.add("eve@example.com")
        let mark = DeviceMark(DeviceMark.renewed(nil, for: eve, at: fixture.accounts), of: fixture.accounts)
        for _ in 0..<5 { _ = try await self.check(fixture, "ada@example.com", "wrong") }
        let origin = LocalAccounts.Origin(client: IPAddress("192.0.2.1"), device: mark)
        #expect(try await self.check(fixture, from: origin).wait != nil)
    }

    // MARK: Links

    @Test func `a link works once`() async throws {
        let fixture = Fixture()
        var draft = AccountDraft()
        draft.email = "ada@example.com"
        let token = try #require(try await fixture.accounts.add(draft, linkVerifiesEmail: true).token)
        #expect(try await fixture.accounts.account(ofLink: token) != nil)
        #expect(try await fixture.accounts.account(ofLink: token) != nil, "looking at it does not use it up")
        #expect(try await fixture.accounts.choose(Fixture.password, byLink: token, from: nil).isChanged)
        #expect(try await fixture.accounts.account(ofLink: token) == nil)
        #expect(try await fixture.accounts.choose("another password of words", byLink: token, from: nil).isLost)
        #expect(try await self.check(fixture).isAdmitted)
    }

    @Test func `of twenty concurrent uses of a link one succeeds`() async throws {
        let fixture = Fixture()
        var draft = AccountDraft()
        draft.email = "ada@example.com"
        let token = try #require(try await fixture.accounts.add(draft, linkVerifiesEmail: true).token)
        let changed = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<20 {
                group.addTask {
                    try await fixture.accounts.choose("password of words \(number)", byLink: token, from: nil).isChanged
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(changed == 1)
    }

    @Test func `a link ends after its time, with a later link, and with the account`() async throws {
        let fixture = Fixture()
        let account = try await fixture.add()
        let first = try #require(try await fixture.accounts.reset(account.id, verifiesEmail: true, removesCodes: false))
        let second = try #require(
            try await fixture.accounts.reset(account.id, verifiesEmail: true, removesCodes: false)
        )
        #expect(try await fixture.accounts.account(ofLink: first.token) == nil)
        #expect(try await fixture.accounts.account(ofLink: second.token) != nil)
        fixture.clock.move(7 * 86_400)
        #expect(try await fixture.accounts.account(ofLink: second.token) == nil)
        let third = try #require(try await fixture.accounts.reset(account.id, verifiesEmail: true, removesCodes: false))
        _ = try await fixture.accounts.setDisabled(true, account.id)
        _ = try await fixture.accounts.setDisabled(false, account.id)
        #expect(try await fixture.accounts.account(ofLink: third.token) == nil)
    }

    @Test(arguments: ["", ".", "x", String(repeating: "x", count: 80), String(repeating: "é", count: 100_000)])
    func `any other text opens nothing`(token: String) async throws {
        let fixture = Fixture()
        _ = try await fixture.add()
        #expect(try await fixture.accounts.account(ofLink: token) == nil)
    }

    @Test func `a link of another account does not open this one`() async throws {
        let fixture = Fixture()
        var draft = AccountDraft()
        draft.email = "ada@example.com"
        let ada = try await fixture.accounts.add(draft, linkVerifiesEmail: true)
        draft.email = "eve@example.com"
        let eve = try await fixture.accounts.add(draft, linkVerifiesEmail: true)
        let forged = ada.account.id + (eve.token ?? "").dropFirst(36)
        #expect(try await fixture.accounts.account(ofLink: String(forged)) == nil)
    }

    @Test func `a link that a rule stops works afterwards`() async throws {
        let fixture = Fixture()
        var draft = AccountDraft()
        draft.email = "ada@example.com"
        let token = try #require(try await fixture.accounts.add(draft, linkVerifiesEmail: true).token)
        #expect(try await fixture.accounts.choose("short", byLink: token, from: nil).finding == .short)
        #expect(
            try await fixture.accounts.choose(String(repeating: "x", count: 1025), byLink: token, from: nil).finding
                == .long
        )
        #expect(try await fixture.accounts.choose("ada@example.com 123", byLink: token, from: nil).finding == .personal)
        #expect(try await fixture.accounts.choose(Fixture.password, byLink: token, from: nil).isChanged)
    }

    @Test func `the email address is verified by the operator, or by a link to it, and by nothing else`() async throws {
        let fixture = Fixture()
        var draft = AccountDraft()
        draft.email = "a@example.com"
        let elsewhere = try await fixture.accounts.add(draft, linkVerifiesEmail: false)
        #expect(!elsewhere.account.profile(at: "staff").emailVerified)
        guard
            case .changed(let used) = try await fixture.accounts.choose(
                Fixture.password,
                byLink: elsewhere.token ?? "",
                from: nil
            )
        else { throw Fixture.NotChanged() }
        #expect(!used.profile(at: "staff").emailVerified)
        let mailed = try await fixture.add("b@example.com")
        #expect(mailed.profile(at: "staff").emailVerified)
        draft.email = "c@example.com"
        draft.isEmailVerified = true
        #expect(
            try await fixture.accounts.add(draft, linkVerifiesEmail: false).account.profile(at: "staff").emailVerified
        )
    }

    @Test func `a reset ends the old password at once`() async throws {
        let fixture = Fixture()
        let account = try await fixture.add()
        let reset = try #require(try await fixture.accounts.reset(account.id, verifiesEmail: true, removesCodes: false))
        #expect(try await self.check(fixture).isRejected)
        #expect(
            try await fixture.accounts.choose("another password of words", byLink: reset.token, from: nil).isChanged
        )
        #expect(try await self.check(fixture).isRejected)
        #expect(try await self.check(fixture, "ada@example.com", "another password of words").isAdmitted)
    }

    // MARK: Changes

    @Test func `a change of the password asks for the present one`() async throws {
        let fixture = Fixture()
        let account = try await fixture.add()
        let new = "another password of words"
        let wrong = try await fixture.accounts.change(account.id, from: "wrong", to: new, origin: fixture.network)
        #expect(wrong.isWrongPassword)
        let eve = try await fixture.add("eve@example.com", password: "the password of eve")
        let others = try await fixture.accounts.change(
            account.id,
            from: "the password of eve",
            to: new,
            origin: fixture.network
        )
        #expect(others.isWrongPassword && eve.id != account.id)
        let short = try await fixture.accounts.change(
            account.id,
            from: Fixture.password,
            to: "x",
            origin: fixture.network
        )
        #expect(short.finding == .short)
        let right = try await fixture.accounts.change(
            account.id,
            from: Fixture.password,
            to: new,
            origin: fixture.network
        )
        #expect(right.isChanged)
        #expect(try await self.check(fixture).isRejected)
        #expect(try await self.check(fixture, "ada@example.com", new).isAdmitted)
    }

    @Test func `guesses at the present password are slowed down as at a sign-in`() async throws {
        let fixture = Fixture()
        let account = try await fixture.add()
        var results: [LocalAccounts.ChangeResult] = []
        for _ in 0..<6 {
            results.append(
                try await fixture.accounts.change(
                    account.id,
                    from: "wrong",
                    to: Fixture.password,
                    origin: fixture.network
                )
            )
        }
        guard case .tooMany? = results.last else { throw Fixture.NotChanged() }
    }

    // MARK: Second factor

    @Test func `with codes the password alone admits no user`() async throws {
        let fixture = Fixture()
        let account = try await fixture.addCodes(to: try await fixture.add()).account
        #expect(try await self.check(fixture).needsCode)
        fixture.clock.move(30)
        let proof = try fixture.proof(of: account)
        let wrong = try await fixture.accounts.check(code: "000000", after: proof, from: fixture.network)
        #expect(wrong.isRejected)
        let right = try await fixture.accounts.check(
            code: fixture.code(of: account),
            after: proof,
            from: fixture.network
        )
        #expect(right.isAdmitted)
    }

    @Test func `a code works once, also the one that the codes were added with`() async throws {
        let fixture = Fixture()
        let account = try await fixture.addCodes(to: try await fixture.add()).account
        let proof = try fixture.proof(of: account)
        let used = try await fixture.accounts.check(
            code: fixture.code(of: account),
            after: proof,
            from: fixture.network
        )
        #expect(used.isRejected)
        fixture.clock.move(30)
        let code = fixture.code(of: account)
        let admitted = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<4 {
                let origin = LocalAccounts.Origin(client: IPAddress("192.0.2.\(number + 10)"), device: nil)
                group.addTask { try await fixture.accounts.check(code: code, after: proof, from: origin).isAdmitted }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(admitted == 1)
    }

    @Test func `each recovery code works once`() async throws {
        let fixture = Fixture()
        let (account, recovery) = try await fixture.addCodes(to: try await fixture.add())
        #expect(recovery.count == 10 && account.recoveryCodesLeft == 10)
        let proof = try fixture.proof(of: account)
        for (used, code) in recovery.enumerated() {
            #expect(try await fixture.accounts.check(code: code, after: proof, from: fixture.network).isAdmitted)
            #expect(try await fixture.accounts.check(code: code, after: proof, from: fixture.network).isRejected)
            #expect(try await fixture.accounts.store.account(account.id)?.recoveryCodesLeft == 9 - used)
        }
    }

    @Test func `guesses at a code are slowed down`() async throws {
        let fixture = Fixture()
        let account = try await fixture.addCodes(to: try await fixture.add()).account
        let proof = try fixture.proof(of: account)
        for _ in 0..<5 {
            #expect(try await fixture.accounts.check(code: "000000", after: proof, from: fixture.network).isRejected)
        }
        #expect(try await fixture.accounts.check(code: "000000", after: proof, from: fixture.network).wait != nil)
    }

    @Test func `the proof of a password is of one attempt, ends, and ends with the credentials`() async throws {
        let fixture = Fixture()
        let account = try await fixture.addCodes(to: try await fixture.add()).account
        let text = PasswordProof.text(for: account, attempt: "one", of: fixture.accounts)
        #expect(PasswordProof(text, attempt: "one", of: fixture.accounts) != nil)
        #expect(PasswordProof(text, attempt: "two", of: fixture.accounts) == nil)
        #expect(PasswordProof(text, attempt: "one", of: Fixture(provider: "guests").accounts) == nil)
        #expect(PasswordProof(String(text.dropLast()), attempt: "one", of: fixture.accounts) == nil)
        let proof = try fixture.proof(of: account)
        let changed = try await fixture.accounts.change(
            account.id,
            from: Fixture.password,
            to: "another password of words",
            origin: fixture.network
        )
        #expect(changed.isChanged)
        fixture.clock.move(30)
        let late = try await fixture.accounts.check(
            code: fixture.code(of: account),
            after: proof,
            from: fixture.network
        )
        #expect(late.isRejected)
        fixture.clock.move(300)
        #expect(PasswordProof(text, attempt: "one", of: fixture.accounts) == nil)
    }

    @Test func `codes are added with a right code and the password only, and once`() async throws {
        let fixture = Fixture()
        let account = try await fixture.add()
        let enrolment = EnrolmentSecret(from: fixture.accounts)
        let code = TimeCode.code(enrolment.secret, step: noon.seconds / 30)
        for (password, code) in [("wrong", code), (Fixture.password, "000000")] {
            let added = try await fixture.accounts.addCodes(
                account.id,
                enrolment,
                password: password,
                code: code,
                origin: fixture.network
            )
            #expect(!added.result.isChanged && added.recovery.isEmpty)
        }
        #expect(try await self.check(fixture).isAdmitted)
        let changed = try await fixture.addCodes(to: account).account
        let again = try await fixture.accounts.addCodes(
            account.id,
            enrolment,
            password: Fixture.password,
            code: code,
            origin: fixture.network
        )
        #expect(again.result.isLost)
        let sealed = enrolment.sealed(for: account, of: fixture.accounts)
        #expect(EnrolmentSecret(sealed, for: account, of: fixture.accounts)?.secret == enrolment.secret)
        #expect(
            EnrolmentSecret(sealed, for: changed, of: fixture.accounts) == nil,
            "the credentials have changed since"
        )
    }

    @Test func `the user removes codes with password and code, the operator without`() async throws {
        let fixture = Fixture()
        let (account, recovery) = try await fixture.addCodes(to: try await fixture.add())
        func remove(_ password: String, _ code: String) async throws -> LocalAccounts.ChangeResult {
            try await fixture.accounts.removeCodes(
                account.id,
                password: password,
                code: code,
                origin: fixture.network
            )
        }
        #expect(try await remove("wrong", recovery[0]).isWrongPassword)
        #expect(try await !remove(Fixture.password, "000000").isChanged)
        #expect(try await fixture.accounts.store.account(account.id)?.hasSecondFactor == true)
        #expect(try await remove(Fixture.password, recovery[0]).isChanged)
        #expect(try await self.check(fixture).isAdmitted)
        _ = try await fixture.addCodes(to: account)
        #expect(try await fixture.accounts.withoutCodes(account.id)?.hasSecondFactor == false)
        #expect(try await self.check(fixture).isAdmitted)
    }

    @Test func `a reset keeps the codes unless the operator removes them`() async throws {
        let fixture = Fixture()
        let account = try await fixture.addCodes(to: try await fixture.add()).account
        let kept = try #require(try await fixture.accounts.reset(account.id, verifiesEmail: true, removesCodes: false))
        #expect(kept.account.hasSecondFactor)
        let removed = try #require(
            try await fixture.accounts.reset(account.id, verifiesEmail: true, removesCodes: true)
        )
        #expect(!removed.account.hasSecondFactor)
    }
}
