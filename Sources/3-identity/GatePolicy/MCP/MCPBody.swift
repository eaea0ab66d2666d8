// SPDX-License-Identifier: Apache-2.0

internal import Foundation
package import GateCore
package import GateWire

/// The messages in the body of a request to an MCP server.
///
/// MCP, "Transports", Streamable HTTP: a POST has one message of JSON-RPC 2.0; revision 2025-03-26 has batches too.
///
/// The bytes go on to the server unchanged, so whatever two servers could read differently is rejected here: repeated members,
/// members in another letter case (which the JSON package of Go takes for the same), other encodings, a compressed body.
package struct MCPBody: Sendable, Hashable {
    /// The maximum number of messages in a batch.
    package static let maxMessages = 100
    /// How deep the JSON may nest.
    package static let maxDepth = 64
    private static let maxMethod = 256
    private static let maxTool = 512

    /// The messages, at least one.
    package let messages: [MCPMessage]
    /// The id of the only request, for the response to it; `null` for everything else.
    package let id: JSON
    /// The ids of the requests in a batch, for the responses to them; nil if the body is not a batch, or has no requests.
    package let ids: [JSON]?

    /// What a request without a body is.
    package init(_ message: MCPMessage) {
        self.messages = [message]
        self.id = .null
        self.ids = nil
    }

    /// Reads the body of a POST.
    ///
    /// - Parameters:
    ///   - body: The whole body, whose size the caller bounds.
    ///   - request: The head of the request.
    /// - Throws: Why it cannot be read in one way only.
    package init(_ body: some Collection<UInt8>, of request: RequestHead) throws(MCPFailure) {
        try MCPBody.checkFields(of: request.message)
        let json: JSON
        do throws(JSON.ParseError) {
            json = try JSON(parsing: body, depth: MCPBody.maxDepth)
        } catch {
            throw MCPFailure(error)
        }
        if case .array(let elements) = json {
            guard (1...MCPBody.maxMessages).contains(elements.count) else { throw .batch }
            self.id = .null
            let ids = elements.filter { $0["method"] != nil }.compactMap { $0["id"] }
            self.ids = ids.isEmpty ? nil : ids
            var messages: [MCPMessage] = []
            for element in elements { messages.append(try MCPBody.message(element)) }
            self.messages = messages
        } else {
            let message = try MCPBody.message(json)
            self.messages = [message]
            // The id of a response is the server's own.
            self.id = json["method"] == nil ? .null : json["id"] ?? .null
            self.ids = nil
        }
        try self.checkNames(in: request.message)
    }

    /// The message that a request without a body is; nil if the protocol has no such request.
    package static func message(withoutBody request: RequestHead) -> MCPMessage? {
        guard request.framing == .none, !WebSocketHandshake.isRequested(by: request) else { return nil }
        switch request.method.rawValue {
        case "GET", "HEAD": return .stream
        case "DELETE": return .end
        default: return nil
        }
    }
}

// MARK: Fields

extension MCPBody {
    private static func checkFields(of message: MessageHead) throws(MCPFailure) {
        let types = self.values(of: "content-type", in: message)
        guard types.count == 1, let type = types.first, self.isJSON(type) else { throw .contentType }
        let encodings = self.values(of: "content-encoding", in: message)
        guard encodings.allSatisfy({ $0.lowercased() == "identity" }) else { throw .encoded }
    }

    /// RFC 8259 §11: there is no parameter `charset`, but clients send it.
    private static func isJSON(_ type: String) -> Bool {
        let parts = type.lowercased().split(separator: ";", omittingEmptySubsequences: false).map { part in
            part.filter { $0 != " " && $0 != "\t" && $0 != "\"" }
        }
        guard parts.first == "application/json" else { return false }
        return parts.dropFirst().allSatisfy { !$0.hasPrefix("charset=") || $0 == "charset=utf-8" }
    }

    /// The fields that repeat the method and the tool of the body have to agree with it.
    ///
    /// MCP, revision 2026-07-28, "Transports", Standard Request Headers.
    private func checkNames(in message: MessageHead) throws(MCPFailure) {
        let methods = MCPBody.values(of: "mcp-method", in: message)
        let names = MCPBody.values(of: "mcp-name", in: message)
        guard !methods.isEmpty || !names.isEmpty else { return }
        guard self.messages.count == 1, let only = self.messages.first, methods.count <= 1, names.count <= 1,
            methods.allSatisfy({ isIdentical($0, only.method) })
        else { throw .header }
        guard let tool = only.tool, let name = names.first else { return }
        guard MCPBody.decoded(name).map({ isIdentical($0, tool) }) ?? false else { throw .header }
    }

