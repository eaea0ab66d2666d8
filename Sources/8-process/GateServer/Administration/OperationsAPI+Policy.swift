// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateSessions

extension OperationsAPI {
    /// `GET /v1/policy`: the configuration in force, and the reload that was refused.
    func policy(_ parameters: OperationsParameters) throws -> JSON {
        try parameters.end()
        return self.environment.policy()
    }

    /// `GET /v1/policy/users`: what rules can ask for about the users who can have a session or were seen lately.
    func policyUsers(_ parameters: inout OperationsParameters) async throws -> JSON {
        let limit = Int(try parameters.number("limit", 1...1000) ?? OperationsAPI.standardLimit)
        let cursor = try parameters.cursor()
        try parameters.end()
        let now = self.environment.clock.now
        let page = try await self.environment.sessions().seenUsers(from: cursor, limit: limit, now: now)
        return [
            "users": .array(page.items.map { .object(OperationsAPI.facts(of: $0.facts)) }),
            "next": JSON(cursor: page.next),
        ]
    }

    /// `POST /v1/policy/confirm`: loads the configuration that was refused, if `content` names it.
    func confirm(_ parameters: inout OperationsParameters, by caller: OperationsCaller) throws -> JSON {
        guard let content = try parameters.text("content") else {
            throw OperationsRejection(400, "'content' is missing")
        }
        try parameters.end()
        try self.environment.confirmReload(content)
        self.audit.confirmed(reloadOf: content, by: caller)
        return ["content": .string(content)]
    }
}
