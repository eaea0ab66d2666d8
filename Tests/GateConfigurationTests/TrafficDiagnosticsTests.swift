// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateWire
import Testing

/// Invalid settings of an app's traffic, and their diagnostics.
@Suite struct TrafficDiagnosticsTests {
    private func remarks(_ lines: String, instead upstream: String = "upstream: http://a") -> [String] {
        Fixture.remarks(Fixture.smallest(upstream: upstream, app: "    \(lines)"))
    }

    @Test func `an app has one of upstream, redirect, response and forward_auth`() {
        let none =
            "an app needs 'upstream', such as 'upstream: http://10.0.0.5:8080'; or 'redirect' or 'response' or 'forward_auth'"
        #expect(self.remarks("", instead: "") == ["error: \(none)"])
        #expect(
            self.remarks("response: {}\n    redirect: { to: https://b }") == [
                "error: 'response' excludes 'upstream' in line 13; keep one of them",
                "error: 'redirect' excludes 'upstream' in line 13; keep one of them",
            ]
        )
        #expect(
            self.remarks("response: {}", instead: "redirect: { to: https://b }") == [
                "error: 'response' excludes 'redirect' in line 13; keep one of them"
            ]
        )
        #expect(self.remarks("", instead: "upstrem: http://a").count == 1)
    }

    @Test(
        arguments: [
            (
                "identity: { signature: headers, encoding: plain }",
                "error: 'signature' does not go with 'encoding: plain'"
            ),
            (
                "identity: { signature: request }\n    underscore_headers: forward",
                "error: 'signature' does not go with 'underscore_headers: forward'"
            ),
            (
                "identity: { authorization: assertion, basic: { username: a, password: \"${env:GATE_SECRET}\" } }",
                "error: 'basic' and 'authorization' set the same header"
            ),
            (
                "identity: { signature: headers }\n    request_headers: { set: { Signature: x } }",
                "error: 'Signature' is set by 'identity'"
            ),
            (
                "identity: { preset: grafana }\n    request_headers: { remove: [X-WEBAUTH-NAME] }",
                "error: 'X-WEBAUTH-NAME' carries identity"
            ),
            ("identity: { preset: authentik }", "error: 'authentik' is not a preset"),
            (
                "identity: { preset: gitlab }",
                "error: there is no preset for GitLab, which reads no identity headers: remove 'preset'"
            ),
            ("identity: { authorization: refresh_token }", "error: 'refresh_token' is not a token for the app"),
            (
                "identity: { authorization: access_token }\n    public: [/**]",
                "error: 'authorization: access_token' would never be sent: requests of a public path have no user"
            ),
            (
                "identity: { authorization: id_token }\n    providers: []",
                "error: 'authorization: id_token' would never be sent: only users who signed in with a provider have one"
            ),
            ("identity: { group_separator: \"\\n\" }", "error: "),
            ("identity: { fields: [assertion] }", "error: 'assertion' is not an identity field"),
        ])
    func `what contradicts itself in 'identity' is an error`(lines: String, beginning: String) {
        let found = self.remarks(lines)
        #expect(found.contains { $0.hasPrefix(beginning) }, "\(found)")
    }

    @Test func `a header of the file replaces that of the preset`() throws {
        let text = Fixture.smallest(app: "    identity: { preset: grafana }\n    headers: { x-webauth-user: email }")
        let app = try #require(try Fixture.configuration(text).apps.first)
        #expect(app.headers.filter { $0.name.lowercased() == "x-webauth-user" }.map(\.fact) == [.field(.email)])
        #expect(app.headers.count == 4 && app.identity.encoding == .quotedPrintable)
    }

    @Test func `X-02 exact spellings are warned of where another app is the same server`() {
        func remarks(_ upstream: String) -> [String] {
            let other =
                "  admin:\n    path: /admin\n    upstream: \(upstream)\n    allow: signed_in\n    path_spelling: exact"
            return Fixture.remarks(Fixture.smallest(rest: other))
        }
        let found = remarks("http://127.0.0.1:9000")
        #expect(
            found.count == 1 && found[0].hasPrefix("warning: ")
                && found[0].contains("'/ADMIN', reaches the same server")
        )
        #expect(remarks("http://127.0.0.1:9001").isEmpty)
    }

    @Test(arguments: [("/Board", "/board"), ("/b%C3%BCro", "/B%C3%9CRO"), ("/a%20b", "/A%20b")])
    func `X-02 two apps whose paths many servers read as one are rejected`(one: String, other: String) {
        func remarks(_ rule: String, _ rest: String) -> [String] {
            let apps = [("one", one, rule), ("other", other, rest)].map { name, path, rule in
                "  \(name):\n    path: \(path)\n    upstream: http://\(name)\n    allow: signed_in\n    path_spelling: \(rule)"
            }
            return Fixture.remarks(Fixture.smallest(rest: apps.joined(separator: "\n")))
        }
        let found = remarks("exact", "any")
        #expect(
            found.count == 1
                && found[0].hasPrefix("error: '\(other)' and '\(one)' of 'one' differ in letter case or escapes only")
        )
        #expect(remarks("exact", "exact").isEmpty)
    }

    @Test func `X-02 an app without its prefix is warned of where another app is the same server`() {
        let other =
            "  board:\n    path: /board\n    upstream: http://127.0.0.1:9000\n    allow: signed_in\n    strip_prefix: true"
        let risk = "users of 'board' reach every path of that server, those of 'wiki' too"
        let found = Fixture.remarks(Fixture.smallest(rest: other))
        #expect(found == ["warning: with 'strip_prefix' and the server of 'wiki', \(risk)"])
    }

    @Test(
        arguments: [
            ("http://127.0.0.1:9000/a", "http://127.0.0.1:9000/b", nil),
            (
                "http://127.0.0.1:9000/a", "http://127.0.0.1:9000/a/b",
                "with 'upstream' and the server of 'wiki', users of 'board' reach paths of 'wiki'"
            ),
            ("http://127.0.0.1:9000/a", "http://127.0.0.1:9000", nil),
        ] as [(String, String, String?)]
    )
    func `X-02 an app that reaches the paths of another is warned of`(wiki: String, board: String, message: String?) {
        let other = "  board:\n    host: b.example.com\n    upstream: \(board)\n    allow: signed_in"
        let found = Fixture.remarks(Fixture.smallest(upstream: "upstream: \(wiki)", rest: other))
        let own = found.filter { $0.contains("server of 'wiki'") }
        #expect(own == (message.map { ["warning: \($0)"] } ?? []), "\(found)")
    }

    @Test(
        arguments: [
            ("rewrite: { from: /old, to: /new }", ["/old/x": "/new/x", "/older": "/older", "/": "/"]),
            ("rewrite: { from: /old/, to: /new/ }", ["/old/x": "/new/x", "/old": "/new"]),
            (
                "rewrite: [{ from: /old, to: / }, { from: /old/er, to: /new }]",
                ["/old/x": "/x", "/old/er/x": "/new/x", "/old": "/"]
            ),
            ("rewrite: { from: /, to: /app }", ["/": "/app/", "/x": "/app/x"]),
            (
                "path: /wiki\n    rewrite: { from: /wiki/old, to: /new }",
                ["/wiki/old/x": "/new/x", "/wiki/x": "/wiki/x"]
            ),
            (
                "path: /wiki\n    strip_prefix: true\n    rewrite: { from: /wiki/old, to: /new }",
                ["/wiki/old/x": "/new/x", "/wiki/x": "/x", "/wiki": "/"]
            ),
        ] as [(String, [String: String])]
    )
    func `rewrites replace whole segments`(lines: String, paths: [String: String]) throws {
        let app = try #require(try Fixture.configuration(Fixture.smallest(app: "    \(lines)")).apps.first)
        for (path, expected) in paths { #expect((app.pathMapping?.mapped(path) ?? path) == expected, "\(path)") }
        #expect(app.traffic.mapsResponses)
    }

    @Test(arguments: [
        ("rewrite: []", "error: the list is empty; remove it"),
        ("rewrite: { from: /old }", "error: a rewrite needs 'to', such as 'to: /new'"),
        ("rewrite: { from: old, to: /new }", "error: 'old' is not a path; it starts with '/', so write '/old'"),
        (
            "rewrite: { from: /old/.*, to: /new }",
            "error: '/old/.*' has a '.*', as regular expressions have, which are not supported"
        ),
        ("rewrite: { from: ^/old, to: /new }", "error: '^/old' has a '^', as regular expressions have"),
        ("rewrite: { from: /old, to: /../new }", "error: '/../new' is '/new' in requests; write that"),
        ("rewrite: { from: /old, to: /n%2Few }", "error: '/n%2Few' has an escaped slash or backslash"),
        (
            "path: /wiki\n    rewrite: { from: /old, to: /new }",
            "error: '/old' is outside of the app's path '/wiki', so no request has it"
        ),
        (
            "path: /wiki\n    rewrite: { from: /wikis, to: /new }",
            "error: '/wikis' is outside of the app's path '/wiki'"
        ),
        ("rewrite: [{ from: /a, to: /b }, { from: /a/, to: /c }]", "error: '/a' is here twice; first in line"),
        ("rewrite: [{ from: /Old, to: /b }, { from: /old, to: /c }]", "error: '/old' is here twice; first in line"),
        ("rewrite: [{ from: /old, to: /b }, { from: /%6Fld, to: /c }]", "error: '/%6Fld' is"),
        (
            "path: /wiki\n    strip_prefix: true\n    rewrite: { from: /wiki, to: /new }",
            "error: '/wiki' is the app's path, which 'strip_prefix' removes: 'strip_prefix' is the same as a rewrite"
        ),
        ("rewrite: { from: /a, to: /a }", "warning: this rewrite has no effect, since both paths are the same"),
    ])
    func `a rewrite that cannot be meant is reported`(lines: String, message: String) {
        #expect(self.remarks(lines).contains { $0.hasPrefix(message) }, "\(self.remarks(lines))")
    }

    @Test func `an upstream with the path of the app gets it twice, which is a warning`() {
        let text = "upstream: http://127.0.0.1:9000/wiki\n    path: /wiki"
        let message =
            "the app gets '/wiki/wiki/page' for '/wiki/page'; write 'strip_prefix: true' if it expects '/wiki/page'"
        #expect(Fixture.remarks(Fixture.smallest(upstream: text)) == ["warning: \(message)"])
        #expect(Fixture.remarks(Fixture.smallest(upstream: "\(text)\n    strip_prefix: true")) == [])
    }

    @Test func `X-02 of several apps that share a server the first of the file is named, on any host or on the same`() {
        func app(_ name: String, _ host: String, _ path: String, _ targets: String, _ rest: String = "") -> String {
            "  \(name):\n    host: \(host)\n    path: \(path)\n    upstream: [\(targets)]\n    allow: signed_in\(rest)\n"
        }
        let apps = [
            app("elsewhere", "a.example.com", "/e", "http://x, http://y"),
            app("near", "b.example.com", "/n", "http://y"),
            app("cut", "b.example.com", "/c", "http://y, http://x", "\n    strip_prefix: true"),
            app("exact", "b.example.com", "/x", "http://x, http://y", "\n    path_spelling: exact"),
            app("alone", "b.example.com", "/z", "http://z", "\n    strip_prefix: true"),
        ]
        let found = Fixture.remarks(Fixture.smallest(rest: apps.joined()))
        #expect(found.count == 2)
        #expect(found.first?.contains("with 'strip_prefix' and the server of 'elsewhere'") == true)
        #expect(found.last?.contains("under the rules of 'near' only") == true)
    }

    @Test func `Y-08 a path of an origin that is outside of the app is a warning`() {
        let lines =
            "path: /wiki\n    origins: [\"https://idp.example.com /acs\", \"https://idp.example.com /wiki/acs\"]"
        #expect(self.remarks(lines) == ["warning: '/acs' in 'origins' is outside of the app's path '/wiki'"])
    }

    @Test(arguments: [
        ("methods: [get]", "'get' is in lower case, and letter case matters; write 'GET'"),
        ("methods: [Trace]", "'Trace' is never forwarded; remove it"),
        ("methods: [CONNECT]", "'CONNECT' is never forwarded; remove it"),
        ("methods: [\"A B\"]", "'A B' is not a method such as PROPFIND"),
        ("origins: [portal]", "'portal' is not an origin such as https://portal.example.com"),
        (
            "origins: [\"https://a.example.com/x\"]",
            "'https://a.example.com/x' has a path in the origin; write 'https://a.example.com /x' for that path only"
        ),
    ])
    func `a method or an origin that would never match is an error with its reason`(line: String, words: String) {
        let found = self.remarks(line)
        #expect(found.count == 1 && found[0].contains(words), "\(found)")
    }

    @Test(
        arguments: [
            "Connection", "content-length", "Expect", "HTTP2-Settings", "Keep-Alive", "Proxy-Authenticate",
            "Proxy-Authorization", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "upgrade",
            "Sec-WebSocket-Key",
        ]
    )
    func `what frames a message or belongs to a connection is never changed`(name: String) {
        let reason = "it belongs to one connection or frames the message, which differ on both sides of the gateway"
        self.expect(name, set: reason, removed: reason)
    }

    @Test(
        arguments: ["X-Forwarded-User", "x-forwarded-proto", "X-Gatehouse-Assertion", "Forwarded", "X-Request-ID"]
    )
    func `what the gateway sets itself is never changed`(name: String) {
        self.expect(name, set: "the gateway sets it itself", removed: "the gateway sets it itself")
    }

    @Test(arguments: ["Authorization", "Cookie", "Set-Cookie", "COOKIE"])
    func `fields with credentials of one user can be removed only`(name: String) {
        let reason = "it carries the credentials of one user, and every user would get the same; it can be removed only"
        self.expect(name, set: reason, removed: nil)
    }

    @Test func `the host has a key of its own`() {
        let reason = "write 'upstream_host' to change what the app receives"
        self.expect("Host", set: reason, removed: reason)
    }

    @Test(arguments: ["X_Team", "X Team", "X-Te\u{00E4}m", "X-Team:", String(repeating: "a", count: 65)])
    func `the name of a header is plain`(name: String) {
        let reason = "it may hold letters, digits and '-', at most 64"
        self.expect(name, set: reason, removed: reason)
    }

    private func expect(_ name: String, set: String?, removed: String?) {
        let shown = name.count > 60 ? "'\(name.prefix(60))…'" : "'\(name)'"
        for key in ["request_headers", "response_headers"] {
            #expect(
                self.remarks("\(key): { set: { \"\(name)\": a } }")
                    == (set.map { ["error: \(shown) cannot be a header to set; \($0)"] } ?? [])
            )
            #expect(
                self.remarks("\(key): { remove: [\"\(name)\"] }")
                    == (removed.map { ["error: \(shown) cannot be removed; \($0)"] } ?? [])
            )
        }
    }

    @Test(
        arguments: [
            ("a\\r\\nSet-Cookie: b", "has a line break or NUL in it, which would end the field; write it in one line"),
            ("a\\nb", "has a line break or NUL in it, which would end the field; write it in one line"),
            ("a\\rb", "has a line break or NUL in it, which would end the field; write it in one line"),
            ("a\\0b", "has a line break or NUL in it, which would end the field; write it in one line"),
            ("a\\tb", "has a character that is not visible ASCII; encode it as the app expects it"),
            ("\\x7F", "has a character that is not visible ASCII; encode it as the app expects it"),
            ("Zo\u{00EB}", "has a character that is not visible ASCII; encode it as the app expects it"),
            (" a", "starts or ends with a space; remove that"), ("a ", "starts or ends with a space; remove that"),
            ("", "is empty; to remove a field, list its name in 'remove'"),
        ]
    )
    func `a value cannot end its line or be read in two ways`(value: String, reason: String) {
        let remarks = self.remarks("request_headers: { set: { X-Team: \"\(value)\" } }")
        #expect(remarks.count == 1 && remarks.first?.hasSuffix(reason) == true, "\(remarks)")
    }

    @Test func `a value from a reference is checked and never shown`() {
        let text = Fixture.smallest(app: "    request_headers: { set: { X-Key: \"${env:KEY}\" } }")
        let result = Fixture.parse(text, environment: ["CLIENT_SECRET": "x", "KEY": "hunter2\nX-Evil: 1"])
        let reason = "has a line break or NUL in it, which would end the field; write it in one line"
        #expect(result.diagnostics.map(\.message) == ["the value of ${env:KEY} \(reason)"])
        #expect(!result.diagnostics.contains { $0.rendered.contains("hunter2") })
    }

    @Test(arguments: [(4096, 0), (4097, 1)])
    func `a value has at most 4096 bytes`(count: Int, errors: Int) {
        let value = String(repeating: "a", count: count)
        #expect(self.remarks("response_headers: { set: { X-Team: \(value) } }").count == errors)
    }

    @Test(arguments: [(64, []), (65, ["error: more than 64 changes"])] as [(Int, [String])])
    func `there are at most 64 changes`(count: Int, wanted: [String]) {
        let names = (1..<count).map { "X-\($0)" }.joined(separator: ", ")
        #expect(self.remarks("request_headers: { set: { X-Team: blue }, remove: [\(names)] }") == wanted)
    }

    @Test(
        arguments: [
            "{ set: { X-Team: blue, x-team: red } }", "{ set: { X-Team: blue }, remove: [x-team] }",
            "{ remove: [X-Team, x-team] }",
        ]
    )
    func `a header is changed once, whatever its letter case`(edits: String) {
        let reason = "is in line 15 already; 'set' replaces all fields of a name, so each name is written once"
        #expect(self.remarks("request_headers: \(edits)") == ["error: 'x-team' \(reason)"])
    }

    @Test func `a header that carries identity is not changed`() {
        let reason =
            "carries identity, as 'headers' lists it, and it would be the same for every user; remove it here or there"
        for edits in ["{ set: { x-user: a } }", "{ remove: [x-user] }"] {
            let remarks = self.remarks("headers: { X-User: email }\n    request_headers: \(edits)")
            #expect(remarks == ["error: 'x-user' \(reason)"])
        }
        #expect(self.remarks("headers: { X-User: email }\n    response_headers: { remove: [x-user] }") == [])
    }

    @Test(
        arguments: [
            ("strip_prefix: true", "'strip_prefix' has no effect, since the app's path is '/'"),
            ("path: /\n    strip_prefix: true", "'strip_prefix' has no effect, since the app's path is '/'"),
            (
                "websocket: false\n    websocket_origins: [\"https://a\"]",
                "'websocket_origins' has no effect, since the app takes no WebSockets"
            ),
            (
                "websocket: true\n    websocket_origins: [\"*\"]",
                "with '*' the page of any site could open a WebSocket as the user who visits it; list the origins that need it"
            ),
        ]
    )
    func `what has no effect, or too much, is a warning`(lines: String, message: String) {
        #expect(self.remarks(lines) == ["warning: \(message)"])
    }

    @Test(arguments: ["h2://a", "h2c://a"])
    func `WebSockets do not go to an app over HTTP 2`(upstream: String) {
        let help = "apps take them over HTTP/1.1; write the upstream with http:// or https://"
        let error = "error: 'websocket' does not go with an upstream over HTTP/2: \(help)"
        #expect(self.remarks("websocket: true", instead: "upstream: \(upstream)") == [error])
        #expect(self.remarks("websocket: false", instead: "upstream: \(upstream)") == [])
    }

    @Test func `any page may open a WebSocket if that is written`() {
        let text = Fixture.smallest(app: "    websocket: true\n    websocket_origins: [\"*\"]")
        let webSocket = Fixture.parse(text).configuration?.apps.first?.traffic.webSocket
        #expect(webSocket == WebSocketSettings(anyOrigin: true))
    }

    @Test(
        arguments: [
            ("websocket_origins: [portal]", "'portal' is not an origin such as https://portal.example.com"),
            (
                "websocket_origins: [\"https://a/b\"]",
                "'https://a/b' has a path; an origin is scheme, host and port, so write 'https://a'"
            ),
            (
                "upstream_host: http://a",
                "'http://a' is not a host; write a name without scheme and path, such as app.internal"
            ),
            ("upstream_host: \"a b\"", "'a b' is not a host such as app.internal or app.internal:8080"),
            ("upstream_host: \"a:99999\"", "'a:99999' is not a host such as app.internal or app.internal:8080"),
            ("upstream_host: \"user@a\"", "'user@a' is not a host such as app.internal or app.internal:8080"),
            ("max_body: 1025GiB", "'1025GiB' is out of range; it must be 0 to 1024GiB"),
        ]
    )
    func `an invalid value is rejected`(lines: String, message: String) {
        #expect(self.remarks("websocket: true\n    \(lines)") == ["error: \(message)"])
    }

    @Test(arguments: [(64, 0), (65, 1)])
    func `at most 64 origins may open a WebSocket`(count: Int, errors: Int) {
        let origins = (0..<count).map { "\"https://h\($0)\"" }.joined(separator: ", ")
        #expect(self.remarks("websocket: true\n    websocket_origins: [\(origins)]").count == errors)
    }

    @Test(
        arguments: [
            ("{ status: 199 }", "'199' is out of range; it must be 200 to 599"),
            ("{ status: 302 }", "'302' is a redirect; write 'redirect' instead of 'response'"),
            ("{ status: 204, body: a }", "a response of status 204 has no body; remove it, or write another status"),
            ("{ content_type: text }", "'text' is not a media type such as text/plain; charset=utf-8"),
            (
                "{ content_type: \"text/pl\\nain\" }",
                "'text/pl ain' is not a media type such as text/plain; charset=utf-8"
            ),
        ]
    )
    func `an invalid fixed response is rejected`(response: String, message: String) {
        #expect(self.remarks("", instead: "response: \(response)") == ["error: \(message)"])
    }

    @Test(
        arguments: [
            "upstream_host: a", "request_headers: { remove: [X-A] }", "headers: { X-A: email }", "forwarded: true",
            "max_body: 1", "streaming: true", "early_hints: true", "websocket: true", "rewrite: { from: /a, to: /b }",
            "path: /a\n    strip_prefix: true",
        ]
    )
    func `what only an upstream would notice is a warning without one`(lines: String) {
        let name = lines.split(separator: "\n").last?.split(separator: ":").first.map { $0.drop { $0 == " " } } ?? ""
        let wanted = ["warning: '\(name)' has no effect without 'upstream'; remove it"]
        #expect(self.remarks(lines, instead: "response: {}") == wanted)
        let isKept = lines.contains("strip_prefix")
        #expect(self.remarks(lines, instead: "redirect: { to: https://b }") == (isKept ? [] : wanted))
        #expect(self.remarks(lines) == [])
    }
}
