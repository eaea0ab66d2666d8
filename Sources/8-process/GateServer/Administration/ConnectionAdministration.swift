// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateCore
internal import GateOperations
internal import GateSessions

/// The accounts that users have connected, as operators list and disconnect them.
struct ConnectionAdministration {
    private let connections: AccountConnections
    private let audit: AuditLog

    /// - Throws: If users cannot connect accounts.
    init(_ connections: AccountConnections?, audit: AuditLog) throws(OperationsRejection) {
        guard let connections else { throw OperationsRejection(400, "the file has no 'connected_accounts'") }
        (self.connections, self.audit) = (connections, audit)
    }

    /// `GET /v1/connections`: the connected accounts of a user, or those of all users.
    func list(_ parameters: inout OperationsParameters, limit standard: Int64) async throws -> JSON {
        try await parameters.list(
            "connections",
            limit: standard,
            ofUser: { try await self.connections.accounts(of: $0) },
            page: { try await self.connections.page(from: $0, limit: $1) },
            Self.json
        )
    }

    /// `POST /v1/connections/remove`: disconnects an account from the first one of its user, and ends its sessions.
    func remove(
        _ parameters: inout OperationsParameters,
        _ sessions: SessionManager,
        by caller: OperationsCaller
    ) async throws -> JSON {
        guard let user = try parameters.text("user") else { throw OperationsRejection(400, "'user' is missing") }
        try parameters.end()
        let entry = self.audit.changing(account: user, "disconnect", by: caller)
        do {
            guard let account = try await self.connections.accounts(of: user)?.other(user) else {
                let shown = PrintableText.escaped(user, limit: 200)
                throw OperationsRejection(404, "\(shown) is not connected to the first account of a user")
            }
            // Also before: what fails half-way can be repeated.
            var ended = try await sessions.endAll(of: account.profile)
            _ = try await self.connections.disconnect(user, of: user)
            ended += try await sessions.endAll(of: account.profile)
            entry.changed(user)
            return ["user": .string(user), "sign_ins_ended": .int(Int64(ended))]
        } catch {
            entry.failed("\(error)")
            throw error
        }
    }

    private static func json(_ accounts: ConnectedAccounts) -> [JSON] {
        accounts.all.map { account in
            [
                "user": .string(account.user), "first": .string(accounts.first), "name": .string(account.name),
                "provider": .string(account.provider), "added": .int(account.added.seconds),
            ]
        }
    }
}
