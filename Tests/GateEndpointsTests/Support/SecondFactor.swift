// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GateTestSupport

@testable import GateAccounts

extension GatewayFixture {
    /// The time-based code of a secret, some steps of 30 seconds from now.
    func code(_ secret: Secret, later steps: Int64 = 0) -> String {
        TimeCode.code(secret, step: self.clock.now.seconds / 30 + steps)
    }

    /// Adds the second factor to a local account; returns its secret and the recovery codes.
    func addCodes(to account: Account) async throws -> (secret: Secret, recovery: [String]) {
        let accounts = try self.accounts
        let enrolment = EnrolmentSecret(from: accounts)
        let added = try await accounts.addCodes(
            account.id,
            enrolment,
            password: GatewayFixture.password,
            code: self.code(enrolment.secret),
            origin: LocalAccounts.Origin(client: nil, device: nil)
        )
        guard case .changed = added.result else { throw CancellationError() }
        return (enrolment.secret, added.recovery)
    }
}
