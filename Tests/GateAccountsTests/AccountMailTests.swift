// SPDX-License-Identifier: Apache-2.0

import Dispatch
import GateCore
import GateFixtures
import GateProviders
import GateSessionStores
import Testing

@testable import GateAccounts

@Suite struct AccountMailTests {
    private static let address = EmailAddress("ada@example.com")

    private func settings(_ domains: [String] = ["example.com"]) -> LocalAccountSettings {
        var settings = LocalAccountSettings()
        settings.registration = RegistrationSettings()
        settings.registration?.domains = domains
        settings.registration?.groups = ["guests", "all", "guests"]
        return settings
    }

    @Test func `a recovery link works beside the password, within an hour, once`() async throws {
        let fixture = Fixture()
        let account = try await fixture.add()
        let address = try #require(Self.address)
        #expect(try await fixture.accounts.recoverableAddress(address) == address)
        let link = try #require(try await fixture.accounts.recoveryLink(for: address))
        #expect(try await fixture.accounts.check("ada@example.com", Fixture.password, from: fixture.network).isAdmitted)
        #expect(try await fixture.accounts.account(ofLink: link)?.id == account.id)
        fixture.clock.move(3600)
        #expect(try await fixture.accounts.account(ofLink: link) == nil)
        let later = try #require(try await fixture.accounts.recoveryLink(for: address))
        #expect(try await fixture.accounts.account(ofLink: link) == nil, "it stays over")
        let other = "another password of words"
        guard case .changed = try await fixture.accounts.choose(other, byLink: later, from: nil) else {
            Issue.record("the link is valid")
            return
        }
        #expect(try await fixture.accounts.account(ofLink: later) == nil)
    }

