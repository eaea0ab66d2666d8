// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore
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

    /// Names the content of a configuration file; empty if it cannot be read.
    static func digest(of path: String) -> String {
        (try? Data(contentsOf: URL(filePath: path))).map { ContentDigest.name(of: Array($0)) } ?? ""
    }

    /// Names the content of all files of a configuration, whose order does not matter.
    static func digest(ofAll paths: [String]) -> String {
        var bytes: [UInt8] = []
        for path in Set(paths).sorted() {
            let content = (try? Data(contentsOf: URL(filePath: path))).map { Array($0) } ?? []
            bytes += Array("\(path.utf8.count) \(path) \(content.count) ".utf8) + content
        }
        return ContentDigest.name(of: bytes)
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
