// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateSessionStores
import GateSessions
import Testing

@testable import GateAccounts

@Suite struct AccountStoreTests {
    private func draft(_ email: String?, _ username: String? = nil) -> AccountDraft {
        var draft = AccountDraft()
        (draft.email, draft.username) = (email, username)
        return draft
    }

    @Test func `an account is as it was written, after its record is read again`() async throws {
        let fixture = Fixture()
        var draft = self.draft("ada@example.com", "ada")
        (draft.name, draft.groups, draft.isEmailVerified) = ("Ada Lovelace", ["b", "a", "b"], true)
        let added = try await fixture.accounts.add(draft, linkVerifiesEmail: true).account
        let (account, _) = try await fixture.addCodes(to: try await fixture.add("eve@example.com"))
        for known in [added, account] {
            let read = try await fixture.accounts.store.account(known.id)
            #expect(read == known)
            #expect(Account(encoded: known.encoded) == known)
        }
        #expect(added.groups == ["a", "b"])
    }

    @Test func `a record of a later version, or with a damaged second factor, is not read`() async throws {
        let fixture = Fixture()
        let account = try await fixture.addCodes(to: try await fixture.add()).account
        var members = try #require(JSON(parsing: account.encoded, depth: 4).object)
        members["v"] = 2
        #expect(Account(encoded: JSON.object(members).encoded) == nil)
        members["v"] = 1
        #expect(Account(encoded: JSON.object(members).encoded) == account)
        members["codes"] = ["secret": "%%%"]
        #expect(Account(encoded: JSON.object(members).encoded) == nil)
    }

