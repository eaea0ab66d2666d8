// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import GateProviderHTTP
internal import GateSessionStores
internal import GateYAML

extension Gateway {
    /// The label values of `gatehouse_build_info`.
    var buildInfo: [String] {
        let versions = Dictionary(Gateway.libraryVersions.map { ($0.name.lowercased(), $0.version) }) { first, _ in
            first
        }
        let names = ["libcurl", "openssl", "nghttp2", "sqlite"]
        return [self.options.version] + names.map { versions[$0] ?? "unknown" }
    }

    /// Each C library with its version at run time; these are of the system and may be newer than at build time.
    package static var libraryVersions: [(name: String, version: String)] {
        let transport = CurlTransport.libraryVersions.split(separator: " ").prefix(2).map { part in
            let sides = part.split(separator: "/", maxSplits: 1).map(String.init)
            return (name: sides[0], version: sides.count > 1 ? sides[1] : "unknown")
        }
        return transport + [
            (name: "nghttp2", version: HTTP2SessionHandle.libraryVersion),
            (name: "libyaml", version: DecodingContext.libraryVersion),
            (name: "SQLite", version: SQLiteStore.libraryVersion),
        ]
    }
}
