// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GateIssuer
internal import GatePolicy

/// What the gateway offers to clients as their OpenID provider; nothing without clients.
package struct ClientServices: Sendable {
    /// The gateway as the OpenID provider of clients; nil without clients.
    package let issuer: Issuer?
    /// The metadata documents of clients; nil unless clients may be named by a URL.
    package let documents: ClientDocuments?
    /// The documents below `/.well-known/`.
    package let wellKnown: WellKnownDocuments
    /// The path of the session API on the gateway's host; nil if it is off.
    package let sessionAPI: String?

    /// The services of an issuer.
    ///
    /// - Parameters:
    ///   - issuer: The issuer; nil without clients.
    ///   - hosts: The hosts with the documents of clients.
    ///   - routes: The apps that accept tokens.
    ///   - documents: The metadata documents of clients; nil unless clients may be named by a URL.
    ///   - sessionAPI: The path of the session API, which is for clients.
    package init(
        _ issuer: Issuer?,
        at hosts: GatewayHosts,
        routes: [RuntimeRoute],
        documents: ClientDocuments? = nil,
        sessionAPI: String? = nil
    ) {
        self.issuer = issuer
        self.documents = documents
        self.wellKnown = WellKnownDocuments(of: issuer, at: hosts, routes: routes)
        self.sessionAPI = issuer == nil ? nil : sessionAPI
    }

    /// The URL of the metadata of an app that accepts access tokens; nil for other apps.
    ///
    /// It is on the host of the audience, whatever the host of the request: the resource that it describes has to be that of the URL,
    /// RFC 9728 §3.3.
    package func resourceMetadata(of route: RuntimeRoute) -> String? {
        guard self.issuer != nil, route.takesTokens else { return nil }
        return "\(route.route.origins.name)\(WellKnownDocuments.resourcePath(of: route))"
    }
}
