// SPDX-License-Identifier: Apache-2.0

import GateCore
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
        let link = try #require(try await fixture.accounts.recoveryLink(for: address))
        #expect(link.address == address)
        #expect(try await fixture.accounts.check("ada@example.com", Fixture.password, from: fixture.network).isAdmitted)
        #expect(try await fixture.accounts.account(ofLink: link.token)?.id == account.id)
        fixture.clock.move(3600)
        #expect(try await fixture.accounts.account(ofLink: link.token) == nil)
        let later = try #require(try await fixture.accounts.recoveryLink(for: address))
        #expect(try await fixture.accounts.account(ofLink: link.token) == nil, "the next one replaces it")
        let other = "another password of words"
        guard case .changed = try await fixture.accounts.choose(other, byLink: later.token) else {
            Issue.record("the link is valid")
            return
        }
        #expect(try await fixture.accounts.account(ofLink: later.token) == nil)
    }

    @Test func `it leaves the link of an operator as it is, and a reset ends it`() async throws {
        let fixture = Fixture()
        let account = try await fixture.add()
        let address = try #require(Self.address)
        let made = try await fixture.accounts.reset(account.id, verifiesEmail: true, removesCodes: false)
        let reset = try #require(made)
        let asked = try #require(try await fixture.accounts.recoveryLink(for: address))
        #expect(try await fixture.accounts.account(ofLink: reset.token) != nil)
        _ = try await fixture.accounts.reset(account.id, verifiesEmail: true, removesCodes: false)
        #expect(try await fixture.accounts.account(ofLink: asked.token) == nil)
        let again = try #require(try await fixture.accounts.recoveryLink(for: address))
        _ = try await fixture.accounts.setDisabled(true, account.id)
        _ = try await fixture.accounts.setDisabled(false, account.id)
        #expect(try await fixture.accounts.account(ofLink: again.token) == nil)
    }

    @Test func `an address that is not proven gets no link, nor does a disabled account`() async throws {
        let fixture = Fixture()
        var draft = AccountDraft()
        draft.email = "ada@example.com"
        let added = try await fixture.accounts.add(draft, linkVerifiesEmail: false)
        let address = try #require(Self.address)
        #expect(try await fixture.accounts.recoveryLink(for: address) == nil)
        _ = try await fixture.accounts.choose(Fixture.password, byLink: added.token ?? "")
        #expect(try await fixture.accounts.recoveryLink(for: address) == nil)
        let eve = try await fixture.add("eve@example.com")
        _ = try await fixture.accounts.setDisabled(true, eve.id)
        let other = try #require(EmailAddress("eve@example.com"))
        #expect(try await fixture.accounts.recoveryLink(for: other) == nil)
    }

    @Test func `a registration makes a proven account with the groups of the file, once`() async throws {
        let fixture = Fixture(settings: self.settings())
        let wanted = RegistrationRequest(try #require(EmailAddress("Ada@example.com")), name: " Ada  Lovelace ")
        let token = wanted.token(of: fixture.accounts)
        let opened = try #require(RegistrationRequest(token, of: fixture.accounts))
        #expect(opened == wanted && opened.name == "Ada Lovelace")
        guard case .unacceptable = try await fixture.accounts.register(opened, password: "short") else {
            Issue.record("the rules for passwords count")
            return
        }
        guard case .changed(let account) = try await fixture.accounts.register(opened, password: Fixture.password)
        else {
            Issue.record("it is admitted")
            return
        }
        #expect(account.email == "ada@example.com" && account.isEmailVerified && account.groups == ["all", "guests"])
        guard case .lost = try await fixture.accounts.register(opened, password: Fixture.password) else {
            Issue.record("the address is taken")
            return
        }
        fixture.clock.move(3600)
        #expect(RegistrationRequest(token, of: fixture.accounts) == nil)
        let other = Fixture(provider: "guests", settings: self.settings())
        #expect(RegistrationRequest(token, of: other.accounts) == nil)
    }

    @Test(arguments: ["x@other.example", "x@sub.example.com", "x@example.com.evil.example"])
    func `another domain does not register, also by a link of before`(text: String) async throws {
        let fixture = Fixture(settings: self.settings())
        let address = try #require(EmailAddress(text))
        #expect(!fixture.accounts.admitsRegistration(of: address))
        let wanted = RegistrationRequest(address, name: nil)
        guard case .lost = try await fixture.accounts.register(wanted, password: Fixture.password) else {
            Issue.record("the domain is not admitted")
            return
        }
        #expect(!Fixture().accounts.admitsRegistration(of: try #require(Self.address)), "off without the setting")
    }

    @Test(arguments: ["a\u{1B}[31mb", "\u{202E}x", "", "   "])
    func `a name that is not printable is left out`(name: String) throws {
        #expect(RegistrationRequest(try #require(Self.address), name: name).name == nil)
    }
}
