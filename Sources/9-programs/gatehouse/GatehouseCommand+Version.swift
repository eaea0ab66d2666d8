// SPDX-License-Identifier: Apache-2.0

internal import GateServer

extension GatehouseCommand {
    /// What `gatehouse --version` prints: the version, the commit, the C libraries at run time and the Swift packages that
    /// matter for security.
    static var versionReport: String {
        let packages = ["swift-nio", "swift-nio-ssl", "swift-crypto", "swift-certificates"].map { name in
            (name: name, version: BuildInfo.packages[name] ?? "unknown")
        }
        let rows = [(name: "commit", version: BuildInfo.commit)] + Gateway.libraryVersions + packages
        let width = rows.map(\.name.count).max() ?? 0
        let lines = rows.map { row in
            "\(row.name)\(String(repeating: " ", count: width - row.name.count))  \(row.version)"
        }
        return (["gatehouse \(BuildInfo.version)"] + lines).joined(separator: "\n")
    }
}
