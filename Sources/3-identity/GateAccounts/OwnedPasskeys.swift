// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The passkeys by which a user proves to be the one whom apps know: those of the account of the session, and of all accounts that
/// share its user key.
///
/// Without those of the others, a thief of the weakest account would add a passkey to it and use that as the user of the first one.
package struct OwnedPasskeys: Sendable {
    /// Those of the account of the session; nil if it never had one.
    package let own: UserPasskeys?
    private let others: [UserPasskeys]

    /// The passkeys of the account of a session.
    ///
    /// - Parameters:
    ///   - user: The account.
    ///   - passkeys: Where passkeys are.
    ///   - connections: Which accounts are connected; nil if users cannot connect them.
    /// - Throws: If the store is unavailable, or an entry cannot be read.
    package init(
        of user: String,
        in passkeys: Passkeys,
        with connections: AccountConnections?
    ) async throws(Failure) {
        self.own = try await passkeys.passkeys(of: user)
        var others: [UserPasskeys] = []
        for account in try await connections?.sharingKey(with: user) ?? [] {
            if let found = try await passkeys.passkeys(of: account.user) { others.append(found) }
        }
        self.others = others
    }

    private var owners: [UserPasskeys] { [self.own].compactMap(\.self) + self.others }

    /// All of them.
    package var all: [SavedPasskey] { self.owners.flatMap(\.all) }

    /// The account of a passkey with a credential id; nil if it does not exist.
    package func owner(ofCredential id: [UInt8]) -> String? { self.owners.first { $0.passkey(id) != nil }?.user }

    /// The account of a passkey with the id that forms have; nil if it does not exist.
    package func owner(of id: String) -> String? {
        self.owners.first { $0.all.contains { $0.id == id } }?.user
    }
}
