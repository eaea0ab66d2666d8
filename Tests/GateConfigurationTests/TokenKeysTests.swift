// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GatePolicy
import GateProviders
import Testing

/// The keys about ID tokens, and which addresses rules may rely on.
@Suite struct TokenKeysTests {
    private func file(_ provider: String, allow: String = "signed_in") -> String {
        """
        gateway: { public_url: "https://gate.example.com" }
        providers:
          it: { client_id: a, \(provider) }
        apps: { wiki: { upstream: "http://h", allow: \(allow) } }
        """
    }

    private static let oidc = "type: oidc, issuer: \"https://id.example.com\", client_secret: \"${env:CLIENT_SECRET}\""
    private static let google = "type: google, client_secret: \"${env:CLIENT_SECRET}\""
    private static let long = "type: oidc, issuer: \"https://id.example.com\", client_secret: \"${env:GATE_SECRET}\""

    private func provider(_ keys: String) throws -> ProviderSettings {
        try #require(try Fixture.configuration(self.file("\(Self.oidc), \(keys)")).providers.first)
    }

    @Test func `the keys about tokens are read`() throws {
        let read = try self.provider(
            "id_token_algorithms: [RS512, ES512], trusted_audiences: [api, \"https://x.example.com\"], "
                + "id_token_lifetime: 30d, jwks_max_stale: 1h, max_connections: 64"
        )
        #expect(read.signatureAlgorithms == [.rs512, .es512])
        #expect(read.trustedAudiences == ["api", "https://x.example.com"])
        #expect(read.idTokenLifetime == .seconds(30 * 86_400) && read.keysMaxStale == .seconds(3600))
        #expect(read.maxConnections == 64)
        let definition = try ProviderDefinition(try self.provider("name: Plain"))
        #expect(definition.idTokenLifetime == .seconds(86_400) && definition.keysMaxStale == .seconds(86_400))
        #expect(definition.maxConnections == 16 && definition.trustedAudiences.isEmpty)
        #expect(definition.signatureAlgorithms == SignatureAlgorithm.standard)
    }

    @Test(
        arguments: [
            ("[HS256, RS256]", long, "HS256 and RS256 exclude each other"),
            ("[HS512]", oidc, "HS512 needs a client_secret of at least 32 bytes, not 13"),
            ("[HS256]", google, "HS256 is for type oidc only"), ("[HS256, HS512]", long, nil), ("[PS512]", google, nil),
            ("[none]", oidc, "none"),
        ] as [(String, String, String?)]
    )
    func `W-01: an HMAC needs a list of its own, a long secret and type oidc`(
        list: String,
        provider: String,
        message: String?
    ) {
        let file = self.file("\(provider), hosted_domains: [example.com], id_token_algorithms: \(list)")
        let text = provider == Self.google ? file : file.replacing("hosted_domains: [example.com], ", with: "")
        let messages = Fixture.messages(text)
        #expect(messages.count == (message == nil ? 0 : 1), "\(messages)")
        if let message { #expect(messages.first?.contains(message) == true, "\(messages)") }
    }

    @Test(
        arguments: [
            ("trusted_audiences: [a]", "'trusted_audiences' has the client_id"),
            ("trusted_audiences: [\"\"]", "audience"),
            ("id_token_lifetime: 30s", "1m to 366d"), ("id_token_lifetime: 400d", "1m to 366d"),
            ("jwks_max_stale: 8d", "0s to 7d"), ("max_connections: 0", "1 to 256"),
            ("max_connections: 1000", "1 to 256"),
        ]
    )
    func `W-04 W-05 X-20 U-04: an invalid value of a key is explained`(keys: String, words: String) {
        let messages = Fixture.messages(self.file("\(Self.oidc), \(keys)"))
        #expect(messages.count == 1 && messages.first?.contains(words) == true, "\(messages)")
    }

    // MARK: Rules on addresses

    private func entry(_ provider: String, _ entry: String) throws -> AccessEntry? {
        let result = Fixture.parse(self.file(provider, allow: "[\(entry)]"))
        let rule = try #require(result.configuration).apps.first?.route.access
        guard case .entries(let entries)? = rule else { return nil }
        return entries.first
    }

    @Test func `X-05: a rule on an address needs an authority where the provider's type knows one`() throws {
        let domain = "{ email_domain: example.com }"
        #expect(try self.entry("\(Self.google), hosted_domains: [example.com]", domain)?.authorities == ["it"])
        #expect(try self.entry(Self.google, "{ email: ann@example.com }")?.authorities == ["it"])
        #expect(try self.entry(Self.oidc, domain)?.authorities == [])
        #expect(try self.entry(Self.google, "{ email_domain: example.com, authoritative: false }")?.authorities == [])
        #expect(try self.entry(Self.google, "{ provider: it }")?.authorities == [])
        let own = "\(Self.google), profile: { email_verified: \"const:true\" }"
        #expect(try self.entry(own, domain)?.authorities == [])
    }

    @Test func `X-05: check warns where a domain meets private Google accounts`() {
        let domain = "[{ email_domain: example.com }]"
        let remarks = Fixture.remarks(self.file(Self.google, allow: domain))
        #expect(remarks.count == 1)
        #expect(
            remarks.first?.hasPrefix("warning: private Google accounts with an email address of example.com") == true
        )
        #expect(remarks.first?.contains("hosted_domains: [example.com]") == true)
        #expect(Fixture.remarks(self.file("\(Self.google), hosted_domains: [example.com]", allow: domain)).isEmpty)
        #expect(Fixture.remarks(self.file(Self.oidc, allow: domain)).isEmpty)
        let open = Fixture.remarks(
            self.file(Self.google, allow: "[{ email_domain: example.com, authoritative: false }]")
        )
        #expect(open.count == 1 && open.first?.contains("are allowed, also of users who have left") == true)
    }

    @Test func `X-05: the key that opts out goes with an address in allow`() {
        let bare = self.file(Self.oidc, allow: "[{ provider: it, authoritative: false }]")
        #expect(Fixture.messages(bare).first?.contains("needs 'email' or 'email_domain' beside it") == true)
        let denied = self.file(Self.oidc).replacing(
            "allow: signed_in",
            with: "allow: signed_in, deny: [{ email_domain: example.com, authoritative: false }]"
        )
        #expect(Fixture.messages(denied).first?.contains("'authoritative' is for entries of 'allow'") == true)
    }
}
