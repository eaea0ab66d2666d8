// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateSessions

/// The sign-ins that a user sees, and ends.
@Suite struct UserSignInsTests {
    private let host = "gate.example.com"
    private let fixture = SessionFixture()

    private func profile(_ subject: String) -> Profile {
        Profile(provider: "staff", issuer: "https://id.example.com", subject: subject)
    }

    private func signIn(_ id: Int, as subject: String = "ada", at now: Instant = noon) async throws -> Ticket {
        var signIn = SignIn(profile: self.profile(subject))
        signIn.device = "Browser \(id)"
        let once = SingleUse("attempt", "\(id)", until: now.plus(600))
        let issued = try await self.fixture.manager.issue(signIn, host: self.host, now: now, spending: once)
        return try #require(issued).ticket
    }

    private func isLive(_ ticket: Ticket) async throws -> Bool {
        try await self.fixture.manager.session(for: ticket, host: self.host, now: noon.plus(10)) != nil
    }

    @Test func `a user sees own sign-ins, the most recently used first, up to a limit`() async throws {
        for number in 0..<5 { _ = try await self.signIn(number, at: noon.plus(Int64(60 * number))) }
        _ = try await self.signIn(9, as: "eve")
        let manager = self.fixture.manager
        let some = try await manager.signIns(of: self.profile("ada"), limit: 3, now: noon.plus(300))
        #expect(some.items.map { $0.card?.device } == ["Browser 4", "Browser 3", "Browser 2"] && some.hasMore)
        let all = try await manager.signIns(of: self.profile("ada"), limit: 5, now: noon.plus(300))
        #expect(all.items.count == 5 && !all.hasMore && Set(all.items.map(\.id)).count == 5)
    }

    @Test func `a user ends one of them, and none of another user`() async throws {
        let (first, second) = (try await self.signIn(1), try await self.signIn(2, at: noon.plus(5)))
        let manager = self.fixture.manager
        let items = try await manager.signIns(of: self.profile("ada"), limit: 10, now: noon.plus(6)).items
        let id = try #require(items.first { $0.card?.device == "Browser 1" }?.id)
        #expect(try await !manager.endSignIn(id, of: self.profile("eve"), now: noon.plus(7)))
        #expect(try await !manager.endSignIn("", of: self.profile("ada"), now: noon.plus(7)))
        #expect(try await self.isLive(first))
        #expect(try await manager.endSignIn(id, of: self.profile("ada"), now: noon.plus(7)))
        #expect(try await !self.isLive(first))
        #expect(try await self.isLive(second))
        #expect(try await !manager.endSignIn(id, of: self.profile("ada"), now: noon.plus(8)))
    }
}
