// SPDX-License-Identifier: Apache-2.0

package import GateAssertion
package import GateClients
package import GateCore

/// The gateway as the OpenID provider of its clients: who they are, what tokens may be for, and the keys.
package struct Issuer: Sendable {
    /// Signs and verifies tokens.
    package let signer: TokenSigner
    let endpoints: EndpointPrefix
    /// The clients by their ids.
    package let clients: [String: ClientSettings]
    /// Which further clients are accepted.
    package let open: OpenClients
    /// What all of these have in common; nil if they are off.
    let openClient: ClientSettings?
    /// The audiences of the apps that accept tokens, by the apps' names.
    package let audiences: [String: String]
    /// The scopes of these apps, by their audiences.
    let appScopes: [String: [String]]
    /// Seals codes and the claim by which the gateway finds the session of a token.
    package let sealer: Sealer
    /// The source of ids and codes.
    package let random: RandomBytes

    package init(
        signer: TokenSigner,
        below endpoints: EndpointPrefix = .standard,
        clients: [ClientSettings],
        audiences: [String: String],
        appScopes: [String: [String]] = [:],
        open: OpenClients = OpenClients(),
        openClient: ClientSettings? = nil,
        sealer: Sealer,
        random: RandomBytes = .system
    ) {
        self.signer = signer
        self.endpoints = endpoints
        self.clients = Dictionary(clients.map { ($0.id, $0) }) { first, _ in first }
        self.audiences = audiences
        self.appScopes = appScopes
        self.open = open
        self.openClient = open.isOff ? nil : openClient
        self.sealer = sealer
        self.random = random
    }

    /// The URL of the issuer, `iss`.
    package var url: String { self.signer.issuer }

    /// The scopes by which a client learns about the user.
    ///
    /// OpenID Connect Core §5.4 and §11.
    package static let scopes = ["openid", "profile", "email", "groups", "offline_access"]

    /// The audiences that access tokens of a client may have: its apps, or userinfo if it has none.
    package func audiences(of client: ClientSettings) -> [String] {
        let apps = self.apps(of: client)
        return apps.isEmpty ? [self.userinfo] : apps
    }

    /// The audiences of tokens with some scopes for a request that names none: the apps of the client, and userinfo with `openid`.
    ///
    /// OpenID Connect Core §5.3, RFC 9068 §3: a token for an app alone is not valid at userinfo.
    func audiences(of client: ClientSettings, for scopes: [String]) -> [String] {
        let known = self.audiences(of: client)
        return known.contains(self.userinfo) || !scopes.contains("openid") ? known : known + [self.userinfo]
    }

    /// The audiences of the apps that access tokens of a client may be for.
    package func apps(of client: ClientSettings) -> [String] { client.audiences.compactMap { self.audiences[$0] } }

    /// The audience of tokens for no app.
    ///
    /// No app can have it, which is not so for the URL of the issuer.
    package var userinfo: String { "\(self.url)\(self.endpoints.path("userinfo"))" }

    /// The audience that a `resource` of a request names; nil if tokens of the client may not be for that.
    ///
    /// RFC 8707 §2. A URL without a path may be spelled with `/`, and one with a path with a slash at its end; scheme and host in any letter
    /// case, and the port of the scheme, are the same URL (RFC 3986 §6.2.2.1 and §6.2.3).
    func audience(named resource: String, of client: ClientSettings) -> String? {
        // A name of an app, as `audience` may have it, is not a URL.
        let name = WebURL(resource).map { "\($0.origin)\($0.target)" } ?? resource
        return self.audiences(of: client).first { isIdentical($0, name) || isIdentical("\($0)/", name) }
    }
}
