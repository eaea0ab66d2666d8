// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import GateCore
package import GateOpenID
package import GateProviders
internal import Synchronization

/// Every OpenID provider: each issuer has the usual endpoints, one key, and the claims that the test set.
package final class FakeProviders: ProviderTransport {
    private struct State: Sendable {
        var claims: [String: JSON] = [:]
        var tokenExtras: [String: JSON] = [:]
        var responses: [String: ProviderResponse] = [:]
        package var requests: [String] = []
        var pushed: [String: Form] = [:]
    }

    private static let key = P256.Signing.PrivateKey()
    private let state = Mutex(State())
    private let clock: TestClock

    /// Providers whose tokens begin at the time of a clock.
    package init(clock: TestClock) {
        self.clock = clock
    }

    /// The addresses that were asked, in order.
    package var requests: [String] { self.state.withLock(\.requests) }

    /// The claims of the next ID tokens beside issuer, audience and times.
    package func setClaims(_ claims: [String: JSON]) {
        self.state.withLock { $0.claims = claims }
    }

    /// What token responses have beside the tokens, such as `refresh_token` and `expires_in`.
    package func setTokenExtras(_ members: [String: JSON]) {
        self.state.withLock { $0.tokenExtras = members }
    }

    /// What an endpoint responds instead; nil for what it usually does.
    package func stub(_ path: String, _ status: Int? = nil, _ body: JSON = [:]) {
        let response = status.map {
            ProviderResponse(status: $0, headers: [("Content-Type", "application/json")], body: body.encoded)
        }
        self.state.withLock { $0.responses[path] = response }
    }

    /// The parameters of an authorization request as the provider knows them, pushed or not.
    package func parameters(of form: Form) -> Form {
        form["request_uri"].flatMap { uri in self.state.withLock { $0.pushed[uri] } } ?? form
    }

    /// How often an endpoint was asked, at any of the providers.
    package func count(_ path: String) -> Int { self.requests.count { $0.hasSuffix(path) } }

    /// Implements `ProviderTransport`.
    package func response(to request: ProviderRequest, provider: String) async throws(Failure) -> ProviderResponse {
        let (claims, extras, stub) = self.state.withLock { state in
            state.requests.append("\(request.address.origin)\(request.address.path)")
            return (state.claims, state.tokenExtras, state.responses[request.address.path])
        }
        if let stub { return stub }
        let issuer = "\(request.address.origin)"
        switch request.address.path {
        case "/.well-known/openid-configuration": return self.json(FakeProviders.metadata(of: issuer))
        case "/par":
            let form = Form(encoded: String(decoding: request.body ?? [], as: UTF8.self)) ?? Form()
            let uri = self.state.withLock { state in
                let uri = "urn:ietf:params:oauth:request_uri:\(state.pushed.count)"
                state.pushed[uri] = form
                return uri
            }
            return self.json(["request_uri": .string(uri), "expires_in": 90], status: 201)
        case "/keys": return self.json(["keys": [FakeProviders.jwk]])
        case "/userinfo": return self.json(["sub": claims["sub"] ?? "ada"])
        case "/token":
            let token: [String: JSON] = [
                "access_token": "at", "token_type": "Bearer", "id_token": .string(self.token(claims, of: issuer)),
            ]
            return self.json(.object(token.merging(extras) { $1 }))
        default: throw Failure(.providerUnavailable, "nothing is at \(request.address)")
        }
    }

    private func json(_ body: JSON, status: Int = 200) -> ProviderResponse {
        ProviderResponse(status: status, headers: [("Content-Type", "application/json")], body: body.encoded)
    }

    private static func metadata(of issuer: String) -> JSON {
        [
            "issuer": .string(issuer), "authorization_endpoint": .string("\(issuer)/authorize"),
            "token_endpoint": .string("\(issuer)/token"), "jwks_uri": .string("\(issuer)/keys"),
            "userinfo_endpoint": .string("\(issuer)/userinfo"), "end_session_endpoint": .string("\(issuer)/logout"),
            "pushed_authorization_request_endpoint": .string("\(issuer)/par"),
        ]
    }

    private static var jwk: JSON {
        let raw = [UInt8](self.key.publicKey.rawRepresentation)
        return [
            "kty": "EC", "crv": "P-256", "kid": "k1", "x": .string(Base64URL.encode(raw.prefix(32))),
            "y": .string(Base64URL.encode(raw.suffix(32))),
        ]
    }

    /// A token of an issuer for the gateway with these claims, from now on for five minutes.
    package func token(_ claims: [String: JSON], of issuer: String) -> String {
        var all = claims
        let now = self.clock.now.seconds
        all["iss"] = .string(issuer)
        all["aud"] = "gatehouse"
        all["iat"] = .int(now)
        all["exp"] = .int(now + 300)
        let header: JSON = ["alg": "ES256", "typ": "JWT", "kid": "k1"]
        let input = "\(Base64URL.encode(header.encoded)).\(Base64URL.encode(JSON.object(all).encoded))"
        guard let signature = try? FakeProviders.key.signature(for: Array(input.utf8)) else { return input }
        return "\(input).\(Base64URL.encode(signature.rawRepresentation))"
    }
}

extension RelyingParty {
    /// The code flow with the OpenID provider `https://id.ID.example`, which a test may change.
    package static func fake(
        _ id: String,
        over transport: FakeProviders,
        redirectURI: String = "https://gate.example.com/oauth2/callback",
        clock: WallClock,
        random: RandomBytes = .seeded(),
        changing change: (inout ProviderSettings) -> Void = { _ in }
    ) throws -> RelyingParty {
        var settings = ProviderSettings(id: id, type: .oidc, clientID: "gatehouse", clientSecret: Secret(text: "s"))
        settings.issuer = "https://id.\(id).example"
        change(&settings)
        return try RelyingParty(
            definition: try ProviderDefinition(settings),
            settings: settings,
            redirectURI: redirectURI,
            transport: transport,
            clock: clock,
            random: random
        )
    }
}
