// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateCore
import GatePolicy
import Testing

extension ClientSettings {
    /// A client of some kind with these redirect URIs, for both requests.
    static func with(_ kind: Kind, _ uris: [String] = []) throws -> ClientSettings {
        let origin = try #require(Origin(scheme: "https", host: "id.example.com"))
        var client = ClientSettings(id: "notes", kind: kind, route: Route(app: "notes", origin: origin, path: "/"))
        client.redirectURIs = try uris.map { try RedirectURI($0) }
        client.postLogoutRedirectURIs = client.redirectURIs
        return client
    }

    /// Whether a request may redirect to a URI, as `redirect_uri` or as `post_logout_redirect_uri`.
    func redirects(to uri: String) -> Bool { self.redirectURI(uri) || self.postLogoutRedirectURI(uri) }
}
