// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A message of the Model Context Protocol in a request, as far as rules look at it.
///
/// Requests, notifications and responses of JSON-RPC 2.0 §4 and §5; MCP, "Transports", Streamable HTTP.
package struct MCPMessage: Sendable, Hashable {
    /// The method: of JSON-RPC, or a word in parentheses, which no message can have as its method.
    package let method: String
    /// The tool that `tools/call` names; nil for every other method.
    package let tool: String?

    /// A message with a method; one with a tool is `tools/call`.
    package init(method: String, tool: String? = nil) {
        self.method = method
        self.tool = tool
    }

    /// A client opens the stream on which the server sends messages: GET.
    package static let stream = MCPMessage(method: "(stream)")
    /// A client ends its session: DELETE.
    package static let end = MCPMessage(method: "(end)")
    /// A client responds to a request of the server.
    package static let response = MCPMessage(method: "(response)")
    /// The method that begins a session.
    private static let initialize = "initialize"
    /// The method that calls a tool.
    package static let toolCall = "tools/call"

    /// Whether a rule that names a method is about the message.
    ///
    /// What asks for nothing itself belongs to the session that `initialize` began, and counts as that too: otherwise a rule that
    /// lists methods would cut off the stream, notifications and responses, without which no session works.
    func isNamed(_ method: String) -> Bool {
        isIdentical(self.method, method)
            || self.belongsToSession && isIdentical(MCPMessage.initialize, method)
    }

    private var belongsToSession: Bool { self.method.hasPrefix("(") || self.method.hasPrefix("notifications/") }
}

extension MCPMessage: CustomStringConvertible {
    /// The message in words: `tools/call delete_file`.
    package var description: String { self.tool.map { "\(self.method) \($0)" } ?? self.method }
}
