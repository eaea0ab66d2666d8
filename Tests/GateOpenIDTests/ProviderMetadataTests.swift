// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Testing

@testable import GateOpenID

@Suite struct ProviderMetadataTests {
    private func metadata(
        _ changes: [String: JSON?],
        _ settings: ProviderSettings = ProviderFixture.settings()
    ) throws(Failure) -> ProviderMetadata {
        try ProviderMetadata(ProviderFixture.metadata.with(changes), of: ProviderDefinition(settings))
    }

    @Test(arguments: ["https://evil.example", "https://id.example.com/", "HTTPS://id.example.com", 1, nil] as [JSON?])
    func `discovery must be of the issuer that was configured`(issuer: JSON?) {
        #expect {
            try self.metadata(["issuer": issuer])
        } throws: { error in
            (error as? Failure)?.code == "openid.issuer_mismatch"
        }
    }

    @Test(
        arguments: [
            ["authorization_endpoint": "http://id.example.com/authorize"], ["token_endpoint": "http://127.0.0.1/token"],
            ["jwks_uri": "file:///etc/passwd"], ["userinfo_endpoint": "http://id.example.com/u"],
            ["token_endpoint": nil],
            ["jwks_uri": nil], ["authorization_endpoint": 1], ["token_endpoint": "https://u:p@id.example.com/"],
            ["end_session_endpoint": "javascript:alert(1)"], ["authorization_endpoint": nil],
        ] as [[String: JSON?]]
    )
    func `T-11 every endpoint is an https address`(changes: [String: JSON?]) {
        #expect(throws: Failure.self) { try self.metadata(changes) }
    }

    @Test func `an issuer on this machine may have plain endpoints on this machine, and only there`() throws {
        var settings = ProviderFixture.settings()
        settings.issuer = "http://127.0.0.1:9000"
        let endpoints = ["authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"]
        var changes: [String: JSON?] = ["issuer": "http://127.0.0.1:9000"]
        for name in endpoints { changes[name] = .string("http://127.0.0.1:9000/\(name)") }
        #expect(try self.metadata(changes, settings).token.path == "/token_endpoint")
        changes["token_endpoint"] = "http://id.example.com/token"
        #expect(throws: Failure.self) { try self.metadata(changes, settings) }
    }

    @Test func `G-05 metadata at another URL name the issuer as the file has it, byte for byte`() throws {
        var settings = ProviderFixture.settings()
        settings.issuer = "https://acme.b2clogin.example/8eae0000-2b34-4da1-9baa-8bc8c9d6a490/v2.0/"
        settings.metadataURL = WebURL("https://acme.b2clogin.example/acme/B2C_1/v2.0/.well-known/openid-configuration")
        let definition = try ProviderDefinition(settings)
        #expect(definition.discovery == settings.metadataURL)
        #expect(try self.metadata(["issuer": .string(settings.issuer ?? "")], settings).issuer == settings.issuer)
        for other in ["https://acme.b2clogin.example/acme/B2C_1/v2.0", String(settings.issuer?.dropLast() ?? "")] {
            #expect(throws: Failure.self) { try self.metadata(["issuer": .string(other)], settings) }
        }
    }

    // M-03
    @Test(
        arguments: [
            (["tls_client_auth", "client_secret_basic"], true, ProviderDefinition.ClientAuthentication.certificate),
            (["self_signed_tls_client_auth"], false, .ownCertificate), ([], false, .certificate),
            (["client_secret_basic"], true, .secretBasic), (["client_secret_post"], false, nil),
        ] as [([String], Bool, ProviderDefinition.ClientAuthentication?)]
    )
    func `a certificate is what authenticates where the provider takes it`(
        offered: [String],
        hasSecret: Bool,
        method: ProviderDefinition.ClientAuthentication?
    ) throws {
        let choice = ClientAuthenticationChoice(wanted: .advertised, hasSecret: hasSecret, hasCertificate: true)
        let changes = ["token_endpoint_auth_methods_supported": JSON.array(offered.map(JSON.string))]
        let document = ProviderFixture.metadata.with(changes)
        let definition = try ProviderDefinition(ProviderFixture.settings())
        let found = try? ProviderMetadata(document, of: definition, choice)
        #expect(found?.clientAuthentication == method)
    }

    // M-03
    @Test func `the endpoints for certificates are used with one only`() throws {
        let alias = "https://mtls.example.com/token"
        let document = ProviderFixture.metadata.with(["mtls_endpoint_aliases": ["token_endpoint": .string(alias)]])
        let definition = try ProviderDefinition(ProviderFixture.settings())
        for hasCertificate in [true, false] {
            let choice = ClientAuthenticationChoice(wanted: .secretBasic, hasCertificate: hasCertificate)
            let token = try ProviderMetadata(document, of: definition, choice).token
            #expect(("\(token)" == alias) == hasCertificate)
        }
    }

    @Test func `G-05 endpoints of the file replace those of the metadata, also where those cannot be used`() throws {
        var settings = ProviderFixture.settings()
        settings.tokenEndpoint = WebURL("https://inside.example/token")
        settings.userinfoEndpoint = WebURL("https://inside.example/userinfo")
        settings.keysURL = WebURL("https://inside.example/keys")
        for changes in [[:], ["token_endpoint": nil, "jwks_uri": nil, "userinfo_endpoint": nil]] as [[String: JSON?]] {
            let metadata = try self.metadata(changes, settings)
            #expect(
                [metadata.token, metadata.userinfo, metadata.keys].allSatisfy { $0?.origin.host == "inside.example" }
            )
            #expect(metadata.authorization.origin.host == "id.example.com")
        }
        settings.keysURL = WebURL("http://inside.example/keys")
        #expect(throws: Failure.self) { try ProviderDefinition(settings) }
    }

    @Test func `G-05 a metadata URL on this machine allows plain endpoints on this machine, and only there`() throws {
        var settings = ProviderFixture.settings()
        settings.metadataURL = WebURL("http://127.0.0.1:8080/realms/a/.well-known/openid-configuration")
        let plain: [String: JSON?] = ["token_endpoint": "http://127.0.0.1:8080/token"]
        #expect(try self.metadata(plain, settings).token.origin.isLoopback)
        #expect(throws: Failure.self) { try self.metadata(["token_endpoint": "http://10.0.0.1/token"], settings) }
        settings.metadataURL = WebURL("http://10.0.0.1/.well-known/openid-configuration")
        #expect(throws: Failure.self) { try ProviderDefinition(settings) }
    }

    @Test func `where only the browser goes, this machine may be plain under every issuer`() throws {
        let metadata = try self.metadata([
            "authorization_endpoint": "http://localhost:9000/authorize",
            "end_session_endpoint": "http://127.0.0.1:9000/logout",
        ])
        #expect("\(metadata.authorization)" == "http://localhost:9000/authorize")
        #expect(metadata.endSession.map { "\($0)" } == "http://127.0.0.1:9000/logout")
        for name in ["token_endpoint", "jwks_uri", "userinfo_endpoint"] {
            #expect(throws: Failure.self) { try self.metadata([name: "http://localhost:9000/x"]) }
        }
        #expect(throws: Failure.self) { try self.metadata(["end_session_endpoint": "http://id.example.com/logout"]) }
    }

    @Test func `endpoints may be on other hosts, and userinfo and end of session may be missing`() throws {
        let metadata = try self.metadata([
            "token_endpoint": "https://oauth2.example.net/token", "userinfo_endpoint": nil,
            "end_session_endpoint": .null,
        ])
        #expect(metadata.token.origin.host == "oauth2.example.net")
        #expect(metadata.userinfo == nil && metadata.endSession == nil)
    }

    @Test func `a provider that lists challenge methods must list S256, unless its type is known better`() throws {
        #expect(throws: Failure.self) { try self.metadata(["code_challenge_methods_supported": ["plain"]]) }
        #expect(throws: Failure.self) { try self.metadata(["code_challenge_methods_supported": []]) }
        #expect(throws: Never.self) { try self.metadata(["code_challenge_methods_supported": ["plain", "S256"]]) }
        #expect(throws: Never.self) { try self.metadata(["code_challenge_methods_supported": nil]) }
        var google = ProviderFixture.settings(.google, id: "google")
        google.baseURL = WebURL("https://id.example.com")
        #expect(throws: Never.self) { try self.metadata(["code_challenge_methods_supported": ["plain"]], google) }
    }

    @Test(
        arguments: [
            (true, "https://id.example.com/par", nil, true), (true, nil, nil, false),
            (false, "https://id.example.com/par", nil, true),
            (false, nil, true, false), (false, "https://id.example.com/par", true, false),
            (true, "https://id.example.com/par", true, true),
            (true, "http://id.example.com/par", nil, false), (false, nil, false, true),
        ] as [(Bool, JSON?, JSON?, Bool)]
    )
    func `pushed requests are made if file and provider agree, and the failure names what to change`(
        wanted: Bool,
        endpoint: JSON?,
        required: JSON?,
        isGood: Bool
    ) throws {
        var settings = ProviderFixture.settings()
        settings.pushesAuthorization = wanted
        let changes = [
            "pushed_authorization_request_endpoint": endpoint, "require_pushed_authorization_requests": required,
        ]
        guard isGood else {
            let failure = #expect(throws: Failure.self) { try self.metadata(changes, settings) }
            let isNamed = failure?.detail.contains("pushed_authorization") == true
            #expect(isNamed)
            return
        }
        #expect((try self.metadata(changes, settings).pushedAuthorization != nil) == wanted)
    }

    @Test func `a provider without metadata takes no pushed requests`() throws {
        var settings = ProviderFixture.settings(.github)
        settings.pushesAuthorization = true
        let definition = try ProviderDefinition(settings)
        guard case .oauth2(let endpoints) = definition.signIn else { return }
        let failure = #expect(throws: Failure.self) { try ProviderMetadata(endpoints, of: definition) }
        #expect(failure?.reason == .openIDPushedAuthorization)
    }
}
