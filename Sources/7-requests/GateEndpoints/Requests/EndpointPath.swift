// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateRuntime

/// The endpoints, by the name after the prefix of endpoints.
package enum EndpointPath: String, CaseIterable {
    /// The page that offers the accepted providers.
    case signIn = "sign_in"
    /// Begins a sign-in; a provider's name follows.
    case start
    /// Ends a sign-in; a provider's name follows.
    case callback
    /// Takes the password or the code of a local account; the provider's name follows.
    case password
    /// The page on which a user chooses a password by a link; the provider's name follows.
    case accountLink = "link"
    /// Sends a link to choose another password; the provider's name follows.
    case recover
    /// Sends a link to register, which leads here; the provider's name follows.
    case join
    /// The page on which a user of a local account changes the password and the second factor.
    case credentials
    /// Asks a signed-in user for a passkey.
    case passkey
    /// The passkeys of a signed-in user.
    case passkeys
    /// The connected accounts of a signed-in user.
    case connected
    /// The script of the pages with passkeys.
    case passkeyScript = "passkey.js"
    /// Ends the session.
    case signOut = "sign_out"
    /// Takes the logout tokens of a provider, whose name follows.
    case backChannelLogout = "backchannel-logout"
    /// Ends the session in a frame of a provider's page; the provider's name follows.
    case frontChannelLogout = "frontchannel-logout"
    /// The profile of the signed-in user.
    case userinfo
    /// The apps that the user may open.
    case apps
    /// The user, and where the user is signed in.
    case account
    /// Transfers a session from the gateway's host to an app's host.
    case sessionTransfer = "handover"
    /// Redirects to a URL that was too long for a sign-in.
    case resume = "return"
    /// The decision for a proxy that asks; a request of one that may does not reach this endpoint.
    case auth
    /// The keys that verify assertions.
    case keys = "jwks.json"
    /// A client's request for a code, RFC 6749 §3.1.
    case authorize
    /// A client's request for tokens, RFC 6749 §3.2.
    case token
    /// A client registers itself, RFC 7591 §3.
    case register
    /// A client's question about a token, RFC 7662.
    case introspect
    /// A client gives a token back, RFC 7009.
    case revoke
    /// A client pushes the parameters of its request for a code, RFC 9126 §2.
    case pushedRequests = "par"
    /// A client without a browser begins a sign-in on another device, RFC 8628 §3.1.
    case deviceAuthorization = "device_authorization"
    /// The page for the code that such a client shows, RFC 8628 §3.3.
    case device
    /// A client signs the user out, OpenID Connect RP-Initiated Logout.
    case endSession = "end_session"
    /// The keys that verify tokens for clients.
    case tokenKeys = "token-keys.json"
    /// The style sheet of our pages.
    case style = "style.css"
    /// The icon of our pages.
    case icon = "icon.svg"
    /// The operator's pictures; a name follows.
    case pictures

    /// The path of the endpoint that a path names, without what follows it; nil for a path of an app.
    package static func pattern(of path: String, below endpoints: EndpointPrefix) -> String? {
        guard endpoints.includes(path) else { return nil }
        let name = endpoints.name(in: path)?.prefix { $0 != "/" }
        return name.flatMap { EndpointPath(rawValue: String($0)) }.map { endpoints.path($0.rawValue) }
            ?? endpoints.description
    }
}

extension RuntimeConfiguration {
    /// The path of an endpoint, on the hosts that have it.
    package func path(_ endpoint: EndpointPath) -> String { self.hosts.endpoints.path(endpoint.rawValue) }

    /// The URL of an endpoint on the host of `public_url`.
    package func address(_ endpoint: EndpointPath) -> String { "\(self.hosts.publicOrigin)\(self.path(endpoint))" }
}
