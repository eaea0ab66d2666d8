// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateImport

/// How options of oauth2-proxy are read from its four kinds of files.
@Suite struct OptionReaderTests {
    private func settings(_ text: String, _ kind: ImportFile.Kind) throws -> OptionSettings {
        var reader = OptionReader()
        var notes = ImportNotes()
        let file = ImportFile(name: "source", kind: kind, bytes: Array(text.utf8))
        switch kind {
        case .flags: try reader.read(flags: file, &notes)
        case .environment: try reader.read(environment: file, &notes)
        default: try reader.read(configuration: file, &notes)
        }
        return reader.settings
    }

    // In the shape of https://oauth2-proxy.github.io/oauth2-proxy/configuration/overview#config-file.
    @Test func `a cfg has texts, flags and lists, over several lines and with comments`() throws {
        let text = """
            # a comment
            provider = "oidc" # another
            client_id = 'with # and "quotes"'
            email_domains = [
              "example.com", # first
              "example.org",
            ]
            pass_host_header = false
            whitelist_domains = ".example.com"
            """
        let settings = try self.settings(text, .automatic)
        #expect(settings.text("provider") == "oidc")
        #expect(settings.text("client_id") == "with # and \"quotes\"")
        #expect(settings.list("email_domain") == ["example.com", "example.org"])
        #expect(settings["email_domain"]?.place.line == 4)
        #expect(!settings.flag("pass_host_header", else: true))
    }

    @Test(arguments: [
        "email_domains = [ \"a\"", "email_domains = example.com", "[section]", "key", "x = \"a", "x = \"a\" b",
        "x = \"\"\"a\"\"\"", "x = \"\\q\"",
        "x = \"\u{1}\"",
    ])
    func `a line that cannot be read ends the import, since it could be a restriction`(text: String) {
        #expect(throws: ImportFailure.self) { try self.settings(text, .automatic) }
    }

    @Test(arguments: [
        "oauth2-proxy --client-id=a --email-domain example.com --cookie-secure=false",
        "ExecStart=/usr/bin/oauth2-proxy --client-id=a \\\n  --email-domain=example.com \\\n  -cookie-secure=false",
        "command: [\"--client-id=a\", \"--email-domain=example.com\", '--cookie-secure=false']",
        "args:\n- --client-id=a\n- \"--email-domain=example.com\"\n- '--cookie-secure=false'",
        "docker run --rm -p 80:80 quay.io/oauth2-proxy/oauth2-proxy --client-id 'a' --email-domain=\"example.com\" --cookie-secure=false",
    ])
    func `flags are found in shell lines, units, compose files and manifests`(text: String) throws {
        let settings = try self.settings(text, .flags)
        #expect(settings.text("client_id") == "a")
        #expect(settings.list("email_domain") == ["example.com"])
        #expect(!settings.flag("cookie_secure", else: true))
    }

    // I-05
    @Test func `the variables of a container in a manifest are read`() throws {
        let manifest = """
            spec:
              containers:
                - name: proxy
                  image: quay.io/oauth2-proxy/oauth2-proxy
                  args: ["--provider=oidc"]
                  env:
                    - name: OAUTH2_PROXY_CLIENT_ID
                      value: "a # b" # a comment
                    - name: OAUTH2_PROXY_CLIENT_SECRET
                      valueFrom:
                        secretKeyRef: { name: proxy, key: secret }
                    - value: example.com,example.org
                      name: "OAUTH2_PROXY_EMAIL_DOMAINS"
                    - { name: OAUTH2_PROXY_SCOPE, value: 'openid email' }
                    - name: OAUTH2_PROXY_ALLOWED_GROUPS
                      value: team-$(LEVEL)
                    - name: HOME
                      value: OAUTH2_PROXY_NOT_A_NAME
            """
        for kind in [ImportFile.Kind.environment, .flags] {
            let settings = try self.settings(manifest, kind)
            #expect(settings["client_id"]?.values == [.literal("a # b")])
            #expect(settings["client_secret"]?.values == [.variable("OAUTH2_PROXY_CLIENT_SECRET")])
            #expect(settings.list("email_domain") == ["example.com", "example.org"])
            #expect(settings.text("scope") == "openid email")
            #expect(settings["allowed_group"]?.values == [.mixed] && settings.hidesRestriction)
        }
    }

