// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateSessions

@Suite struct UserRegisterTests {
    private let host = "gate.example.com"

    @Test func `a user is kept with the profile of the last sign-in and the time of the first`() async throws {
        let fixture = SessionFixture()
        _ = try await fixture.signedIn()
        await fixture.manager.register.write()
        var profile = Profile.ada
        profile.name = "Ada King"
        profile.groups = (0..<300).map { "group-\($0)" }
        _ = try await fixture.manager.issue(SignIn(profile: profile), host: self.host, now: noon.plus(500))
        await fixture.manager.register.write()
        let users = try await fixture.manager.users(from: [], limit: 10, now: noon).items
        let user = try #require(users.first)
        #expect(users.count == 1)
        #expect(user.firstSignIn == noon && user.lastSignIn == noon.plus(500))
        #expect(user.profile.user == "google:104729384756102938475" && user.profile.name == "Ada King")
        #expect(user.profile.groups.count == 100 && user.profile.picture == nil)
        let entry = try #require(fixture.store.state.withLock { $0.entries[.user]?.values.first })
        #expect(entry.expires == noon.plus(500 + 400 * 86_400))
        #expect(!String(decoding: entry.value, as: UTF8.self).contains("ada@example.com"))
    }

    @Test func `which groups were looked for is kept, so that a missing one is known or not`() async throws {
        let fixture = SessionFixture()
        var profile = Profile.ada
        (profile.groups, profile.groupsComplete, profile.groupsRequested) = (["staff"], true, ["staff", "guests"])
        fixture.manager.register.note(profile, at: noon)
        await fixture.manager.register.write()
        let user = try #require(try await fixture.manager.user(profile.user, now: noon))
        #expect(user.profile.groupsRequested == ["staff", "guests"] && user.profile.groupsComplete)
        #expect(user.profile.isOutside(group: "guests") && !user.profile.isOutside(group: "board"))
    }

    @Test func `a re-check changes the profile and when the user was seen, not the sign-in`() async throws {
        let fixture = SessionFixture()
        let register = fixture.manager.register
        register.note(.ada, at: noon)
        await register.write()
        var profile = Profile.ada
        profile.roles = ["auditor"]
        register.note(profile, at: noon.plus(7200), signedInAt: noon)
        await register.write()
        let user = try #require(try await fixture.manager.user(profile.user, now: noon))
        #expect(user.profile.roles == ["auditor"] && user.lastSignIn == noon && user.lastSeen == noon.plus(7200))
        #expect(user.facts.authTime == profile.authTime ?? noon)
    }

    @Test func `users count as seen for thirty days after their last sign-in or re-check`() async throws {
        let fixture = SessionFixture()
        let register = fixture.manager.register
        register.note(.ada, at: noon)
        await register.write()
        let month = SessionManager.seenTime.wholeSeconds
        func seen(at time: Instant) async throws -> Int {
            try await fixture.manager.seenUsers(from: [], limit: 10, now: time).items.count
        }
        #expect(try await seen(at: noon.plus(month)) == 1)
        #expect(try await seen(at: noon.plus(month + 1)) == 0)
        register.note(.ada, at: noon.plus(86_400), signedInAt: noon)
        await register.write()
        #expect(try await seen(at: noon.plus(month + 1)) == 1)
    }

    @Test func `a register that cannot be written fails no sign-in`() async throws {
        let fixture = SessionFixture()
        let register = UserRegister(in: fixture.store, sealer: fixture.sealer)
        fixture.store.state.withLock { $0.writesFail = true }
        register.note(.ada, at: noon)
        await register.write()
        fixture.store.state.withLock { $0.writesFail = false }
        #expect(try await register.page(from: [], limit: 10, at: noon).items.isEmpty)
    }

    @Test func `the queue is bounded, and several sign-ins of a user take one place`() async throws {
        let fixture = SessionFixture()
        let register = UserRegister(in: fixture.store, sealer: fixture.sealer)
        for number in 0..<(UserRegister.maxWaiting + 50) {
            for _ in 0..<2 {
                register.note(Profile(provider: "p", issuer: "https://p.example.com", subject: "\(number)"), at: noon)
            }
        }
        await register.write()
        #expect(fixture.store.state.withLock { $0.entries[.user]?.count } == UserRegister.maxWaiting)
    }
}
