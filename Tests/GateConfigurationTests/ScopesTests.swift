// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GatePolicy
import Testing

/// `scopes` of an app, and `scope` in its rules.
@Suite struct ScopesTests {
    private static let keys = "    accept: [session, token]\n    scopes: { notes.write: Change notes, \"a:b/c-d\": Ü }"

    private func messages(_ keys: String, rest: String = "") -> [String] {
        Fixture.messages(Fixture.smallest(app: keys, rest: rest))
    }

    @Test func `the scopes of an app are read, with what they permit`() throws {
        let text = Fixture.smallest(
            app:
                "\(Self.keys)\n    deny: [{ path: /x/**, not: { scope: notes.write } }, { not: { scope: [notes.write, \"a:b/c-d\"] } }]"
        )
        let route = try #require(try Fixture.configuration(text).apps.first).route
        #expect(
            route.scopes
                == [AppScope(name: "notes.write", text: "Change notes"), AppScope(name: "a:b/c-d", text: "Ü")]
        )
        #expect(route.denied[0].nested.flatMap(\.entries).map(\.request) == [[.scope(["notes.write"])]])
        #expect(route.denied[1].nested.flatMap(\.entries).map(\.request) == [[.scope(["notes.write", "a:b/c-d"])]])
    }

    @Test func `an app has no scopes by default, and an MCP server accepts tokens anyway`() throws {
        #expect(try Fixture.configuration(Fixture.smallest()).apps.first?.route.scopes.isEmpty == true)
        #expect(self.messages("    mcp: true\n    scopes: { write: Change notes }") == [])
    }

    @Test func `a rule names a scope of its app, also from a rule set`() {
        let wanted = "'wiki' has no scope 'notes.writ'; did you mean 'notes.write'?"
        #expect(self.messages("\(Self.keys)\n    deny: [{ not: { scope: notes.writ } }]") == [wanted])
        let rules = "rules:\n  writers: [{ scope: notes.writ }]"
        #expect(self.messages("\(Self.keys)\n    deny: [{ not: { use: writers } }]", rest: rules) == [wanted])
        #expect(
            self.messages("    deny: [{ not: { scope: write } }]")
                == ["'wiki' has no scope 'write'; 'scopes' of the app has none"]
        )
    }

    @Test(arguments: [
        "deny: [{ scope: notes.write }]", "deny: [{ not: { any: [{ not: { scope: notes.write } }] } }]",
    ])
    func `a scope never takes something away`(rule: String) {
        let wanted =
            "this 'scope' admits a client that was granted less, and not one with more; in 'deny' write 'not: { scope: … }', and in 'allow' no 'not'"
        #expect(self.messages("\(Self.keys)\n    \(rule)") == [wanted])
    }

    @Test func `a scope belongs to one app`() {
        let second =
            "\n  notes: { host: notes.example.com, upstream: http://127.0.0.1:1, allow: signed_in, mcp: true, scopes: { notes.write: x } }"
        let found = self.messages(Self.keys + second)
        let wanted =
            "'notes.write' is a scope of app 'wiki' in line 16 too, and a token for both apps would have it for both; write 'notes.notes.write'"
        #expect(found == [wanted])
    }

    @Test(arguments: ["openid", "profile", "email", "address", "phone", "groups", "offline_access"])
    func `a scope of OpenID Connect is not one of an app`(name: String) {
        #expect(
            self.messages("    mcp: true\n    scopes: { \(name): x }")
                == ["'\(name)' cannot be the name of a scope; OpenID Connect has one of this name"]
        )
    }

    @Test(arguments: ["\"a b\"", "\"\"", "ü", "\"a\\\"b\"", String(repeating: "a", count: 65)])
    func `a scope has a name that needs no quoting`(name: String) {
        let found = self.messages("    mcp: true\n    scopes: { \(name): x }")
        #expect(
            found.count == 1
                && found[0].hasSuffix("it may have 1 to 64 of A to Z, a to z, 0 to 9, '.', '_', ':', '/', '-'"),
            "\(found)"
        )
    }

    @Test(arguments: ["\"\"", "\"a\\nb\"", String(repeating: "a", count: 201)])
    func `what a scope permits is one line`(text: String) {
        let found = self.messages("    mcp: true\n    scopes: { write: \(text) }")
        #expect(found.count == 1 && found[0].contains("is not one line of 1 to 200 characters"), "\(found)")
    }

    @Test func `scopes of an app without tokens would limit nothing`() {
        let wanted =
            "'scopes' are those of access tokens, which the app does not accept; write 'accept: [session, token]', or remove this"
        #expect(self.messages("    scopes: { write: Change notes }") == [wanted])
    }

    @Test(arguments: [(32, true), (33, false)])
    func `an app may have 32 scopes`(count: Int, isValid: Bool) {
        let scopes = (0..<count).map { "s\($0): x" }.joined(separator: ", ")
        let found = self.messages("    mcp: true\n    scopes: { \(scopes) }")
        #expect(found == (isValid ? [] : ["'scopes' has more than 32 entries"]))
    }

    @Test func `the rules of a client cannot be about scopes`() {
        let client = "clients:\n  x: { type: native, redirect_uris: [\"a.b:/c\"], allow: [{ scope: write }] }"
        let found = self.messages("", rest: client)
        #expect(found.count == 1 && found[0].contains("'scope' is about requests to an app"), "\(found)")
    }
}
