// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateWire
internal import HTTPTypes

extension OperationsAPI {
    /// Whether a request is for the operations API rather than for health and metrics.
    static func isMeant(by request: RequestHead) -> Bool {
        request.path.text(in: request.message).hasPrefix("/v1/")
    }

    /// The response to a request over TCP, which needs the token.
    ///
    /// RFC 6750 §2.1.
    func response(to request: RequestHead, body: [UInt8], needing token: Secret) async -> Response {
        let fields = request.message.fields.filter { request.message.spells($0.nameRange, "authorization") }
        let value = fields.count == 1 ? request.message.text(fields[0].valueRange) : ""
        let parts = value.split(separator: " ", maxSplits: 1)
        let isBearer = parts.count == 2 && parts[0].lowercased() == "bearer"
        guard isBearer, Secret(text: String(parts[1])) == token else {
            var response = OperationsAPI.json(
                401,
                ["error": "the operations API needs 'operations_token' as bearer token"]
            )
            response.head.headerFields[.wwwAuthenticate] = "Bearer realm=\"gatehouse operations\""
            return response
        }
        return await self.response(to: request, body: body, from: .token)
    }
}
