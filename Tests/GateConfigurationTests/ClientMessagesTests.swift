// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import Testing

/// Every message about clients is one that some file causes.
@Suite struct ClientMessagesTests {
    /// Files for the messages that depend on more than the keys of one client.
    private static let files: [String] = {
        let native = "type: native, allow: signed_in, redirect_uris: [\"com.example.notes:/callback\"]"
        let uris = (0...100).map { "\"https://n.example/\($0)\"" }.joined(separator: ", ")
        let audiences = (0...32).map { "a\($0)" }.joined(separator: ", ")
        let many = (0...1000).map { "  c\($0): { type: native, grants: [device_code], allow: signed_in }" }
        return [
            ClientsTests.client("type: native, grants: [refresh_token], password_provider: staff"),
            ClientsTests.file("a: { \(native) }\nb: { \(native) }", rest: "sessions: { store: \"cookie:\" }"),
            ClientsTests.file("a: { \(native), deny: [{ path: /x }, { method: GET }] }"),
            ClientsTests.file("a: { type: native, allow: signed_in, redirect_uris: [\(uris)] }"),
            ClientsTests.file(
                "a: { \(native), grants: [authorization_code, token_exchange], token_audiences: [\(audiences)] }"
            ),
            ClientsTests.file("\"a b\": { \(native) }\n\(String(repeating: "a", count: 65)): { \(native) }"),
            Fixture.smallest(
                gateway: "  client_registration: { dynamic: true }",
                rest: "sessions: { store: \"cookie:\" }"
            ),
            Fixture.smallest(rest: "clients:\n" + many.joined(separator: "\n")),
        ]
    }()

    /// Scopes without a claim, and too many of them.
    private static let scopes = ["hr: []", (0...32).map { "s\($0): [department]" }.joined(separator: ", ")].map {
        "type: native, redirect_uris: [\"com.example.notes:/cb\"], scopes: { \($0) }"
    }

    /// The texts of messages in the sources: literals with a space, each up to its first and from its last interpolation.
    private static func texts(in path: String) throws -> [String] {
        let source = try String(contentsOf: Fixture.package.appendingPathComponent(path), encoding: .utf8)
        let code = source.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }.joined(
            separator: "\n"
        )
        return code.matches(of: /"((?:[^"\\\n]|\\.)*)"/).flatMap { match in
            match.1.split(separator: /\\\([^"()]*(?:\([^"()]*\)[^"()]*)*\)/).map(String.init).filter {
                $0.count > 12 && $0.contains(" ")
            }
        }
    }

    @Test(arguments: [
        "Sources/5-configuration/GateConfiguration/Clients/ClientDraft+Check.swift",
        "Sources/5-configuration/GateConfiguration/Clients/ClientDraft+Settings.swift",
        "Sources/5-configuration/GateConfiguration/Checks/ClientCheck.swift",
    ])
    func `each message about clients has a file that causes it`(path: String) throws {
        let known = ["the app", "the client"]
        let remarks =
            (ClientsTests.findings.map { ClientsTests.client($0.keys) } + Self.files
            + Self.scopes.map { ClientsTests.client($0) }
            + ClientsTests.issuerFindings.map { ClientsTests.issuerFile($0.keys) }
            + ClientsTests.passwordFindings.map { ClientsTests.passwordFile($0.keys) }).flatMap(Fixture.remarks)
        let missing = try Self.texts(in: path).filter { text in
            !known.contains(text) && !remarks.contains { $0.contains(text) }
        }
        #expect(missing == [])
        #expect(try Self.texts(in: path).count >= 2)
    }

    @Test(arguments: [(1000, true), (1001, false)])
    func `a file may have 1000 clients`(count: Int, isValid: Bool) {
        let clients = (0..<count).map { "  c\($0): { type: native, grants: [device_code], allow: signed_in }\n" }
        let messages = Fixture.messages(Fixture.smallest(rest: "clients:\n" + clients.joined()))
        #expect(messages == (isValid ? [] : ["more than 1000 clients; remove some"]))
    }
}
