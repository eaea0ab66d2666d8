// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateSessionStores
import GateSessions
import Testing

@testable import GateAccounts

@Suite struct AccountConnectionsTests {
    private let fixture = Fixture()

    private func connections(_ forwardsFirst: Bool = true) -> AccountConnections {
        AccountConnections(forwardsFirst: forwardsFirst, in: self.fixture.entries, clock: self.fixture.clock.clock)
    }

    private func profile(_ provider: String, _ subject: String) -> Profile {
        Profile(provider: provider, issuer: "https://\(provider).example", subject: subject)
    }

    @Test func `each account leads to the whole list, and apps get the key of the first`() async throws {
        let connections = self.connections()
        _ = try await connections.connect(self.profile("github", "9"), to: self.profile("google", "1"))
        _ = try await connections.connect(self.profile("apple", "a"), to: self.profile("github", "9"))
        let users = ["google:1", "github:9", "apple:a"]
        for user in users {
            #expect(try await connections.accounts(of: user)?.all.map(\.user) == users)
        }
        #expect(try await connections.forwardedKey(of: "apple:a") == "google:1")
        #expect(try await connections.forwardedKey(of: "google:1") == nil)
        #expect(try await connections.forwardedKey(of: "github:8") == nil)
        #expect(try await self.connections(false).forwardedKey(of: "apple:a") == nil)
    }

    @Test func `an account of one user is not connected to another, nor to itself`() async throws {
        let connections = self.connections()
        let (ann, bob) = (self.profile("google", "ann"), self.profile("google", "bob"))
        let shared = self.profile("github", "9")
        _ = try await connections.connect(shared, to: ann)
        for (other, user) in [(shared, bob), (ann, bob), (ann, ann), (bob, bob)] {
            let failure = await #expect(throws: Failure.self) { try await connections.connect(other, to: user) }
            #expect(failure?.reason == .accountConnected)
        }
        // Once more does not fail.
        #expect(try await connections.connect(shared, to: ann).all.count == 2)
        #expect(try await connections.accounts(of: bob.user) == nil)
    }

    @Test func `there are at most ten accounts`() async throws {
        let connections = self.connections()
        for number in 1..<ConnectedAccounts.maxCount {
            _ = try await connections.connect(self.profile("github", "\(number)"), to: self.profile("google", "1"))
        }
        await #expect(throws: Failure.self) {
            try await connections.connect(self.profile("github", "more"), to: self.profile("google", "1"))
        }
    }

    @Test func `what is left of a connection that was taken away means nothing`() async throws {
        let connections = self.connections()
        let (ann, other) = (self.profile("google", "ann"), self.profile("github", "9"))
        _ = try await connections.connect(other, to: ann)
        _ = try await connections.connect(self.profile("apple", "a"), to: ann)
        let key = accountDigest("connection", "github:9".utf8)
        let pointer = try #require(try await self.fixture.entries.entry(.connection, key))
        #expect(try await connections.disconnect("github:9", of: "apple:a")?.user == "github:9")
        // As after a crash before the entry of the account was removed.
        #expect(try await self.fixture.entries.replace(nil, .connection, key, by: pointer.plain))
        #expect(try await connections.accounts(of: "github:9") == nil)
        #expect(try await connections.accounts(of: "google:ann")?.all.count == 2)
        // It can be connected again, also with another user.
        _ = try await connections.connect(other, to: self.profile("google", "bob"))
        #expect(try await connections.forwardedKey(of: "github:9") == "google:bob")
    }

    @Test func `the first account is not taken away, and ends with the last other one`() async throws {
        let connections = self.connections()
        let (ann, other) = (self.profile("google", "ann"), self.profile("github", "9"))
        _ = try await connections.connect(other, to: ann)
        #expect(try await connections.disconnect("google:ann", of: "github:9") == nil)
        #expect(try await connections.disconnect("github:8", of: "google:ann") == nil)
        let removed = try await connections.disconnect("github:9", of: "google:ann")
        #expect(removed?.profile == other)
        #expect(try await connections.accounts(of: "google:ann") == nil)
        #expect(try await connections.page(from: [], limit: 10).page.items.isEmpty)
        // Now the other one may be the first.
        _ = try await connections.connect(ann, to: other)
        #expect(try await connections.forwardedKey(of: "google:ann") == "github:9")
    }
}
