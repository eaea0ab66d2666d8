// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
internal import GateIssuer

/// The documents that clients and systems look for below `/.well-known/`, by host and path; made once for a configuration.
///
/// RFC 8615.
package struct WellKnownDocuments: Sendable {
    /// What the paths of all of them begin with.
    package static let prefix = "/.well-known/"

    /// The documents by host and path, one after the other.
    private let documents: [String: [UInt8]]

    /// Those of an issuer and its clients; none without one.
    init(of issuer: Issuer?, at publicOrigin: Origin, hosts: some Sequence<String>) {
        guard let issuer else {
            self.documents = [:]
            return
        }
        var documents: [String: [UInt8]] = [:]
        let metadata = issuer.metadata { "\(publicOrigin)/oauth2/\($0)" }.encoded
        for name in ["openid-configuration", "oauth-authorization-server"] {
            documents["\(publicOrigin.host)\(WellKnownDocuments.prefix)\(name)"] = metadata
        }
        let clients = issuer.clients.values.sorted { $0.id < $1.id }
        for host in hosts {
            let place = "\(host)\(WellKnownDocuments.prefix)"
            documents["\(place)apple-app-site-association"] = AppLinks.appleAssociation(for: host, of: clients)
            documents["\(place)assetlinks.json"] = AppLinks.assetLinks(for: host, of: clients)
        }
        self.documents = documents
    }

    /// Whether it has no document.
    package var isEmpty: Bool { self.documents.isEmpty }

    /// The document at a path of a host; nil if that is the app's.
    package func document(host: String, path: String) -> [UInt8]? { self.documents["\(host)\(path)"] }
}
