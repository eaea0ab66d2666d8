// SPDX-License-Identifier: Apache-2.0

package import GateAccounts

/// What is kept of users beside their sessions, and how they are reached.
package struct UserAccounts: Sendable {
    /// Where it is kept, in the store of the sessions.
    package let entries: SealedEntries
    /// The passkeys of the users; nil if they are off.
    package var passkeys: Passkeys?
    /// The accounts that users have connected; nil if that is off.
    package var connections: AccountConnections?
    /// Sends links to the users of local accounts; nil without a mail server.
    package var mailer: AccountMailer?

    /// Nothing but local accounts.
    package init(in entries: SealedEntries) {
        self.entries = entries
    }
}
