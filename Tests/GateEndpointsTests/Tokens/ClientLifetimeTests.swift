// SPDX-License-Identifier: Apache-2.0

import GateAssertion
import GateClients
import GateCore
import GateEndpoints
import GateFixtures
import GateHeaders
import GateIssuer
import GatePolicy
import GateSessions
import GateTestSupport
import GateWire
import Testing

@testable import GateRuntime

/// `lifetime` of a client, at a refresh.
@Suite struct ClientLifetimeTests {
    private let gateway: GatewayFixture
    private let client: ClientSettings
    private let tokens: TokenEndpoints

    init() throws {
        self.gateway = try GatewayFixture()
        let runtime = self.gateway.runtime
        var route = Route(app: "notes", origin: runtime.hosts.publicOrigin, path: "/")
        route.providers = ["staff"]
        route.access = .signedIn
        var client = ClientSettings(id: "notes", kind: .native, route: route)
        client.lifetime = .seconds(600)
        self.client = client
        let key = try AssertionKey(from: .seeded())
        let signer = TokenSigner(keys: AssertionKeys(signing: key), issuer: "\(runtime.hosts.publicOrigin)")
        let issuer = Issuer(signer: signer, clients: [client], audiences: [:], sealer: runtime.sealer)
        self.tokens = TokenEndpoints(runtime: runtime, issuer: issuer)
    }

    /// The session of a new sign-in, and that of the client in it.
    private func signedIn(ownsSignIn: Bool) async throws -> (user: Ticket, client: ClientSession) {
        let sessions = self.gateway.runtime.sessions
        let issued = try await self.gateway.session(of: .staff())
        let grant = ClientGrant(
            client: "notes",
            scopes: [],
            audiences: self.tokens.issuer.audiences(of: self.client),
            ownsSignIn: ownsSignIn,
            at: self.gateway.clock.now
        )
        let session = try await sessions.issue(
            grant,
            from: issued.ticket,
            gatewayHost: GatewayFixture.gate,
            now: self.gateway.clock.now
        )
        return (issued.ticket, try #require(session))
    }

    private func refresh(_ session: ClientSession) async throws -> ClientSession {
        let text = session.refreshToken.text(for: "notes", by: self.gateway.runtime.sealer)
        let form = Form([Form.Field("refresh_token", text)])
        let own = EndpointRequest(
            try self.gateway.head("POST /oauth2/token", GatewayFixture.gate, "Content-Length: 0\r\n"),
            body: [],
            downstream: ForwardedHead.Downstream(peer: nil, peerText: "", isSecure: true, isTrusted: false),
            runtime: self.gateway.runtime,
            now: self.gateway.clock.now
        )
        return try await self.tokens.refreshed(TokenRequest(client: self.client, form: form), own)
    }

    private func isLive(_ ticket: Ticket) async throws -> Bool {
        let host = GatewayFixture.gate
        let session = try await self.gateway.runtime.sessions.session(
            for: ticket,
            host: host,
            now: self.gateway.clock.now
        )
        return session != nil
    }

    @Test(arguments: [true, false])
    func `a refresh within the lifetime gets the next token`(ownsSignIn: Bool) async throws {
        let (user, client) = try await self.signedIn(ownsSignIn: ownsSignIn)
        self.gateway.clock.advance(by: 599)
        let next = try await self.refresh(client)
        #expect(next.refreshToken != client.refreshToken)
        #expect(try await self.isLive(user))
    }

    /// Its user has signed in for this client only; the session of a browser goes on.
    @Test(arguments: [true, false])
    func `a refresh after the lifetime ends a sign-in that began at the client`(ownsSignIn: Bool) async throws {
        let (user, client) = try await self.signedIn(ownsSignIn: ownsSignIn)
        self.gateway.clock.advance(by: 600)
        await #expect(throws: OAuthError.self) { try await self.refresh(client) }
        #expect(try await self.isLive(user) != ownsSignIn)
    }
}
