// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The files in which a host names the apps that receive its links, RFC 8252 §7.2.
package enum AppLinks {
    /// `/.well-known/apple-app-site-association` of a host, or nil if no client has an app of Apple's systems there.
    ///
    /// The components are the paths of the https redirect URIs. `webcredentials` is what lets a sign-in sheet of the
    /// system return to an https URI.
    package static func appleAssociation(for host: String, of clients: [ClientSettings]) -> [UInt8]? {
        var details: [JSON] = []
        var apps: Set<String> = []
        for client in clients where !client.appleApps.isEmpty {
            let paths = self.paths(of: client, on: host)
            guard !paths.isEmpty else { continue }
            details.append([
                "appIDs": .array(client.appleApps.map(JSON.string)),
                "components": .array(paths.map { ["/": .string($0)] }),
            ])
            apps.formUnion(client.appleApps)
        }
        guard !details.isEmpty else { return nil }
        let association: JSON = [
            "applinks": ["details": .array(details)],
            "webcredentials": ["apps": .array(apps.sorted().map(JSON.string))],
        ]
        return association.encoded
    }

    /// `/.well-known/assetlinks.json` of a host, or nil if no client has an Android app there.
    package static func assetLinks(for host: String, of clients: [ClientSettings]) -> [UInt8]? {
        var fingerprints: [String: Set<String>] = [:]
        for client in clients where !self.paths(of: client, on: host).isEmpty {
            for app in client.androidApps {
                fingerprints[app.package, default: []].formUnion(app.fingerprints)
            }
        }
        guard !fingerprints.isEmpty else { return nil }
        let statements = fingerprints.sorted { $0.key < $1.key }.map { package, fingerprints -> JSON in
            [
                "relation": ["delegate_permission/common.handle_all_urls"],
                "target": [
                    "namespace": "android_app",
                    "package_name": .string(package),
                    "sha256_cert_fingerprints": .array(fingerprints.sorted().map(JSON.string)),
                ],
            ]
        }
        return JSON.array(statements).encoded
    }

    /// The paths of a client's https redirect URIs on a host, each once.
    private static func paths(of client: ClientSettings, on host: String) -> [String] {
        var paths: [String] = []
        for uri in client.redirectURIs where uri.kind == .web(host: host) {
            let path = String(uri.target.prefix { $0 != "?" })
            // Browsers request a URL without a path as `/`.
            let pattern = path.isEmpty ? "/" : path
            if !paths.contains(pattern) { paths.append(pattern) }
        }
        return paths
    }
}
