// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GatePolicy

/// An application that signs its users in at the gateway: an OAuth 2.0 client, RFC 6749 §2.
package struct ClientSettings: Sendable, Hashable {
    /// What kind of application it is, RFC 6749 §2.1 and RFC 9700 §2.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// An app on a device of the user, which cannot keep a secret.
        case native
        /// JavaScript in a browser, which cannot keep a secret.
        case singlePage = "single_page"
        /// A server, which keeps a secret.
        case confidential
    }

    /// What tokens for others than apps have as `sub`.
    package enum TokenSubject: String, Sendable, Hashable, CaseIterable {
        /// The user key, as in all other tokens.
        case user
        /// The email address, if it is verified.
        case email
    }

    /// The bounds of ``accessTokenLifetime``.
    package static let accessTokenLifetimes: ClosedRange<Duration> = .seconds(60)...(.seconds(3600))
    /// The maximum number of redirect URIs of each of both lists.
    package static let maxRedirectURIs = 100

    /// The name in the file, which is the `client_id`.
    package private(set) var id: String
    /// The name that users see.
    package var name: String
    /// What kind of application it is.
    package var kind: Kind
    /// The secrets of a confidential client; several during a rotation.
    package var secrets: [Secret] = []
    /// Where responses of the authorization endpoint may go.
    package var redirectURIs: [RedirectURI] = []
    /// Where users may be redirected after a sign-out, OpenID Connect RP-Initiated Logout §3.1.
    package var postLogoutRedirectURIs: [RedirectURI] = []
    /// The ways in which it may get tokens.
    package var grants: Set<GrantType> = [.authorizationCode, .refreshToken]
    /// Which users may sign in at it; the app of the route is the client, and rules about paths do not apply.
    package var route: Route
    /// The providers' claims, and the fields, that its ID tokens and userinfo have, whatever scopes it asks for.
    package var claims: [String] = []
    /// Scopes of the client's own, and the claims and fields that each gives.
    package var scopes: [String: [String]] = [:]
    /// The names of the apps that its access tokens may be for.
    package var audiences: [String] = []
    /// Whether users are asked before they are signed in at it for the first time.
    package var asksConsent = false
    /// How long its access tokens are valid.
    package var accessTokenLifetime: Duration = .seconds(600)
    /// How long a sign-in at it lasts at most; nil for as long as sessions last.
    package var lifetime: Duration?
    /// The provider of local accounts whose users may type their passwords into this app itself; nil for none.
    package var passwordProvider: String?
    /// Whether it has no entry in the file; its users are those of the apps, which are MCP servers.
    package var isOpen = false
    /// Whether its tokens must be bound to a key of it, RFC 9449.
    package var requiresDPoP = false
    /// Whether it must push its authorization requests, RFC 9126 §6.
    package var requiresPushedRequests = false
    /// What tokens for others than apps may be for, such as `sts.amazonaws.com`; through token exchange only.
    package var tokenAudiences: [String] = []
    /// What those have as `sub`.
    package var tokenSubject = TokenSubject.user
    /// Where it is notified of sign-outs, OpenID Connect Back-Channel Logout §2.2.
    package var backChannelLogoutURI: WebURL?
    /// Its apps for the systems of Apple, each as team and bundle id: `TEAMID.com.example.notes`.
    package var appleApps: [String] = []
    package var androidApps: [AndroidApp] = []

    /// Creates a client that no user may sign in at, unless the route admits them.
    package init(id: String, kind: Kind, route: Route) {
        self.id = id
        self.name = id
        self.kind = kind
        self.route = route
    }

    /// The same client with another id.
    package func named(_ id: String) -> ClientSettings {
        var copy = self
        copy.id = id
        return copy
    }

    /// The issuers whose tokens it may exchange for tokens of the gateway, and whose users it accepts.
    package var exchangeIssuers: Set<String> { self.route.issuers }

    /// Whether a `redirect_uri` of a request is registered.
    ///
    /// RFC 9700 §4.1.3: all bytes count; only the port of a native app on loopback is free.
    package func redirectURI(_ text: String) -> Bool {
        self.redirectURIs.contains { $0.matches(text, anyPort: self.kind == .native) }
    }

    /// Whether a `post_logout_redirect_uri` of a request is registered, by the same rule.
    package func postLogoutRedirectURI(_ text: String) -> Bool {
        self.postLogoutRedirectURIs.contains { $0.matches(text, anyPort: self.kind == .native) }
    }
}

extension ClientSettings {
    /// The label in metrics of clients without an entry in the file, who choose their ids themselves.
    package static let openLabel = "open"

    /// The label of this client.
    package var metricLabel: String { self.isOpen ? Self.openLabel : self.id }
}

extension ClientSettings.Kind {
    /// Whether its redirect URIs may be of a kind: only native apps receive schemes of their own.
    package func accepts(_ kind: RedirectURI.Kind) -> Bool {
        guard case .customScheme = kind else { return true }
        return self == .native
    }
}
