// SPDX-License-Identifier: Apache-2.0

import GateCore
import GatePolicy
import GateWire
import NIOCore
import Testing

/// The messages in the body of a request to an MCP server.
@Suite struct MCPBodyTests {
    private static let json = "Content-Type: application/json\r\n"

    private func head(_ start: String, _ lines: String) throws -> RequestHead {
        var parser = RequestParser(names: FieldNames(), isSecure: true)
        var buffer = ByteBuffer(string: "\(start) HTTP/1.1\r\nHost: mcp.example.com\r\n\(lines)\r\n")
        return try #require(try parser.head(from: &buffer))
    }

    private func body(_ text: String, _ lines: String = json) throws -> MCPBody {
        try MCPBody(Array(text.utf8), of: self.head("POST /", lines))
    }

    private func failure(_ bytes: [UInt8], _ lines: String = json) throws -> MCPFailure? {
        let head = try self.head("POST /", lines)
        do throws(MCPFailure) {
            _ = try MCPBody(bytes, of: head)
            return nil
        } catch {
            return error
        }
    }

    private static func request(_ members: String) -> String { #"{"jsonrpc":"2.0",\#(members)}"# }

    // N-06
    @Test(
        arguments: [
            (#"{"jsonrpc":"2.0","id":0,"method":"a"}"#, 0, nil),
            (#"{"jsonrpc":"2.0","id":"x","method":"a"}"#, "x", nil),
            (#"{"jsonrpc":"2.0","method":"a"}"#, .null, nil), (#"{"jsonrpc":"2.0","id":7,"result":{}}"#, .null, nil),
            (#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":7,"result":{}}]"#, .null, nil),
            (
                #"[{"jsonrpc":"2.0","id":2,"method":"a"},{"jsonrpc":"2.0","method":"b"},{"jsonrpc":"2.0","id":"c","method":"c"}]"#,
                .null, [2, "c"]
            ),
        ] as [(String, JSON, [JSON]?)]
    )
    func `the requests that wait for a response are known by their ids`(text: String, id: JSON, ids: [JSON]?) throws {
        let body = try self.body(text)
        #expect(body.id == id && body.ids == ids)
    }

    @Test(arguments: [
        (#""id":1,"method":"tools/list""#, MCPMessage(method: "tools/list")),
        (
            #""id":"a","method":"tools/call","params":{"name":"rm -rf","arguments":{"name":"x"}}"#,
            MCPMessage(method: "tools/call", tool: "rm -rf")
        ),
        (#""method":"notifications/initialized""#, MCPMessage(method: "notifications/initialized")),
        (#""id":7,"result":{"roots":[]}"#, .response), (#""id":null,"error":{"code":1,"message":"x"}"#, .response),
        (
            #""id":1,"method":"tools\/c\u0061ll","params":{"n\u0061me":"\u00e9"}"#,
            MCPMessage(method: "tools/call", tool: "é")
        ),
        (#""id":1,"method":"x/call","params":{"Name":1,"NAME":2}"#, MCPMessage(method: "x/call")),
    ])
    func `a message has its method and the tool that it calls`(members: String, message: MCPMessage) throws {
        #expect(try self.body(Self.request(members)).messages == [message])
    }

    @Test func `only a single request has an id for the response`() throws {
        #expect(
            try self.body(Self.request(#""id":12345678901234567890,"method":"ping""#)).id
                == .number("12345678901234567890")
        )
        #expect(try self.body(Self.request(#""method":"notifications/x""#)).id == .null)
        let batch = try self.body(
            "[\(Self.request(#""id":1,"method":"ping""#)), \(Self.request(#""id":2,"method":"a/b""#))]"
        )
        #expect(batch.id == .null && batch.messages.map(\.method) == ["ping", "a/b"])
    }

    @Test(
        arguments: [
            ("", .notJSON), ("{", .notJSON), ("\u{FEFF}{}", .notJSON), ("{} {}", .notJSON), ("// x\n{}", .notJSON),
            ("[]", .batch), ("[[]]", .message), ("null", .message), ("{}", .message), ("\"x\"", .message),
            (#"{"id":1,"method":"ping"}"#, .message), (#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, .message),
            (request(#""id":1,"method":7"#), .message), (request(#""id":1,"method":"""#), .message),
            (request(#""id":1,"method":"(stream)""#), .message),
            (request(#""id":1,"method":"tools/call\u0000""#), .message),
            (request(#""id":1,"method":" tools/call""#), .message),
            (request(#""id":1,"method":"tools/c\u00e4ll""#), .message),
            (request(#""id":1,"method":"ping","result":1"#), .message), (request(#""result":1"#), .message),
            (request(#""id":1,"result":1,"error":2"#), .message),
            (request(#""id":1,"method":"tools/list","method":"tools/call""#), .repeated),
            (request(#""id":1,"method":"tools/list","m\u0065thod":"tools/call""#), .repeated),
            (request(#""id":1,"method":"tools/call","params":{"name":"a","name":"b"}"#), .repeated),
            (request(#""id":1,"method":"tools/list","Method":"tools/call""#), .lookAlike),
            (request(#""id":1,"method":"tools/call","params":{"name":"a"},"param\u017f":{"name":"b"}"#), .lookAlike),
            (request(#""id":1,"method":"tools/call","params":{"name":"a","NAME":"b"}"#), .lookAlike),
            (request(#""id":1,"method":"TOOLS/call","params":{"name":"a"}"#), .lookAlike),
            (request(#""id":1,"method":"tools/call","params":{"name\u0000":"b","name":"a"}"#), .lookAlike),
            (request(#""id":1,"method":"tools/call""#), .tool),
            (request(#""id":1,"method":"tools/call","params":["a"]"#), .tool),
            (request(#""id":1,"method":"tools/call","params":{"name":1}"#), .tool),
            (request(#""id":1,"method":"tools/call","params":{"name":""}"#), .tool),
            (request(#""id":1,"method":"tools/call","params":{"name":"a\u0000"}"#), .tool),
            (request(#""id":"\ud800","method":"ping""#), .notJSON),
        ] as [(String, MCPFailure)]
    )
    func `what two servers could read differently is rejected`(text: String, failure: MCPFailure) throws {
        #expect(try self.failure(Array(text.utf8)) == failure, "\(text)")
    }

    @Test func `bytes that are not UTF-8 are rejected, and so is UTF-16`() throws {
        let text = Self.request(#""id":1,"method":"ping""#)
        #expect(try self.failure(Array(text.utf8) + [0xFF]) == .notJSON)
        #expect(try self.failure(text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }) == .notJSON)
        let invalid = Array(#"{"jsonrpc":"2.0","id":""#.utf8) + [0xC3, 0x28] + Array(#"","method":"ping"}"#.utf8)
        #expect(try self.failure(invalid) == .notJSON)
    }

    @Test func `a batch has at most 100 messages, and JSON at most 64 levels`() throws {
        let ping = Self.request(#""id":1,"method":"ping""#)
        func batch(_ count: Int) -> [UInt8] {
            Array("[\(Array(repeating: ping, count: count).joined(separator: ","))]".utf8)
        }
        #expect(try self.failure(batch(100)) == nil && self.failure(batch(101)) == .batch)
        func nested(_ levels: Int) -> [UInt8] {
            let inner = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
            return Array(Self.request(#""id":1,"method":"ping","params":\#(inner)"#).utf8)
        }
        #expect(try self.failure(nested(63)) == nil && self.failure(nested(64)) == .tooDeep)
    }

    @Test(
        arguments: [
            ("Content-Type: application/json\r\n", nil), ("Content-Type: Application/JSON; charset=\"UTF-8\"\r\n", nil),
            ("", .contentType), ("Content-Type: text/plain\r\n", .contentType),
            ("Content-Type: application/json; charset=utf-16\r\n", .contentType),
            ("Content-Type: application/json-rpc\r\n", .contentType), (json + json, .contentType),
            (json + "Content-Encoding: identity\r\n", nil), (json + "Content-Encoding: gzip\r\n", .encoded),
            (json + "Content-Encoding: identity, br\r\n", .encoded),
            (json + "Mcp-Method: tools/call\r\nMcp-Name: rm\r\n", nil),
            (json + "Mcp-Name: =?base64?cm0=?=\r\n", nil), (json + "Mcp-Name: =?base64?cm1k?=\r\n", .header),
            (json + "Mcp-Method: tools/list\r\n", .header), (json + "Mcp-Name: ls\r\n", .header),
            (json + "Mcp-Method: tools/call\r\nMcp-Method: tools/call\r\n", .header),
        ] as [(String, MCPFailure?)]
    )
    func `the fields name JSON, and agree with the body`(lines: String, failure: MCPFailure?) throws {
        let text = Self.request(#""id":1,"method":"tools/call","params":{"name":"rm"}"#)
        #expect(try self.failure(Array(text.utf8), lines) == failure, "\(lines)")
    }

    @Test(arguments: [
        ("GET /", "", MCPMessage.stream), ("HEAD /", "", .stream), ("DELETE /", "", .end), ("PUT /", "", nil),
        ("OPTIONS /", "", nil), ("GET /", "Content-Length: 2\r\n", nil), ("DELETE /", "Content-Length: 2\r\n", nil),
        ("GET /", "Upgrade: websocket\r\nConnection: Upgrade\r\n", nil),
    ])
    func `a request without a body opens the stream or ends the session`(
        start: String,
        lines: String,
        message: MCPMessage?
    ) throws {
        #expect(MCPBody.message(withoutBody: try self.head(start, lines)) == message)
    }
}

/// Conditions on messages to an MCP server.
@Suite struct MCPRulesTests {
    private func isAdmitted(_ message: MCPMessage?, by route: Route) -> Bool {
        var facts = RequestFacts(method: "POST", client: nil, time: Instant(seconds: 0), authenticated: nil)
        facts.message = message
        return route.decision(for: facts, path: [0x2F], profile: .ada).isAdmission
    }

    private static let call = MCPMessage(method: "tools/call", tool: "rm")

    @Test func `initialize includes what belongs to its session, and no other request`() throws {
        let route = try Route.to(.entries([.with { $0.request = [.mcpMethod(["initialize", "tools/list"])] }]))
        for method in ["initialize", "tools/list", "(stream)", "(end)", "(response)", "notifications/cancelled"] {
            #expect(self.isAdmitted(MCPMessage(method: method), by: route), "\(method)")
        }
        for method in ["ping", "tools/call", "Tools/list", "tools/list/x", "resources/read", "notification/x"] {
            #expect(!self.isAdmitted(MCPMessage(method: method), by: route), "\(method)")
        }
        let listing = try Route.to(.entries([.with { $0.request = [.mcpMethod(["tools/list", "(stream)"])] }]))
        #expect(self.isAdmitted(.stream, by: listing) && !self.isAdmitted(.end, by: listing))
    }

    @Test func `a tool is denied by its exact name, and nothing else is`() throws {
        var route = try Route.to(.signedIn)
        route.denied = [.with { $0.request = [.mcpTool(["rm", "dd"])] }]
        #expect(!self.isAdmitted(Self.call, by: route))
        for tool in ["RM", "rm ", "r", "rmdir"] {
            #expect(self.isAdmitted(MCPMessage(method: "tools/call", tool: tool), by: route), "\(tool)")
        }
        #expect(self.isAdmitted(MCPMessage(method: "tools/list"), by: route) && self.isAdmitted(.stream, by: route))
    }

    @Test func `an unknown message satisfies no allow and passes no deny`() throws {
        for condition in [RequestCondition.mcpMethod(["tools/call"]), .mcpTool(["rm"])] {
            let allowing = try Route.to(.entries([.with { $0.request = [condition] }]))
            var denying = try Route.to(.signedIn)
            denying.denied = [.with { $0.request = [condition] }]
            var excepting = try Route.to(.signedIn)
            excepting.denied = [.with { $0.nested = [.not(.with { $0.request = [condition] })] }]
            #expect(self.isAdmitted(Self.call, by: allowing) && self.isAdmitted(Self.call, by: excepting))
            #expect(self.isAdmitted(MCPMessage(method: "ping"), by: denying))
            for route in [allowing, denying, excepting] { #expect(!self.isAdmitted(nil, by: route)) }
        }
    }

    @Test func `a preflight is not denied because of a rule about messages`() throws {
        var route = try Route.to(.signedIn)
        route.denied = [.with { $0.request = [.mcpTool(["rm"])] }]
        let path: [UInt8] = [0x2F]
        let isDenied = route.deniesEveryUser(
            method: "OPTIONS",
            path.span,
            at: Instant(seconds: 0),
            guardsSpellings: true
        )
        #expect(!isDenied)
    }
}
