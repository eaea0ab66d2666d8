// SPDX-License-Identifier: Apache-2.0

package import GateClients
package import GateConfiguration
package import GateCore
package import GateHTTP
internal import GateIssuer
package import GateOperations
internal import GatePolicy
package import GateProviders
package import GateRuntime
internal import GateSessions
internal import GateTestSupport
internal import HTTPTypes
internal import Testing

/// A gateway with three clients: `notes` of a user, and the services `relay` and `store`.
///
/// Their tokens are for the apps `shop` and `desk`, each on a host of its own.
package struct ClientFixture {
    /// The audience of the app `shop`.
    package static let shop = "https://shop.example.com"
    /// The audience of the app `desk`.
    package static let desk = "https://desk.example.com"
    /// The audience of tokens for userinfo.
    package static let userinfo = "https://\(GatewayFixture.gate)/oauth2/userinfo"
    /// The redirect URI of all clients.
    package static let redirectURI = "https://notes.example.org/callback"
    /// The verifier of RFC 7636 appendix B.
    package static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    /// The challenge of RFC 7636 appendix B.
    package static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    /// The grant type of RFC 8693 §2.1.
    package static let exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"
    /// The token type of access tokens, RFC 8693 §3.
    package static let accessToken = "urn:ietf:params:oauth:token-type:access_token"

    /// The gateway.
    package let gateway: GatewayFixture
    /// A browser, which also sends the requests of clients.
    package let browser: Browser

    /// A gateway with these clients, or with one that was changed or left out.
    package init(
        without gone: Set<String> = [],
        sharing other: ClientFixture? = nil,
        open: OpenClients = OpenClients(),
        issuers: [IssuerSettings] = [],
        log: RequestLog? = nil,
        signIns: SignInLimiter = SignInLimiter(),
        features: GatewayFeatures = [],
        documents: ClientDocuments? = nil,
        client: (inout ClientSettings) -> Void = { _ in },
        provider: (inout ProviderSettings) -> Void = { _ in },
        app: (inout AppSettings) -> Void = { _ in }
    ) throws {
        var clients = try ["notes", "relay", "store"].filter { !gone.contains($0) }.map(ClientFixture.client)
        for index in clients.indices {
            if features.contains(.accounts) { clients[index].route.providers.insert("local") }
            if features.contains([.accounts, .sessionAPI]), clients[index].id == "notes" {
                clients[index].passwordProvider = "local"
            }
            client(&clients[index])
        }
        self.gateway = try GatewayFixture(
            log: log,
            sharing: other?.gateway,
            clients: clients,
            issuers: issuers,
            open: open,
            signIns: signIns,
            features: features,
            documents: documents,
            provider: provider,
            app: { settings in
                settings.accepts = [.session, .token]
                if features.contains(.accounts) { settings.route.providers.insert("local") }
                app(&settings)
            }
        )
        self.browser = Browser(self.gateway)
        if let other { self.browser.jar = other.browser.jar }
    }

    private static func client(_ id: String) throws -> ClientSettings {
        let origin = try #require(Origin(scheme: "https", host: GatewayFixture.gate))
        var route = Route(app: id, origin: origin, path: "/")
        route.providers = ["staff", "guests"]
        route.access = .signedIn
        var client = ClientSettings(id: id, kind: id == "notes" ? .native : .confidential, route: route)
        client.redirectURIs = [try RedirectURI(self.redirectURI)]
        client.grants = Set(GrantType.allCases)
        client.audiences = ["shop", "desk"]
        if id != "notes" { client.secrets = [Secret(text: self.secret(of: id))] }
        return client
    }

    /// The secret of a service.
    package static func secret(of id: String) -> String { "a secret of the service \(id)" }

    /// The response to a request of a client for an endpoint.
    package func post(
        _ name: String,
        _ fields: [(String, String)],
        as id: String = "notes",
        _ lines: String = ""
    ) async throws -> Response {
        var form = Form(fields.map { Form.Field($0.0, $0.1) } + [Form.Field("client_id", id)])
        if id != "notes" { form.append("client_secret", ClientFixture.secret(of: id)) }
        return try await self.browser.open(
            "https://\(GatewayFixture.gate)/oauth2/\(name)",
            method: "POST",
            body: form.encoded,
            "Content-Type: application/x-www-form-urlencoded\r\n\(lines)"
        )
    }

    /// A new sign-in of a user, and the tokens of a client in it.
    package func tokens(
        of id: String = "notes",
        for audiences: [String] = [shop, desk, userinfo],
        user: Profile = .staff(),
        proof: String = ""
    ) async throws -> JSON {
        let signedIn = try await self.gateway.session(of: user)
        var terms = AuthorizationCode.Terms(
            client: id,
            redirectURI: ClientFixture.redirectURI,
            challenge: ClientFixture.challenge
        )
        (terms.scopes, terms.audiences) = (["openid", "email"], audiences)
        let (runtime, now) = (self.gateway.runtime, self.gateway.clock.now)
        let code = AuthorizationCode(for: terms, ticket: signedIn.ticket, random: runtime.services.random, now: now)
        let fields = [
            ("grant_type", "authorization_code"), ("code", code.sealed(by: runtime.sealer)),
            ("code_verifier", ClientFixture.verifier),
        ]
        return try await self.post("token", fields, as: id, proof).json
    }

    /// The response to the exchange of a token by a client.
    package func exchange(_ token: String, by id: String, _ more: [(String, String)] = []) async throws -> Response {
        let fields = [
            ("grant_type", ClientFixture.exchangeGrant), ("subject_token", token),
            ("subject_token_type", ClientFixture.accessToken),
        ]
        return try await self.post("token", fields + more, as: id)
    }

    /// A token that `relay` and then `store` have exchanged the token of `notes` for, with all three.
    package func chain() async throws -> (first: String, second: String, third: String) {
        let first = try #require(try await self.tokens()["access_token"]?.string)
        let second = try #require(try await self.exchange(first, by: "relay").json["access_token"]?.string)
        let third = try #require(try await self.exchange(second, by: "store").json["access_token"]?.string)
        return (first, second, third)
    }
}

extension Response {
    /// The body as JSON; null if it is not.
    package var json: JSON { (try? JSON(parsing: self.body)) ?? .null }
    /// The error of a redirect to a client.
    package var redirectError: String? {
        self.location.flatMap { WebURL($0)?.query }.flatMap { Form(encoded: $0)?["error"] }
    }
}
