// SPDX-License-Identifier: Apache-2.0

/// Who is notified when the sessions of a sign-in end.
package struct SignOutNotice: Sendable {
    /// The clients that want to know it.
    package let clients: [String]
    /// Notifies some of them; returns at once.
    package let send: @Sendable (_ signInID: String, _ clients: [String]) -> Void

    package init(clients: [String], send: @escaping @Sendable (_ signInID: String, _ clients: [String]) -> Void) {
        self.clients = clients
        self.send = send
    }
}
