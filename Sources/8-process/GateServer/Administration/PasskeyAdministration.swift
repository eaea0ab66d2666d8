// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateCore
internal import GateOperations
internal import GatePasskeys
internal import GateSessions

/// The passkeys of users, as operators list and remove them.
struct PasskeyAdministration {
    private let passkeys: Passkeys
    private let audit: AuditLog

    /// - Throws: If passkeys are off.
    init(_ passkeys: Passkeys?, audit: AuditLog) throws(OperationsRejection) {
        guard let passkeys else { throw OperationsRejection(400, "the file has no 'passkeys'") }
        (self.passkeys, self.audit) = (passkeys, audit)
    }

    /// `GET /v1/passkeys`: the passkeys of a user, or those of all users.
    func list(_ parameters: inout OperationsParameters, limit standard: Int64) async throws -> JSON {
        try await parameters.list(
            "passkeys",
            limit: standard,
            ofUser: { try await self.passkeys.passkeys(of: $0) },
            page: { try await self.passkeys.page(from: $0, limit: $1) },
            Self.json
        )
    }

    /// `POST /v1/passkeys/remove`: removes one passkey of a user, or all.
    func remove(_ parameters: inout OperationsParameters, by caller: OperationsCaller) async throws -> JSON {
        let id = try parameters.text("id")
        guard let user = try parameters.text("user") else { throw OperationsRejection(400, "'user' is missing") }
        try parameters.end()
        let entry = self.audit.changing(account: user, "remove_passkeys", by: caller)
        do {
            let isRemoved =
                if let id {
                    try await self.passkeys.remove(id, of: user) != nil
                } else {
                    try await self.passkeys.removeAll(of: user)
                }
            guard isRemoved else {
                let shown = PrintableText.escaped(user, limit: 200)
                throw OperationsRejection(404, "\(shown) has no \(id == nil ? "passkeys" : "passkey of this id")")
            }
            entry.changed(user)
            return ["user": .string(user)]
        } catch {
            entry.failed("\(error)")
            throw error
        }
    }

    private static func json(_ user: UserPasskeys) -> [JSON] {
        user.all.map { saved in
            var members: [String: JSON] = [
                "user": .string(user.user), "id": .string(saved.id), "name": .string(saved.passkey.name),
                "added": .int(saved.added.seconds), "synced": .bool(saved.passkey.isBackedUp),
            ]
            members["used"] = saved.used.map { .int($0.seconds) }
            return .object(members)
        }
    }
}
