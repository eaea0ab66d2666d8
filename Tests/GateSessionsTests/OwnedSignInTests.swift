// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateSessions

/// A sign-in for one client: of its two sessions, either both are kept or none.
@Suite struct OwnedSignInTests {
    private static let host = "gate.example.com"
    private let fixture = SessionFixture()
    private let grant = ClientGrant(client: "notes", scopes: ["openid"], audiences: [], ownsSignIn: true, at: noon)

    /// What goes wrong between the two sessions.
    enum Obstruction: CaseIterable {
        case secondWrite
        case readOfTheFirst
        case signOut
        case notBefore
    }

    @Test func `Q-21: the client's session is in the sign-in, which ends with it`() async throws {
        let signIn = try await self.fixture.signedIn()
        let issued = try await self.fixture.manager.issue(
            self.grant,
            owning: signIn,
            gatewayHost: Self.host,
            now: noon
        )
        #expect(issued.session.family == signIn.session.family)
        #expect(self.fixture.store.state.withLock { $0.records.count } == 2)
    }

    @Test(arguments: Obstruction.allCases)
    func `Q-21: a sign-in whose client gets no session is not kept`(by obstruction: Obstruction) async throws {
        let manager = self.fixture.manager
        let signIn = try await self.fixture.signedIn()
        switch obstruction {
        case .secondWrite: self.fixture.store.state.withLock { $0.insertsFail = true }
        case .readOfTheFirst: self.fixture.store.state.withLock { $0.entriesFail = true }
        case .signOut: _ = try await manager.endAll(of: signIn.session.profile)
        case .notBefore: try await manager.setNotBefore(noon.plus(1), user: signIn.session.profile.user, now: noon)
        }
        await #expect(throws: Failure.self) {
            try await manager.issue(self.grant, owning: signIn, gatewayHost: Self.host, now: noon)
        }
        #expect(self.fixture.store.state.withLock { $0.records.isEmpty })
        #expect(try await manager.sessions(from: [], limit: 10, now: noon).items.isEmpty)
    }
}