    // I-05
    @Test(arguments: [
        ("redis://${HOST}:6379", SourceValue.mixed), ("$HOST", .variable("HOST")), ("${HOST}", .variable("HOST")),
        ("$(HOST)", .variable("HOST")), ("$A$B", .mixed), ("${A}${B}", .mixed), ("https://$HOST/", .mixed),
        ("^/ping$", .literal("^/ping$")), ("^/a$|^/b$", .literal("^/a$|^/b$")), ("a$$b", .literal("a$b")),
        ("${A:-b}", .mixed), ("5$", .literal("5$")),
    ])
    func `a text with variables in it is not taken for the text`(text: String, value: SourceValue) throws {
        let settings = try self.settings("OAUTH2_PROXY_REDIRECT_URL=\(text)", .environment)
        #expect(settings["redirect_url"]?.values == [value])
    }

    @Test func `a variable is the value only where it would be expanded`() throws {
        let settings = try self.settings(
            "oauth2-proxy --client-id=\"${ID}\" --client-secret=$SECRET --scope='$x' --prompt=a$b",
            .flags
        )
        #expect(settings["client_id"]?.values == [.variable("ID")])
        #expect(settings["client_secret"]?.values == [.variable("SECRET")])
        #expect(settings["scope"]?.values == [.literal("$x")])
        #expect(settings["prompt"]?.values == [.mixed])
        let expression = try self.settings("- --skip-auth-route=^/x\\.y$", .flags)
        #expect(expression.list("skip_auth_route") == ["^/x\\.y$"])
    }

    @Test(arguments: [
        "OAUTH2_PROXY_CLIENT_ID=a\nOAUTH2_PROXY_EMAIL_DOMAINS=example.com,example.org\nPATH=/bin",
        "export OAUTH2_PROXY_CLIENT_ID=\"a\"\nexport OAUTH2_PROXY_EMAIL_DOMAINS='example.com,example.org'",
        "environment:\n  OAUTH2_PROXY_CLIENT_ID: a\n  OAUTH2_PROXY_EMAIL_DOMAINS: \"example.com,example.org\"",
        "environment:\n  - OAUTH2_PROXY_CLIENT_ID=a\n  - \"OAUTH2_PROXY_EMAIL_DOMAINS=example.com,example.org\"",
        "Environment=\"OAUTH2_PROXY_CLIENT_ID=a\"\nEnvironment=OAUTH2_PROXY_EMAIL_DOMAINS=example.com,example.org",
    ])
    func `variables are found in env files, scripts, compose files and units`(text: String) throws {
        let settings = try self.settings(text, .environment)
        #expect(settings.text("client_id") == "a")
        #expect(settings.list("email_domain") == ["example.com", "example.org"])
    }

    // I-05
    @Test(arguments: [
        "docker run -e OAUTH2_PROXY_EMAIL_DOMAINS=a x", "- name: OAUTH2_PROXY_EMAIL_DOMAINS", "(OAUTH2_PROXY_X)",
    ])
    func `a variable whose value is not found counts as a restriction`(text: String) throws {
        #expect(try self.settings(text, .environment).hidesRestriction)
        #expect(try !self.settings("secretKeyRef: { key: OAUTH2_PROXY_EMAIL_DOMAINS }", .environment).hidesRestriction)
    }

    @Test func `flags replace variables, which replace files`() throws {
        var reader = OptionReader()
        var notes = ImportNotes()
        func file(_ text: String) -> ImportFile { ImportFile(name: "source", bytes: Array(text.utf8)) }
        try reader.read(flags: file("oauth2-proxy --email-domain=flags.example --email-domain=more.example"), &notes)
        try reader.read(configuration: file("email_domains = [\"file.example\"]\nscope = \"file\""), &notes)
        try reader.read(environment: file("OAUTH2_PROXY_EMAIL_DOMAINS=env.example\nOAUTH2_PROXY_SCOPE=env"), &notes)
        #expect(reader.settings.list("email_domain") == ["flags.example", "more.example"])
        #expect(reader.settings.text("scope") == "env")
    }

    @Test func `each option is in the table once`() {
        let names = OAuth2ProxyOption.all.map(\.name)
        #expect(Set(names).count == names.count)
    }
}