    @Test(
        arguments: [("ada@example.com", nil), ("ADA@example.com", nil), (nil, "ada"), ("new@example.com", "Ada")]
            as [(String?, String?)]
    )
    func `a name belongs to one account`(email: String?, username: String?) async throws {
        let fixture = Fixture()
        _ = try await fixture.accounts.add(self.draft("ada@example.com", "ada"), linkVerifiesEmail: true)
        let failure = await #expect(throws: Failure.self) {
            try await fixture.accounts.add(self.draft(email, username), linkVerifiesEmail: true)
        }
        #expect(failure?.reason == .accountNameTaken)
    }

    @Test func `of ten accounts that are added at once with one name one is there`() async throws {
        let fixture = Fixture()
        let added = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    (try? await fixture.accounts.add(self.draft("ada@example.com"), linkVerifiesEmail: true)) != nil
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(added == 1)
        #expect(try await fixture.accounts.store.page(from: [], limit: 100).page.items.count == 1)
    }

    @Test func `a name that was taken for an account that was never written is free after a minute`() async throws {
        let fixture = Fixture()
        _ = try await fixture.accounts.add(self.draft(nil, "taken"), linkVerifiesEmail: true)
        // The email address is taken first, then the user name fails.
        await #expect(throws: Failure.self) {
            try await fixture.accounts.add(self.draft("ada@example.com", "taken"), linkVerifiesEmail: true)
        }
        await #expect(throws: Failure.self) {
            try await fixture.accounts.add(self.draft("ada@example.com"), linkVerifiesEmail: true)
        }
        fixture.clock.move(60)
        _ = try await fixture.accounts.add(self.draft("ada@example.com"), linkVerifiesEmail: true)
    }

    @Test func `a removed account is gone, and its names are free for another one with another id`() async throws {
        let fixture = Fixture()
        let account = try await fixture.add()
        #expect(try await fixture.accounts.store.remove(account.id))
        #expect(try await !fixture.accounts.store.remove(account.id))
        #expect(try await fixture.accounts.store.account(account.id) == nil)
        #expect(try await fixture.accounts.store.page(from: [], limit: 10).page.items.isEmpty)
        #expect(try await fixture.add().id != account.id)
    }

    @Test func `of concurrent changes none is lost`() async throws {
        let fixture = Fixture()
        let account = try await fixture.add()
        let store = fixture.accounts.store
        let changed = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let changed = try? await store.update(account.id) { account in
                        account.generation += 1
                        return true
                    }
                    return changed != nil
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(try await store.account(account.id)?.generation == account.generation + Int64(changed))
    }

    @Test func `accounts outlive the end of sessions and a restart`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "accounts-\(UUID().uuidString).db").path
        defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) } }
        let first = try SQLiteStore(path: path) { _ in }
        let fixture = Fixture(store: first)
        let account = try await fixture.add()
        _ = try await first.removeExpired(at: noon.advanced(by: .seconds(10 * 366 * 86_400)), idle: .seconds(1))
        await first.close()
        let second = try SQLiteStore(path: path) { _ in }
        #expect(try await Fixture(store: second).accounts.store.account(account.id) == account)
        await second.close()
        let text = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
        #expect(!text.contains("ada@example.com") && !text.contains("argon2id"))
    }

    @Test func `an earlier secret opens accounts until they are sealed again, and is not needed afterwards`()
        async throws
    {
        let store = MemoryStore()
        let old = Fixture(store: store, secrets: ["one"])
        let account = try await old.add()
        #expect(try await old.entries.sealAgain() == 0)
        let rotated = Fixture(store: store, secrets: ["two", "one"])
        #expect(try await rotated.accounts.store.account(account.id) == account)
        #expect(try await rotated.entries.sealAgain() == 2, "the account and its name")
        #expect(try await rotated.entries.sealAgain() == 0)
        let new = Fixture(store: store, secrets: ["two"])
        #expect(try await new.accounts.check("ada@example.com", Fixture.password, from: new.network).isAdmitted)
        let failure = await #expect(throws: Failure.self) { try await old.accounts.store.account(account.id) }
        #expect(failure?.reason == .accountUnreadable)
    }

    @Test func `an account that no secret opens is counted, and its names stay taken`() async throws {
        let store = MemoryStore()
        _ = try await Fixture(store: store, secrets: ["one"]).add()
        let other = Fixture(store: store, secrets: ["two"])
        let (page, unreadable) = try await other.accounts.store.page(from: [], limit: 10)
        #expect(page.items.isEmpty && unreadable == 1)
        other.clock.move(3600)
        await #expect(throws: Failure.self) { try await other.add() }
    }

    @Test func `entries cannot be swapped in the store`() async throws {
        let store = MemoryStore()
        let fixture = Fixture(store: store)
        let (ada, eve) = (try await fixture.add(), try await fixture.add("eve@example.com"))
        let entries = try await store.entries(.account, from: [], limit: 10, at: noon).items
        try await store.put([
            StoreEntry(kind: .account, key: entries[0].key, value: entries[1].value, expires: StoreEntry.never)
        ])
        var found: [Account] = []
        for id in [ada.id, eve.id] {
            do throws(Failure) {
                if let account = try await fixture.accounts.store.account(id) { found.append(account) }
            } catch {
                #expect(error.reason == .accountUnreadable)
            }
        }
        #expect(found.count == 1)
    }

    @Test(
        arguments: [
            (nil, nil), ("not an address", nil), ("a@b", nil), (nil, "-x"), (nil, "with space"), (nil, "a@example.com"),
            ("name", nil), (nil, String(repeating: "x", count: 65)), (nil, "ünïcode"),
        ] as [(String?, String?)]
    )
    func `an account needs an email address or a user name of plain characters`(
        email: String?,
        username: String?
    ) async throws {
        let fixture = Fixture()
        await #expect(throws: AccountRejection.self) {
            try await fixture.accounts.add(self.draft(email, username), linkVerifiesEmail: true)
        }
    }

    @Test func `names and groups are bounded and printable`() async throws {
        let fixture = Fixture()
        var draft = self.draft("ada@example.com")
        for name in ["", String(repeating: "x", count: 256), "a\nb", "\u{202E}abc"] {
            draft.name = name
            await #expect(throws: AccountRejection.self) {
                try await fixture.accounts.add(draft, linkVerifiesEmail: true)
            }
        }
        draft.name = nil
        draft.groups = (0...100).map { "group \($0)" }
        await #expect(throws: AccountRejection.self) { try await fixture.accounts.add(draft, linkVerifiesEmail: true) }
        draft.groups = []
        draft.password = "$2b$12$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234"
        await #expect(throws: AccountRejection.self) { try await fixture.accounts.add(draft, linkVerifiesEmail: true) }
    }

    @Test func `an account is called by its id, its user key and its names`() async throws {
        let fixture = Fixture()
        let account = try await fixture.accounts.add(self.draft("ada@example.com", "ada"), linkVerifiesEmail: true)
            .account
        for name in [account.id, "staff:\(account.id)", "ada@example.com", "ada"] {
            #expect(try await fixture.accounts.account(called: name)?.id == account.id)
        }
        #expect(try await fixture.accounts.account(called: "guests:\(account.id)") == nil)
    }

    @Test func `ids are random UUIDs`() async throws {
        let fixture = Fixture()
        let id = try await fixture.accounts.add(self.draft("ada@example.com"), linkVerifiesEmail: true).account.id
        #expect(id.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
    }
}
