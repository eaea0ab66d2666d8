// SPDX-License-Identifier: Apache-2.0

import Crypto
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
        let party = try RelyingParty(id: "example.com", name: "Acme", origins: [origin])
        self.challenge = try PasskeyChallenge(Array(0..<32))
        self.passkeys = Passkeys(party, in: fixture.entries, clock: fixture.clock.clock, random: .system)
    }

    /// What an authenticator returns for a new passkey with a key of its own.
    private func response(_ number: UInt8) -> JSON {
        let id = [UInt8](repeating: number, count: 16)
        let point = Array(P256.Signing.PrivateKey().publicKey.rawRepresentation)
        // COSE: kty 2, alg -7, crv 1, x, y.
        let key = [0xA5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32] + point[..<32] + [0x22, 0x58, 32] + point[32...]
        // The user is present and verified, and there is a credential.
        let head = Array(SHA256.hash(data: Array("example.com".utf8))) + [0x45, 0, 0, 0, 1]
        let data = head + [UInt8](repeating: 0, count: 16) + [0, 16] + id + key
        let object =
            [0xA3, 0x63] + Array("fmt".utf8) + [0x64] + Array("none".utf8) + [0x67] + Array("attStmt".utf8)
            + [0xA0, 0x68] + Array("authData".utf8) + [0x58, UInt8(data.count)] + data
        let clientData: JSON = [
            "type": "webauthn.create", "challenge": .string(self.challenge.text), "origin": "https://gate.example.com",
            "crossOrigin": false,
        ]
        let name = JSON.string(Base64URL.encode(id))
        return [
            "id": name, "rawId": name, "type": "public-key",
            "response": [
                "attestationObject": .string(Base64URL.encode(object)),
                "clientDataJSON": .string(Base64URL.encode(clientData.encoded)),
            ],
        ]
    }

    @discardableResult
    private func add(_ number: UInt8, handle: [UInt8]) async throws(Failure) -> UserPasskeys {
        guard let user = try? PasskeyRegistration.User(id: handle, name: "ada", displayName: "Ada") else {
            throw Failure(.passkeyRejected, "the handle is rejected")
        }
        let registration = PasskeyRegistration(self.passkeys.relyingParty, user: user, challenge: self.challenge)
        return try await self.passkeys.add(
            self.response(number),
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
