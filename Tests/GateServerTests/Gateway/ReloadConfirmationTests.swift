// SPDX-License-Identifier: Apache-2.0

import GateCore
import GatePolicy
import GateSessionStores
import GateSessions
import Testing

@testable import GateServer

@Suite struct ReloadConfirmationTests {
    private static let now = Instant(seconds: 1_790_172_800)

    private func refused(_ content: String = "abc") -> ReloadConfirmation {
        var machine = ReloadConfirmation()
        machine.rejected = ReloadConfirmation.RejectedReload(
            content: content,
            at: Self.now,
            loss: LossCheck.Loss(detail: "3 of 4 users of wiki would lose access", difference: .null)
        )
        return machine
    }

    private func status(_ work: () throws(OperationsRejection) -> Void) -> Int {
        do throws(OperationsRejection) {
            try work()
            return 200
        } catch {
            return error.status
        }
    }

    @Test func `a confirmation is for the refused content only, and for one reload`() throws {
        var machine = self.refused()
        try machine.confirm("abc", at: Self.now)
        let other = ["other", "abc"].map { machine.takeConfirmation(of: $0, at: Self.now) }
        #expect(other == [false, false])
        try machine.confirm("abc", at: Self.now)
        let same = ["abc", "abc"].map { machine.takeConfirmation(of: $0, at: Self.now) }
        #expect(same == [true, false])
    }

    @Test func `content that was not refused cannot be confirmed, nor what was refused over an hour ago`() {
        let late = Self.now.advanced(by: .seconds(3600))
        let (none, machine) = (ReloadConfirmation(), self.refused())
        for (machine, content, time) in [(none, "abc", Self.now), (machine, "abd", Self.now), (machine, "abc", late)] {
            var machine = machine
            let status = self.status { () throws(OperationsRejection) in try machine.confirm(content, at: time) }
            #expect(status == 409)
        }
    }

    @Test func `a confirmation that no reload has used expires`() throws {
        var machine = self.refused()
        try machine.confirm("abc", at: Self.now)
        let isTaken = machine.takeConfirmation(of: "abc", at: Self.now.advanced(by: .seconds(60)))
        #expect(!isTaken)
    }

    private func rules(_ group: String?) throws -> [AppRules] {
        let host = try #require(Origin(scheme: "https", host: "wiki.example.com"))
        var route = Route(app: "wiki", origin: host, path: "/")
        route.providers = ["google"]
        var entry = AccessEntry(at: RulePlace(line: 9))
        entry.group = group
        route.access = group == nil ? .signedIn : .entries([entry])
        return [AppRules(route, guardsSpellings: true)]
    }

    private func manager(of store: any SessionStore, users: Int) async throws -> SessionManager {
        let manager = SessionManager(
            store: store,
            sealer: Sealer([Secret([UInt8](repeating: 7, count: 32))]),
            lifetimes: SessionLifetimes(idle: .seconds(3600), absolute: .seconds(36_000)),
            feed: RevocationFeed()
        )
        for number in 0..<users {
            var profile = Profile(provider: "google", issuer: "https://accounts.google.com", subject: "\(number)")
            profile.groups = number == 0 ? [] : ["staff"]
            _ = try await manager.issue(SignIn(profile: profile), host: "gate.example.com", now: Self.now)
        }
        return manager
    }

    @Test(arguments: [("30%", false), ("25%", false), ("24%", true), ("0%", true)])
    func `a loss is refused above the share, with the numbers, the app and the rule`(
        share: String,
        isRejected: Bool
    ) async throws {
        let share = try #require(AccessShare(share))
        let check = LossCheck(old: try self.rules(nil), new: try self.rules("staff"), share: share)
        let manager = try await self.manager(of: MemoryStore(), users: 4)
        let loss = await check.loss(of: manager, at: Self.now)
        #expect((loss != nil) == isRejected)
        guard let loss else { return }
        #expect(loss.detail.contains("1 of 4 users of wiki") && loss.detail.contains("providers.yaml:9"))
    }

    @Test func `a gateway without users yet is not blocked, and neither is a gain`() async throws {
        let share = try #require(AccessShare("0%"))
        let losing = LossCheck(old: try self.rules(nil), new: try self.rules("staff"), share: share)
        #expect(await losing.loss(of: try await self.manager(of: MemoryStore(), users: 0), at: Self.now) == nil)
        let gaining = LossCheck(old: try self.rules("staff"), new: try self.rules(nil), share: share)
        #expect(await gaining.loss(of: try await self.manager(of: MemoryStore(), users: 4), at: Self.now) == nil)
    }

    @Test func `users that cannot be read are a reason to refuse, but not for the same rules`() async throws {
        let store = MemoryStore()
        let manager = try await self.manager(of: store, users: 4)
        await store.close()
        let share = try #require(AccessShare("50%"))
        let check = LossCheck(old: try self.rules(nil), new: try self.rules("staff"), share: share)
        #expect(await check.loss(of: manager, at: Self.now)?.detail.contains("is not known") == true)
        let same = LossCheck(old: try self.rules(nil), new: try self.rules(nil), share: share)
        #expect(await same.loss(of: manager, at: Self.now) == nil)
    }
}
