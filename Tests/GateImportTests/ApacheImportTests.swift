// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateImport

/// What a configuration of Apache with mod_auth_openidc becomes.
@Suite struct ApacheImportTests {
    /// In the shape of the examples in the README of mod_auth_openidc.
    private static let head = """
        OIDCProviderMetadataURL https://id.example.com/realms/staff/.well-known/openid-configuration
        OIDCClientID gateway
        OIDCClientSecret "hunter2"
        OIDCRedirectURI https://gate.example.com/secure/redirect_uri
        OIDCCryptoPassphrase topsecret
        OIDCScope "openid email profile"
        OIDCSessionInactivityTimeout 900
        <VirtualHost *:443>
        ServerName gate.example.com
        ProxyPass / http://127.0.0.1:8080/

        """

    private func imported(_ sections: String, more: String = "") throws -> Imported {
        try Imported("\(more)\n\(Self.head)\(sections)\n</VirtualHost>", publicURL: nil)
    }

    private func location(_ path: String, _ rules: String) -> String {
        "<Location \(path)>\nAuthType openid-connect\n\(rules)\n</Location>\n"
    }

    private let ann = Profile.user("staff")
    private func member(_ group: String) -> Profile { .user("staff", groups: [group]) }

    @Test func `the provider, the sessions and the app are carried over, the secrets are not`() throws {
        let imported = try self.imported(self.location("/", "Require valid-user"))
        #expect(imported.errors == [])
        for secret in ["hunter2", "topsecret"] {
            #expect(!imported.result.yaml.contains(secret))
            #expect(!imported.result.notes.contains { $0.message.contains(secret) })
        }
        for line in [
            "issuer: \"https://id.example.com/realms/staff\"", "client_id: gateway", "idle_timeout: \"15m\"",
            "lifetime: \"8h\"",
            "upstream: \"http://127.0.0.1:8080\"", "upstream_host: \"127.0.0.1:8080\"",
        ] { #expect(imported.lines.contains(line), "\(line)") }
        #expect(imported.admits(self.ann, "/x"))
        #expect(imported.hasNote("'OIDCClientSecret' is not copied", line: 4))
    }

    @Test func `one of several rules suffices, and all within RequireAll are needed`() throws {
        let rules = """
            Require claim groups:sre groups:platform
            <RequireAll>
              Require claim email~^.*@example\\.com$
              Require claim groups:wiki
            </RequireAll>
            """
        let imported = try self.imported(self.location("/", rules))
        #expect(imported.errors == [])
        #expect(imported.admits(self.member("sre")) && imported.admits(self.member("wiki")))
        #expect(!imported.admits(self.ann))
        #expect(!imported.admits(.user("staff", email: "eve@example.net", groups: ["wiki"])))
    }

    @Test func `a negated rule within RequireAll denies`() throws {
        let rules = "<RequireAll>\nRequire valid-user\nRequire not claim groups:guests\n</RequireAll>"
        let imported = try self.imported(self.location("/", rules))
        #expect(imported.admits(self.ann) && !imported.admits(self.member("guests")))
    }

    @Test(arguments: [
        "Require ip 10.0.0.1/8", "Require ip 10.0.0.0/255.0.0.0", "Require ip 1.2.3.4.5", "Require ip", "Require local",
        "Require method TRACE", "<RequireAll>\nRequire valid-user\nRequire not ip 192.0.2.0/24\n</RequireAll>",
        "<RequireAll>\nRequire valid-user\n<RequireNone>\nRequire ip 192.0.2.0/24\n</RequireNone>\n</RequireAll>",
        "Require claim groups~^a.*$", "Require claim hd:example.com", "Require all denied",
        "<RequireNone>\nRequire claim groups:x\n</RequireNone>",
        "<LimitExcept GET>\nRequire claim groups:a\n</LimitExcept>", "<If \"-n 'x'\">\nRequire valid-user\n</If>",
        "<RequireAll>\nRequire valid-user\n<RequireNone>\nRequire expr true\n</RequireNone>\n</RequireAll>",
        "Require claim groups:${env:HOME}",
    ])
    func `a rule that cannot be carried over denies all users`(rules: String) throws {
        let imported = try self.imported(self.location("/", rules))
        #expect(imported.errors == [])
        for user in [
            self.ann, self.member("a"), self.member("x"), Profile.user("staff", email: "no-user@gatehouse.invalid"),
        ] {
            #expect(!imported.admits(user, from: "10.0.0.1"))
        }
    }

    @Test func `networks and methods are conditions, and two groups can be needed at once`() throws {
        let rules = """
            <RequireAll>
              Require claim groups:a
              Require claim groups:b
              Require ip 10.0.0.0/8 192.168 2001:db8::/32
            </RequireAll>
            <RequireAll>
              Require claim groups:c
              Require method GET POST
            </RequireAll>
            """
        let imported = try self.imported(self.location("/", rules))
        #expect(imported.errors == [])
        let both = Profile.user("staff", groups: ["a", "b"])
        for client in ["10.1.2.3", "192.168.255.1", "2001:db8::1"] {
            #expect(imported.admits(both, from: client) && !imported.admits(self.member("a"), from: client))
        }
        #expect(!imported.admits(both, from: "192.169.0.1") && !imported.admits(both, from: nil))
        for method in ["GET", "HEAD", "POST"] { #expect(imported.admits(self.member("c"), method: method)) }
        #expect(!imported.admits(self.member("c"), method: "PUT"))
    }

    @Test func `a network alone admits users who sign in`() throws {
        let imported = try self.imported(self.location("/", "Require ip 10.0.0.0/8"))
        #expect(imported.errors == [])
        #expect(imported.admits(self.ann, from: "10.0.0.1") && !imported.admits(self.ann, from: "11.0.0.1"))
        #expect(!imported.isPublic("/", from: "10.0.0.1"))
    }

    @Test func `the last section that contains a path holds, whatever its length`() throws {
        let imported = try self.imported(
            self.location("/", "Require valid-user") + self.location("/admin", "Require claim groups:admins")
                + self.location("/late/inner", "Require valid-user")
                + self.location("/late", "Require claim groups:late")
        )
        #expect(imported.errors == [])
        #expect(imported.admits(self.ann, "/x") && !imported.admits(self.ann, "/admin/x"))
        #expect(imported.admits(self.member("admins"), "/admin"))
        #expect(!imported.admits(self.ann, "/late/inner"))
    }

    @Test func `an open section is public, a section within it is not`() throws {
        let imported = try self.imported(
            self.location("/", "Require valid-user") + "<Location /open/>\nRequire all granted\n</Location>\n"
                + self.location("/open/inner", "Require claim groups:a")
        )
        #expect(imported.errors == [])
        #expect(imported.isPublic("/open/x") && !imported.isPublic("/open") && !imported.isPublic("/"))
        #expect(!imported.isPublic("/open/inner") && !imported.admits(self.ann, "/open/inner/x"))
    }

    @Test(arguments: [
        "<LocationMatch \"^/a[0-9]\">\nRequire claim groups:x\n</LocationMatch>",
        "ProxyPassMatch ^/x http://127.0.0.1:1", "RewriteRule ^/x - [F]",
        "<Location /basic>\nAuthType Basic\nRequire valid-user\n</Location>",
    ])
    func `what protects paths by other means makes no path easier to reach`(more: String) throws {
        let imported = try self.imported(self.location("/", "Require valid-user") + more)
        #expect(imported.errors == [])
        #expect(!imported.admits(self.ann, more.contains("basic") ? "/basic/x" : "/a1"))
    }

    @Test func `a target with another path is denied, one at the root of the server has its prefix stripped`() throws {
        let imported = try self.imported(
            "ProxyPass /wiki http://127.0.0.1:1/\nProxyPass /deep http://127.0.0.1:2/other\nProxyPass /none !\n"
                + self.location("/", "Require valid-user")
        )
        #expect(imported.errors == [])
        #expect(imported.lines.contains("strip_prefix: true"))
        #expect(imported.admits(self.ann, "/wiki/x") && !imported.admits(self.ann, "/deep/x"))
        #expect(!imported.result.yaml.contains("127.0.0.1:2"))
    }

    @Test func `broken sections end the import with their line`() throws {
        for (text, line) in [
            ("<Location /a>\nRequire valid-user", 1), ("a\n</Location>", 2), ("Header \"x", 1), ("<Location /a", 1),
        ] {
            let failure = #expect(throws: ImportFailure.self) {
                try ApacheReader.nodes(of: ImportFile(name: "source", bytes: Array(text.utf8)))
            }
            #expect(failure?.place?.line == line, "\(text)")
        }
        let deep = String(repeating: "<If x>\n", count: 100)
        #expect(throws: ImportFailure.self) {
            try ApacheReader.nodes(of: ImportFile(name: "source", bytes: Array(deep.utf8)))
        }
    }
}
