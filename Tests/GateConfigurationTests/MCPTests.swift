// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateConfiguration
import GateCore
import GatePolicy
import Testing

/// `mcp` of an app, and conditions on messages.
@Suite struct MCPTests {
    private func app(_ keys: String) throws -> AppSettings {
        try #require(try Fixture.configuration(Fixture.smallest(app: keys)).apps.first)
    }

    private func messages(
        _ keys: String,
        upstream: String = "upstream: http://127.0.0.1:9000",
        rest: String = ""
    ) -> [String] {
        Fixture.parse(Fixture.smallest(upstream: upstream, app: keys, rest: rest)).diagnostics.map { diagnostic in
            "\(diagnostic.location.map { "\($0.line) " } ?? "")\(diagnostic.message)"
        }
    }

    @Test func `an app is not an MCP server by default, and accepts sessions only`() throws {
        let app = try self.app("")
        #expect(app.maxMCPBody == nil && app.accepts == [.session])
    }

    @Test func `mcp adds tokens to what the app accepts`() throws {
        #expect(try self.app("    mcp: true").accepts == [.session, .token])
        #expect(try self.app("    mcp: true\n    accept: [token]").accepts == [.token])
        #expect(try self.app("    mcp: true\n    accept: [session]").accepts == [.session, .token])
        #expect(try self.app("    mcp: false").maxMCPBody == nil)
    }

    @Test(arguments: [("1KiB", 1024), ("16MiB", 16 << 20)])
    func `the limit of a body is read`(text: String, bytes: Int) throws {
        #expect(try self.app("    mcp: true").maxMCPBody == 1 << 20)
        #expect(try self.app("    mcp: true\n    mcp_max_body: \(text)").maxMCPBody == bytes)
    }

    @Test(arguments: ["1023", "17MiB", "0"])
    func `a limit out of range is an error`(text: String) {
        let found = self.messages("    mcp: true\n    mcp_max_body: \(text)")
        #expect(found.count == 1 && found[0].contains("is out of range; it must be 1KiB to 16MiB"), "\(found)")
    }

    @Test func `conditions on messages are read`() throws {
        let route = try self.app(
            """
                mcp: true
                deny:
                  - mcp_tool: rm
                  - mcp_method: [resources/read, "(end)", notifications/x]
                    not: { mcp_tool: [a b, ü] }
            """
        ).route
        #expect(
            route.denied.map(\.request) == [
                [.mcpTool(["rm"])], [.mcpMethod(["resources/read", "(end)", "notifications/x"])],
            ]
        )
        #expect(route.denied[1].nested.flatMap(\.entries).map(\.request) == [[.mcpTool(["a b", "ü"])]])
    }

    @Test func `conditions on messages are errors of an app without 'mcp', also from a rule set`() {
        let rules = "rules:\n  tools: [{ mcp_tool: rm }]"
        let wanted = "'mcp_tool' is for apps with 'mcp: true', which 'wiki' is not"
        #expect(self.messages("    deny: [{ use: tools }]", rest: rules) == ["17 \(wanted)"])
        #expect(self.messages("    deny: [{ not: { mcp_tool: rm } }]") == ["15 \(wanted)"])
        #expect(self.messages("    mcp: true\n    deny: [{ use: tools }]", rest: rules) == [])
        let limit = self.messages("    mcp_max_body: 1MiB")
        #expect(limit == ["15 'mcp_max_body' is for apps with 'mcp: true'; write that or remove it"])
    }

    @Test func `conditions on messages get a warning where paths are public`() {
        let wanted =
            "'mcp_tool' does not apply to 'public' paths, which ask for no user; keep the endpoint of the server out of them"
        let keys = "    mcp: true\n    public: [/docs]"
        #expect(self.messages("\(keys)\n    deny: [{ mcp_tool: rm }]") == ["17 \(wanted)"])
        #expect(self.messages(keys) == [])
    }

    @Test func `conditions on messages are errors where another proxy forwards the requests`() {
        let found = self.messages("    mcp: true\n    deny: [{ mcp_method: ping }]", upstream: "forward_auth: enforce")
        #expect(
            found.contains { $0.contains("'mcp_method' is for apps with 'upstream': the proxy of 'forward_auth' asks") }
        )
    }

    @Test(arguments: [
        ("mcp_method: tools/*", "has a '*', but names are compared exactly"),
        ("mcp_method: (x)", "is not one of (stream), (end), (response)"),
        ("mcp_method: a b", "is not a method such as tools/list"), ("mcp_method: \"\"", "is not a method"),
        ("mcp_tool: \"a\\u0000\"", "is not the name of a tool"), ("mcp_tool: []", "empty"),
    ])
    func `a name that no message has is an error`(entry: String, message: String) {
        let found = self.messages("    mcp: true\n    deny: [{ \(entry) }]")
        #expect(found.count == 1 && found[0].contains(message), "\(found)")
    }

    @Test func `a client's rules cannot be about messages`() {
        let client = "clients:\n  x: { type: native, redirect_uris: [\"a.b:/c\"], allow: [{ mcp_tool: rm }] }"
        let found = self.messages("", rest: client)
        #expect(found.count == 1 && found[0].contains("'mcp_tool' is about requests to an app"), "\(found)")
    }

    private func gateway(_ keys: String, app: String = "    mcp: true", rest: String = "") -> [String] {
        let gateway = "  client_registration: { \(keys) }"
        return Fixture.parse(Fixture.smallest(gateway: gateway, app: app, rest: rest)).diagnostics.map(\.message)
    }

    @Test func `clients without an entry are off by default`() throws {
        let configuration = try Fixture.configuration(Fixture.smallest())
        #expect(configuration.gateway.clientRegistration.clients.isOff && !configuration.hasClients)
    }

    @Test func `every key of the registration is read`() throws {
        let keys =
            "  client_registration: { by_url: true, hosts: [claude.ai, a.example], dynamic: true, ca_file: tls/good.pem }"
        let text = Fixture.smallest(gateway: keys, app: "    mcp: true")
        let registration = try Fixture.configuration(text).gateway.clientRegistration
        #expect(registration.clients.byURL && registration.clients.dynamic)
        #expect(registration.clients.hosts == ["claude.ai", "a.example"])
        #expect(registration.caFile == "/etc/gatehouse/tls/good.pem")
        #expect(try Fixture.configuration(text).hasClients)
    }

    @Test func `a registration that is of no use is reported`() {
        #expect(self.gateway("dynamic: true", app: "").first?.contains("which no app has") ?? false)
        #expect(self.gateway("dynamic: true").isEmpty && self.gateway("by_url: true").isEmpty)
        #expect(
            self.gateway("dynamic: true, hosts: a.example").first?.contains("no effect without 'by_url: true'") ?? false
        )
        let cookie = self.gateway("dynamic: true", rest: "sessions: { store: \"cookie:\" }")
        #expect(cookie.contains { $0.contains("'client_registration' needs another 'sessions.store' than 'cookie:'") })
    }
}
