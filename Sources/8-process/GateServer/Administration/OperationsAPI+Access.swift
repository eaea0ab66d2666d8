// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateWire
internal import HTTPTypes

extension OperationsAPI {
    /// Whether a request is for the operations API rather than for health and metrics.
    static func isMeant(by request: RequestHead) -> Bool {
        let path = request.path.text(in: request.message).utf8
        return path.starts(with: "/v".utf8) && path.dropFirst(2).first.map { (0x30...0x39).contains($0) } ?? false
    }

    /// The response to a request over TCP, which needs the token.
    ///
    /// RFC 6750 §2.1.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - body: Its body.
    ///   - token: The token.
    ///   - client: The IP address of the client, for the log.
    /// - Returns: The response.
    func response(
        to request: RequestHead,
        body: [UInt8],
        needing token: Secret,
        from client: String
    ) async -> Response {
        let fields = request.message.fields.filter { request.message.spells($0.nameRange, "authorization") }
        let value = fields.count == 1 ? request.message.text(fields[0].valueRange) : ""
        let parts = value.split(separator: " ", maxSplits: 1)
        let isBearer = parts.count == 2 && parts[0].lowercased() == "bearer"
        guard isBearer, Secret(text: String(parts[1])) == token else {
            self.audit.rejected(.token, from: client, fields.isEmpty ? "no token" : "not the token")
            var response = OperationsAPI.json(
                401,
                ["error": "the operations API needs 'operations_token' as bearer token"]
            )
            response.head.headerFields[.wwwAuthenticate] = "Bearer realm=\"gatehouse operations\""
            return response
        }
        return await self.response(to: request, body: body, from: .token)
    }

    /// The response to a request over the Unix socket, which only root and the user of the gateway may use.
    ///
    /// The mode of the socket's file has the same effect as long as it is not changed.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - body: Its body.
    ///   - user: The user id of the client; nil if the kernel does not report it.
    /// - Returns: The response.
    func response(to request: RequestHead, body: [UInt8], fromPeer user: UInt32?) async -> Response {
        let owner = self.environment.owner
        guard let user, user == 0 || user == owner else {
            self.audit.rejected(.user, from: "uid \(user.map(String.init) ?? "unknown")", "not uid 0 or \(owner)")
            let advice = "run the command as root or as user id \(owner), as the gateway runs"
            return OperationsAPI.json(403, ["error": .string(advice)])
        }
        return await self.response(to: request, body: body, from: .user(user))
    }
}
