// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateImport

/// Which product a file belongs to, and what hostile files can do.
@Suite struct ConfigurationImportTests {
    @Test(arguments: [
        ("client_id = \"a\"\nemail_domains = [\"*\"]", "oauth2-proxy"), ("OAUTH2_PROXY_CLIENT_ID=a", "oauth2-proxy"),
        ("docker run oauth2-proxy --client-id=a", "oauth2-proxy"), ("injectRequestHeaders: []", "oauth2-proxy"),
        ("OIDCClientID a\n<Location />\nAuthType openid-connect\nRequire valid-user\n</Location>", "mod_auth_openidc"),
        ("access_control:\n  default_policy: deny", "Authelia"),
        ("routes:\n  - from: https://a.example.com", "Pomerium"),
    ])
    func `a file shows its product`(text: String, product: String) throws {
        let imported = try Imported(text)
        #expect(imported.result.yaml.contains("a configuration of \(product)."))
    }

    @Test func `a file of an unknown product is rejected, unless the product is named`() throws {
        #expect(throws: ImportFailure.self) { try Imported("hello: world") }
        #expect(try Imported("foo = 1", format: .oauth2Proxy).result.notes.isEmpty == false)
    }

    @Test func `files have limits`() {
        let texts = [
            String(repeating: "a", count: ImportFile.maxSize + 1),
            String(repeating: "x", count: ImportFile.maxLine + 1),
            String(repeating: "\n", count: ImportFile.maxLines + 1), "a = \"\u{0}\"",
        ]
        for text in texts {
            for format in ImportFormat.allCases {
                #expect(throws: ImportFailure.self) { try Imported(text, format: format) }
            }
        }
        let nested = "access_control: " + String(repeating: "[", count: 100)
        #expect(throws: ImportFailure.self) { try Imported(nested) }
        let files = Array(repeating: ImportFile(name: "x", bytes: []), count: ImportFile.maxFiles + 1)
        #expect(throws: ImportFailure.self) { try Imported(files) }
    }

    @Test func `notes are limited, and the number of the rest is shown`() throws {
        let text = (0..<1500).map { "unknown_\($0) = 1" }.joined(separator: "\n")
        let notes = try Imported(text, format: .oauth2Proxy).result.notes
        #expect(notes.count == ImportNotes.limit + 1)
        #expect(notes.last?.message.hasSuffix("more are not shown") == true)
    }

    @Test func `a rule with too many alternatives denies all users`() throws {
        let domains = (0..<200).map { "\"d\($0).example\"" }.joined(separator: ",")
        let groups = (0..<200).map { "\"g\($0)\"" }.joined(separator: ",")
        let text =
            "provider = \"oidc\"\noidc_issuer_url = \"https://id.example.com\"\nemail_domains = [\(domains)]\nallowed_groups = [\(groups)]"
        let imported = try Imported(text)
        #expect(!imported.admits(.user("oidc", email: "a@d1.example", groups: ["g1"])))
    }

    // A file is often cut where it is copied.
    @Test(arguments: [
        (
            "provider = \"oidc\"\nemail_domains = [\"a.example\", \"*.b\"]\nskip_auth_routes = ['GET=^/x$']\ncookie_expire = \"1h30m\"",
            ImportFormat.oauth2Proxy
        ),
        (
            "oauth2-proxy --upstream='unix:///x.sock' \\\n  --email-domain=\"${D}\" --skip-auth-route='^/a(/.*)?$'",
            .oauth2Proxy
        ),
        (
            "OIDCClientID a\n<Location \"/\">\nAuthType openid-connect\n<RequireAll>\nRequire not claim \"groups:a\"\n</RequireAll>\n</Location>",
            .modAuthOpenIDC
        ),
        (
            "access_control:\n  rules:\n    - { domain: [a.example], policy: deny, subject: [['group:a', 'group:b']], resources: ['^/x(/.*)?$'] }",
            .authelia
        ),
        (
            "routes:\n  - from: https://*.a.example\n    to: [http://x, 'http://y,2']\n    policy: [{ deny: { and: [{ email: { is: a@b.c } }] } }]",
            .pomerium
        ),
    ])
    func `every beginning of a file ends in a result or a failure`(text: String, format: ImportFormat) {
        for count in 0...text.count {
            guard let imported = try? Imported(String(text.prefix(count)), format: format) else { continue }
            #expect(imported.result.yaml.hasPrefix("# Written by"))
        }
    }

    @Test func `a key that is written twice ends the import`() {
        #expect(throws: ImportFailure.self) {
            try Imported("access_control:\n  default_policy: deny\n  default_policy: bypass")
        }
    }

    @Test func `notes name file and line, in the order of the files`() throws {
        let files = [
            ImportFile(name: "b.cfg", bytes: Array("email_domains = [\"*\"]\nbanner = \"x\"".utf8)),
            ImportFile(name: "a.env", kind: .environment, bytes: Array("OAUTH2_PROXY_FOOTER=x".utf8)),
        ]
        let notes = try Imported(files).result.notes.map(\.rendered)
        let places = notes.compactMap { $0.hasPrefix("b.cfg:2: ") ? "b" : $0.hasPrefix("a.env:1: ") ? "a" : nil }
        #expect(places.first == "b" && places.dropFirst().allSatisfy { $0 == "a" } && places.count > 1)
        #expect(notes.contains { $0.hasPrefix("b.cfg:2: warning: 'banner' is not carried over") })
    }
}
