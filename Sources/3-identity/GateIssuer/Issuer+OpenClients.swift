// SPDX-License-Identifier: Apache-2.0

package import GateClients
package import GateCore

// Clients without an entry in the file.
extension Issuer {
    private static let maxURL = 512

    /// A client by its id; nil if the gateway has no such client.
    ///
    /// A client that is named by a URL has no redirect URIs here: only its document has them.
    package func client(named id: String) -> ClientSettings? {
        if let client = self.clients[id] { return client }
        guard let template = self.openClient, !self.open.isOff else { return nil }
        if id.hasPrefix(SealedRegistration.prefix) {
            guard self.open.dynamic, let sealed = SealedRegistration(id: id, by: self.sealer) else { return nil }
            return Issuer.client(id, sealed.metadata, as: template, mark: "not verified")
        }
        return self.metadataURL(of: id).map { _ in template.named(id) }
    }

    /// The client of an access token that this gateway issued: nothing of its metadata counts any more.
    package func client(issuedTo id: String) -> ClientSettings? {
        if let client = self.clients[id] { return client }
        guard let template = self.openClient else { return nil }
        if id.hasPrefix(SealedRegistration.prefix) { return self.open.dynamic ? template.named(id) : nil }
        return self.metadataURL(of: id).map { _ in template.named(id) }
    }

    /// The URL that a client id is; nil if it is not a URL that the gateway accepts.
    ///
    /// draft-ietf-oauth-client-id-metadata-document §3: https, a path, neither a fragment nor a user nor dot segments. A query is
    /// not accepted.
    package func metadataURL(of id: String) -> WebURL? {
        guard self.open.byURL, id.hasPrefix("https://"), id.utf8.count <= Issuer.maxURL, let url = WebURL(id),
            isIdentical(url.description, id), url.path != "/", url.query == nil,
            self.open.hosts.isEmpty || self.open.hosts.contains(url.origin.host)
        else { return nil }
        let segments = url.path.split(separator: "/", omittingEmptySubsequences: false)
        let isPlain = !segments.contains { [".", ".."].contains($0.lowercased().replacing("%2e", with: ".")) }
        return isPlain ? url : nil
    }

    /// The client at a URL, by its document.
    ///
    /// - Throws: `invalid_client_metadata` and `invalid_redirect_uri` for a document that is not of this client, or of none that has
    ///   no secret.
    package func client(at url: WebURL, _ document: JSON) throws(OAuthError) -> ClientSettings {
        guard let template = self.openClient else { throw OAuthError(.invalidClient, "no client has this id") }
        guard let id = document["client_id"]?.string, isIdentical(id, url.description) else {
            throw OAuthError(.invalidClientMetadata, "'client_id' of the document is not its URL")
        }
        let method = document["token_endpoint_auth_method"]
        guard method.map({ isIdentical($0.string ?? "", "none") }) ?? true, document["client_secret"] == nil else {
            throw OAuthError(.invalidClientMetadata, "'token_endpoint_auth_method' of the document must be none")
        }
        return Issuer.client(id, try ClientMetadata(document), as: template, mark: url.origin.host)
    }

    /// A client that names itself; the mark shows users what is known of it.
    private static func client(
        _ id: String,
        _ metadata: ClientMetadata,
        as template: ClientSettings,
        mark: String
    ) -> ClientSettings {
        var client = template.named(id)
        client.name = "\(metadata.name ?? "An app") (\(mark))"
        client.redirectURIs = metadata.redirectURIs
        return client
    }
}
