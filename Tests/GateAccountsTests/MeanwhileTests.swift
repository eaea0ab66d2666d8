// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GatePasskeys
import GateSessionStores
import Synchronization
import Testing

@testable import GateAccounts

/// What a user does with credentials that an operator, or another tab, changes between the read of the account and the write.
@Suite struct MeanwhileTests {
    /// What happens meanwhile.
    enum Change: CaseIterable {
        case reset
        case resetWithCodes
        case disabled
        case disabledAndEnabled
        case removed
        case otherPassword
    }

    private let store = SwitchedStore()
    private let fixture: Fixture
    private let outcome = Outcome()

    /// What the change left: the account, and the token of the link of a reset.
    private final class Outcome: Sendable {
        let state = Mutex<(account: Account?, token: String)>((nil, ""))
    }

    init() {
        self.fixture = Fixture(store: self.store)
    }

    /// Has a change happen right before the next write of an entry.
    private func meanwhile(_ change: Change, to account: Account) {
        let (accounts, outcome) = (self.fixture.accounts, self.outcome)
        let hash = account.password
        self.store.interrupt("replaceEntry") {
            switch change {
            case .reset, .resetWithCodes:
                let removes = change == .resetWithCodes
                let made = try? await accounts.reset(account.id, verifiesEmail: true, removesCodes: removes)
                outcome.state.withLock { $0.token = made?.token ?? "" }
            case .disabled: _ = try? await accounts.setDisabled(true, account.id)
            case .disabledAndEnabled:
                _ = try? await accounts.setDisabled(true, account.id)
                _ = try? await accounts.setDisabled(false, account.id)
            case .removed: _ = try? await accounts.store.remove(account.id)
            case .otherPassword:
                _ = try? await accounts.store.update(account.id) { account in
                    guard account.password == hash else { return false }
                    account.password = PasswordHash(phc: MeanwhileTests.otherHash)
                    account.generation += 1
                    return true
                }
            }
            let now = try? await accounts.store.account(account.id)
            outcome.state.withLock { $0.account = now }
        }
    }

    private static let otherHash =
        "$argon2id$v=19$m=4096,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

    /// The account is as the change left it, and the link of a reset is valid.
    private func expectAsLeft(_ account: Account, after change: Change) async throws {
        let now = try await self.fixture.accounts.store.account(account.id)
        let (left, token) = self.outcome.state.withLock { $0 }
        #expect(now == left)
        #expect((now == nil) == (change == .removed))
        if !token.isEmpty {
            let chosen = try await self.fixture.accounts.choose("another password of words", byLink: token, from: nil)
            #expect(chosen.isChanged)
        }
    }

    @Test(arguments: Change.allCases.filter { $0 != .disabledAndEnabled })
    func `Q-14: a password is not changed after what ended the present one`(change: Change) async throws {
        let account = try await self.fixture.add()
        self.meanwhile(change, to: account)
        let result = try await self.fixture.accounts.change(
            account.id,
            from: Fixture.password,
            to: "a new password of many words",
            origin: self.fixture.network
        )
        #expect(result.isLost)
        try await self.expectAsLeft(account, after: change)
    }

    @Test(arguments: Change.allCases)
    func `Q-14: a second factor is not added after a change of the credentials`(change: Change) async throws {
        let account = try await self.fixture.add()
        self.meanwhile(change, to: account)
        await #expect(throws: Fixture.NotChanged.self) { try await self.fixture.addCodes(to: account) }
        try await self.expectAsLeft(account, after: change)
    }

    @Test(arguments: Change.allCases)
    func `Q-14: a second factor is not removed after a change of the credentials`(change: Change) async throws {
        let (account, recovery) = try await self.fixture.addCodes(to: try await self.fixture.add())
        // The first write notes the use of the code, the second one removes the factor.
        for isSecond in [false, true] {
            let left = try await self.fixture.accounts.store.account(account.id)
            guard left?.isDisabled == false, left?.password == account.password else { break }
            if isSecond {
                self.store.interrupt("replaceEntry") { [self] in self.meanwhile(change, to: account) }
            } else {
                self.meanwhile(change, to: account)
            }
            let result = try await self.fixture.accounts.removeCodes(
                account.id,
                password: Fixture.password,
                code: recovery[isSecond ? 1 : 0],
                origin: self.fixture.network
            )
            #expect(!result.isChanged)
            #expect(
                try await self.fixture.accounts.store.account(account.id) == self.outcome.state.withLock { $0.account }
            )
        }
    }

    @Test(arguments: Change.allCases)
    func `Q-14: a code admits no user after a change of the credentials`(change: Change) async throws {
        let account = try await self.fixture.addCodes(to: try await self.fixture.add()).account
        self.fixture.clock.move(60)
        self.meanwhile(change, to: account)
        let result = try await self.fixture.accounts.check(
            code: self.fixture.code(of: account),
            of: account,
            from: self.fixture.network
        )
        #expect(result.isRejected)
        try await self.expectAsLeft(account, after: change)
    }

    @Test(arguments: [Change.reset, .resetWithCodes, .disabled, .disabledAndEnabled, .removed])
    func `Q-14: a link chooses no password after what ended the link`(change: Change) async throws {
        let added = try await self.fixture.add()
        let made = try #require(
            try await self.fixture.accounts.reset(added.id, verifiesEmail: true, removesCodes: false)
        )
        self.meanwhile(change, to: made.account)
        let result = try await self.fixture.accounts.choose(Fixture.password, byLink: made.token, from: nil)
        #expect(result.isLost)
        try await self.expectAsLeft(added, after: change)
    }
}
