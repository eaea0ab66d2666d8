// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GatePasskeys
import Testing

@testable import GateAccounts

/// Passkeys that a user adds or removes in two tabs, or on two devices, at the same time.
@Suite struct FirstPasskeysTests {
    private let store = SwitchedStore()
    private let passkeys: Passkeys
    private let challenge: PasskeyChallenge
    private static let user = "google:1"

    init() throws {
        let fixture = Fixture(store: self.store)
        let origin = try #require(WebURL("https://gate.example.com")).origin
        let party = try PasskeyRelyingParty(id: "example.com", name: "Acme", origins: [origin])
        self.challenge = try PasskeyChallenge(Array(0..<32))
        self.passkeys = Passkeys(party, in: fixture.entries, clock: fixture.clock.clock, random: .system)
    }

    @discardableResult
    private func add(_ number: UInt8, handle: [UInt8]) async throws(Failure) -> UserPasskeys {
        guard let user = try? PasskeyRegistration.User(id: handle, name: "ada", displayName: "Ada") else {
            throw Failure(.passkeyRejected, "the handle is rejected")
        }
        let registration = PasskeyRegistration(self.passkeys.relyingParty, user: user, challenge: self.challenge)
        return try await self.passkeys.add(
            SoftAuthenticator(number).registration(self.challenge.text),
            to: registration,
            name: "Passkey \(number)",
            user: Self.user,
            handle: handle
        )
    }

    private static let one = [UInt8](repeating: 1, count: 32)
    private static let other = [UInt8](repeating: 2, count: 32)

    @Test(arguments: [false, true])
    func `Q-22: of two first passkeys with a handle each one is kept, since a use names its handle`(
        isBetween: Bool
    )
        async throws
    {
        if isBetween {
            // The other one is written after this one has read that the user has no passkey.
            self.store.interrupt("replaceEntry") { [self] in _ = try? await self.add(1, handle: Self.one) }
        } else {
            try await self.add(1, handle: Self.one)
        }
        let failure = await #expect(throws: Failure.self) { try await self.add(2, handle: Self.other) }
        #expect(failure?.reason == .passkeyConflict)
        let kept = try #require(try await self.passkeys.passkeys(of: Self.user))
        #expect(kept.handle == Self.one && kept.all.map(\.passkey.name) == ["Passkey 1"])
        try await self.add(3, handle: kept.handle)
        #expect(try await self.passkeys.passkeys(of: Self.user)?.all.count == 2)
    }

    @Test func `Q-22: the handle of passkeys that were all removed stays the user's`() async throws {
        let first = try await self.add(1, handle: Self.one)
        let id = try #require(first.all.first?.id)
        _ = try await self.passkeys.remove(id, of: Self.user)
        let failure = await #expect(throws: Failure.self) { try await self.add(2, handle: Self.other) }
        #expect(failure?.reason == .passkeyConflict)
        #expect(try await self.passkeys.passkeys(of: Self.user)?.handle == Self.one)
    }

    @Test func `Q-22: two passkeys that are added at the same time are both kept, with one handle`() async throws {
        try await self.add(1, handle: Self.one)
        self.store.interrupt("replaceEntry") { [self] in _ = try? await self.add(2, handle: Self.one) }
        try await self.add(3, handle: Self.one)
        let kept = try #require(try await self.passkeys.passkeys(of: Self.user))
        #expect(kept.all.map(\.passkey.name) == ["Passkey 1", "Passkey 2", "Passkey 3"])
    }

    @Test func `Q-22: the limit and the ids hold for passkeys that are added at the same time`() async throws {
        for number in 1..<UInt8(UserPasskeys.maxCount) { try await self.add(number, handle: Self.one) }
        self.store.interrupt("replaceEntry") { [self] in _ = try? await self.add(100, handle: Self.one) }
        let failure = await #expect(throws: Failure.self) { try await self.add(101, handle: Self.one) }
        #expect(failure?.reason == .passkeyConflict)
        #expect(try await self.passkeys.passkeys(of: Self.user)?.all.count == UserPasskeys.maxCount)
        let last = try #require(try await self.passkeys.passkeys(of: Self.user)?.all.last)
        _ = try await self.passkeys.remove(last.id, of: Self.user)
        self.store.interrupt("replaceEntry") { [self] in _ = try? await self.add(102, handle: Self.one) }
        let same = await #expect(throws: Failure.self) { try await self.add(102, handle: Self.one) }
        #expect(same?.reason == .passkeyConflict)
    }

    @Test func `Q-22: a passkey that is removed while another one is added stays removed`() async throws {
        let first = try await self.add(1, handle: Self.one)
        let id = try #require(first.all.first?.id)
        self.store.interrupt("replaceEntry") { [self] in _ = try? await self.passkeys.remove(id, of: Self.user) }
        try await self.add(2, handle: Self.one)
        #expect(try await self.passkeys.passkeys(of: Self.user)?.all.map(\.passkey.name) == ["Passkey 2"])
    }
}
