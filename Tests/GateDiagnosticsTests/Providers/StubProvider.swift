// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateOpenID
import GateProviderHTTP
import GateProviders
import Synchronization

@testable import GateDiagnostics

/// A provider at `https://id.example.com` that responds from a table; other paths are not found.
final class StubProvider: ProviderTransport {
    static let issuer = "https://id.example.com"
    static let now = Instant(seconds: 1_800_000_000)

    private let responses: [String: ProviderResponse]
    private let seen = Mutex<[ProviderRequest]>([])

    init(_ responses: [String: ProviderResponse]) {
        self.responses = responses
    }

    var requests: [ProviderRequest] { self.seen.withLock { $0 } }

    func response(to request: ProviderRequest, provider: String) async throws(Failure) -> ProviderResponse {
        self.seen.withLock { $0.append(request) }
        return self.responses[request.address.path] ?? ProviderResponse(status: 404)
    }

    /// The document of a correct provider, with changes; a change to nil removes a member.
    static func document(_ changes: [String: JSON?] = [:]) -> JSON {
        var members: [String: JSON] = [
            "issuer": .string(self.issuer), "authorization_endpoint": "https://id.example.com/authorize",
            "token_endpoint": "https://id.example.com/token", "jwks_uri": "https://keys.example.com/jwks",
            "userinfo_endpoint": "https://id.example.com/userinfo",
            "scopes_supported": ["openid", "email", "profile"], "code_challenge_methods_supported": ["plain", "S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256"],
        ]
        for (name, value) in changes { members[name] = value }
        return .object(members)
    }

    /// A P-256 key, RFC 7517 appendix A.1.
    static let key: JSON = [
        "kty": "EC", "crv": "P-256", "kid": "1", "use": "sig",
        "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
    ]

    static func json(_ json: JSON, _ headers: [(name: String, value: String)] = []) -> ProviderResponse {
        let fields = [(name: "Content-Type", value: "application/json")] + headers
        return ProviderResponse(status: 200, headers: fields, body: Array(json.text.utf8))
    }

    /// The diagnostics of a provider with this document and key set.
    static func checks(
        document: ProviderResponse,
        keys: ProviderResponse = StubProvider.json(["keys": [StubProvider.key]]),
        changing change: (inout ProviderSettings) -> Void = { _ in },
    ) async throws -> ProviderChecks {
        var settings = ProviderSettings(id: "staff", type: .oidc, clientID: "me", clientSecret: Secret(text: "hush"))
        settings.issuer = StubProvider.issuer
        change(&settings)
        let transport = StubProvider(["/.well-known/openid-configuration": document, "/jwks": keys])
        return try await self.checks(settings, over: transport)
    }

    static func checks(
        _ settings: ProviderSettings,
        over transport: StubProvider,
        clockDifferences: [Duration] = [],
        hosts: [ProviderChecks.Host] = [],
    ) async throws -> ProviderChecks {
        let definition = try ProviderDefinition(settings)
        let redirectURI = "https://gate.example.com/oauth2/callback/\(settings.id)"
        let party = try RelyingParty(
            definition: definition,
            settings: settings,
            redirectURI: redirectURI,
            transport: transport,
            clock: .fixed(StubProvider.now),
            random: .system,
        )
        return ProviderChecks(
            settings: settings,
            definition: definition,
            redirectURI: redirectURI,
            findings: await party.diagnostics.findings(),
            clockDifferences: clockDifferences,
            hosts: hosts,
            now: StubProvider.now,
        )
    }
}
