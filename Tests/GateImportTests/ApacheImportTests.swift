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

    // D-01
    @Test(arguments: [
        ("", "OIDC-CLAIM-"), ("OIDCPassClaimsAs both", "OIDC-CLAIM-"),
        ("OIDCPassClaimsAs headers latin1", "OIDC-CLAIM-"),
        ("OIDCPassClaimsAs environment", nil), ("OIDCPassClaimsAs none", nil), ("OIDCClaimPrefix X_ID_", "X-ID-"),
        ("OIDCClaimPrefix \"\"", ""),
    ])
    func `apps get the claims under the names that Apache gives them`(directive: String, prefix: String?) throws {
        let imported = try self.imported(self.location("/", "Require valid-user"), more: directive)
        #expect(imported.errors == [])
        let fields = ["email", "name", "preferred_username", "groups"]
        let headers = fields.map { "\($0.replacing("_", with: "-")): \($0)" }
        for header in headers {
            #expect(imported.lines.contains { $0.hasSuffix(header) } == (prefix != nil), "\(header)")
            if let prefix { #expect(imported.lines.contains("\(prefix)\(header)")) }
        }
        if let prefix { #expect(imported.lines.contains("\(prefix)sub: subject")) }
        #expect(imported.hasNote("REMOTE_USER is not sent"))
        #expect(imported.lines.contains("encoding: plain") == directive.hasSuffix("latin1"))
    }

    // D-01
    @Test func `a section decides for its own apps, and a claim with the groups has its own name`() throws {
        let sections =
            self.location("/", "OIDCPassClaimsAs none\nRequire claim roles:a")
            + self.location("/wiki", "OIDCPassClaimsAs both\nRequire valid-user")
        let imported = try self.imported(sections, more: "OIDCAuthNHeader X-User\nOIDCRemoteUserClaim email")
        #expect(imported.errors == [])
        #expect(imported.lines.count { $0 == "X-User: email" } == 2)
        #expect(
            imported.lines.count { $0 == "OIDC-CLAIM-roles: groups" } == 1
                && !imported.lines.contains("OIDC-CLAIM-groups: groups")
        )
    }

    // D-01
    @Test(arguments: [("X_User", "email", 2), ("X-User", "sub@", 2), ("Host", "email", 2)])
    func `a header that cannot be sent is a warning`(header: String, claim: String, line: Int) throws {
        let more = "OIDCPassClaimsAs none\nOIDCAuthNHeader \(header)\nOIDCRemoteUserClaim \(claim)"
        let imported = try self.imported(self.location("/", "Require valid-user"), more: more)
        #expect(imported.errors == [])
        #expect(imported.hasNote("the header '\(header)' is not carried over: ", line: line))
        #expect(!imported.lines.contains("headers:"))
        // An app that takes a user from it would take that of the client.
        #expect(imported.lines.contains("- \(header)") == (header == "X-User"))
    }

    // D-01
    @Test func `the header of the user by default is removed, since its value is another one`() throws {
        let more = "OIDCPassClaimsAs none\nOIDCAuthNHeader X-App-User"
        let imported = try self.imported(self.location("/", "Require valid-user"), more: more)
        #expect(imported.errors == [] && imported.hasNote("the header 'X-App-User' is not carried over: ", line: 2))
        #expect(imported.lines.contains("request_headers:") && imported.lines.contains("- X-App-User"))
    }

    // M-02
    @Test(arguments: [
        ("department:eng", ["department": ClaimValue.text("eng")], true),
        ("department:eng", ["department": .list(["ops", "eng"])], true),
        ("department:eng department:ops", ["department": .text("ops")], true),
        ("department:eng", ["department": .text("engine")], false), ("department:eng", [:], false),
        ("department~^eng", ["department": .text("eng")], false), ("level:7", ["level": .number("7")], true),
        ("level:7.5", ["level": .number("7.5")], false), ("contractor:false", ["contractor": .flag(false)], true),
        ("org.unit:x", ["org_unit": .text("x")], true),
        ("https://example.com/team:a", ["https_example_com_team": .text("a")], true),
    ])
    func `Require claim compares any claim with a text`(
        rule: String,
        claims: [String: ClaimValue],
        admits: Bool
    ) throws {
        let imported = try self.imported(self.location("/", "Require claim \(rule)"))
        #expect(imported.errors == [])
        var user = self.ann
        user.claims = claims
        #expect(imported.admits(user) == admits)
        let isLeft = rule.contains("~") || rule.hasSuffix("7.5")
        #expect(imported.hasNote("the app at '/' is denied to all users") == isLeft)
    }

    // M-02
    @Test func `a claim that a rule compares has a header under the name of Apache, a path has none`() throws {
        let rules = "Require claim department:eng org.unit:x https://example.com/a_b:c"
        let imported = try self.imported(self.location("/", rules))
        #expect(imported.errors == [])
        for line in [
            "OIDC-CLAIM-department: claims.department", "- \"id_token:/org/unit\"", "- \"userinfo:/org.unit\"",
        ] { #expect(imported.lines.contains(line), "\(line)") }
        #expect(!imported.lines.contains { $0.hasPrefix("OIDC-CLAIM-org") })
        #expect(imported.hasNote("flags are 'true' and 'false', with Apache '1' and '0'"))
    }

    // M-02
    @Test(arguments: [
        ("OIDCWhiteListedClaims sub department", true), ("OIDCWhiteListedClaims email", false),
        ("OIDCBlackListedClaims department", false), ("OIDCBlackListedClaims email", true),
        ("<Location /x>\nOIDCBlackListedClaims department\n</Location>", false),
    ])
    func `a rule never matches a claim that no session has`(more: String, admits: Bool) throws {
        let imported = try self.imported(self.location("/", "Require claim department:eng") + more)
        #expect(imported.errors == [])
        var user = self.ann
        user.claims = ["department": .text("eng")]
        #expect(imported.admits(user) == admits)
        #expect(imported.lines.contains("OIDC-CLAIM-department: claims.department") == admits)
        let rules = "<RequireAll>\nRequire valid-user\nRequire not claim department:ops\n</RequireAll>"
        let negated = try self.imported(self.location("/", rules) + more)
        #expect(negated.admits(user) == admits && !negated.admits(self.ann))
    }

    // M-02
    @Test func `listed claims have headers, and the separator of lists is kept`() throws {
        let more = "OIDCWhiteListedClaims sub email teams\nOIDCClaimDelimiter ;\n"
        let imported = try self.imported(self.location("/", "Require valid-user"), more: more)
        #expect(imported.errors == [])
        for line in [
            "OIDC-CLAIM-teams: claims.teams", "OIDC-CLAIM-email: email", "OIDC-CLAIM-sub: subject",
            "group_separator: \";\"",
        ] { #expect(imported.lines.contains(line), "\(line)") }
        #expect(!imported.lines.contains("OIDC-CLAIM-name: name"))
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

    @Test func `a target with another path is a rewrite, one at the root of the server has its prefix stripped`() throws
    {
        let more =
            "ProxyPass /wiki http://127.0.0.1:1/\nProxyPass /deep http://127.0.0.1:2/other\nProxyPass /odd http://127.0.0.1:3/a;b\nProxyPass /none !\n"
        let text = Self.head.replacing("ProxyPass / ", with: "\(more)ProxyPass / ")
        let imported = try Imported(
            text + self.location("/", "Require valid-user") + self.location("/deep/er", "Require claim groups:a")
                + "</VirtualHost>",
            publicURL: nil
        )
        #expect(imported.errors == [])
        #expect(imported.lines.contains("strip_prefix: true"))
        #expect(imported.admits(self.ann, "/wiki/x") && imported.admits(self.ann, "/deep/x"))
        #expect(imported.lines.contains("from: /deep") && imported.lines.contains("to: /other"))
        #expect(imported.lines.contains("from: /deep/er") && imported.lines.contains("to: /other/er"))
        #expect(!imported.admits(self.ann, "/odd/x") && !imported.result.yaml.contains("127.0.0.1:3"))
    }

    // I-01: Apache replaces text, not segments.
    @Test(arguments: ["/app/ http://127.0.0.1:2/base", "/app http://127.0.0.1:2/base/"])
    func `a ProxyPass of which one side ends with a slash denies`(ends: String) throws {
        let text = Self.head.replacing("ProxyPass / ", with: "ProxyPass \(ends)\nProxyPass / ")
        let imported = try Imported(text + self.location("/", "Require valid-user") + "</VirtualHost>", publicURL: nil)
        #expect(imported.errors == [] && !imported.admits(self.ann, "/app/x"))
        #expect(imported.hasNote("only one side of this ProxyPass ends in '/'"))
    }

    // I-01
    @Test(arguments: [
        "RedirectMatch 403 ^/admin", "Redirect gone /old", "RedirectMatch ^/$ https://elsewhere.example/",
        "<IfModule !mod_headers.c>\n<Location /admin>\nRequire claim groups:x\n</Location>\n</IfModule>",
        "<IfDefine STRICT>\n<Location />\nRequire claim groups:x\n</Location>\n</IfDefine>",
        "<IfVersion >= 2.5>\n<Location />\nRequire claim groups:x\n</Location>\n</IfVersion>",
        "<IfFile \"/etc/closed\">\n<Location />\nRequire all denied\n</Location>\n</IfFile>",
        "<Macro Closed $path>\n<Location $path>\nRequire all denied\n</Location>\n</Macro>\nUse Closed /admin",
        "<Location /admin>\nOrder deny,allow\nDeny from all\nAllow from 10.0.0.0/8\n</Location>",
        "<Location /admin>\nOrder allow,deny\n</Location>", "SSLVerifyClient require",
        "SSLRequire %{REMOTE_ADDR} in {}",
        "<Location /admin>\nSSLVerifyClient optional\n</Location>", "<Location />\nAllowMethods GET\n</Location>",
        "RewriteCond %{REMOTE_ADDR} !^10\\.\nRewriteRule ^/admin - [R=403,L]", "RewriteRule ^/admin - [NC,F]",
        "RewriteRule ^/admin /login [PT]", "RewriteRule ^/admin https://other.example/ [R,L]",
        "RewriteCond %{HTTPS} off [OR]\nRewriteCond %{REMOTE_ADDR} !^10\nRewriteRule ^ https://%{HTTP_HOST}%{REQUEST_URI} [R]",
        "<Location /admin>\nSatisfy Any\n</Location>", "SecRuleEngine On", "Include /etc/apache2/admin-rules.conf",
        "IncludeOptional conf-enabled/*.conf", "<Location \"${ADMIN}\">\nRequire claim groups:x\n</Location>",
        "ProxyPass \"/admin area\" !", "OIDCFilterClaimsExpr 'del(.groups)'",
        "OIDCRemoteUserClaim email ^(.*)@example\\.com$ $1", "OIDCAuthRequestParams max_age=60",
        "<Location /admin>\nOIDCPathAuthRequestParams acr_values=mfa\n</Location>",
        "<Location /admin>\n<Limit GET>\nRequire claim groups:x\n</Limit>\n</Location>",
        "<If \"%{HTTP_HOST} == 'x'\">\nRequire all denied\n</If>", "LuaHookAccessChecker /etc/check.lua check",
        "<Location />\nAuthMerging And\n</Location>", "BrandNewDirective on",
    ])
    func `what may narrow access and is not understood denies the host, with a warning that names it`(
        more: String
    ) throws {
        let imported = try self.imported(self.location("/", "Require valid-user") + more)
        #expect(imported.errors == [])
        for path in ["/", "/x", "/admin", "/admin/x"] { #expect(!imported.admits(self.ann, path), "\(path)") }
        let lines = 15...(15 + more.split(separator: "\n").count)
        let named = imported.result.notes.filter { note in
            note.severity == .warning && note.message.contains("denied") && lines.contains(note.place?.line ?? 0)
        }
        #expect(!named.isEmpty)
        #expect(imported.result.deniedApps > 0)
    }

    // I-01
    @Test(arguments: [
        "ErrorLog /var/log/a.log\nCustomLog /var/log/b.log combined\nServerAdmin a@example.com",
        "SSLEngine on\nSSLCertificateFile /a.pem\nSSLCertificateKeyFile /a.key\nSSLVerifyClient none",
        "Include /etc/letsencrypt/options-ssl-apache.conf",
        "<IfModule mod_headers.c>\nHeader always set X-Frame-Options DENY\n</IfModule>",
        "<IfModule mod_authz_core.c>\nErrorDocument 404 /404.html\n</IfModule>",
        "<IfModule !mod_authz_core.c>\n<Location />\nOrder deny,allow\nDeny from all\n</Location>\n</IfModule>",
        "<IfVersion < 2.4>\n<Location />\nDeny from all\n</Location>\n</IfVersion>",
        "<Location /x>\nOrder allow,deny\nAllow from all\n</Location>",
        "<Directory /var/www/html>\nOptions -Indexes\nAllowOverride None\nRequire all granted\n</Directory>",
        "<Directory />\nRequire all denied\n</Directory>", "<Proxy *>\nRequire all denied\n</Proxy>",
        "RewriteEngine on\nRewriteCond %{HTTPS} !=on\nRewriteRule ^(.*)$ https://%{HTTP_HOST}%{REQUEST_URI} [R=301,L]",
        "RewriteCond %{HTTP:Upgrade} websocket [NC]\nRewriteRule ^/(.*)$ ws://127.0.0.1:8080/$1 [P,L]",
        "RewriteRule ^ - [E=PROTO:https]", "RedirectMatch ^/$ /wiki/", "ProxyPreserveHost On\nProxyTimeout 60",
        "<Macro Unused $x>\nRequire all denied\n</Macro>", "OIDCAuthRequestParams prompt=login&acr_values=mfa",
    ])
    func `what cannot narrow access changes nothing`(more: String) throws {
        let imported = try self.imported(self.location("/", "Require valid-user") + more)
        #expect(imported.errors == [])
        #expect(imported.admits(self.ann, "/x"), "\(imported.result.notes.map(\.rendered))")
        #expect(imported.result.deniedApps == 0)
    }

    // I-01: without rules for its URL, Apache uses those of the section for forwarded requests or files.
    @Test(arguments: [
        ("<Proxy *>\nRequire claim groups:x\n</Proxy>", true),
        ("<ProxyMatch .*>\nRequire all denied\n</ProxyMatch>", true),
        ("<Directory />\nRequire all denied\n</Directory>", false),
        ("<Files \"*.php\">\nRequire claim groups:x\n</Files>", false),
        ("<Directory /var/www>\nAllowOverride All\n</Directory>", false),
        ("<Directory /var/www>\nDeny from all\n</Directory>", false),
    ])
    func `rules under those of URLs deny the apps that have no others`(section: String, isForProxied: Bool) throws {
        let target = isForProxied ? "ProxyPass / " : "ProxyPass /files !\nProxyPass / "
        let head = Self.head.replacing("ProxyPass / ", with: target)
        let rules = self.location(isForProxied ? "/" : "/files", "") + section
        let imported = try Imported("\(head)\(rules)\n</VirtualHost>", publicURL: nil)
        #expect(imported.errors == [])
        #expect(!imported.admits(self.ann, isForProxied ? "/x" : "/files/x"))
    }

    @Test(arguments: ["AllowOverride All", "Deny from all", "SSLVerifyClient require", "BrandNewDirective on"])
    func `I-01: a directive about files that is not understood denies the apps that Apache serves itself`(
        directive: String
    ) throws {
        let head = Self.head.replacing("ProxyPass / ", with: "ProxyPass /files !\nProxyPass / ")
        let rules = self.location("/", "Require valid-user") + self.location("/files", "Require valid-user")
        let files = "<Directory /var/www>\n\(directive)\n</Directory>"
        let imported = try Imported("\(head)\(rules)\(files)\n</VirtualHost>", publicURL: nil)
        #expect(imported.errors == [])
        #expect(!imported.admits(self.ann, "/files/x") && imported.admits(self.ann, "/x"))
    }

    // I-01
    @Test func `an included file that is given is read in its place`() throws {
        let main = Self.head + self.location("/", "Include conf/rules.conf") + "</VirtualHost>"
        let files = [
            ImportFile(name: "/etc/apache2/conf/rules.conf", bytes: Array("Require claim groups:x".utf8)),
            ImportFile(name: "site.conf", bytes: Array(main.utf8)),
        ]
        let imported = try Imported(files, publicURL: nil)
        #expect(imported.errors == [])
        #expect(imported.admits(self.member("x")) && !imported.admits(self.ann))
    }

    // I-01
    @Test func `files that include one another end, and deny`() throws {
        let files = [
            ImportFile(name: "a.conf", bytes: Array("Include b.conf\nInclude b.conf\n\(Self.head)</VirtualHost>".utf8)),
            ImportFile(
                name: "b.conf",
                bytes: Array("Include a.conf\n<Location />\nAuthType openid-connect\n</Location>".utf8)
            ),
        ]
        let imported = try Imported(files, format: .modAuthOpenIDC, publicURL: nil)
        #expect(!imported.admits(self.ann))
    }

    // I-01
    @Test func `the first ProxyPass of the file that contains a path holds`() throws {
        let imported = try self.imported(
            "ProxyPass /wiki http://127.0.0.1:1/wiki\n" + self.location("/", "Require valid-user")
        )
        #expect(imported.errors == [])
        #expect(imported.admits(self.ann, "/wiki") && !imported.result.yaml.contains("127.0.0.1:1/"))
        #expect(!imported.lines.contains { $0.hasSuffix("\"http://127.0.0.1:1\"") })
    }

    // I-01
    @Test func `a section with a slash at its end takes nothing from the rules of the path without it`() throws {
        let imported = try self.imported(
            self.location("/", "Require claim groups:a") + self.location("/foo/", "Require valid-user")
        )
        #expect(imported.errors == [])
        #expect(!imported.admits(self.ann, "/foo") && imported.admits(self.member("a"), "/foo/x"))
    }

    // I-01
    @Test func `two virtual hosts of one name are denied, and one without a readable name`() throws {
        let second = "</VirtualHost>\n<VirtualHost *:8443>\nServerName gate.example.com\n"
        let imported = try self.imported(
            self.location("/", "Require valid-user") + second + self.location("/", "Require claim groups:x")
        )
        #expect(imported.errors == [])
        #expect(!imported.admits(self.ann) && !imported.admits(self.member("x")))
        let text =
            Self.head.replacing("gate.example.com\nProxy", with: "${NAME}\nProxy")
            + self.location("/", "Require valid-user") + "</VirtualHost>"
        #expect(try !Imported(text, publicURL: nil).admits(self.ann))
    }

    // I-01
    @Test(arguments: [
        "<RequireAll>\n</RequireAll>", "<RequireAll>\nRequire not claim groups:x\n</RequireAll>",
        "<RequireAny>\n<RequireAll>\n<RequireNone>\nRequire claim groups:x\n</RequireNone>\n</RequireAll>\n</RequireAny>",
    ])
    func `rules without one that admits admit no user`(rules: String) throws {
        #expect(try !self.imported(self.location("/", rules)).admits(self.ann))
    }

    // I-01
    @Test func `a client IP that Apache takes from a header is not compared`() throws {
        let imported = try self.imported(
            self.location("/", "Require ip 10.0.0.0/8\nRequire claim groups:x"),
            more: "RemoteIPHeader X-Client-IP"
        )
        #expect(!imported.admits(self.ann, from: "10.0.0.1") && imported.admits(self.member("x")))
    }

    // Q-01
    @Test(arguments: [
        "Require valid-user\n  Require not claim groups:guests",
        "Require valid-user\n  <RequireNone>\n  Require claim groups:guests\n  </RequireNone>",
        "Require claim groups:staff\n  <RequireAll>\n  Require valid-user\n  Require not claim groups:guests\n  </RequireAll>",
    ])
    func `nothing of RequireAll within RequireAny is admitted if it denies users`(inner: String) throws {
        let rules = "<RequireAny>\n<RequireAll>\n  \(inner)\n</RequireAll>\nRequire claim groups:a\n</RequireAny>"
        let imported = try self.imported(self.location("/", rules))
        #expect(imported.errors == [])
        #expect(imported.admits(self.member("a")))
        for user in [self.ann, self.member("guests"), self.member("staff")] { #expect(!imported.admits(user)) }
        #expect(imported.hasNote("'requireall' cannot be carried over"))
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
