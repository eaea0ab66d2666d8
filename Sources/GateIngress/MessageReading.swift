// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GatePolicy
internal import HTTPTypes

/// What is known of the messages to an MCP server in the body of a request.
enum MessageReading {
    /// Nothing yet.
    case unread
    /// These are all.
    case read(MCPBody)
    /// It is not known how the server would read them: why.
    case unreadable(String)
}

/// The decision of rules that are about messages.
enum MessageDecision {
    /// This one, about a message; nil if it is about none.
    case decision(Decision, MCPMessage?)
    /// The body has to be read before.
    case unread
    /// It depends on messages that cannot be read.
    case unreadable(Failure)
}

extension Response {
    /// A denial as the response to a message of JSON-RPC, so that the client shows it as the error of its request.
    ///
    /// JSON-RPC 2.0 §5.1: -32000 to -32099 are the server's own.
    func asDenial(of messages: MessageReading) -> Response {
        guard let rejection = self.rejection else { return self }
        var id = JSON.null
        if case .read(let body) = messages { id = body.id }
        var data: [String: JSON] = ["error": .string(rejection.reason.entry.code)]
        data["incident"] = rejection.incident.map(JSON.string)
        let message = "denied by the rules of the gateway; ask its operator, with the incident id"
        let error: JSON = ["code": -32_043, "message": .string(message), "data": .object(data)]
        var response = self
        response.body = JSON.object(["jsonrpc": "2.0", "id": id, "error": error]).encoded + [0x0A]
        response.head.headerFields[.contentType] = "application/json"
        return response
    }
}
