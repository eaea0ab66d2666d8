// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateOpenID
import GateOperations
import GateProviders
import Testing

@testable import GateDiagnostics

@Suite struct ProviderChecksTests {
    private typealias Topic = ProviderFinding.Topic

    private func line(_ topic: Topic, of provider: ProviderChecks) throws -> ProviderFinding {
        try #require(provider.lines.first { $0.topic == topic })
    }

    private func line(_ topic: Topic, _ changes: [String: JSON?]) async throws -> ProviderFinding {
        let document = StubProvider.json(StubProvider.document(changes))
        return try self.line(topic, of: try await StubProvider.checks(document: document))
    }

    @Test func `a proper provider has a good line for each topic that needs no socket`() async throws {
        let provider = try await StubProvider.checks(document: StubProvider.json(StubProvider.document()))
        let topics: [Topic] = [.discovery, .keys, .clock, .redirect, .scopes, .pkce, .iss, .clientAuthentication]
        #expect(provider.lines.map(\.topic) == topics)
        #expect(provider.lines.filter { $0.topic != .clock }.allSatisfy { $0.verdict == .good })
        #expect(provider.lines.allSatisfy { $0.provider == "staff" })
        #expect(try self.line(.keys, of: provider).text == "1 usable: ES256")
    }

    @Test func `the redirect URI is always printed`() async throws {
        let broken = try await StubProvider.checks(document: ProviderResponse(status: 500))
        #expect(
            try self.line(.redirect, of: broken)
                == ProviderFinding("staff", .redirect, .good, "register https://gate.example.com/oauth2/callback/staff")
        )
    }

    @Test(
        arguments: [
            (["issuer": "https://id.example.com/"], "providers.staff.issuer"),
            (["issuer": "https://other.example.com\u{1B}"], "other.example.com"),
            (["issuer": nil], "none"), (["token_endpoint": nil], "token_endpoint"),
            (["jwks_uri": nil], "jwks_uri"), (["token_endpoint": "http://id.example.com/token"], "token_endpoint"),
        ] as [([String: JSON?], String)]
    )
    func `a document of another issuer or without endpoints is a failure that names the key to check`(
        changes: [String: JSON?],
        words: String,
    ) async throws {
        let line = try await self.line(.discovery, changes)
        #expect(line.verdict == .failure)
        #expect(line.text.contains(words), "\(line.text)")
    }

    @Test func `a document that cannot be had leaves nothing guessed`() async throws {
        let provider = try await StubProvider.checks(document: ProviderResponse(status: 503))
        #expect(try self.line(.discovery, of: provider).verdict == .failure)
        #expect(try self.line(.discovery, of: provider).text.contains("responded 503"))
        for topic in [Topic.keys, .pkce, .iss, .clientAuthentication] {
            let line = try self.line(topic, of: provider)
            #expect(line.verdict == .unasked, "\(line)")
        }
    }

    @Test func `PKCE without S256 fails on its own line, and the endpoints stay good`() async throws {
        let changes: [String: JSON?] = ["code_challenge_methods_supported": ["plain"]]
        let line = try await self.line(.pkce, changes)
        #expect(line.verdict == .failure)
        #expect(line.text.contains("plain") && line.text.contains("S256"))
        #expect(try await self.line(.discovery, changes).verdict == .good)
        #expect(try await self.line(.pkce, ["code_challenge_methods_supported": nil]).text.hasPrefix("not listed"))
        #expect(try await self.line(.pkce, [:]).text == "S256 offered")
    }

    @Test func `a scope that is not listed is a warning, since lists may be short`() async throws {
        let line = try await self.line(.scopes, ["scopes_supported": ["openid", "email"]])
        #expect(line.verdict == .warning)
        #expect(line.text.contains("profile; check providers.staff.scopes"))
        #expect(try await self.line(.scopes, ["scopes_supported": nil]).verdict == .good)
    }

    @Test func `the flag for iss decides whether callbacks must have it`() async throws {
        let flag = "authorization_response_iss_parameter_supported"
        #expect(try await self.line(.iss, [flag: true]).text == "every callback must have it")
        #expect(try await self.line(.iss, [flag: false]).text.hasPrefix("not listed"))
    }

    @Test func `a client authentication that the file asks for and the provider does not list is a warning`()
        async throws
    {
        let document = StubProvider.json(StubProvider.document())
        let provider = try await StubProvider.checks(document: document) { $0.clientAuthentication = .secretPost }
        let line = try self.line(.clientAuthentication, of: provider)
        #expect(line.verdict == .warning)
        #expect(line.text.contains("client_secret_post is used, it lists client_secret_basic"))
        #expect(line.text.hasSuffix("check providers.staff.client_authentication"))
    }

    @Test func `a provider that takes no client authentication that we have is a failure on its own line`() async throws
    {
        let changes: [String: JSON?] = ["token_endpoint_auth_methods_supported": ["private_key_jwt"]]
        let line = try await self.line(.clientAuthentication, changes)
        #expect(line.verdict == .failure)
        #expect(line.text.contains("private_key_jwt") && line.text.contains("providers.staff.client_authentication"))
        #expect(try await self.line(.discovery, changes).verdict == .good)
    }

    @Test(arguments: [["client_secret_post"], nil, []] as [JSON?])
    func `what the provider lists is used, and Basic without a list`(listed: JSON?) async throws {
        let line = try await self.line(.clientAuthentication, ["token_endpoint_auth_methods_supported": listed])
        #expect(line.verdict == .good, "\(line.text)")
    }

    @Test func `a challenge that is turned off is not asked about`() async throws {
        let document = StubProvider.json(StubProvider.document(["code_challenge_methods_supported": ["plain"]]))
        let provider = try await StubProvider.checks(document: document) { $0.pkce = .off }
        #expect(try self.line(.pkce, of: provider).verdict == .unasked)
    }

    @Test func `a provider that only takes pushed requests is a failure that names the key to set`() async throws {
        let line = try await self.line(.discovery, ["require_pushed_authorization_requests": true])
        #expect(line.verdict == .failure)
        #expect(line.text.contains("pushed_authorization"))
    }

    @Test func `W-01: algorithms that are not admitted are named together with the key to change`() async throws {
        let name = "id_token_signing_alg_values_supported"
        let some = try await self.line(.keys, [name: ["RS256", "RS512", "HS512", "none"]])
        #expect(some.verdict == .good)
        #expect(
            some.text.contains("also offers RS512, HS512") && some.text.contains("providers.staff.id_token_algorithms")
        )
        #expect(!some.text.contains("none"))
        let others = try await self.line(.keys, [name: ["RS512"]])
        #expect(others.verdict == .failure)
        for text in ["RS512", "admitted are ES256", "providers.staff.id_token_algorithms"] {
            #expect(others.text.contains(text), "\(others.text)")
        }
    }

    @Test func `W-01: tokens under the client secret need no keys, and a provider that makes none is a failure`()
        async throws
    {
        for (listed, verdict) in [(["HS512", "RS256"], .good), (["RS256"], .failure), (nil, .good)]
            as [(JSON?, ProviderFinding.Verdict)]
        {
            let changes: [String: JSON?] = ["id_token_signing_alg_values_supported": listed, "jwks_uri": nil]
            let document = StubProvider.json(StubProvider.document(changes))
            let provider = try await StubProvider.checks(document: document) {
                $0.clientSecret = Secret(text: "0123456789abcdef0123456789abcdef")
                $0.signatureAlgorithms = [.hs512]
            }
            let line = try self.line(.keys, of: provider)
            #expect(line.verdict == verdict, "\(line.text)")
            #expect(line.text.contains("HS512"))
        }
    }

    @Test func `W-09: weak keys and keys that share a name are a warning`() async throws {
        var members = try #require(StubProvider.key.object)
        members["use"] = nil
        let keys = StubProvider.json([
            "keys": [StubProvider.key, .object(members), ["kty": "RSA", "n": "AQAB", "e": "Aw"]]
        ])
        let provider = try await StubProvider.checks(document: StubProvider.json(StubProvider.document()), keys: keys)
        let line = try self.line(.keys, of: provider)
        #expect(line.verdict == .warning)
        #expect(line.text.contains("several keys are called") && line.text.contains("RSA of 17 bits"), "\(line.text)")
    }

    @Test func `nothing secret leaves, and only documents are asked for`() async throws {
        var settings = ProviderSettings(id: "staff", type: .oidc, clientID: "me", clientSecret: Secret(text: "hush"))
        settings.issuer = StubProvider.issuer
        let document = StubProvider.json(StubProvider.document())
        let keys = StubProvider.json(["keys": [StubProvider.key]])
        let transport = StubProvider(["/.well-known/openid-configuration": document, "/jwks": keys])
        _ = try await StubProvider.checks(settings, over: transport)
        #expect(transport.requests.map(\.address.path) == ["/.well-known/openid-configuration", "/jwks"])
        for request in transport.requests {
            #expect(request.method == "GET" && request.body == nil)
            #expect(!request.headers.contains { $0.value.contains("hush") || $0.name == "Authorization" })
        }
    }

    @Test func `a provider without documents reports what cannot be checked`() async throws {
        let settings = ProviderSettings(id: "hub", type: .github, clientID: "me", clientSecret: Secret(text: "hush"))
        let transport = StubProvider([:])
        let provider = try await StubProvider.checks(settings, over: transport)
        #expect(transport.requests.isEmpty)
        #expect(try self.line(.discovery, of: provider).verdict == .unasked)
        #expect(try self.line(.discovery, of: provider).text.contains("https://github.com/login/oauth/access_token"))
        #expect(try self.line(.keys, of: provider).verdict == .unasked)
        #expect(provider.lines.allSatisfy { $0.verdict != .failure })
        let endpoints = try provider.findings.endpoints.get().called
        let hosts = provider.definition.hosts(calling: endpoints).map(\.description)
        #expect(hosts == ["https://github.com", "https://api.github.com"])
    }

    @Test func `every host that the gateway calls is met once`() async throws {
        let provider = try await StubProvider.checks(document: StubProvider.json(StubProvider.document()))
        let endpoints = try provider.findings.endpoints.get().called
        let hosts = provider.definition.hosts(calling: endpoints).map(\.description)
        #expect(hosts == ["https://id.example.com", "https://keys.example.com"])
    }
}