    @Test func `further requests do not void the last ones, and a new password or code voids all`() async throws {
        let fixture = Fixture()
        let account = try await fixture.add()
        let address = try #require(Self.address)
        var links: [String] = []
        for _ in 0..<6 { links.append(try #require(try await fixture.accounts.recoveryLink(for: address))) }
        var valid: [Bool] = []
        for link in links { valid.append(try await fixture.accounts.account(ofLink: link) != nil) }
        #expect(valid == [false, true, true, true, true, true])
        let other = "another password of words"
        let changed = try await fixture.accounts.change(
            account.id,
            from: Fixture.password,
            to: other,
            origin: fixture.network
        )
        guard case .changed = changed else {
            Issue.record("the password is right")
            return
        }
        #expect(try await fixture.accounts.account(ofLink: links[5]) == nil, "who read the mailbox has nothing")
    }

    @Test func `an account that an operator has reset gets no link of another way`() async throws {
        let fixture = Fixture()
        let account = try await fixture.add()
        let address = try #require(Self.address)
        let asked = try #require(try await fixture.accounts.recoveryLink(for: address))
        let made = try await fixture.accounts.reset(account.id, verifiesEmail: true, removesCodes: false)
        let reset = try #require(made)
        #expect(try await fixture.accounts.account(ofLink: asked) == nil)
        #expect(try await fixture.accounts.recoveryLink(for: address) == nil)
        #expect(try await fixture.accounts.account(ofLink: reset.token) != nil)
        // A link that goes elsewhere: the mailbox is not the user's any more.
        let other = try #require(
            try await fixture.accounts.reset(account.id, verifiesEmail: false, removesCodes: true)
        )
        #expect(!other.account.isEmailVerified)
        _ = try await fixture.accounts.choose(Fixture.password, byLink: other.token, from: nil)
        #expect(try await fixture.accounts.recoverableAddress(address) == nil)
    }

    @Test func `an address that is not proven gets no link, nor does a disabled account`() async throws {
        let fixture = Fixture()
        var draft = AccountDraft()
        draft.email = "ada@example.com"
        let added = try await fixture.accounts.add(draft, linkVerifiesEmail: false)
        let address = try #require(Self.address)
        #expect(try await fixture.accounts.recoveryLink(for: address) == nil)
        _ = try await fixture.accounts.choose(Fixture.password, byLink: added.token ?? "", from: nil)
        #expect(try await fixture.accounts.recoveryLink(for: address) == nil)
        let eve = try await fixture.add("eve@example.com")
        _ = try await fixture.accounts.setDisabled(true, eve.id)
        let other = try #require(EmailAddress("eve@example.com"))
        #expect(try await fixture.accounts.recoveryLink(for: other) == nil)
    }

    @Test func `a registration makes a proven account with the groups of the file, once`() async throws {
        let fixture = Fixture(settings: self.settings())
        let wanted = RegistrationRequest(
            try #require(EmailAddress("Ada@example.com")),
            name: " Ada  Lovelace ",
            at: fixture.accounts
        )
        let token = wanted.token(of: fixture.accounts)
        let opened = try #require(RegistrationRequest(token, of: fixture.accounts))
        #expect(opened == wanted && opened.name == "Ada Lovelace")
        guard case .unacceptable = try await fixture.accounts.register(opened, name: "", password: "short", from: nil)
        else {
            Issue.record("the rules for passwords count")
            return
        }
        let result = try await self.register(opened, at: fixture, name: "Countess  Lovelace ")
        guard case .changed(let account) = result else {
            Issue.record("it is admitted")
            return
        }
        #expect(account.email == "ada@example.com" && account.isEmailVerified && account.groups == ["all", "guests"])
        // F-09: the request for the link does not choose the name.
        #expect(account.name == "Countess Lovelace")
        guard case .lost = try await self.register(opened, at: fixture) else {
            Issue.record("the address is taken")
            return
        }
        fixture.clock.move(3600)
        #expect(RegistrationRequest(token, of: fixture.accounts) == nil)
        let other = Fixture(provider: "guests", settings: self.settings())
        #expect(RegistrationRequest(token, of: other.accounts) == nil)
    }

    @Test(arguments: [
        "x@other.example", "x@sub.example.com", "x@example.com.evil.example", "x%other.example@example.com",
        "other.example!x@example.com", ".x@example.com", "-x@example.com", "x/y@example.com", "x=y@example.com",
    ])
    func `another domain does not register, also by a link of before`(text: String) async throws {
        let fixture = Fixture(settings: self.settings())
        let address = try #require(EmailAddress(text))
        #expect(!fixture.accounts.admitsRegistration(of: address))
        let wanted = RegistrationRequest(address, name: nil, at: fixture.accounts)
        guard case .lost = try await self.register(wanted, at: fixture) else {
            Issue.record("the domain is not admitted")
            return
        }
        #expect(!Fixture().accounts.admitsRegistration(of: try #require(Self.address)), "off without the setting")
    }

    private func register(
        _ wanted: RegistrationRequest,
        at fixture: Fixture,
        name: String = "",
        password: String = Fixture.password
    ) async throws -> LocalAccounts.ChangeResult {
        try await fixture.accounts.register(wanted, name: name, password: password, from: nil)
    }

    // F-09: a name that cannot be seen is not used.
    @Test(arguments: [
        "a\u{1B}[31mb", "\u{202E}x", "", "   ", "\u{A0}\u{2003}", "\u{200B}\u{200D}", "\u{FEFF}", "\u{2800}",
        "\u{3164}", "\u{115F}",
        "\u{00AD}", "\u{E0041}", "\u{FE0F}", "\u{301}", "\u{E000}",
    ])
    func `a name that is not printable, or has no character that can be seen, is left out`(name: String) async throws {
        let fixture = Fixture(settings: self.settings())
        let wanted = RegistrationRequest(try #require(Self.address), name: name, at: fixture.accounts)
        #expect(wanted.name == nil)
        guard case .changed(let account) = try await self.register(wanted, at: fixture, name: name) else {
            Issue.record("it is admitted")
            return
        }
        #expect(account.name == nil)
        var draft = AccountDraft()
        (draft.username, draft.name) = ("eve", name)
        await #expect(throws: AccountRejection.self) { try await fixture.accounts.add(draft, linkVerifiesEmail: false) }
        (draft.name, draft.groups) = (nil, [name])
        await #expect(throws: AccountRejection.self) { try await fixture.accounts.add(draft, linkVerifiesEmail: false) }
        await #expect(throws: AccountRejection.self) {
            try await fixture.accounts.setFacts(account.id, name: name, groups: nil)
        }
    }

    @Test(arguments: ["Ada", "Žofie", "李", "أدا", "👩🏽‍🚀", "-", "O’Neil", "\u{200B}a"])
    func `a name with a character that can be seen is kept`(name: String) async throws {
        let fixture = Fixture(settings: self.settings())
        #expect(RegistrationRequest(try #require(Self.address), name: name, at: fixture.accounts).name == name)
    }

    // F-09: all links of before die with the account, those that were used and those that were not.
    @Test func `after an account was removed, no link of a registration from before works; later ones do`() async throws
    {
        let fixture = Fixture(settings: self.settings())
        let address = try #require(Self.address)
        let used = RegistrationRequest(address, name: nil, at: fixture.accounts)
        fixture.clock.move(5)
        let unused = RegistrationRequest(address, name: nil, at: fixture.accounts)
        guard case .changed(let account) = try await self.register(used, at: fixture) else {
            Issue.record("it is admitted")
            return
        }
        #expect(try await fixture.accounts.store.remove(account.id))
        for seconds: Int64 in [0, 1, 3000] {
            fixture.clock.move(seconds)
            for link in [used, unused] {
                #expect(try await !fixture.accounts.isOpen(link))
                #expect(try await self.register(link, at: fixture).isLost)
            }
        }
        let later = RegistrationRequest(address, name: nil, at: fixture.accounts)
        #expect(try await self.register(later, at: fixture).isChanged)
    }

    @Test func `what is removed can be added again at once, by an operator`() async throws {
        let fixture = Fixture(settings: self.settings())
        let first = try await fixture.add()
        #expect(try await fixture.accounts.store.remove(first.id))
        #expect(try await !fixture.accounts.hasAccount(of: try #require(EmailAddress("ada@example.com"))))
        let second = try await fixture.add()
        #expect(second.id != first.id)
        #expect(try await fixture.accounts.store.account(named: AccountName("ada@example.com"))?.id == second.id)
    }

    @Test func `F-09: an account that is made and removed meanwhile takes the other links of its address with it`()
        async throws
    {
        let store = SwitchedStore()
        let fixture = Fixture(store: store, settings: self.settings())
        let address = try #require(Self.address)
        let first = RegistrationRequest(address, name: nil, at: fixture.accounts)
        let other = RegistrationRequest(address, name: nil, at: fixture.accounts)
        let accounts = fixture.accounts
        // The first look at the name finds it free; this happens before the next.
        store.interrupt("entry") {
            store.interrupt("entry") {
                let made = try? await accounts.register(other, name: "", password: Fixture.password, from: nil)
                guard case .changed(let account)? = made else { return }
                _ = try? await accounts.store.remove(account.id)
            }
        }
        #expect(try await self.register(first, at: fixture).isLost)
    }

    // F-03: no link occupies the threads that hash.
    @Test func `a link of a registration costs no hash once it was used`() async throws {
        let workers = PasswordWorkers(threads: 1, maxWaiting: 0, cost: Fixture.cost)
        let fixture = Fixture(settings: self.settings(), workers: workers)
        let wanted = RegistrationRequest(try #require(Self.address), name: nil, at: fixture.accounts)
        #expect(try await self.register(wanted, at: fixture).isChanged)
        let (began, end) = (AsyncStream<Void>.makeStream(), DispatchSemaphore(value: 0))
        async let blocked: Void = workers.run(for: nil) {
            began.continuation.yield()
            end.wait()
        }
        for await _ in began.stream { break }
        // Not that the gateway is busy.
        #expect(try await self.register(wanted, at: fixture).isLost)
        end.signal()
        try await blocked
    }

    @Test func `F-03: a new password takes a place of its client network, from the first look at it on`() async throws {
        let places = PasswordWorkers.maxOfNetwork
        let workers = PasswordWorkers(threads: 1, maxWaiting: places, cost: Fixture.cost)
        let fixture = Fixture(settings: self.settings(), workers: workers)
        let wanted = RegistrationRequest(try #require(Self.address), name: nil, at: fixture.accounts)
        let eve = IPAddress("192.0.2.1")
        let (began, end) = (AsyncStream<Void>.makeStream(), DispatchSemaphore(value: 0))
        async let blocked: Void = workers.run(for: nil) {
            began.continuation.yield()
            end.wait()
        }
        for await _ in began.stream { break }
        for _ in 0..<places { Task { try? await workers.run(for: eve) {} } }
        while workers.count <= places { await Task.yield() }
        let failure = await #expect(throws: Failure.self) {
            try await fixture.accounts.register(wanted, name: "", password: Fixture.password, from: eve)
        }
        #expect(failure?.reason == .accountBusy && failure?.detail.contains("one client network") == true)
        end.signal()
        try await blocked
    }
}
