// SPDX-License-Identifier: Apache-2.0

import Dispatch
import GateCore
import Testing

@testable import GateAccounts

/// F-04 and F-05: what is tried is counted before it is looked at, under what was typed.
@Suite struct AttemptTests {
    private func origin(_ number: Int) throws -> LocalAccounts.Origin {
        let client = try #require(IPAddress("198.51.\(100 + number / 250).\(number % 250 + 1)"))
        return LocalAccounts.Origin(client: client, device: nil)
    }

    /// The results of attempts that begin together.
    private func results(
        _ count: Int,
        _ attempt: @Sendable @escaping (Int) async throws -> LocalAccounts.PasswordResult
    ) async throws -> [LocalAccounts.PasswordResult] {
        try await withThrowingTaskGroup(of: LocalAccounts.PasswordResult.self) { group in
            for number in 0..<count { group.addTask { try await attempt(number) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test(arguments: ["ada@example.com", "ada", "eve@example.com", "eve", "no name!"])
    func `of forty passwords at once from one place five are looked at, for every name`(name: String) async throws {
        let fixture = Fixture()
        _ = try await fixture.add("ada@example.com")
        let found = try await self.results(40) { _ in
            try await fixture.accounts.check(name, "wrong horse battery", from: fixture.network)
        }
        #expect(found.count(where: \.isRejected) == 5 && found.count { $0.wait != nil } == 35)
    }

    @Test(arguments: ["ada@example.com", "eve@example.com", "no name!"])
    func `of sixty from as many places twenty are looked at, for every name`(name: String) async throws {
        let fixture = Fixture()
        _ = try await fixture.add("ada@example.com")
        let origins = try (0..<60).map { try self.origin($0) }
        let found = try await self.results(60) { number in
            try await fixture.accounts.check(name, "wrong horse battery", from: origins[number])
        }
        #expect(found.count(where: \.isRejected) == 20 && found.count { $0.wait != nil } == 40)
    }

    @Test func `of forty codes at once five are looked at, recovery codes too`() async throws {
        for wrong in [["000000"], ["aaaa-aaaa-aaaa-aaaa"], (0..<40).map { "\(100_000 + $0)" }] {
            let fixture = Fixture()
            let account = try await fixture.addCodes(to: try await fixture.add()).account
            let proof = try fixture.proof(of: account)
            let found = try await self.results(40) {
                try await fixture.accounts.check(code: wrong[$0 % wrong.count], after: proof, from: fixture.network)
            }
            #expect(found.count(where: \.isRejected) == 5 && found.count { $0.wait != nil } == 35)
        }
    }

    @Test
    func `no attempt for one name makes another one wait: the names of an account, unknown ones, impossible ones`()
        async throws
    {
        let fixture = Fixture()
        var draft = AccountDraft()
        (draft.email, draft.username) = ("ada@example.com", "ada")
        let added = try await fixture.accounts.add(draft, linkVerifiesEmail: true)
        #expect(try await fixture.accounts.choose(Fixture.password, byLink: added.token ?? "", from: nil).isChanged)
        let names = [
            "ada@example.com", "ada", "eve@example.com", "eve", "no name!", "other name!", "",
            String(repeating: "x", count: 400),
        ]
        for name in names {
            for _ in 0..<5 {
                #expect(try await fixture.accounts.check(name, "wrong horse battery", from: fixture.network).isRejected)
            }
            #expect(
                try await fixture.accounts.check(name, "wrong horse battery", from: fixture.network).wait == .seconds(1)
            )
        }
    }

    @Test(arguments: [" ADA@example.com", "ada@EXAMPLE.com", "Ada@example.com."])
    func `another spelling of a name is the same name`(spelling: String) async throws {
        let fixture = Fixture()
        _ = try await fixture.add("ada@example.com")
        for _ in 0..<5 { _ = try await fixture.accounts.check("ada@example.com", "wrong", from: fixture.network) }
        #expect(try await fixture.accounts.check(spelling, Fixture.password, from: fixture.network).wait != nil)
    }

    @Test func `F-04: an attempt whose password was not looked at does not count`() async throws {
        let workers = PasswordWorkers(threads: 1, maxWaiting: 0, cost: Fixture.cost)
        let fixture = Fixture(workers: workers)
        _ = try await fixture.add("ada@example.com")
        func check() async throws -> LocalAccounts.PasswordResult {
            try await fixture.accounts.check("ada@example.com", Fixture.password, from: fixture.network)
        }
        let end = DispatchSemaphore(value: 0)
        async let blocked: Void = workers.run(for: nil) { end.wait() }
        while workers.count == 0 { await Task.yield() }
        for _ in 0..<10 {
            let failure = await #expect(throws: Failure.self) { _ = try await check() }
            #expect(failure?.reason == .accountBusy)
        }
        end.signal()
        try await blocked
        #expect(try await check().isAdmitted)
    }

    @Test func `right passwords at once are all looked at`() async throws {
        let fixture = Fixture()
        _ = try await fixture.add("ada@example.com")
        for _ in 0..<20 {
            #expect(
                try await fixture.accounts.check("ada@example.com", Fixture.password, from: fixture.network).isAdmitted
            )
        }
    }
}
