// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateOpenID

/// What the steps of a callback have found out.
struct FoundUser: Sendable {
    let signIn: SignIn
    let tokens: VerifiedTokens
    let notes: [String]

    var profile: Profile { self.signIn.profile }
}

extension RelyingParty {
    /// The user of a callback, by the steps that `GateEndpoints/Endpoints+Callback.swift` takes.
    func user(of callback: Form, _ attempt: Attempt, looksUpGroups: Bool = true) async throws(Failure) -> FoundUser {
        let exchange = try await self.open(try self.accept(callback, of: attempt))
        defer { self.close(exchange) }
        let tokens = try await self.redeem(exchange)
        let user = try await self.user(of: tokens, looksUpGroups: looksUpGroups)
        return FoundUser(signIn: user.signIn, tokens: tokens, notes: user.notes)
    }
}
