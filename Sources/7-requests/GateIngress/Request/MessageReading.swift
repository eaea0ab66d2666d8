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
    /// JSON-RPC 2.0 §5.1: -32000 to -32099 are the server's own. It is a response of the protocol, not a failure of the transport, which
    /// many clients would close after an error of HTTP; but for what a client has to get before it may repeat the request, and for a body
    /// that has no messages (MCP, "Transports", Sending Messages to the Server).
    ///
    /// - Parameters:
    ///   - messages: The messages.
    ///   - asksForScopes: Whether the client would be admitted with more scopes.
    /// - Returns: The response.
    func asDenial(of messages: MessageReading, asksForScopes: Bool) -> Response {
        guard let rejection = self.rejection else { return self }
        var data: [String: JSON] = ["error": .string(rejection.reason.entry.code)]
        data["incident"] = rejection.incident.map(JSON.string)
        let incident = rejection.incident.map { ": \($0)" } ?? ""
        let message = "denied by the rules of the gateway; ask its operator, with the incident id\(incident)"
        let error: JSON = ["code": -32_043, "message": .string(message), "data": .object(data)]
        func denial(of id: JSON) -> JSON { ["jsonrpc": "2.0", "id": id, "error": error] }
        var response = self
        var body = denial(of: .null)
        if case .read(let read) = messages {
            body = read.ids.map { JSON.array($0.map(denial)) } ?? denial(of: read.id)
            if !asksForScopes { response.head.status = .ok }
        }
        response.body = body.encoded + [0x0A]
        response.head.headerFields[.contentType] = "application/json"
        return response
    }
}
