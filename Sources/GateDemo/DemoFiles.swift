// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore

/// Files of the demo, for the owner alone.
struct DemoFiles {
    let folder: String

    init(folder: String) throws {
        self.folder = folder
        let owner: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true, attributes: owner)
    }

    /// Writes a file anew; returns its path.
    func write(_ text: String, name: String) throws -> String {
        let path = "\(self.folder)/\(name)"
        try? FileManager.default.removeItem(atPath: path)
        let owner: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: owner) else {
            throw Failure(.demoFile, "cannot write \(path)")
        }
        return path
    }
}
