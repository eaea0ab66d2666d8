// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
internal import GateIssuer
internal import GatePolicy

/// The documents that clients and systems look for below `/.well-known/`, by host and path; made once for a configuration.
///
/// RFC 8615.
package struct WellKnownDocuments: Sendable {
    /// What the paths of all of them begin with.
    package static let prefix = "/.well-known/"

    /// The documents by host and path, one after the other.
    private let documents: [String: [UInt8]]

    /// Those of an issuer, its clients and the apps that accept its tokens; none without one.
    init(
        of issuer: Issuer?,
        at hosts: GatewayHosts,
        routes: [RuntimeRoute]
    ) {
        guard let issuer else {
            self.documents = [:]
            return
        }
        var documents: [String: [UInt8]] = [:]
        let metadata = issuer.metadata { "\(hosts.publicOrigin)\(hosts.endpoints.path($0))" }.encoded
        for name in ["openid-configuration", "oauth-authorization-server"] {
            documents["\(hosts.publicOrigin.host)\(WellKnownDocuments.prefix)\(name)"] = metadata
        }
        let clients = issuer.clients.values.sorted { $0.id < $1.id }
        for host in hosts.names {
            let place = "\(host)\(WellKnownDocuments.prefix)"
            documents["\(place)apple-app-site-association"] = AppLinks.appleAssociation(for: host, of: clients)
            documents["\(place)assetlinks.json"] = AppLinks.assetLinks(for: host, of: clients)
        }
        for route in routes where route.takesTokens {
            guard let host = route.route.origins.first?.host else { continue }
            documents["\(host)\(WellKnownDocuments.resourcePath(of: route))"] =
                WellKnownDocuments.resource(route, of: issuer).encoded
        }
        self.documents = documents
    }

    /// The path of the metadata of an app: the well-known one, before the path of the app.
    ///
    /// RFC 9728 §3.1.
    static func resourcePath(of route: RuntimeRoute) -> String {
        let path = route.route.path
        return "\(self.prefix)oauth-protected-resource\(path == "/" ? "" : path)"
    }

    /// The metadata of an app that accepts tokens of an issuer.
    ///
    /// RFC 9728 §2.
    private static func resource(_ route: RuntimeRoute, of issuer: Issuer) -> JSON {
        [
            "resource": .string(route.route.audience), "authorization_servers": [.string(issuer.url)],
            // What an app gets about a user depends on the app, not on scopes; and a refresh token is for the client, not for the app.
            "scopes_supported": .array((["openid"] + route.route.scopes.map(\.name)).map(JSON.string)),
            "bearer_methods_supported": ["header"],
            "resource_name": .string(route.name),
        ]
    }

    package var isEmpty: Bool { self.documents.isEmpty }

    /// The document at a path of a host; nil if that is the app's.
    package func document(host: String, path: String) -> [UInt8]? { self.documents["\(host)\(path)"] }
}
