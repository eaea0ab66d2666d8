// SPDX-License-Identifier: Apache-2.0

import GateCore
import GatePasskeys
import GateSessionStores
import GateSessions
import Testing

@testable import GateAccounts

@Suite struct PasskeysTests {
    private let fixture = Fixture()

    private func passkeys(_ fixture: Fixture) throws -> Passkeys {
        let origin = try #require(WebURL("https://gate.example.com")).origin
        let party = try PasskeyRelyingParty(id: "example.com", name: "Acme", origins: [origin])
        return Passkeys(party, in: fixture.entries, clock: fixture.clock.clock, random: .system)
    }

    /// A passkey as it is saved; no key of it is used here.
    private func saved(_ id: UInt8, name: String = "Laptop") throws -> SavedPasskey {
        let json: JSON = [
            "v": 1, "id": .string(Base64URL.encode([id, 1, 2, 3])), "key": "oWEB", "counter": 7, "transports": ["usb"],
            "aaguid": .string(Base64URL.encode([UInt8](repeating: 0, count: 16))), "be": true, "bs": false,
            "uv": true, "name": .string(name),
        ]
        return SavedPasskey(passkey: try Passkey(json), added: noon, used: nil)
    }

    private func put(_ all: [SavedPasskey], of user: String, as key: String? = nil, in fixture: Fixture) async throws {
        var passkeys = UserPasskeys(user: user, handle: [UInt8](repeating: 9, count: 32))
        passkeys.all = all
        let key = accountDigest("passkeys", (key ?? user).utf8)
        let known = try await fixture.entries.entry(.passkeys, key)
        #expect(try await fixture.entries.replace(known, .passkeys, key, by: passkeys.encoded))
    }

    @Test func `a record is read as it was written`() throws {
        var passkeys = UserPasskeys(user: "google:1", handle: [1, 2, 3])
        passkeys.all = [try self.saved(1), try self.saved(2, name: "Schlüssel 🔑")]
        passkeys.all[1].used = noon
        #expect(UserPasskeys(encoded: passkeys.encoded) == passkeys)
    }

    @Test(arguments: ["", "{}", "[]", #"{"v":2,"user":"a","handle":"AA","passkeys":[]}"#])
    func `what is not a record of this version is not read`(text: String) {
        #expect(UserPasskeys(encoded: Array(text.utf8)) == nil)
    }

    @Test func `a record with one damaged passkey is not read, since the rest would replace it`() throws {
        var passkeys = UserPasskeys(user: "google:1", handle: [1])
        passkeys.all = [try self.saved(1), try self.saved(2)]
        let text = String(decoding: passkeys.encoded, as: UTF8.self)
        let damaged = text.replacing("\"uv\":true", with: "\"uv\":1", maxReplacements: 1)
        #expect(text != damaged && UserPasskeys(encoded: Array(damaged.utf8)) == nil)
    }

    @Test func `a removed passkey is gone, and the handle stays`() async throws {
        let passkeys = try self.passkeys(self.fixture)
        let (one, two) = (try self.saved(1), try self.saved(2))
        try await self.put([one, two], of: "google:1", in: self.fixture)
        #expect(try await passkeys.remove(one.id, of: "google:1") == one)
        #expect(try await passkeys.remove(one.id, of: "google:1") == nil)
        #expect(try await passkeys.remove(two.id, of: "google:2") == nil)
        let left = try #require(try await passkeys.passkeys(of: "google:1"))
        #expect(left.all == [two] && left.handle == [UInt8](repeating: 9, count: 32))
        #expect(try await passkeys.removeAll(of: "google:1"))
        #expect(try await passkeys.passkeys(of: "google:1") == nil)
    }

    @Test func `users without a passkey are not listed`() async throws {
        let passkeys = try self.passkeys(self.fixture)
        try await self.put([try self.saved(1)], of: "google:1", in: self.fixture)
        try await self.put([], of: "google:2", in: self.fixture)
        let (page, unreadable) = try await passkeys.page(from: [], limit: 10)
        #expect(page.items.map(\.user) == ["google:1"] && unreadable == 0)
    }

    @Test func `passkeys that no secret opens are a failure and not none`() async throws {
        let store = MemoryStore()
        let (one, other) = (Fixture(store: store, secrets: ["one"]), Fixture(store: store, secrets: ["two"]))
        try await self.put([try self.saved(1)], of: "google:1", in: one)
        let passkeys = try self.passkeys(other)
        let failure = await #expect(throws: Failure.self) { try await passkeys.passkeys(of: "google:1") }
        #expect(failure?.reason == .accountUnreadable)
        #expect(try await passkeys.page(from: [], limit: 10).unreadable == 1)
        #expect(try await self.passkeys(one).passkeys(of: "google:1")?.all.count == 1)
        // The operator can end that.
        #expect(try await passkeys.removeAll(of: "google:1"))
        #expect(try await passkeys.passkeys(of: "google:1") == nil)
    }

    @Test func `passkeys of one user under the key of another are not read`() async throws {
        try await self.put([try self.saved(1)], of: "google:1", as: "google:2", in: self.fixture)
        let passkeys = try self.passkeys(self.fixture)
        await #expect(throws: Failure.self) { try await passkeys.passkeys(of: "google:2") }
    }

    @Test func `passkeys are sealed again with a new secret`() async throws {
        let store = MemoryStore()
        try await self.put([try self.saved(1)], of: "google:1", in: Fixture(store: store, secrets: ["one"]))
        #expect(try await Fixture(store: store, secrets: ["two", "one"]).entries.sealAgain() == 1)
        let passkeys = try self.passkeys(Fixture(store: store, secrets: ["two"]))
        #expect(try await passkeys.passkeys(of: "google:1")?.all.count == 1)
    }

    @Test func `the handle of a local account is its id, and no other text has one`() throws {
        let id = "0d4c0b6e-5a52-4f2b-9d7a-0f6c1e4b8a11"
        let handle = try #require(LocalAccounts.handle(of: id))
        #expect(handle.count == 16 && handle.first == 0x0D && handle.last == 0x11)
        for text in [
            "", "x", id.uppercased(), id + "0", id.replacing("-", with: ""),
            id.replacing("0d4c0b6e-", with: "0d4c0b6-e"),
        ] {
            #expect(LocalAccounts.handle(of: text) == nil, "\(text)")
        }
    }
}
