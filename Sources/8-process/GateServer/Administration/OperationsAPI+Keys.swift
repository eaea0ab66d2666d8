// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateConfiguration
internal import GateCore

extension OperationsAPI {
    /// `GET /v1/keys`: the assertion keys and gateway secrets with their roles; never the keys themselves.
    func keys(_ parameters: OperationsParameters) throws -> JSON {
        try parameters.end()
        let configuration = self.environment.configuration()
        let now = self.environment.clock.now
        let material = try KeyMaterial.load(for: configuration, now: now, random: .system)
        let schedule = KeyMaterial.assertionSchedule(for: configuration)
        let keys = material.assertion.entries.map {
            OperationsAPI.json("id", $0.key.id, created: $0.created, role: $0.role, schedule)
        }
        let secretSchedule = KeyMaterial.secretSchedule(for: configuration)
        let secrets = (material.stateSecrets?.entries ?? []).map {
            OperationsAPI.json("file", $0.path, created: $0.created, role: $0.role, secretSchedule)
        }
        let tokenSchedule = KeyMaterial.tokenSchedule(for: configuration)
        let tokenKeys = (material.tokens?.entries ?? []).map {
            OperationsAPI.json("id", $0.key.id, created: $0.created, role: $0.role, tokenSchedule)
        }
        return [
            "assertion_keys": .array(keys), "token_keys": .array(tokenKeys), "secrets": .array(secrets),
            "secrets_in_configuration": .int(Int64(material.stateSecrets == nil ? material.secrets.count : 0)),
        ]
    }

    private static func json(
        _ name: String,
        _ value: String,
        created: Instant,
        role: RotationSchedule.Role,
        _ schedule: RotationSchedule
    ) -> JSON {
        var members: [String: JSON] = [
            name: .string(value), "role": .string(role.rawValue), "created": .int(created.seconds),
        ]
        if role == .next { members["used_from"] = .int(schedule.activation(of: created).seconds) }
        return .object(members)
    }

    /// `POST /v1/keys/rotate`: adds an assertion key or, with `secret`, a gateway secret in the state folder.
    func rotateKeys(_ parameters: inout OperationsParameters, by caller: OperationsCaller) throws -> JSON {
        let isSecret = try parameters.flag("secret")
        try parameters.end()
        let configuration = self.environment.configuration()
        let now = self.environment.clock.now
        let time: Instant?
        if isSecret {
            guard configuration.gateway.secrets?.isEmpty ?? true else {
                throw OperationsRejection(409, "'gateway.secret' is in the configuration; docs/keys.md has the steps")
            }
            time = try GatewaySecrets.rotate(
                folder: configuration.gateway.stateFolder,
                schedule: KeyMaterial.secretSchedule(for: configuration),
                now: now,
                random: .system
            )
        } else {
            time = try KeyMaterial.rotate(configuration, now: now)
        }
        guard let time else { throw OperationsRejection(409, "a new key is published already and not used yet") }
        ServerLog(logger: self.environment.logger).keyAdded(
            isSecret ? "gateway secret" : "assertion key",
            by: "\(caller)",
            usedFrom: time
        )
        self.environment.keysChanged("\(caller)")
        return ["used_from": .int(time.seconds)]
    }
}