    /// A value that is not printable ASCII is sent as `=?base64?…?=`.
    private static func decoded(_ value: String) -> String? {
        guard value.hasPrefix("=?base64?"), value.hasSuffix("?="), value.utf8.count >= 11 else { return value }
        guard let bytes = Data(base64Encoded: String(value.dropFirst(9).dropLast(2))) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func values(of name: String, in message: MessageHead) -> [String] {
        message.fields.filter { message.spells($0.nameRange, name) }.map { message.text($0.valueRange) }
    }
}

// MARK: Messages

extension MCPBody {
    private static func message(_ json: JSON) throws(MCPFailure) -> MCPMessage {
        guard let members = json.object, let version = members["jsonrpc"]?.string,
            isIdentical(version, "2.0"), members.count <= self.maxMembers
        else { throw .message }
        try self.checkMembers(members, against: ["jsonrpc", "method", "params", "id", "result", "error"])
        let isResponse = members["result"] != nil || members["error"] != nil
        guard let member = members["method"] else {
            guard isResponse, members["id"] != nil, members["result"] == nil || members["error"] == nil else {
                throw .message
            }
            return .response
        }
        guard !isResponse, let method = member.string, self.isMethod(method) else { throw .message }
        guard isIdentical(method, MCPMessage.toolCall) else {
            // A server that ignores letter case would call a tool.
            guard !isIdentical(method.lowercased(), MCPMessage.toolCall) else { throw .lookAlike }
            return MCPMessage(method: method)
        }
        guard let params = members["params"]?.object, let tool = params["name"]?.string, self.isTool(tool) else {
            throw .tool
        }
        try self.checkMembers(params, against: ["name"])
        return MCPMessage(method: method, tool: tool)
    }

    /// Rejects members that a server could take for one of these, since it ignores letter case.
    ///
    /// The simple case folding of Unicode has two letters more that fold to ASCII: ſ and the Kelvin sign.
    private static func checkMembers(
        _ members: [String: JSON],
        against names: Set<String>
    ) throws(MCPFailure) {
        for name in members.keys where !names.contains(name) {
            // A server in C would read the name up to there.
            guard !name.utf8.contains(0) else { throw .lookAlike }
            guard name.utf8.count <= self.maxFolded else { continue }
            let folded = name.lowercased().replacing("\u{17F}", with: "s").replacing("\u{212A}", with: "k")
            guard !names.contains(folded) else { throw .lookAlike }
        }
    }

    /// How many members a message may have.
    private static let maxMembers = 32
    /// The longest name that could be taken for one of a message, in bytes.
    private static let maxFolded = 24

    /// Visible ASCII, and none of the words in parentheses.
    private static func isMethod(_ text: String) -> Bool {
        (1...self.maxMethod).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            && !text.hasPrefix("(")
    }

    private static func isTool(_ text: String) -> Bool {
        (1...self.maxTool).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
    }
}

/// Why the body of a request to an MCP server cannot be read in one way only.
package enum MCPFailure: Error, Hashable, CaseIterable {
    /// It is not `application/json`, or in another encoding than UTF-8.
    case contentType
    /// It is compressed.
    case encoded
    /// It is not JSON in UTF-8.
    case notJSON
    /// It nests too deep.
    case tooDeep
    /// A member is repeated.
    case repeated
    /// A member differs from one of JSON-RPC in letter case only.
    case lookAlike
    /// A batch is empty or too long.
    case batch
    /// It is not a message of JSON-RPC 2.0.
    case message
    /// `tools/call` names no tool.
    case tool
    /// A field repeats the method or the tool, and differs from the body.
    case header

    fileprivate init(_ error: JSON.ParseError) {
        switch error {
        case .syntax: self = .notJSON
        case .tooDeep: self = .tooDeep
        case .duplicateName: self = .repeated
        }
    }

    /// What is wrong and what to send instead, as the end of a sentence about the body.
    package var message: String {
        switch self {
        case .contentType: "is not application/json in UTF-8; send one Content-Type field with that"
        case .encoded: "is compressed; send it without Content-Encoding"
        case .notJSON: "is not JSON in UTF-8"
        case .tooDeep: "nests deeper than \(MCPBody.maxDepth) levels"
        case .repeated: "has a member twice, which servers read differently"
        case .lookAlike:
            "has a member that differs from one of JSON-RPC in letter case only, which some servers take for it"
        case .batch: "is a batch of none or of over \(MCPBody.maxMessages) messages"
        case .message: "is not a message of JSON-RPC 2.0: a request, a notification or a response"
        case .tool: "calls a tool and has no valid 'params.name'"
        case .header: "differs from the field Mcp-Method or Mcp-Name of the request"
        }
    }
}
