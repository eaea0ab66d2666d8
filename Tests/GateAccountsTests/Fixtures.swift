// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import GateSessionStores
import GateSessions
import Synchronization

@testable import GateAccounts

/// A time at which all tests begin.
let noon = Instant(seconds: 1_800_000_000)

/// A clock that tests move.
final class MovedClock: Sendable {
    private let seconds = Mutex<Int64>(noon.seconds)

    var clock: WallClock { WallClock { Instant(seconds: self.seconds.withLock { $0 }) } }

    func move(_ seconds: Int64) { self.seconds.withLock { $0 += seconds } }
}

/// Local accounts in memory, with cheap hashes.
struct Fixture {
    static let cost = PasswordCost(memory: 4096, passes: 1, lanes: 1)

    let clock = MovedClock()
    let store: any SessionStore
    let accounts: LocalAccounts
    /// The entries in which they are.
    let entries: SealedEntries
    /// No time passes for it, however slow the machine is.
    let throttle: PasswordThrottle

    init(
        provider: String = "staff",
        store: any SessionStore = MemoryStore(),
        secrets: [String] = ["one"],
        settings: LocalAccountSettings = LocalAccountSettings(),
        workers: PasswordWorkers = PasswordWorkers(cost: Fixture.cost)
    ) {
        let start = ContinuousClock.now
        self.throttle = PasswordThrottle { start }
        self.store = store
        self.entries = SealedEntries(in: store, sealer: Fixture.sealer(secrets), clock: self.clock.clock)
        self.accounts = LocalAccounts(
            provider: provider,
            settings: settings,
            host: "gate.example.com",
            entries: self.entries,
            sealer: Fixture.sealer(secrets),
            services: LocalAccounts.Services(workers: workers, throttle: self.throttle),
            clock: self.clock.clock,
            random: .system
        )
    }

    static func sealer(_ secrets: [String]) -> Sealer {
        Sealer(secrets.map { Secret(text: $0 + String(repeating: "-", count: 32)) })
    }

    static let password = "correct horse battery staple"
    let network = LocalAccounts.Origin(client: IPAddress("192.0.2.1"), device: nil)

    /// Adds an account and chooses its password by the link.
    func add(_ email: String = "ada@example.com", password: String = Fixture.password) async throws -> Account {
        var draft = AccountDraft()
        draft.email = email
        let added = try await self.accounts.add(draft, linkVerifiesEmail: true)
        guard
            case .changed(let account) = try await self.accounts.choose(password, byLink: added.token ?? "", from: nil)
        else {
            throw NotChanged()
        }
        return account
    }

    struct NotChanged: Error {}

    /// The time-based code of an account now.
    func code(of account: Account) -> String {
        account.codes.map { TimeCode.code($0.secret, step: self.clock.clock.now.seconds / 30) } ?? ""
    }

    /// Adds the second factor; returns the account and the recovery codes.
    func addCodes(to account: Account) async throws -> (account: Account, recovery: [String]) {
        let enrolment = EnrolmentSecret(from: self.accounts)
        let code = TimeCode.code(enrolment.secret, step: self.clock.clock.now.seconds / 30)
        let added = try await self.accounts.addCodes(
            account.id,
            enrolment,
            password: Fixture.password,
            code: code,
            origin: self.network
        )
        guard case .changed(let changed) = added.result else { throw NotChanged() }
        return (changed, added.recovery)
    }

    /// The proof of the password of an account.
    func proof(of account: Account) throws -> PasswordProof {
        let text = PasswordProof.text(for: account, attempt: "attempt", of: self.accounts)
        guard let proof = PasswordProof(text, attempt: "attempt", of: self.accounts) else { throw NotChanged() }
        return proof
    }
}

extension LocalAccounts.PasswordResult {
    var isAdmitted: Bool {
        guard case .admitted = self else { return false }
        return true
    }

    var isRejected: Bool {
        guard case .rejected = self else { return false }
        return true
    }

    var needsCode: Bool {
        guard case .needsCode = self else { return false }
        return true
    }

    var wait: Duration? {
        guard case .tooMany(let wait) = self else { return nil }
        return wait
    }
}

extension LocalAccounts.ChangeResult {
    var isChanged: Bool {
        guard case .changed = self else { return false }
        return true
    }

    var isLost: Bool {
        guard case .lost = self else { return false }
        return true
    }

    var isWrongPassword: Bool {
        guard case .wrongPassword = self else { return false }
        return true
    }

    var finding: PasswordRules.Finding? {
        guard case .unacceptable(let finding) = self else { return nil }
        return finding
    }
}
